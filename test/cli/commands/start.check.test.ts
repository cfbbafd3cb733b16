// `tock start`: what it shows, what it executes, how it stops.
import { rm, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { removeEmbeddedServer, startEmbeddedServer } from '../../../src/embedded/embedded-server.js';
import { openOnce } from '../../support/open.js';
import { type InTerminal, openCliHarness, until, untilFile, words } from '../cli-harness.js';

const harness = openOnce(() => openCliHarness({ migrated: false }));

/** Enqueues a run that goes on until `go` is written; `started` appears when it begins. */
async function patientRun(name: string): Promise<{ id: string; started: string; go: string }> {
  const started = path.join(harness.folder, `${name}-started`);
  const go = path.join(harness.folder, `${name}-go`);
  const { id } = await harness.json<{ id: string }>([
    'run',
    'patient',
    '--payload',
    JSON.stringify({ started, until: go }),
  ]);
  return { id, started, go };
}

describe('tock start', () => {
  it('migrates, shows what comes next, says how to stop, and stops on SIGTERM with exit code 0', async () => {
    const { child, printed, ended } = harness.begin(['start']);
    await until('it says that it is running', () =>
      printed.stdout.includes('Ctrl-C lets running jobs finish'),
    );
    child.kill('SIGTERM');
    const { code, stdout, stderr } = await ended;
    expect(stdout).toMatch(/^definition +schedule +next +last run\n/);
    expect(stdout).toMatch(
      /\nnightly +30 2 \* \* \* America\/New_York +\w{3} \d{4}-\d\d-\d\d \d\d:\d\d UTC +in .* +none yet\n/,
    );
    expect(stdout).toMatch(/\nsteady +every 6h, 1h past +/);
    expect(stdout).toMatch(
      /\nrunning on \S+, up to 10 runs at once. Ctrl-C lets running jobs finish, then stops.\n/,
    );
    expect(stdout).toMatch(
      /\nin another terminal: tock status, tock runs, tock run (?:nightly|steady) --wait, tock dashboard\n/,
    );
    expect(stdout).toMatch(/\nstopping: nothing is running\nstopped: 0 succeeded, 0 failed, 0 dead\n$/);
    // On a busy machine a step that takes long is named as well.
    const lines = stderr.split('\n').filter(line => line !== '' && !line.endsWith(' …'));
    for (const line of lines) expect(JSON.parse(line)).toHaveProperty('event');
    expect(code).toBe(0);
  });

  it('logs which module it has loaded, and warns where the source beside it is newer', async () => {
    const module = path.join(harness.folder, 'jobs.mjs');
    const source = path.join(harness.folder, 'greet.ts');
    await writeFile(source, '');
    await utimes(source, new Date(), new Date(Date.now() + 60_000));
    const { child, printed, ended } = harness.begin(['start']);
    await until('it says that it is running', () => printed.stdout.includes('Ctrl-C'));
    child.kill('SIGTERM');
    const lines = (await ended).stderr.split('\n').filter(line => line.startsWith('{'));
    await rm(source);
    expect(lines.map(line => JSON.parse(line) as unknown)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ event: 'jobs.loaded', module }),
        expect.objectContaining({ event: 'jobs.stale', module, source }),
      ]),
    );
  });

  it('drains on SIGINT: says what it waits for, lets it end, exits 0', async () => {
    const { id, started, go } = await patientRun('drain');
    const { child, printed, ended } = harness.begin(['start', '--pretty', '--concurrency', '2']);
    await untilFile(started);
    child.kill('SIGINT');
    await until('it says what it waits for', () => printed.stdout.includes('stopping: waiting'));
    await writeFile(go, '');
    const { code, stdout, stderr } = await ended;
    expect(stdout).toContain(
      `stopping: waiting up to 20s for 1 run to end (patient ${id}). Ctrl-C again ends them at once.\n`,
    );
    expect(stdout).toMatch(/\nstopped: 1 succeeded, 0 failed, 0 dead\n$/);
    expect(stderr).toMatch(new RegExp(`^\\d\\d:\\d\\d:\\d\\d INFO .*run ${id} of patient succeeded`, 'm'));
    expect(code).toBe(0);
    expect(await harness.json(['show', id])).toMatchObject({ run: { status: 'succeeded', output: 'seen' } });
  });

  it('ends at once on a second SIGINT', async () => {
    const { id, started } = await patientRun('impatient');
    const { child, printed, ended } = harness.begin(['start']);
    await untilFile(started);
    child.kill('SIGINT');
    await until('it says what it waits for', () => printed.stdout.includes('stopping: waiting'));
    child.kill('SIGINT');
    const { code, stdout } = await ended;
    expect(code).toBe(1);
    expect(stdout).not.toContain('stopped:');
    expect(await harness.json(['show', id])).toMatchObject({ run: { status: 'running' } });
  });

  it('stops the embedded server on a second signal too', async () => {
    const folder = path.join(harness.folder, 'embedded');
    const env = { DATABASE_URL: '', TOCK_DATABASE: 'embedded', TOCK_DATA: folder };
    const { child, printed, ended } = harness.begin(['start'], { env });
    await until('it says that it is running', () => printed.stdout.includes('Ctrl-C'));
    const started = path.join(harness.folder, 'embedded-started');
    const payload = JSON.stringify({ started, until: 'never' });
    await harness.tock(['run', 'patient', '--payload', payload], { env });
    await untilFile(started);
    child.kill('SIGINT');
    await until('it says what it waits for', () => printed.stdout.includes('stopping: waiting'));
    child.kill('SIGINT');
    expect((await ended).code).toBe(1);
    const server = await startEmbeddedServer({ folder });
    await server.stop();
    await removeEmbeddedServer(folder);
    expect(server.startedHere).toBe(true);
  });

  it('takes the two signals that npm makes of one Ctrl-C for one', async () => {
    const { id, started, go } = await patientRun('by-npm');
    const { child, printed, ended } = harness.begin(['start'], { env: { npm_command: 'exec' } });
    await untilFile(started);
    child.kill('SIGINT');
    child.kill('SIGTERM');
    await until('it says what it waits for', () => printed.stdout.includes('stopping: waiting'));
    await writeFile(go, '');
    expect((await ended).code).toBe(0);
    expect(await harness.json(['show', id])).toMatchObject({ run: { status: 'succeeded' } });
  });

  it('prints one document under --json', async () => {
    const { child, printed, ended } = harness.begin(
      words('start --json --queues reports,mail --concurrency 3'),
    );
    await until('the document is there', () => printed.stdout.endsWith('\n'));
    child.kill('SIGINT');
    const { code, stdout } = await ended;
    expect(JSON.parse(stdout)).toMatchObject({
      concurrency: 3,
      queues: ['reports', 'mail'],
      worker: expect.any(String) as string,
    });
    expect(code).toBe(0);
  });

  it('says how to add a job to an empty jobs array, and goes on', async () => {
    const jobs = path.join(harness.folder, 'empty.mjs');
    await writeFile(jobs, 'export const jobs = [];');
    const env = { TOCK_JOBS: jobs, TOCK_SCHEMA: 'without_jobs' };
    const { child, printed, ended } = harness.begin(['start'], { env });
    await until('it says that it is running', () =>
      printed.stdout.includes('Ctrl-C lets running jobs finish'),
    );
    child.kill('SIGINT');
    const { code, stdout } = await ended;
    expect(stdout).not.toContain('in another terminal');
    expect(stdout).toMatch(/^no jobs are defined in .*empty\.mjs\. Add one: .*defineJob.*jobs\/index\.ts/);
    expect(code).toBe(0);
  });

  it('goes on when its reader has gone, and still drains', async () => {
    const { id, started, go } = await patientRun('unread');
    const { child, ended } = harness.begin(['start'], { env: { TOCK_LOG_LEVEL: 'silent' } });
    child.stdout.once('data', () => child.stdout.destroy());
    await untilFile(started);
    child.kill('SIGINT');
    await writeFile(go, '');
    expect((await ended).code).toBe(0);
    expect(await harness.json(['show', id])).toMatchObject({ run: { status: 'succeeded' } });
  });

  describe('in a terminal', () => {
    const LINK =
      /dashboard: (http:\/\/127\.0\.0\.1:\d+\/sign-in\?token=[\w-]+) \(signs one browser in, once\)/;
    const CTRL_C = '\u0003';
    const begin = (args: readonly string[] = [], env: Record<string, string> = {}) =>
      harness.beginInTerminal(['start', ...args], { env: { NO_COLOR: '1', ...env } });
    const shows = async ({ printed }: InTerminal, text: RegExp) =>
      await until(`${text.source} is shown`, () => text.test(printed.stdout));

    it('serves the dashboard, and shows the link that signs one browser in', async () => {
      const going = begin(['--port', '0']);
      await shows(going, LINK);
      const [, link = ''] = LINK.exec(going.printed.stdout) ?? [];
      expect((await fetch(link, { redirect: 'manual' })).status).toBe(303);
      await shows(going, /dashboard: signed in; for another browser, once: http/);
      going.type(CTRL_C);
      const { code, stdout } = await going.ended;
      expect(code).toBe(0);
      expect(stdout).toContain('stopped: 0 succeeded');
      expect(stdout).not.toContain('dashboard\n');
    });

    it.each([
      ['with --no-dashboard', ['--no-dashboard'], {}],
      ['in production', [], { NODE_ENV: 'production' }],
    ])('serves none %s, and says by which command', async (_when, args, env) => {
      const going = begin(args, env);
      await shows(going, /in another terminal: .* dashboard\n/);
      going.type(CTRL_C);
      const { code, stdout } = await going.ended;
      expect(code).toBe(0);
      expect(stdout).not.toContain('dashboard: ');
    });
  });

  it('bounds the memory of its process, unless Node has a limit already', async () => {
    const young = async (env: Record<string, string>) => {
      const { id } = await harness.json<{ id: string }>(['run', 'churning']);
      const { child, ended } = harness.begin(['start'], { env });
      let output: { young: number } | null = null;
      await until('it has succeeded', async () => {
        ({ output } = (await harness.json<{ run: { output: typeof output } }>(['show', id])).run);
        return output !== null;
      });
      child.kill('SIGINT');
      expect((await ended).code).toBe(0);
      return (output as { young: number } | null)?.young;
    };
    expect(await young({})).toBe(16 * 2 ** 20);
    expect(await young({ NODE_OPTIONS: '--max-semi-space-size=32' })).toBeGreaterThan(16 * 2 ** 20);
  });
});
