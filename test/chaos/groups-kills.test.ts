// Chaos: the workers of a large group are killed again and again, also amid its join. That is executed once, after its
// last member. TOCK_GROUP_MEMBERS and TOCK_GROUP_KILLS ask for more: 20000 and 200 take some minutes.
//
// Members take their time. A worker that executes hundreds in a second holds hundreds that it has not begun; after its
// death they are due last, so that in the end all are such, and the second death makes each a suspect. Suspects get a
// process each, four at a time, and what is measured is how fast processes start.
import { expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { killAfterEach, openForEach } from '../support/open.js';
import { CLI, type Running, startProcess, writeJobs } from '../support/processes.js';
import { rounds } from '../support/rounds.js';
import { openTestTock, until } from '../support/test-tock.js';

const MEMBERS = Number(process.env['TOCK_GROUP_MEMBERS'] ?? rounds(600, 4000));
const KILLS = Number(process.env['TOCK_GROUP_KILLS'] ?? rounds(5, 40));
const WORKERS = 4;
const JOBS = `
const retry = { maxAttempts: 50, base: '100ms', backoff: 'fixed' };
export const jobs = [
  { kind: 'tock.job', name: 'member', retry,
    run: ctx => new Promise(resolve => setTimeout(resolve, 20 + Number(ctx.runId) % 80, ctx.runId)) },
  { kind: 'tock.job', name: 'join', retry, async run(ctx) {
    return await ctx.transaction(async trx => {
      let count = 0;
      for await (const { status } of ctx.group.results()) if (status === 'succeeded') count++;
      await trx.insertInto('public.joins').values({ run_id: ctx.runId, count }).execute();
      // Until it is killed.
      if (ctx.attempt === 1) await new Promise(() => undefined);
      return count;
    });
  } },
];`;
const HAS_JOINED = `select from public.joins union all select from pg_stat_activity where datname = current_database()
  and state = 'idle in transaction' and query like 'insert into "public"."joins"%'`;

const names = ['member', 'join'].map(name => defineJob({ name, run: () => null }));
const test = openForEach(() => openTestTock(names));
const running = killAfterEach();

it(`joins once: ${MEMBERS} members, ${KILLS} kills`, async () => {
  await test.sql('create table public.joins (run_id bigint, count integer)');
  const env = {
    DATABASE_URL: test.url,
    TOCK_JOBS: await writeJobs(JOBS),
    TOCK_LEASE: '5s',
    TOCK_HEARTBEAT: '1s',
    TOCK_CONCURRENCY: '5',
    TOCK_LOG_LEVEL: 'error',
  };
  const start = () => {
    const started = startProcess(CLI, env, ['start']);
    running.push(started);
    return started;
  };
  const count = async (what: string, where: string) =>
    (await test.sql<{ count: number }>(`select count(*)::integer as count from ${what} where ${where}`))[0]
      ?.count ?? 0;
  const { id } = await test.tock.enqueueGroup(
    Array.from({ length: MEMBERS }, () => ({ job: 'member' })),
    { then: { job: 'join' } },
  );
  const startedAt = performance.now();
  const workers: Running[] = Array.from({ length: WORKERS }, start);
  for (let kill = 1; kill <= KILLS; kill++) {
    const enough = Math.floor((MEMBERS * 0.95 * kill) / KILLS);
    const ended = async () => (await count('tock.job_runs_finished', `job = 'member'`)) >= enough;
    await until(ended, `${enough} ends`, 300_000);
    workers.shift()?.child.kill('SIGKILL');
    workers.push(start());
  }
  await until(async () => (await test.sql(HAS_JOINED)).length > 0, 'the join', 1_200_000);
  for (const worker of workers) worker.child.kill('SIGKILL');
  start();
  await until(async () => (await test.tock.runs.get(id))?.status === 'succeeded', 'its end', 300_000);
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  console.log(
    JSON.stringify({
      members: MEMBERS,
      kills: KILLS + workers.length,
      seconds,
      joins: await count('public.joins', 'true'),
      attemptsLost: await count(
        `tock.job_runs_finished, jsonb_array_elements(errors) as e`,
        `e ->> 'code' = 'TOCK_LEASE_LOST'`,
      ),
      suspects: await count('tock.job_runs_finished', `'isolated' = any(slot_keys)`),
    }),
  );
  expect(await test.sql('select * from public.joins')).toEqual([{ run_id: id, count: MEMBERS }]);
  expect(await test.tock.group(id)).toMatchObject({
    states: { succeeded: MEMBERS, dead: 0 },
    status: 'succeeded',
  });
  const [late] = await test.sql<{ late: number }>(
    `select count(*)::integer as late from tock.job_runs_finished m, tock.job_runs_finished j where j.id = $1 and m.job = 'member' and m.finished_at > j.started_at`,
    [id],
  );
  expect(late).toEqual({ late: 0 });
}, 3_600_000);
