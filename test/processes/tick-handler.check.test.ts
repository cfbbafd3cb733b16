// A tick by HTTP whose process the platform kills at its limit.

import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeEach, expect, it } from 'vitest';
import { tickHandler } from '../../src/http.js';
import { defineJob } from '../../src/index.js';
import { killAfterEach, openForEach } from '../support/open.js';
import { startProcess, writeJobs } from '../support/processes.js';
import { openTestTock, until } from '../support/test-tock.js';

const SECRET = 'correct-horse-battery-staple';
const dist = (name: string) => pathToFileURL(path.join(import.meta.dirname, '../../dist', name)).href;

/** A function of a platform: it makes a tick for one request, whose runs take longer than it lives. */
const INVOCATION = `
import { createTock, defineJob } from ${JSON.stringify(dist('index.js'))};
import { tickHandler } from ${JSON.stringify(dist('http.js'))};
const hold = defineJob({
  name: 'hold',
  async run(ctx) {
    await ctx.db.insertInto('begun').values({ run_id: ctx.runId }).execute();
    await new Promise(() => setInterval(() => undefined, 1000));
  },
});
const tock = createTock({ connectionString: process.env.DATABASE_URL, jobs: [hold], lease: '1s', heartbeat: '250ms' });
const headers = { authorization: 'Bearer ${SECRET}' };
await tickHandler(tock, { secret: '${SECRET}', budget: '5m' })(new Request('https://app.test/tick', { headers }));
`;

const test = openForEach(openTestTock);
const running = killAfterEach();
beforeEach(async () => void (await test.sql('create table public.begun (run_id bigint)')));

it('an invocation that is killed loses nothing: the next ones execute its runs, whose attempt was counted', async () => {
  const hold = defineJob({ name: 'hold', retry: { base: 0 }, run: ctx => ctx.attempt });
  const tock = test.another({ jobs: [hold] });
  const ids = await tock.enqueueMany(Array.from({ length: 5 }, () => ({ job: hold })));
  const invocation = startProcess(await writeJobs(INVOCATION), { DATABASE_URL: test.url });
  running.push(invocation);
  await until(async () => (await test.sql('select from public.begun')).length === 5, 'the handlers to begin');
  invocation.child.kill('SIGKILL');
  await invocation.ended;

  const handler = tickHandler(tock, { secret: SECRET });
  const headers = { authorization: `Bearer ${SECRET}` };
  await until(async () => {
    expect((await handler(new Request('https://app.test/tick', { headers }))).status).toBe(200);
    return (await test.sql('select from tock.job_runs_live')).length === 0;
  }, 'the runs to be executed');
  for (const id of ids)
    expect(await tock.runs.get(id)).toMatchObject({
      status: 'succeeded',
      attempts: 2,
      fence: 2,
      output: 2,
    });
  expect(await test.sql('select run_id from public.begun group by run_id having count(*) > 1')).toEqual([]);
});
