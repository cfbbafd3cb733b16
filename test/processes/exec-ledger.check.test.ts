// The runs of `tock exec` in the ledger: two hosts, overlaps, retries, a killed process, a database that is away.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openProxy } from '../chaos/tcp-proxy.js';
import { createTestDatabase } from '../support/embedded-database.js';
import { openOnce } from '../support/open.js';
import { CLI, installPackage, startProcess, TICK, writeJobs } from '../support/processes.js';
import { expireLeases } from '../support/runs.js';
import { openTestTock, until } from '../support/test-tock.js';
import { exec, killLeft, longSleep, noneWith } from './exec-kit.js';

const test = openOnce(openTestTock);
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tock-exec-'));
});
afterEach(async () => {
  killLeft();
  await rm(folder, { recursive: true });
  await test.setClock(null);
});

const sh = (text: string) => ['--', 'sh', '-c', text];
const runs = async (job: string) =>
  (await test.tock.runs.list({ job })).toSorted((a, b) => Number(a.id) - Number(b.id));
const begun = (job: string) =>
  until(async () => (await runs(job)).find(run => run.status === 'running'), `a run of ${job} to begin`);
/** Notes each execution; waits for a file if there is one to wait for. */
const note = (waitsFor = '') =>
  `echo done >> ${folder}/notes${waitsFor === '' ? '' : `; until [ -e ${folder}/${waitsFor} ]; do sleep 0.05; done`}`;
const noted = async () =>
  (await readFile(path.join(folder, 'notes'), 'utf8').catch(() => '')).split('\n').length - 1;
const letGo = async (name: string) => await writeFile(path.join(folder, name), '');
const tock = async (...args: readonly string[]) =>
  await startProcess(CLI, { DATABASE_URL: test.url, TOCK_JOBS: '/nowhere.js' }, args).ended;

describe('two hosts', () => {
  it('execute a minute once, also if their calls lie on both sides of the full minute', async () => {
    await test.setClock('2026-03-08T07:29:59.5Z');
    const first = exec(test.url, ['twice', ...sh(note('go'))]);
    await begun('twice');
    await test.setClock('2026-03-08T07:30:01Z');
    const second = await exec(test.url, ['twice', '--skip-code', '75', ...sh(note())]).ended;
    expect(second.code).toBe(75);
    expect(second.stderr).toMatch(
      /^tock exec: skipped, because exec:twice\/2026-03-08T07:30Z belongs to run \d+, which is running; another --key makes another run\n$/,
    );
    await letGo('go');
    expect((await first.ended).code).toBe(0);
    expect(await noted()).toBe(1);
    expect(await runs('twice')).toMatchObject([
      {
        status: 'succeeded',
        idempotencyKey: 'exec:twice/2026-03-08T07:30Z',
        payload: { command: ['sh', '-c', note('go')] },
      },
    ]);
  });

  it('that begin at once leave it to one of them, and the other says nothing', async () => {
    const both = [1, 2].map(() => exec(test.url, ['race', '--key', 'k', ...sh(note())]).ended);
    const ended = await Promise.all(both);
    expect(ended.map(({ code, stderr }) => [code, stderr])).toEqual([
      [0, ''],
      [0, ''],
    ]);
    expect(await noted()).toBe(1);
    expect(await runs('race')).toHaveLength(1);
  });

  it('may use the same key under another name', async () => {
    for (const name of ['key-a', 'key-b'])
      expect((await exec(test.url, [name, '--key', 'k', ...sh(note())]).ended).code).toBe(0);
    expect(await noted()).toBe(2);
  });
});

describe('while an earlier run is live', () => {
  it('a call is skipped, with a row that says so', async () => {
    const first = exec(test.url, ['slow', '--key', '1', ...sh(note('go'))]);
    const { id } = await begun('slow');
    const second = await exec(test.url, ['slow', '--key', '2', ...sh(note())]).ended;
    expect([second.code, second.stderr]).toEqual([0, '']);
    const third = await exec(test.url, ['slow', '--key', '3', '--skip-code', '75', ...sh(note())]).ended;
    expect(third.code).toBe(75);
    expect(third.stderr).toMatch(
      new RegExp(
        `^tock exec: skipped, because run ${id} is still live \\(see --overlap\\); this is run \\d+\\n$`,
      ),
    );
    await letGo('go');
    expect((await first.ended).code).toBe(0);
    expect(
      (await runs('slow')).map(({ status, skipReason, attempts }) => [status, skipReason, attempts]),
    ).toEqual([
      ['succeeded', null, 1],
      ['skipped', 'overlap', 0],
      ['skipped', 'overlap', 0],
    ]);
    expect(await noted()).toBe(1);
  });

  it('allow_all executes both', async () => {
    const both = ['1', '2'].map(key =>
      exec(test.url, ['side', '--key', key, '--overlap', 'allow_all', ...sh(note('go'))]),
    );
    await until(async () => (await noted()) === 2, 'both to begin');
    await letGo('go');
    for (const { ended } of both) expect((await ended).code).toBe(0);
  });

  it('cancel_other stops it first', async () => {
    const first = exec(test.url, ['other', '--key', '1', ...sh(`${note()}; exec sleep ${longSleep()}`)]);
    await begun('other');
    const second = exec(test.url, ['other', '--key', '2', '--overlap', 'cancel_other', ...sh(note())]);
    const [one, two] = [await first.ended, await second.ended];
    expect([one.code, two.code]).toEqual([143, 0]);
    expect(one.stderr).toBe('tock exec: an operator has cancelled the run\n');
    expect((await runs('other')).map(({ status, skipReason }) => [status, skipReason])).toEqual([
      ['cancelled', 'tock exec other was called again, with --overlap cancel_other'],
      ['succeeded', null],
    ]);
  });
});

describe('retries', () => {
  it('are made by the same process, and each attempt is on record', async () => {
    const args = [
      'third',
      '--retries',
      '5',
      '--backoff',
      '10ms',
      ...sh('echo try $TOCK_ATTEMPT; [ $TOCK_ATTEMPT = 3 ]'),
    ];
    const { code, stdout, stderr } = await exec(test.url, args).ended;
    expect([code, stdout.toString()]).toEqual([0, 'try 1\ntry 2\ntry 3\n']);
    expect(stderr).toMatch(
      /^tock exec: attempt 1 failed; attempt 2 of 6 follows in \d+ms\ntock exec: attempt 2 failed;/,
    );
    const [run] = await runs('third');
    expect(run).toMatchObject({ status: 'succeeded', attempts: 3, maxAttempts: 6, output: { exitCode: 0 } });
    expect(run?.errors.map(({ attempt, code: of }) => [attempt, of])).toEqual([
      [1, 'TOCK_COMMAND_FAILED'],
      [2, 'TOCK_COMMAND_FAILED'],
    ]);
    const logs = await test.tock.runs.log(run?.id ?? '');
    expect(logs.map(({ attempt, lines }) => [attempt, lines.map(({ text }) => text)])).toEqual([
      [1, ['try 1']],
      [2, ['try 2']],
      [3, ['try 3']],
    ]);
  });

  it('are used up, or none of a code that is not to be retried', async () => {
    const flags = ['--backoff', '10ms', '--retry-codes', '5'];
    expect((await exec(test.url, ['used', '--retries', '2', ...flags, ...sh('exit 5')]).ended).code).toBe(5);
    expect((await exec(test.url, ['final', '--retries', '2', ...flags, ...sh('exit 6')]).ended).code).toBe(6);
    expect(await runs('used')).toMatchObject([{ status: 'dead', attempts: 3, errors: [{}, {}, {}] }]);
    expect(await runs('final')).toMatchObject([{ status: 'dead', attempts: 1, errors: [{}] }]);
  });
});

describe('other processes', () => {
  it('neither claim nor repeat such a run, nor does a registration touch it', async () => {
    const jobs = await writeJobs(
      `import { defineJob } from '${path.join(import.meta.dirname, '..', '..', 'dist', 'index.js')}';
      export const jobs = [defineJob({ name: 'another', schedule: { cron: '0 0 1 1 *' }, run: () => null })];`,
    );
    const waiting = exec(test.url, ['mine', '--retries', '1', '--backoff', '1h', ...sh('exit 4')]);
    await until(async () => (await runs('mine'))[0]?.errors.length === 1, 'a failure');
    const tick = await startProcess(TICK, { DATABASE_URL: test.url, TOCK_JOBS: jobs }).ended;
    expect([tick.code, tick.stderr]).toEqual([0, '']);
    expect(await runs('mine')).toMatchObject([
      {
        status: 'running',
        attempts: 1,
        progress: { stage: expect.stringMatching(/^attempt 1 failed; attempt 2 of 2 follows in/) },
      },
    ]);
    waiting.child.kill('SIGTERM');
    await waiting.ended;
    const [run] = await runs('mine');
    const id = run?.id ?? '';
    expect(run).toMatchObject({ status: 'dead', attempts: 1 });
    const retried = await tock('retry', id);
    expect([retried.code, retried.stderr]).toEqual([
      1,
      `tock retry: run ${id} was executed by tock exec, and no worker can repeat it: call tock exec again, with another --key\n`,
    ]);
    expect(await test.tock.runs.retryMany({ job: 'mine' })).toMatchObject({
      matched: 1,
      done: {},
      failedCount: 1,
      failed: [{ id, code: 'TOCK_BAD_STATE' }],
    });
    const shown = await tock('show', id);
    expect(shown.stdout).toMatch(/executed by tock exec, whose next call is a new run/);
    const why = await tock('why', 'mine', '2026-03-08');
    expect(why.stderr).toMatch(/"mine" is executed by tock exec, .*: tock runs --job mine lists its runs\n$/);
  });

  it('stop it by tock cancel', async () => {
    const { ended } = exec(test.url, ['stopped', '--retries', '3', ...sh(`exec sleep ${longSleep()}`)]);
    const { id } = await begun('stopped');
    expect((await tock('cancel', id)).code).toBe(0);
    expect((await ended).code).toBe(143);
    expect(await runs('stopped')).toMatchObject([{ status: 'cancelled', attempts: 1 }]);
  });

  it('take it back when its process was killed: dead, whatever attempts are left', async () => {
    const mark = longSleep();
    const { child, ended } = exec(test.url, [
      'killed',
      '--key',
      '1',
      '--retries',
      '5',
      ...sh(`exec sleep ${mark}`),
    ]);
    const { id } = await begun('killed');
    child.kill('SIGKILL');
    await ended;
    await noneWith(mark);
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'running' });
    await expireLeases(test);
    // Where no tick runs, the next call does it.
    expect((await exec(test.url, ['killed', '--key', '2', ...sh('exit 0')]).ended).code).toBe(0);
    expect(await runs('killed')).toMatchObject([
      {
        status: 'dead',
        attempts: 1,
        errors: [{ code: 'TOCK_LEASE_LOST', message: expect.stringContaining('stopped renewing') }],
      },
      { status: 'succeeded' },
    ]);
  });
});

describe('a database that is away', () => {
  const nowhere = 'postgres://user:geheim@127.0.0.1:1/nowhere';

  it('at the start: the command is executed without history, and standard error says so', async () => {
    const { code, stdout, stderr } = await exec(nowhere, ['away', ...sh('echo here; exit 5')]).ended;
    expect([code, stdout.toString()]).toEqual([5, 'here\n']);
    expect(stderr).toMatch(
      /^tock exec: cannot reach the database: .*; the command is executed without a run in the history\n$/,
    );
    expect(stderr).not.toContain('geheim');
  });

  it('at the start, with --if-unreachable skip: it is not, with exit code 3', async () => {
    const { code, stderr } = await exec(nowhere, ['away', '--if-unreachable', 'skip', ...sh(note())]).ended;
    expect([code, stderr.trim().split('\n').length]).toEqual([3, 1]);
    expect(await noted()).toBe(0);
  });

  /** In a clone, the database that `npm start` has made there would be the one that is meant. */
  const unnamed = async (args: readonly string[]) => {
    const cli = path.join(await installPackage(folder), 'dist', 'cli.js');
    return await exec('', ['unnamed', ...args], { cli }).ended;
  };

  it('and not even named: a usage error, and the command is not executed', async () => {
    const { code, stdout, stderr } = await unnamed(sh(note()));
    expect([code, stdout.toString()]).toEqual([2, '']);
    expect(stderr).toMatch(/^tock exec: no database is named: set DATABASE_URL .*: --if-unreachable run\n$/);
    expect(await noted()).toBe(0);
  });

  it('and not even named, with --if-unreachable run: as if it were away', async () => {
    const args = ['--if-unreachable', 'run', ...sh('echo here; exit 5')];
    const { code, stdout, stderr } = await unnamed(args);
    expect([code, stdout.toString()]).toEqual([5, 'here\n']);
    expect(stderr).toMatch(
      /^tock exec: no database is named: set DATABASE_URL .*; the command is executed without a run in the history\n$/,
    );
  });

  it('and not even named, with --if-unreachable skip: exit code 3', async () => {
    const { code, stderr } = await unnamed(['--if-unreachable', 'skip', ...sh(note())]);
    expect(code).toBe(3);
    expect(stderr).toMatch(
      /^tock exec: no database is named: set DATABASE_URL .*; the command is not executed\n$/,
    );
    expect(await noted()).toBe(0);
  });

  it('while it runs: the outcome is written when the server is back', async () => {
    const proxy = await openProxy(test.url);
    const { ended } = exec(proxy.url, ['lost', ...sh(note('go'))], { env: { TOCK_LEASE: '30s' } });
    await begun('lost');
    proxy.leadTo(nowhere);
    await letGo('go');
    await until(async () => (await noted()) === 1, 'the command to go on');
    proxy.leadTo(test.url);
    expect((await ended).code).toBe(0);
    expect(await runs('lost')).toMatchObject([{ status: 'succeeded' }]);
    await proxy.close();
  });

  it('for longer: the exit code is passed on, and standard error says that it is not recorded', async () => {
    const proxy = await openProxy(test.url);
    const { ended } = exec(proxy.url, ['gone', ...sh(`${note('go')}; exit 6`)], {
      env: { TOCK_LEASE: '1s', TOCK_HEARTBEAT: '200ms', TOCK_LOG_LEVEL: 'silent' },
    });
    const { id } = await begun('gone');
    proxy.leadTo(nowhere);
    await letGo('go');
    const { code, stderr } = await ended;
    expect(code).toBe(6);
    expect(stderr).toMatch(
      new RegExp(
        `^tock exec: the exit code 6 of run ${id} is not recorded, and the run will be taken for dead: `,
      ),
    );
    await proxy.close();
  });

  it('without the schema: the command is not executed, and the remedy is named', async () => {
    const empty = await createTestDatabase('nothing');
    const { code, stderr } = await exec(empty.url, ['early', ...sh(note())]).ended;
    expect(code).toBe(1);
    expect(stderr).toMatch(/^tock exec: .*run: tock migrate\n$/);
    expect(await noted()).toBe(0);
    await empty.drop();
  });
});
