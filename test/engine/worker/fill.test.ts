// Engine: how a worker's claims follow one another, and what they bring.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/engine/engine.js';
import { openWorker } from '../../../src/engine/worker/worker.js';
import type { Worker } from '../../../src/engine/worker/worker-interface.js';
import { defineJob } from '../../../src/index.js';
import type { Database } from '../../../src/store/connection/database.js';
import { openDatabase } from '../../support/database.js';
import { engineOver } from '../../support/engine.js';
import { gate } from '../../support/gate.js';
import { openForEach } from '../../support/open.js';
import { addRuns, type RunRow } from '../../support/runs.js';
import { reuseTestTock, until } from '../../support/test-tock.js';

const test = openForEach(reuseTestTock);
let engine: Engine;
let worker: Worker;
/** The claims that were sent: `everywhere`, or `in lanes`. */
let sent: string[];
/** Called before a statement is sent, and in place of its answer unless that is undefined. */
let before: (text: string) => unknown;
/** Called when it was answered, before that is known. */
let after: (text: string) => unknown;
/** Ids of the runs that were started, and what ends their handlers. */
let started: string[];
let ends: Map<string, () => void>;
const job = defineJob({
  name: 'holds',
  run: ({ runId }) =>
    new Promise<void>(resolve => {
      started.push(runId);
      ends.set(runId, resolve);
    }),
});
beforeEach(() => {
  [sent, started, ends, before, after] = [[], [], new Map(), () => undefined, () => undefined];
  const database = openDatabase({ connectionString: test.url });
  const run: Database['run'] = async (text, ...rest) => {
    if (text.includes('before_queue')) sent.push('everywhere');
    else if (text.includes('carrier')) sent.push('in lanes');
    const answer = (await before(text)) ?? (await database.run<never>(text, ...rest));
    await after(text);
    return answer as never[];
  };
  engine = engineOver({ ...database, run }, [job]);
});
afterEach(async () => {
  before = () => undefined;
  const stopped = worker.stop();
  for (const end of ends.values()) end();
  await stopped;
  await engine.database.close();
});

const open = (concurrency: number, kind: 'daemon' | 'library' | 'manual' = 'daemon') => {
  worker = openWorker(engine, { kind, concurrency });
};
const add = (count: number, row: RunRow = {}) =>
  addRuns(test, ...Array.from({ length: count }, () => ({ job: 'holds', ...row })));
const have = (what: () => boolean, text: string) => until(() => Promise.resolve(what()), text);
const isClaim = (text: string) => text.includes('before_queue') || text.includes('carrier');
/** Has the server carry the next claim out, and holds its answer back until this is called. */
const holdNextClaim = () => {
  let isHeld = true;
  const { opened, open: goOn } = gate();
  after = async text => {
    if (!isClaim(text) || !isHeld) return;
    isHeld = false;
    await opened;
  };
  return goOn;
};

describe('a worker', () => {
  it('claims no more than it has room for, and more when a run has ended', async () => {
    await add(4);
    open(3);
    expect(await worker.claim()).toBe(3);
    expect([started, worker.claimable, worker.hasMore, sent.length]).toEqual([['1', '2', '3'], 0, true, 1]);
    expect(await worker.claim()).toBe(0);
    expect(sent).toHaveLength(1);
    ends.get('2')?.();
    await have(() => started.length === 4, 'the last one to start');
  });

  it('claims when it has room again what it was told of when it had none', async () => {
    await add(1);
    open(1);
    await worker.claim();
    await add(1, { queue: 'other' });
    expect(await worker.claim({ queue: 'other', priority: 0 })).toBe(0);
    ends.get('1')?.();
    await have(() => started.length === 2, 'the other one to start');
  });

  it('claims one at a time: a call meanwhile gets the same answer, and its lane is claimed from after it', async () => {
    await add(1);
    open(5);
    const goOn = holdNextClaim();
    const first = worker.claim({ queue: 'default', priority: 0 });
    await have(() => sent.length === 1, 'the claim to be sent');
    await add(1, { queue: 'other' });
    expect(worker.isClaiming).toBe(true);
    expect(worker.claim({ queue: 'other', priority: 0 })).toBe(first);
    goOn();
    expect(await first).toBe(2);
    expect([started, worker.isClaiming]).toEqual([['1', '2'], false]);
  });

  it('claims again after runs that got no slot, but not forever', async () => {
    // No claim by itself: one that was under way would be the answer.
    engine = { ...engine, clock: { ...engine.clock, setTimeout: () => ({ unref: () => undefined }) } };
    await add(1, { slot_keys: ['job:x'], slot_limits: [1] });
    open(5);
    await worker.claim();
    expect(started).toEqual(['1']);
    // This one is never blocked: what would do so is answered as if it had not found it.
    await add(1, { slot_keys: ['job:x'], slot_limits: [1] });
    sent = [];
    before = text => (isClaim(text) || text.includes('as "isDue"') ? undefined : []);
    await worker.claim();
    expect(sent).toHaveLength(20);
    expect(worker.hasMore).toBe(false);
  });

  it('fails where the database does, and claims again when it is asked to', async () => {
    await add(1);
    open(1);
    await test.sql('alter table tock.job_queues rename to elsewhere');
    try {
      await expect(worker.claim()).rejects.toMatchObject({ code: '42P01' });
      expect([worker.isClaiming, worker.hasMore]).toEqual([false, false]);
    } finally {
      await test.sql('alter table tock.elsewhere rename to job_queues');
    }
    expect(await worker.claim()).toBe(1);
  });

  // Regression: a worker that stopped at once closed the pool, and the runs waited until their leases expired.
  it('that stops while a claim is under way waits for the answer, and gives back what that brings', async () => {
    await add(2);
    open(2);
    const goOn = holdNextClaim();
    const claiming = worker.claim();
    const claimed = `select from tock.job_runs_live where status = 'running'`;
    await until(async () => (await test.sql(claimed)).length === 2, 'the server to have claimed');
    let hasStopped = false;
    const stopped = worker.stop().then(() => (hasStopped = true));
    // It knows of no run. A round trip later it would have stopped, if it asked for nothing else.
    expect(await test.sql(claimed)).toHaveLength(2);
    expect(hasStopped).toBe(false);
    goOn();
    expect(await claiming).toBe(2);
    await stopped;
    expect([started, worker.outcomeCounts]).toMatchObject([[], { claimed: 2, deferred: 2 }]);
    expect(await test.sql(`select from tock.job_runs where status = 'queued' and attempts = 0`)).toHaveLength(
      2,
    );
  });

  it('that was asked for one run executes no other, neither one that waits for its slot nor one of a fair key', async () => {
    const limited = { slot_keys: ['job:x'], slot_limits: [1] };
    const [first = ''] = await addRuns(test, { job: 'holds', ...limited });
    await add(1, { ...limited, blocked_on: 'job:x' });
    await add(1);
    open(1, 'manual');
    expect(await worker.claimOne(first)).toBe(true);
    worker.expect('fair');
    ends.get(first)?.();
    await worker.idle();
    expect([started, sent]).toEqual([[first], []]);
    expect(await test.sql('select from tock.job_runs_live where attempts = 0')).toHaveLength(2);
  });

  it('asks for two thousand at most', { tags: 'check' }, async () => {
    await test.sql(
      `insert into tock.job_runs_live (job, payload, status) select 'holds', '{}', 'queued' from generate_series(1, 2003)`,
    );
    open(9999, 'library');
    await worker.claim();
    expect(started).toHaveLength(2003);
    expect(sent.length).toBeGreaterThan(1);
  });
});
