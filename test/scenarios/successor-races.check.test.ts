// Engine: callers of one key on several connections, and workers that execute, fail, give back and lose its runs meanwhile.
// What committed last is executed last; a key has one live run; nothing is left behind.
import pg from 'pg';
import { beforeAll, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import type { Outcome } from '../../src/model/run/decide.js';
import { claimFreeRuns } from '../../src/store/runs/claim/claim.js';
import { finalizeRuns } from '../../src/store/runs/finalize.js';
import { cancelRun } from '../../src/store/runs/operator-moves.js';
import { reapRuns } from '../../src/store/runs/reap/reap.js';
import { openDatabase } from '../support/database.js';
import { openOnce } from '../support/open.js';
import { REAPING } from '../support/runs.js';
import { openTestTock } from '../support/test-tock.js';

const KEYS = 200;
const CALLERS = 4;
const CALLS = 3;
const WORKERS = ['00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002'];
const sync = defineJob({ name: 'sync', retry: { maxAttempts: 1000 }, run: () => null });

const test = openOnce(() => openTestTock([sync]));
const database = openOnce(() => openDatabase({ connectionString: test.url }));
beforeAll(async () => {
  await test.setClock('2026-03-01T12:00:00Z');
  // What the callers have committed, in the order in which they did: they hold what orders them until they commit.
  await test.sql('create table public.said (n bigint generated always as identity, key text, payload text)');
});

/** Repeatable numbers in [0, 1). */
function numbers(seed: number) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const executed: { readonly key: string; readonly payload: unknown }[] = [];

const ended = (transition: Outcome['transition']): Outcome => ({
  transition,
  output: transition === 'succeed' ? 'done' : null,
  error: transition === 'fail' ? ({ name: 'Error', message: 'boom', attempt: 1 } as never) : null,
  delayMs: 0,
  skipReason: null,
});

/** Claims and ends runs in every way, by chance, until `isOver` and nothing is live, or another worker is broken. */
async function work(
  workerId: string,
  random: () => number,
  { isOver, isBroken }: Readonly<Record<'isOver' | 'isBroken', () => boolean>>,
): Promise<void> {
  while (!isBroken()) {
    // Before the claim: what is enqueued after it is not missed.
    const wasOver = isOver();
    const wanted = { limit: 1 + Math.floor(random() * 5), workerId, leaseMs: 60_000, queues: null };
    const { runs } = await claimFreeRuns(database, wanted);
    for (const run of runs) executed.push({ key: run.idempotency_key ?? '', payload: run.payload });
    const kept = runs.filter(run => {
      const chance = random();
      if (chance < 0.1) {
        // The worker is gone: its lease expires.
        void test.sql(
          `update tock.job_runs_live set locked_until = tock.now() - interval '1 second' where id = $1`,
          [run.id],
        );
        return false;
      }
      return true;
    });
    const [asked] = kept;
    if (asked !== undefined && random() < 0.1) await cancelRun(database, asked.id, 'enough');
    const batch = kept.map(run => {
      const chance = wasOver ? 0 : random();
      return {
        id: run.id,
        fence: run.fence,
        outcome: ended(
          chance < 0.5 ? 'succeed' : chance < 0.7 ? 'fail' : chance < 0.85 ? 'release' : 'exhaust',
        ),
      };
    });
    const { failed } = await finalizeRuns(database, batch, workerId);
    if (failed.length > 0) throw failed[0]?.error;
    await database.transaction(session => reapRuns(session, { ...REAPING, backoffMs: 0, maxBackoffMs: 0 }));
    if (wasOver && (await test.sql('select from tock.job_runs_live limit 1')).length === 0) return;
  }
}

/** Calls for each key, each time in a transaction of its own that notes what it said. */
async function call(caller: number, random: () => number): Promise<void> {
  const client = new pg.Client({ connectionString: test.url });
  await client.connect();
  try {
    for (let key = 0; key < KEYS; key++) {
      for (let number = 0; number < CALLS; number++) {
        const payload = `${caller}.${number}`;
        await client.query('begin');
        if (random() < 0.5) {
          await test.tock.enqueue(sync, payload, { key: `k${key}`, unique: 'live', replace: true, client });
        } else {
          const options =
            random() < 0.5 ? `unique_live => true, replace => true` : `debounce => interval '0'`;
          await client.query(`select tock.enqueue('sync', to_jsonb($2::text), $1, ${options})`, [
            `k${key}`,
            payload,
          ]);
        }
        await client.query('insert into public.said (key, payload) values ($1, $2)', [`k${key}`, payload]);
        await client.query(random() < 0.9 ? 'commit' : 'rollback');
      }
    }
  } finally {
    await client.end();
  }
}

describe(`${KEYS} keys, ${CALLERS} callers and ${WORKERS.length} workers at once`, () => {
  it('execute last what was committed last, of each key', async () => {
    const random = numbers(7);
    let isOver = false;
    let isBroken = false;
    const working = WORKERS.map(async workerId => {
      try {
        await work(workerId, random, { isOver: () => isOver, isBroken: () => isBroken });
      } catch (error) {
        isBroken = true;
        throw error;
      }
    });
    const calling = Array.from({ length: CALLERS }, (_, caller) => call(caller, random));
    // All end before the first failure is told: nobody goes on in another test.
    const called = await Promise.allSettled(calling);
    isOver = true;
    for (const each of [...called, ...(await Promise.allSettled(working))]) {
      if (each.status === 'rejected') throw each.reason;
    }

    const said = await test.sql<{ key: string; payload: string }>(
      'select key, payload from public.said order by n',
    );
    const last = (list: readonly { key: string; payload: unknown }[]) =>
      Object.fromEntries(list.map(({ key, payload }) => [key, payload]));
    expect(last(executed)).toEqual(last(said));
    expect(Object.keys(last(said))).toHaveLength(KEYS);
    expect(await test.sql('select from tock.job_successors')).toEqual([]);
    // It has met every state: runs that ended replaced, and such as had to be tried again.
    const [count] = await test.sql<{ replaced: number; late: number }>(
      `select count(*) filter (where skip_reason like 'replaced by run %')::int as replaced, count(*) filter (where attempts > 1)::int as late from tock.job_runs_finished`,
    );
    expect(count?.replaced).toBeGreaterThan(10);
    expect(count?.late).toBeGreaterThan(0);
  });
});

it('forty callers of a key that is running leave one successor, and its worker ends it all the same', async () => {
  const id = await test.tock.enqueue(sync, 'old', { key: 'hot', unique: 'live' });
  const [workerId = ''] = WORKERS;
  await claimFreeRuns(database, { limit: 1, workerId, leaseMs: 60_000, queues: null });
  const hosts = [test.tock, test.another(), test.another(), test.another()];
  const calls = Promise.all(
    Array.from({ length: 40 }, (_, index) =>
      (hosts[index % 4] ?? test.tock).enqueue(sync, index, { key: 'hot', unique: 'live', replace: true }),
    ),
  );
  const finalized = await finalizeRuns(database, [{ id, fence: 1, outcome: ended('succeed') }], workerId);
  expect(finalized.failed).toEqual([]);
  expect(new Set(await calls).size).toBe(1);
  const waiting = await test.sql(`select id from tock.job_runs_live where live_key = 'hot'`);
  expect(waiting).toEqual([{ id: (await calls)[0] }]);
});
