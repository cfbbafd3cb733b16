// The files in metrics/: the alert rules by promtool and by unit tests, the Grafana dashboard by what it asks for.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { type MetricsData, metricsOf } from '../../src/model/metrics/metrics.js';
import { PROMTOOL } from '../support/prometheus.js';

const ROOT = path.join(import.meta.dirname, '..', '..');
const RULES = path.join(ROOT, 'metrics', 'tock.rules.yml');
const read = (name: string) => readFileSync(path.join(ROOT, name), 'utf8');

const NOTHING: MetricsData = {
  totals: [],
  jobs: [],
  queues: [],
  schedules: [],
  schedulesLeftOut: 0,
  ticks: [],
  loads: [],
  overdueSeconds: 0,
  isFrozen: false,
  oldestSnapshotSeconds: 0,
};

/** The names of all samples. */
const published = new Set(
  metricsOf(NOTHING).flatMap(({ name, type }) =>
    type === 'counter'
      ? [`${name}_total`]
      : type === 'histogram'
        ? [`${name}_bucket`, `${name}_count`, `${name}_sum`]
        : [name],
  ),
);
const named = (text: string) => [...new Set([...text.matchAll(/\btock_\w+/g)].map(([name]) => name))].sort();
const promtool = (...args: string[]) => {
  const { status, stdout, stderr } = spawnSync(PROMTOOL ?? '', args, { encoding: 'utf8', cwd: ROOT });
  return { status, said: `${stdout}${stderr}` };
};

describe('the alert rules', () => {
  it.skipIf(PROMTOOL === null)('are valid', { tags: 'check' }, () => {
    expect(promtool('check', 'rules', RULES)).toMatchObject({ status: 0 });
  });

  it.skipIf(PROMTOOL === null)('fire when they should, and not before', { tags: 'check' }, () => {
    const { status, said } = promtool('test', 'rules', path.join('test', 'metrics', 'rules.test.yml'));
    expect({ status, said }).toEqual({ status: 0, said: expect.stringContaining('SUCCESS') });
  });

  it('ask for metrics that are published, and each is tested', () => {
    const rules = read('metrics/tock.rules.yml');
    expect(named(rules).filter(name => !published.has(name))).toEqual([]);
    const tests = read('test/metrics/rules.test.yml');
    const alerts = [...rules.matchAll(/^ {6}- alert: (\w+)$/gm)].map(([, name]) => name ?? '');
    expect(alerts.length).toBeGreaterThan(8);
    for (const alert of alerts) {
      expect(tests).toMatch(new RegExp(`alertname: ${alert}\\n\\s+exp_alerts:\\n\\s+- exp_labels`));
      expect(tests).toMatch(new RegExp(`alertname: ${alert}\\n\\s+exp_alerts: \\[\\]`));
    }
  });
});

interface Panel {
  readonly id: number;
  readonly title: string;
  readonly type: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly datasource: { readonly uid: string };
  readonly targets: readonly { readonly refId: string; readonly expr: string }[];
}

describe('the Grafana dashboard', () => {
  const dashboard = JSON.parse(read('metrics/grafana-dashboard.json')) as {
    readonly uid: string;
    readonly title: string;
    readonly schemaVersion: number;
    readonly panels: readonly Panel[];
    readonly templating: {
      readonly list: readonly { readonly name: string; readonly definition?: string }[];
    };
  };
  const { panels } = dashboard;

  it('is one that Grafana can import: a title, panels with ids, places and queries', () => {
    expect(dashboard.title).toBe('Tock');
    expect(dashboard.schemaVersion).toBeGreaterThanOrEqual(36);
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    for (const { title, type, gridPos, datasource, targets } of panels) {
      expect(title).not.toBe('');
      expect(['stat', 'timeseries', 'table']).toContain(type);
      expect(gridPos.x + gridPos.w).toBeLessThanOrEqual(24);
      expect(datasource.uid).toBe('${datasource}');
      expect(targets.length).toBeGreaterThan(0);
      expect(new Set(targets.map(({ refId }) => refId)).size).toBe(targets.length);
    }
  });

  it('has no panel on top of another', () => {
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
  });

  it('asks for metrics that are published, and shows all of them', () => {
    const queries = [
      ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
      ...dashboard.templating.list.map(({ definition = '' }) => definition),
    ].join('\n');
    expect(named(queries).filter(name => !published.has(name))).toEqual([]);
    const shown = new Set(named(queries));
    const left = metricsOf(NOTHING).filter(({ name }) => ![...shown].some(each => each.startsWith(name)));
    expect(left.map(({ name }) => name)).toEqual([]);
    const variables = new Set(dashboard.templating.list.map(({ name }) => name));
    for (const [, name = ''] of queries.matchAll(/\$(\w+)/g))
      if (!name.startsWith('__')) expect(variables).toContain(name);
  });

  it.skipIf(PROMTOOL === null)('has queries that Prometheus understands', { tags: 'check' }, () => {
    // promtool 2.42 checks expressions as those of rules.
    const expressions = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
    const rules = expressions.map((expr, index) => ({
      record: `query:number_${index}`,
      expr: expr.replaceAll('$__rate_interval', '5m').replaceAll(/\$\w+/g, '.*'),
    }));
    const folder = mkdtempSync(path.join(tmpdir(), 'tock-queries-'));
    // JSON is YAML.
    writeFileSync(path.join(folder, 'queries.yml'), JSON.stringify({ groups: [{ name: 'queries', rules }] }));
    const result = promtool('check', 'rules', path.join(folder, 'queries.yml'));
    rmSync(folder, { recursive: true });
    expect(result).toEqual({ status: 0, said: expect.stringContaining('SUCCESS') });
  });
});

it('the package has the files', () => {
  expect((JSON.parse(read('package.json')) as { files: string[] }).files).toContain('metrics');
});
