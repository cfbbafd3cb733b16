// The recipes of docs/deployment.md: their files are parsed, and their commands executed as they are written.
import { spawn, spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { COMPOSE, DOCKERFILE } from '../../src/model/init/templates.js';
import { daemonUnit, TICK_TIMER, tickUnit } from '../../src/model/init/units.js';
import { until } from '../cli/cli-harness.js';
import { createTestDatabase } from '../support/embedded-database.js';
import { openOnce } from '../support/open.js';

const document = await readFile('docs/deployment.md', 'utf8');
const files = new Map(
  [...document.matchAll(/^```\w+ file=(\S+)\n([\s\S]*?)^```$/gm)].map(([, name = '', text = '']) => [
    name,
    text,
  ]),
);
const file = (name: string) => files.get(name) ?? '';

const database = openOnce(() => createTestDatabase('nothing'));
/** A project with a job that is due each minute, and the package as a dependency. */
let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tock-deployment-'));
  await mkdir(path.join(folder, 'node_modules/pg-tock'), { recursive: true });
  // A link to the clone would be a clone.
  await cp('dist', path.join(folder, 'node_modules/pg-tock/dist'), { recursive: true });
  await cp('package.json', path.join(folder, 'node_modules/pg-tock/package.json'));
  await symlink(path.resolve('node_modules'), path.join(folder, 'node_modules/pg-tock/node_modules'));
  await mkdir(path.join(folder, 'jobs'));
  await writeFile(path.join(folder, 'package.json'), '{ "type": "module" }');
  await writeFile(
    path.join(folder, 'jobs/index.js'),
    `import { defineJob } from 'pg-tock';
     export const jobs = [defineJob({ name: 'report', schedule: { cron: '* * * * *' }, run: () => null })];`,
  );
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

const environment = (more: Readonly<Record<string, string>> = {}) => ({
  PATH: `${path.dirname(process.execPath)}:/usr/bin:/bin`,
  HOME: '/',
  DATABASE_URL: database.url,
  ...more,
});

/** By sh, in the project. */
function run(command: string) {
  const { status, stdout, stderr } = spawnSync('sh', ['-c', command], {
    cwd: folder,
    env: environment(),
    encoding: 'utf8',
  });
  return { code: status, output: stdout + stderr };
}

const quoted = (words: readonly string[]) =>
  words.map(word => `'${word.replaceAll("'", "'\\''")}'`).join(' ');

/** A command that goes on until SIGTERM, and then ends with 0. */
async function serves(command: string, what: RegExp, more: Readonly<Record<string, string>> = {}) {
  const child = spawn('sh', ['-c', `exec ${command}`], { cwd: folder, env: environment(more) });
  let printed = '';
  for (const stream of [child.stdout, child.stderr])
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
  const ended = new Promise<number | null>(resolve => child.once('close', resolve));
  return {
    ready: () => until(`${command} prints ${String(what)}`, () => what.test(printed)),
    printed: () => printed,
    async stop() {
      child.kill('SIGTERM');
      return await ended;
    },
  };
}

interface Container {
  readonly command: string[];
  readonly env: { readonly name: string }[];
  readonly readinessProbe?: {
    readonly exec?: { readonly command: string[] };
    readonly httpGet?: { readonly path: string; readonly port: number };
    readonly timeoutSeconds?: number;
  };
}
interface PodSpec {
  readonly restartPolicy?: string;
  readonly terminationGracePeriodSeconds?: number;
  readonly initContainers?: Container[];
  readonly containers: [Container];
}
interface Deployment {
  readonly apiVersion: string;
  readonly kind: string;
  readonly spec: {
    readonly selector: { readonly matchLabels: unknown };
    readonly template: { readonly metadata: { readonly labels: unknown }; readonly spec: PodSpec };
  };
}

const DRAIN_AND_GRACE_S = 30;

describe('docs/deployment.md', () => {
  it('has what tock init writes', () => {
    expect(file('Dockerfile')).toBe(DOCKERFILE('npm ci --omit=dev', 'package-lock.json'));
    expect(file('compose.yaml')).toBe(COMPOSE('jobs/index.js'));
    const unit = { folder: '/srv/app', node: '/usr/bin/node', user: 'app' };
    expect(file('tock.service')).toBe(daemonUnit(unit));
    expect(file('tock-tick.service')).toBe(tickUnit(unit));
    expect(file('tock-tick.timer')).toBe(TICK_TIMER);
  });

  it('has a compose file whose worker waits for the database, and is given time to stop', () => {
    const { services } = parse(file('compose.yaml')) as {
      services: Record<string, Record<string, unknown>>;
    };
    expect(services['tock']).toMatchObject({
      build: '.',
      depends_on: { database: { condition: 'service_healthy' } },
      environment: { DATABASE_URL: 'postgres://tock:tock@database:5432/tock' },
    });
    expect(services['database']).toHaveProperty('healthcheck');
  });

  it.each(['worker.yaml', 'dashboard.yaml'])('%s is a Deployment that selects its own pods', name => {
    const { apiVersion, kind, spec } = parse(file(name)) as Deployment;
    expect([apiVersion, kind]).toEqual(['apps/v1', 'Deployment']);
    expect(spec.selector.matchLabels).toEqual(spec.template.metadata.labels);
    for (const container of [...(spec.template.spec.initContainers ?? []), ...spec.template.spec.containers])
      expect(container.env.map(each => each.name)).toContain('DATABASE_URL');
  });

  it('gives workers and ticks in Kubernetes longer to stop than they take', () => {
    const worker = parse(file('worker.yaml')) as Deployment;
    expect(worker.spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(DRAIN_AND_GRACE_S);
    expect(cronJob().spec.jobTemplate.spec.template.spec).toMatchObject({ restartPolicy: 'Never' });
    expect(cronJob().spec.jobTemplate.spec.template.spec.terminationGracePeriodSeconds).toBeGreaterThan(
      DRAIN_AND_GRACE_S,
    );
  });

  it('migrates, ticks and works by the commands of Kubernetes, and its probe is content', async () => {
    const [tick] = cronJob().spec.jobTemplate.spec.template.spec.containers;
    expect(cronJob()).toMatchObject({ apiVersion: 'batch/v1', kind: 'CronJob' });
    expect(cronJob().spec.schedule).toBe('* * * * *');
    expect(run(quoted(tick.command))).toMatchObject({ code: 0 });

    const { initContainers = [], containers } = (parse(file('worker.yaml')) as Deployment).spec.template.spec;
    expect(run(quoted(initContainers[0]?.command ?? []))).toMatchObject({ code: 0 });
    const worker = await serves(quoted(containers[0].command), /running on/);
    await worker.ready();
    expect(run(quoted(containers[0].readinessProbe?.exec?.command ?? []))).toMatchObject({ code: 0 });
    expect(await worker.stop()).toBe(0);
  });

  it('serves the dashboard to Kubernetes, and answers its probe', async () => {
    const [container] = (parse(file('dashboard.yaml')) as Deployment).spec.template.spec.containers;
    expect(container.env.map(each => each.name)).toContain('TOCK_DASHBOARD_USERS');
    const { path: address, port } = container.readinessProbe?.httpGet ?? { path: '', port: 0 };
    expect(container.command).toContain(String(port));
    // The port of the recipe may be in use here.
    const command = quoted(container.command.map(word => (word === String(port) ? '0' : word)));
    const users = { TOCK_DASHBOARD_USERS: 'ann:operate:correct-horse-battery' };
    const dashboard = await serves(command, /http:\/\/\S+:\d+/, users);
    await dashboard.ready();
    const [, own = ''] = /http:\/\/\S+?:(\d+)/.exec(dashboard.printed()) ?? [];
    expect((await fetch(`http://127.0.0.1:${own}${address}`)).status).toBe(200);
    expect(await dashboard.stop()).toBe(0);
  });

  it('works by the ecosystem of pm2, which waits long enough before it kills', async () => {
    interface App {
      readonly script: string;
      readonly args: string;
      readonly kill_timeout: number;
      readonly treekill: boolean;
    }
    const module = { exports: {} as { readonly apps: readonly [App] } };
    runInNewContext(file('ecosystem.config.cjs'), { module });
    const [app] = module.exports.apps;
    expect(app.kill_timeout).toBeGreaterThan(DRAIN_AND_GRACE_S * 1000);
    expect(app.treekill).toBe(false);
    expect(run(`node ${app.script} migrate`)).toMatchObject({ code: 0 });
    const worker = await serves(`node ${app.script} ${app.args}`, /running on/);
    await worker.ready();
    expect(await worker.stop()).toBe(0);
  });

  it('works by the units of systemd', async () => {
    const command = (name: string) =>
      (/^ExecStart=(.*)$/m.exec(file(name))?.[1] ?? '').replace('/usr/bin/node', 'node');
    expect(run(command('tock-tick.service'))).toMatchObject({ code: 0 });
    const worker = await serves(command('tock.service'), /running on/);
    await worker.ready();
    expect(await worker.stop()).toBe(0);
    const [, seconds = 0] = /^TimeoutStopSec=(\d+)$/m.exec(file('tock.service')) ?? [];
    expect(Number(seconds)).toBeGreaterThan(DRAIN_AND_GRACE_S);
  });

  it.runIf(spawnSync('systemd-analyze', ['--version']).status === 0)(
    'has units that systemd accepts',
    async () => {
      const units = path.join(folder, 'units');
      await mkdir(units);
      const names = ['tock.service', 'tock-tick.service', 'tock-tick.timer'];
      // The user and the program may not be on this machine.
      for (const name of names)
        await writeFile(
          path.join(units, name),
          file(name).replace('User=app', 'User=root').replace('/usr/bin/node', process.execPath),
        );
      const paths = names.map(name => path.join(units, name));
      const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...paths], {
        encoding: 'utf8',
      });
      expect(stderr.split('\n').filter(line => line.includes(units))).toEqual([]);
      expect(status).toBe(0);
    },
  );

  it('works by the Procfile, and by a scheduler that ticks', async () => {
    const processes = Object.fromEntries(
      file('Procfile')
        .trim()
        .split('\n')
        .map(line => line.split(/:\s*(.*)/).slice(0, 2)),
    ) as Record<string, string>;
    expect(Object.keys(processes)).toEqual(['release', 'worker']);
    expect(run(processes['release'] ?? '')).toMatchObject({ code: 0 });
    const worker = await serves(processes['worker'] ?? '', /running on/);
    await worker.ready();
    expect(await worker.stop()).toBe(0);
    const [, tick = ''] = /^```sh command\n(.*)\n```$/m.exec(document) ?? [];
    expect(run(tick)).toMatchObject({ code: 0, output: expect.stringContaining(' tick: ') as string });
  });

  it('has no other file than those that are tried', () => {
    expect([...files.keys()].sort()).toEqual([
      'Dockerfile',
      'Procfile',
      'compose.yaml',
      'dashboard.yaml',
      'ecosystem.config.cjs',
      'tick.yaml',
      'tock-tick.service',
      'tock-tick.timer',
      'tock.service',
      'worker.yaml',
    ]);
  });
});

function cronJob() {
  return parse(file('tick.yaml')) as {
    readonly spec: {
      readonly schedule: string;
      readonly jobTemplate: { readonly spec: { readonly template: { readonly spec: PodSpec } } };
    };
  };
}
