// A worker whose claims start at watermarks, and a run that has been due for an hour and gets a slot.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/engine/engine.js';
import { endCompleted } from '../../../src/engine/finalize/completed.js';
import { reap } from '../../../src/engine/reap.js';
import { openWorker } from '../../../src/engine/worker/worker.js';
import type { Worker } from '../../../src/engine/worker/worker-interface.js';
import { systemClock } from '../../../src/environment/system-clock.js';
import { defineJob } from '../../../src/index.js';
import type { Session } from '../../../src/store/connection/database.js';
import { openDatabase } from '../../support/database.js';
import { engineOver } from '../../support/engine.js';
import { openForEach } from '../../support/open.js';
import { addRuns, type RunRow } from '../../support/runs.js';
import { reuseTestTock, until } from '../../support/test-tock.js';

const LIMITED: RunRow = { slot_keys: ['job:x'], slot_limits: [1] };
const HOUR_AGO = '2026-03-02T11:00:00.000Z';
const LOWERED = { queue: 'default', priority: 0, at: '2026-03-02T10:59:59.999Z', id: '0' };

const test = openForEach(reuseTestTock);
let engine: Engine;
let worker: Worker;
/** What ends the handlers that have started, in their order. */
let ends: (() => void)[];
/** Called with each statement before it is sent; may throw. */
let onSend: (text: string) => void;
/** Called once it was carried out. */
let onAnswer: (text: string) => unknown;
const wait = () => new Promise<void>(resolve => ends.push(resolve));
const jobs = [
  defineJob({ name: 'ends', run: () => wait() }),
  defineJob({
    name: 'commits',
    run: async ctx => {
      await wait();
      await ctx.transaction(() => Promise.resolve());
    },
  }),
  defineJob({
    name: 'handsOff',
    run: async ctx => {
      await wait();
      return ctx.handOff({ lease: '1h' });
    },
  }),
];
const started = async (count: number) =>
  await until(() => Promise.resolve(ends.length === count), 'the handlers to be at work');

beforeEach(async () => {
  ends = [];
  onSend = onAnswer = () => undefined;
  const database = openDatabase({ connectionString: test.url });
  const run: Session['run'] = async (...query) => {
    onSend(query[0]);
    const rows = await database.run(...query);
    await onAnswer(query[0]);
    return rows as never;
  };
  // Time stands still, so that no complete claim comes, which would find all.
  engine = engineOver({ ...database, run }, jobs, { clock: { ...systemClock, now: () => 0 } });
  worker = openWorker(engine, { kind: 'daemon', concurrency: 5 });
  for (let n = 0; n < 3; n++) {
    await addRuns(test, { job: 'ends' });
    await worker.claim();
  }
  for (const end of ends) end();
  await worker.idle();
  await until(() => Promise.resolve(worker.watermarks.known.length === 1), 'claims to start at a watermark');
});
afterEach(async () => {
  for (const end of ends) end();
  await worker.stop();
  await engine.database.close();
});

/** A run of this job is at work and holds the slot. It is more urgent than the one that waits: it passes nothing on. */
const slotHeldBy = async (job: string): Promise<string> => {
  const [id = ''] = await addRuns(test, { ...LIMITED, job, priority: -5 });
  await worker.claim();
  await started(4);
  await addRuns(test, { ...LIMITED, job: 'ends', blocked_on: 'job:x', run_at: HOUR_AGO });
  return id;
};
const endHolder = async () => {
  ends[3]?.();
  await worker.idle();
};
/** How many handlers have started after the next claim: five, with that of the run which waited. */
const startedByNextClaim = async () => {
  await worker.claim();
  await started(5);
  return ends.length;
};

describe('the run starts with the next claim', () => {
  it('where another one ends', async () => {
    await slotHeldBy('ends');
    await endHolder();
    expect(worker.watermarks.known).toContainEqual(LOWERED);
    expect(await startedByNextClaim()).toBe(5);
  });

  it('where the other one ends in a transaction of its own', async () => {
    await slotHeldBy('commits');
    await endHolder();
    expect(await startedByNextClaim()).toBe(5);
  });

  it('where the other one was handed off, and is completed here', async () => {
    const id = await slotHeldBy('handsOff');
    await endHolder();
    await worker.claim();
    expect([...(await endCompleted(engine, [{ id, fence: 1, result: null }]))]).toEqual([id]);
    expect(await startedByNextClaim()).toBe(5);
  });

  it('where the other one has lost its lease, and is reaped here', async () => {
    const id = await slotHeldBy('ends');
    await test.sql(
      `update tock.job_runs_live set locked_until = tock.now() - interval '1 minute' where id = $1`,
      [id],
    );
    await reap(engine);
    await endHolder();
    expect(await startedByNextClaim()).toBe(5);
  });

  it('where the first claim after that fails', { tags: 'check' }, async () => {
    await slotHeldBy('ends');
    await endHolder();
    let failures = 0;
    onSend = text => {
      if (!text.includes('before_queue') || failures > 0) return;
      failures++;
      throw Object.assign(new Error('canceling statement due to lock timeout'), { code: '55P03' });
    };
    await expect(worker.claim()).rejects.toThrow('lock timeout');
    expect(failures).toBe(1);
    expect(await startedByNextClaim()).toBe(5);
  });

  it('where its queue was paused at first', { tags: 'check' }, async () => {
    await slotHeldBy('ends');
    await test.tock.queues.pause('default');
    await endHolder();
    await worker.claim();
    await test.tock.queues.resume('default');
    expect(await startedByNextClaim()).toBe(5);
  });

  it('where it is blocked itself, while the slot becomes free', async () => {
    await test.sql(`insert into tock.job_slots values ('job:x', 1, 99, 1)`);
    let isHeld = true;
    onAnswer = async text => {
      if (!isHeld || !text.includes('pg_try_advisory_xact_lock')) return;
      isHeld = false;
      await test.sql('delete from tock.job_slots');
    };
    const [id = ''] = await addRuns(test, { ...LIMITED, job: 'ends', run_at: HOUR_AGO });
    expect(await worker.claimOne(id)).toBe(false);
    expect(worker.watermarks.known).toEqual([LOWERED]);
    await worker.claim();
    await started(4);
  });
});

describe('watermarks', () => {
  it('stay where a slot becomes free for which no run waits', async () => {
    await addRuns(test, { ...LIMITED, job: 'ends' });
    await worker.claim();
    await started(4);
    const watermarks = worker.watermarks.known;
    await endHolder();
    expect(worker.watermarks.known).toEqual(watermarks);
  });

  it('rise again once the run was taken, and a later one', { tags: 'check' }, async () => {
    await slotHeldBy('ends');
    await endHolder();
    expect(await startedByNextClaim()).toBe(5);
    await addRuns(test, { job: 'ends' });
    await worker.claim();
    await started(6);
    expect(worker.watermarks.known).not.toContainEqual(LOWERED);
  });
});
