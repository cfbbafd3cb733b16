// `tock metrics`: what a scrape gets, and the file for node_exporter.
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { openOnce } from '../../support/open.js';
import { readOpenMetrics, sampleOf } from '../../support/openmetrics-reader.js';
import { PROMTOOL } from '../../support/prometheus.js';
import { openCliHarness } from '../cli-harness.js';

const harness = openOnce(openCliHarness);
let folder: string;
beforeAll(async () => {
  folder = path.join(harness.folder, 'textfile');
  mkdirSync(folder);
  await harness.tock(['tick']);
  await harness.tock(['run', 'greet', '--wait']);
});
const metrics = (...args: string[]) => harness.tock(['metrics', ...args]);

describe('tock metrics', () => {
  it('prints OpenMetrics', async () => {
    const { code, stdout, stderr } = await metrics();
    expect([code, stderr]).toEqual([0, '']);
    const families = readOpenMetrics(stdout);
    expect(sampleOf(families, 'tock_runs_ended_total', { job: 'greet', status: 'succeeded' })).toBe(1);
    expect(sampleOf(families, 'tock_runs_ended_total', { job: 'greet', status: 'dead' })).toBe(0);
    expect(sampleOf(families, 'tock_run_duration_seconds_count', { job: 'greet' })).toBe(1);
    expect(sampleOf(families, 'tock_metrics_left_out', { what: 'schedules' })).toBe(0);
  });

  it('prints one document with --json', async () => {
    const { metrics: found } = await harness.json<{ metrics: { name: string; values?: unknown[] }[] }>([
      'metrics',
    ]);
    expect(found.find(({ name }) => name === 'tock_runs_ended')?.values).toContainEqual({
      labels: { job: 'greet', queue: 'default', status: 'succeeded' },
      value: 1,
    });
  });

  it('leaves out what is above a limit, and says how much', async () => {
    const families = readOpenMetrics((await metrics('--max-schedules', '0', '--max-jobs', '0')).stdout);
    expect(families.find(({ name }) => name === 'tock_schedule_up')?.samples).toEqual([]);
    expect(families.find(({ name }) => name === 'tock_runs_ended')?.samples).toEqual([]);
    expect(sampleOf(families, 'tock_metrics_left_out', { what: 'schedules' })).toBeGreaterThan(0);
    expect(sampleOf(families, 'tock_metrics_left_out', { what: 'jobs' })).toBeGreaterThan(0);
  });

  it.skipIf(PROMTOOL === null)('passes promtool in the older format', async () => {
    const { stdout } = await metrics('--format', 'prometheus');
    const {
      status,
      stderr,
      stdout: said,
    } = spawnSync(PROMTOOL ?? '', ['check', 'metrics'], { input: stdout, encoding: 'utf8' });
    expect({ status, stderr, said }).toEqual({ status: 0, stderr: '', said: '' });
  });
});

describe('tock metrics --textfile', () => {
  const file = () => path.join(folder, 'tock.prom');

  it('writes the older format, readable by others, and nothing else', async () => {
    const { code, stdout, stderr } = await metrics('--textfile', file());
    expect([code, stdout, stderr]).toEqual([0, '', '']);
    expect(readFileSync(file(), 'utf8')).toContain('# TYPE tock_runs_ended_total counter\n');
    expect(statSync(file()).mode & 0o777).toBe(0o644);
    expect(readdirSync(folder)).toEqual(['tock.prom']);
  });

  it('is readable by others under cron’s strictest umask', () => {
    const { status, stderr } = spawnSync(
      '/bin/sh',
      ['-c', `umask 077; exec "${process.execPath}" dist/cli.js metrics --textfile "${file()}"`],
      { env: { ...process.env, DATABASE_URL: harness.url }, encoding: 'utf8' },
    );
    expect([status, stderr]).toEqual([0, '']);
    expect(statSync(file()).mode & 0o777).toBe(0o644);
  });

  it('replaces the file in one step: a reader that has it open sees the old one', async () => {
    writeFileSync(file(), 'old\n');
    const before = statSync(file()).ino;
    expect((await metrics('--textfile', file())).code).toBe(0);
    expect(statSync(file()).ino).not.toBe(before);
  });

  it('keeps the old file when the database is away, or the file cannot be replaced', async () => {
    writeFileSync(file(), 'old\n');
    const away = await harness.tock(['metrics', '--textfile', file()], {
      env: { DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none' },
    });
    expect(away.code).toBe(3);
    expect(readFileSync(file(), 'utf8')).toBe('old\n');

    const taken = path.join(folder, 'folder.prom');
    mkdirSync(taken);
    const refused = await metrics('--textfile', taken);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toMatch(/^tock metrics: .*(?:EISDIR|EEXIST|ENOTEMPTY)/);
    expect(readdirSync(folder).sort()).toEqual(['folder.prom', 'tock.prom']);

    const nowhere = await metrics('--textfile', path.join(folder, 'no', 'tock.prom'));
    expect(nowhere.code).toBe(1);
    expect(nowhere.stderr).toContain('ENOENT');
    expect(existsSync(path.join(folder, 'no'))).toBe(false);
    chmodSync(folder, 0o755);
  });
});
