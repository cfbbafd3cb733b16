// Engine: the answer that brings a run, or what its handler needs, comes late: no handler is called whose lease is over, or
// nearly so. Time is virtual, and moves while the answer is on its way.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/engine/engine.js';
import { openWorker } from '../../../src/engine/worker/worker.js';
import type { Worker, WorkerOptions } from '../../../src/engine/worker/worker-interface.js';
import { type AnyJob, defineJob } from '../../../src/index.js';
import type { Session } from '../../../src/store/connection/database.js';
import { collectLines } from '../../support/lines.js';
import { openForEach } from '../../support/open.js';
import { addRuns } from '../../support/runs.js';
import { reuseTestTock, until } from '../../support/test-tock.js';
import { openVirtualProcess } from '../../support/virtual-process.js';

const START = Date.parse('2026-03-02T12:00:00Z');
const LEASE_MS = 60_000;

/** Payloads, by the calls of the handlers. */
let calls: unknown[];
/** What the handlers await. */
let held: Promise<void>;
/** What a schema awaits. */
let parsing: () => Promise<void>;
/** What the answers to heartbeats await. */
let renewing: Promise<void>;
/** Lets go on what awaits one of them. */
let goOn = (): void => undefined;
let atWork = { now: 0, most: 0 };
const run = async (_ctx: unknown, payload: unknown) => {
  calls.push(payload);
  atWork.most = Math.max(atWork.most, ++atWork.now);
  await held;
  atWork.now--;
};
const retry = { maxAttempts: 3, backoff: 'fixed', base: '10s', jitter: 0 } as const;
const plain = defineJob({ name: 'plain', retry, run });
const alone = defineJob({ name: 'alone', retry, concurrency: { limit: 1 }, run });
const together = defineJob({
  name: 'together',
  retry,
  batch: { size: 2, within: '1m' },
  run: (_ctx, runs) => {
    calls.push(runs.map(({ payload }) => payload));
  },
});
const checked = defineJob({
  name: 'checked',
  payload: {
    '~standard': {
      version: 1,
      vendor: 'test',
      validate: async (value: unknown) => {
        await parsing();
        return { value };
      },
    },
  } as never,
  run,
});
const jobs = [plain, alone, together, checked] as readonly AnyJob[];

const log = collectLines();
const test = openForEach(() => reuseTestTock(jobs));
const virtual = openForEach(() =>
  openVirtualProcess(test, new Date(START).toISOString(), jobs, { logger: log.logger }),
);
/** Which answers are late, and what happens on the way of the next one. */
let isLate: (text: string) => boolean;
let onTheWay: (() => Promise<void>) | null;
let passed: Promise<void>;
let worker: Worker;

beforeEach(() => {
  [calls, held, parsing, atWork] = [[], Promise.resolve(), () => Promise.resolve(), { now: 0, most: 0 }];
  [isLate, onTheWay, passed, renewing] = [isClaim, null, Promise.resolve(), Promise.resolve()];
  (log.lines as unknown[]).length = 0;
});
afterEach(async () => {
  goOn();
  const stopped = worker.stop();
  // What was not called in time may still be gathered for a batch.
  await virtual.clock.advance(1000);
  await stopped;
});

const isClaim = (text: string) => /attempts = r\.attempts \+ 1/.test(text);
const open = (options: WorkerOptions = { kind: 'tick' }) => {
  const { database } = virtual.engine;
  const late: Session['run'] = async (...statement) => {
    const rows = await database.run(...statement);
    const happens = isLate(statement[0]) ? onTheWay : null;
    if (happens !== null) onTheWay = null;
    await happens?.();
    if (statement[0].includes('as renewed')) await renewing;
    return rows as never;
  };
  const engine: Engine = { ...virtual.engine, database: { ...database, run: late } };
  worker = openWorker(engine, options);
};
/** The process is frozen, or cut off from the network. */
const pass = async (ms: number) => {
  virtual.clock.pass(ms);
  await (passed = test.setClock(new Date(START + virtual.clock.now()).toISOString()));
};
const late = (ms: number, meanwhile: () => Promise<unknown> = () => Promise.resolve()) => {
  onTheWay = async () => {
    await pass(ms);
    await meanwhile();
  };
};
/** Claims, and lets all end that needs no time. */
const claim = async () => {
  const claimed = worker.claim();
  await virtual.clock.advance(0);
  const accepted = await claimed;
  await passed;
  await virtual.clock.advance(100);
  return accepted;
};
const stateOf = async (id: string) => {
  const { status, attempts, releases, errors } = (await test.tock.runs.get(id)) ?? {};
  return { status, attempts, releases, errors: errors?.map(({ code }) => code) };
};
const GIVEN_BACK = { status: 'queued', attempts: 0, releases: 0, errors: [] };
const SUCCEEDED = { status: 'succeeded', attempts: 1, releases: 0, errors: [] };
const warnings = () => log.lines.filter(line => line['event'] === 'run.lease_old').length;

describe('a run whose claim is answered after its lease', () => {
  it('is given back, uncounted, and is claimed again at once', async () => {
    open();
    const id = await test.tock.enqueue(plain, { n: 1 });
    late(LEASE_MS);
    expect(await claim()).toBe(1);
    expect([calls, await stateOf(id), worker.running, warnings()]).toEqual([[], GIVEN_BACK, 0, 1]);
    await claim();
    expect([calls, await stateOf(id)]).toEqual([[{ n: 1 }], SUCCEEDED]);
    expect(worker.outcomeCounts).toMatchObject({ claimed: 2, deferred: 1, succeeded: 1, lost: 0 });
  });

  it('is not executed again if another has executed it meanwhile', async () => {
    open();
    const id = await test.tock.enqueue(plain, { n: 1 });
    late(LEASE_MS + 1000, async () => {
      // Reaped, and tried again after its backoff.
      await test.tock.tick();
      await test.advance('10s');
      await test.tock.tick();
    });
    await claim();
    expect([calls, await stateOf(id)]).toMatchObject([[{ n: 1 }], { status: 'succeeded', attempts: 2 }]);
    expect(worker.outcomeCounts).toMatchObject({ succeeded: 0, deferred: 0, lost: 1 });
  });

  it('still has its start deadline, since it has not started', async () => {
    open();
    const [id = ''] = await addRuns(test, { job: 'plain', start_by: new Date(START + 30_000).toISOString() });
    late(LEASE_MS);
    await claim();
    await claim();
    expect([calls, await stateOf(id)]).toMatchObject([[], { status: 'skipped' }]);
  });

  it('is found again by a worker whose claims start after it', async () => {
    open({ kind: 'daemon', concurrency: 50 });
    const ids = await test.tock.enqueueMany(
      Array.from({ length: 20 }, (_, n) => ({
        job: plain,
        payload: { n },
        runAt: new Date(START - (20 - n) * 60_000).toISOString(),
      })),
    );
    late(LEASE_MS);
    await claim();
    await virtual.clock.advance(5000);
    expect([calls.length, worker.outcomeCounts.deferred]).toEqual([20, 20]);
    for (const id of ids) expect(await stateOf(id ?? '')).toEqual(SUCCEEDED);
  });
});

describe('a run with a slot whose admission is answered after its lease', () => {
  const slots = async () => await test.sql('select * from tock.job_slots');

  it('gives its slot back', async () => {
    open();
    const ids = await test.tock.enqueueMany([{ job: alone }, { job: alone }]);
    isLate = text => text.includes('insert into tock.job_slots');
    late(LEASE_MS);
    // The other may be claimed before the slot is free again, and is blocked then.
    for (let n = 0; n < 3; n++) await claim();
    expect([calls.length, atWork.most, worker.outcomeCounts.deferred, await slots()]).toEqual([2, 1, 1, []]);
    for (const id of ids) expect(await stateOf(id ?? '')).toEqual(SUCCEEDED);
  });

  it('gives a slot back that another run has passed on to it', async () => {
    open({ kind: 'daemon' });
    await test.tock.enqueueMany([{ job: alone }, { job: alone }]);
    isLate = text => isClaim(text) && text.includes('blocked_on = null');
    late(LEASE_MS);
    held = new Promise(resolve => (goOn = resolve));
    await claim();
    goOn();
    await virtual.clock.advance(0);
    await passed;
    await virtual.clock.advance(100);
    expect([onTheWay, calls.length, worker.outcomeCounts.deferred]).toEqual([null, 1, 1]);
    await claim();
    expect([calls.length, atWork.most, await slots()]).toEqual([2, 1, []]);
  });

  it('does not start while another has its slot', async () => {
    open();
    held = new Promise(resolve => (goOn = resolve));
    await test.tock.enqueueMany([{ job: alone }, { job: alone }]);
    isLate = text => text.includes('insert into tock.job_slots');
    let ticking: Promise<unknown> = Promise.resolve();
    late(LEASE_MS + 1000, async () => {
      ticking = test.tock.tick();
      await until(() => Promise.resolve(calls.length === 1), 'the other to be at work');
    });
    await claim();
    expect([calls.length, atWork.most]).toEqual([1, 1]);
    goOn();
    await ticking;
  });
});

describe('a handler', () => {
  it.each([
    [0.89, 1],
    [0.91, 0],
  ])('of whose lease %d is over when the claim is answered is called %d times', async (part, times) => {
    open();
    const id = await test.tock.enqueue(plain, {});
    late(part * LEASE_MS);
    await claim();
    expect([calls.length, await stateOf(id)]).toEqual([times, times === 1 ? SUCCEEDED : GIVEN_BACK]);
  });

  it('is not called for a run that is claimed by its id', async () => {
    open();
    const id = await test.tock.enqueue(plain, {});
    late(LEASE_MS);
    expect(await worker.claimOne(id)).toBe(true);
    await virtual.clock.advance(100);
    expect([calls, await stateOf(id)]).toEqual([[], GIVEN_BACK]);
  });

  it.each([
    ['a large payload', /octet_length\(p\.text\)/, { payload: JSON.stringify('x'.repeat(100_000)) }],
    ['what became of its parents', /p\."isCut"/, { has_parents: true }],
    ['what its schema has awaited', /never sent/, { job: 'checked' }],
  ])('is not called if %s comes when hardly anything is left of the lease', async (_what, sent, row) => {
    open();
    const [id = ''] = await addRuns(test, { job: 'plain', ...row });
    renewing = new Promise(resolve => (goOn = resolve));
    parsing = async () => await pass(0.91 * LEASE_MS);
    isLate = text => sent.test(text);
    late(0.91 * LEASE_MS);
    await claim();
    expect([calls, await stateOf(id), warnings()]).toEqual([[], GIVEN_BACK, 1]);
    parsing = () => Promise.resolve();
    goOn();
    await claim();
    expect([calls.length, await stateOf(id)]).toEqual([1, SUCCEEDED]);
  });

  it('is called for a run whose lease was renewed since its claim', async () => {
    open({ kind: 'daemon' });
    const id = await test.tock.enqueue(together, 'first');
    late(50_000);
    await claim();
    await virtual.clock.advance(59_000);
    expect(calls).toEqual([]);
    await virtual.clock.advance(1000);
    expect([calls, await stateOf(id)]).toEqual([[['first']], SUCCEEDED]);
  });

  it('of a batch is called with those runs alone whose lease is young enough', async () => {
    open({ kind: 'daemon' });
    const old = await test.tock.enqueue(together, 'old');
    late(0.91 * LEASE_MS);
    await worker.claim();
    const young = await test.tock.enqueue(together, 'young');
    await claim();
    expect([calls, worker.outcomeCounts.deferred, await stateOf(young)]).toEqual([[['young']], 1, SUCCEEDED]);
    await claim();
    await virtual.clock.advance(60_000);
    expect([calls, await stateOf(old)]).toEqual([[['young'], ['old']], SUCCEEDED]);
  });
});
