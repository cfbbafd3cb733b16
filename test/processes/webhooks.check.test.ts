// Changes to a webhook by real processes: kill -9 between the request and its note, and what an idle tick asks.
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeEach, expect, it } from 'vitest';
import { openReceiver } from '../engine/alerts/receiver.js';
import { openForEach } from '../support/open.js';
import { startProcess, TICK, writeJobs } from '../support/processes.js';
import { openRecorder } from '../support/recorded-connection.js';
import { openTestTock } from '../support/test-tock.js';

const INDEX = pathToFileURL(path.join(path.dirname(TICK), 'index.js')).href;
const JOBS = `
import { defineJob } from ${JSON.stringify(INDEX)};
const webhook = { url: { env: 'HOOK' }, secret: { env: 'HOOK_SECRET' }, allow: ['127.0.0.1'] };
export const jobs = [defineJob({ name: 'charge', changes: { webhook }, run: () => null })];
`;

const test = openForEach(openTestTock);
const receiver = openForEach(openReceiver);
let jobs: string;
beforeEach(async () => {
  jobs = await writeJobs(JOBS);
});

const start = (env: Record<string, string> = {}) =>
  startProcess(TICK, {
    DATABASE_URL: test.url,
    TOCK_JOBS: jobs,
    HOOK: receiver.url,
    HOOK_SECRET: 'a secret',
    ...env,
  });
const tick = async (env: Record<string, string> = {}) => {
  const ended = await start(env).ended;
  expect(ended.code).toBe(0);
  return ended.stdout;
};

it('kill -9 between a request and its note posts that change again, with the same id, and misses none', async () => {
  await tick();
  for (let run = 0; run < 3; run++) await test.sql(`select tock.enqueue('charge')`);
  // The receiver has taken the second, and the process dies before it has read the answer.
  receiver.answer(response => {
    if (receiver.posted.length === 2) killed.child.kill('SIGKILL');
    else response.end('ok');
  });
  const killed = start();
  expect((await killed.ended).signal).toBe('SIGKILL');
  receiver.answer(response => response.end('ok'));
  await test.sql(
    `update tock.job_runs_live set locked_until = now() - interval '1 s' where status = 'running'`,
  );
  await tick();
  await test.sql(`update tock.job_runs_live set run_at = now() where status = 'failed'`);
  await tick();
  const ids = receiver.posted.map(({ headers }) => headers['webhook-id']);
  expect([ids.length, new Set(ids).size]).toEqual([4, 3]);
  expect(ids[1]).toBe(ids[2]);
  expect(await test.sql('select position::integer from tock.change_webhooks')).toEqual([{ position: 3 }]);
});

it('an idle tick asks for webhooks too, and wakes for what is to be delivered', async () => {
  await tick();
  const recorder = await openRecorder(test.url);
  try {
    expect(await tick({ DATABASE_URL: recorder.url })).toMatch(/nothing due/);
    expect(recorder.statements()).toEqual([
      expect.stringMatching(/"areDue"/),
      expect.stringMatching(/"isIdle"/),
    ]);
  } finally {
    await recorder.close();
  }
  // What an operator does is told of by no worker.
  await test.sql(`select tock.enqueue('charge', run_at => now() + interval '1 h')`);
  const [run] = await test.tock.runs.list({ job: 'charge' });
  await test.tock.runs.cancel(run?.id ?? '');
  await tick();
  expect(receiver.posted).toHaveLength(1);
  expect(await tick()).toMatch(/nothing due/);
});
