// Alerts of real processes: kill -9 between the flip and its delivery, the heartbeat of an idle tick, and the commands.
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeEach, describe, expect, it } from 'vitest';
import { openReceiver } from '../engine/alerts/receiver.js';
import { openForEach } from '../support/open.js';
import { CLI, startProcess, TICK, writeJobs } from '../support/processes.js';
import { openRecorder } from '../support/recorded-connection.js';
import { openTestTock } from '../support/test-tock.js';

const INDEX = pathToFileURL(path.join(path.dirname(TICK), 'index.js')).href;
const JOBS = `
import { Dead, defineJob } from ${JSON.stringify(INDEX)};
export const jobs = [defineJob({ name: 'mail', run: () => { throw new Dead('no such address'); } })];
export const alerts = { channels: [{ webhook: { env: 'HOOK' }, secret: { env: 'HOOK_SECRET' } }], rules: [{ when: 'dead' }] };
`;

const test = openForEach(openTestTock);
const receiver = openForEach(openReceiver);
let jobs: string;
beforeEach(async () => {
  jobs = await writeJobs(JOBS);
});

const start = (script: string, args: string[] = [], env: Record<string, string> = {}) =>
  startProcess(
    script,
    { DATABASE_URL: test.url, TOCK_JOBS: jobs, HOOK: receiver.url, HOOK_SECRET: 'a secret', ...env },
    args,
  );
const tick = async (env: Record<string, string> = {}) => {
  const ended = await start(TICK, [], env).ended;
  expect(ended.code).toBe(0);
  return ended.stdout;
};

it('kill -9 between the flip and its delivery tells once more at most, with the same id, and flips once', async () => {
  await tick();
  await test.sql(`select tock.enqueue('mail')`);
  // The receiver has it, and its answer never comes: the process dies meanwhile.
  receiver.answer(() => killed.child.kill('SIGKILL'));
  const killed = start(TICK);
  expect((await killed.ended).signal).toBe('SIGKILL');
  expect(await test.sql('select kind from tock.alert_flips')).toEqual([{ kind: 'down' }]);
  expect(await test.sql('select delivered_at from tock.alert_deliveries')).toEqual([{ delivered_at: null }]);
  receiver.answer(response => response.end('ok'));
  await test.sql(
    `update tock.job_runs_live set locked_until = now() - interval '1 s' where status = 'running'`,
  );
  await tick();
  await test.sql(`update tock.job_runs_live set run_at = now() where status = 'failed'`);
  await tick();
  const ids = receiver.posted.map(({ headers }) => headers['webhook-id']);
  expect(ids).toHaveLength(2);
  expect(new Set(ids).size).toBe(1);
  expect(await test.sql('select kind from tock.alert_flips')).toEqual([{ kind: 'down' }]);
  expect(await test.sql('select count(delivered_at)::int as sent from tock.alert_deliveries')).toEqual([
    { sent: 1 },
  ]);
});

describe('an idle tick', () => {
  it('asks one question, with alerts too', async () => {
    await tick();
    const recorder = await openRecorder(test.url);
    try {
      expect(await tick({ DATABASE_URL: recorder.url })).toMatch(/nothing due/);
      expect(recorder.connections()).toBe(1);
      expect(recorder.statements()).toEqual([expect.stringMatching(/"isIdle"/)]);
      expect(recorder.statements()[0]).toContain('alert_events');
    } finally {
      await recorder.close();
    }
  });

  it('asks the heartbeat’s URL of the environment, and a tick that cannot connect the other one', async () => {
    const env = { TOCK_HEARTBEAT_URL: `${receiver.url}/ok`, TOCK_HEARTBEAT_FAIL_URL: `${receiver.url}/fail` };
    await tick(env);
    expect(await tick(env)).toMatch(/nothing due/);
    const failed = await start(TICK, [], { ...env, DATABASE_URL: 'postgres://x@127.0.0.1:1/none' }).ended;
    expect(failed.code).toBe(3);
    expect(receiver.posted.map(each => each.path?.split('/').at(-1))).toEqual(['ok', 'ok', 'fail']);
  });
});

it('tock alerts says what is down and which channels were notified; mutes; tests the channels', async () => {
  expect((await start(CLI, ['alerts']).ended).stdout).toBe('nothing is down, and nothing has been\n');
  await tick();
  await test.sql(`select tock.enqueue('mail')`);
  await tick();
  const listed = await start(CLI, ['alerts']).ended;
  expect(listed.stdout).toMatch(
    /dead +mail +down +(?:now|.* ago) +webhook (?:now|.* ago) +run \d+ ended dead: Dead: no such address/,
  );
  const json = JSON.parse((await start(CLI, ['alerts', '--json']).ended).stdout) as object;
  expect(json).toMatchObject({
    alerts: [
      {
        rule: 'dead',
        subject: 'mail',
        status: 'down',
        lastFlip: {
          kind: 'down',
          deliveries: [{ channel: 'webhook', answer: expect.stringContaining('answered 200') }],
        },
      },
    ],
    mutes: [],
  });
  const muted = await start(CLI, [
    'alerts',
    'mute',
    'mail',
    '--until',
    '2100-01-01T00:00:00Z',
    '--note',
    'why not',
  ]).ended;
  expect(muted).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^mail is muted until .* \(why not\)\n$/),
  });
  expect(
    (await start(CLI, ['alerts', 'mute', 'mial', '--until', '2100-01-01T00:00:00Z']).ended).stderr,
  ).toMatch(/"mial" is neither a rule of alerts nor a definition/);
  expect(await start(CLI, ['alerts', 'mute', 'mail', '--until', '2000-01-01T00:00:00Z']).ended).toMatchObject(
    {
      code: 2,
      stderr: expect.stringContaining('is not in the future'),
    },
  );
  expect((await start(CLI, ['alerts', 'unmute', 'mail']).ended).stdout).toBe('mail is no longer muted\n');
  expect(await start(CLI, ['alerts', 'test']).ended).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/^✓ webhook: 127\.0\.0\.1:\d+ answered 200: ok\n$/),
  });
  receiver.answer(response => response.writeHead(403).end('who are you?'));
  expect(await start(CLI, ['alerts', 'test']).ended).toMatchObject({
    code: 1,
    stdout: expect.stringMatching(/^✗ webhook: .* answered 403: who are you\?\n$/),
  });
  expect(await start(CLI, ['alerts', 'tset']).ended).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('did you mean test?'),
  });
});
