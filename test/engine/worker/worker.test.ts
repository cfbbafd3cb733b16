// Engine: how a worker drains, and what it no longer claims.
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/engine/engine.js';
import { openWorker } from '../../../src/engine/worker/worker.js';
import { defineJob } from '../../../src/index.js';
import type { Database } from '../../../src/store/connection/database.js';
import { openDatabase } from '../../support/database.js';
import { engineOver } from '../../support/engine.js';
import { collectLines } from '../../support/lines.js';
import { openForEach } from '../../support/open.js';
import { addRuns } from '../../support/runs.js';
import { reuseTestTock, until } from '../../support/test-tock.js';

/** A handler at work: what ends it, well or not, and its signal. */
interface AtWork {
  readonly end: () => void;
  readonly fail: (error: Error) => void;
  readonly signal: AbortSignal;
}

const test = openForEach(reuseTestTock);
let engine: Engine;
/** The texts of all statements, in their order. */
let statements: string[];
let atWork: AtWork[];
const job = defineJob({
  name: 'holds',
  run: ({ signal }) =>
    new Promise<void>((resolve, reject) => {
      atWork.push({ end: resolve, fail: reject, signal });
      signal.addEventListener('abort', () => reject(signal.reason));
    }),
});
beforeEach(() => {
  atWork = [];
  statements = [];
  const database = openDatabase({ connectionString: test.url });
  const recorded: Database = {
    ...database,
    run: (text, ...rest) => {
      statements.push(text);
      return database.run(text, ...rest);
    },
  };
  engine = engineOver(recorded, [job]);
});
afterEach(async () => {
  await engine.database.close();
});

const open = (concurrency: number) => openWorker(engine, { kind: 'library', concurrency });
const add = (count: number) => addRuns(test, ...Array.from({ length: count }, () => ({ job: 'holds' })));
/** A worker with this many handlers at work, and more due. */
const working = async (handlers: number, due = handlers) => {
  await add(due);
  const worker = open(handlers);
  await worker.claim();
  await until(() => Promise.resolve(atWork.length === handlers), 'the handlers to be at work');
  return worker;
};
const runs = async (where: string) => await test.sql(`select id::integer from tock.job_runs where ${where}`);
const isDraining = async () => (await test.sql('select draining from tock.workers'))[0]?.['draining'];
const endAll = () => {
  for (const { end } of atWork) end();
};

describe('a worker that stops', () => {
  it('says so in its row, waits for its handlers without aborting them, and leaves', async () => {
    const worker = await working(1);
    expect(engine.workers).toEqual(new Set([worker]));
    expect(await isDraining()).toBe(false);
    const stopped = worker.stop(600_000);
    await until(isDraining, 'the row to say that it drains');
    expect(engine.workers.has(worker)).toBe(true);
    endAll();
    await stopped;
    expect(atWork[0]?.signal.aborted).toBe(false);
    expect(await runs(`status = 'succeeded'`)).toHaveLength(1);
    expect(await test.sql('select from tock.workers')).toEqual([]);
    expect(engine.workers.size).toBe(0);
  });

  it('wakes others once for each time that runs have failed meanwhile, and when it leaves', async () => {
    const worker = await working(3);
    const stopped = worker.stop(600_000);
    await until(isDraining, 'the row to say that it drains');
    const [one, ...others] = atWork;
    one?.fail(new Error('failed'));
    const wakes = () => statements.filter(text => text.includes('tock.wake(')).length;
    await until(() => Promise.resolve(wakes() === 1), 'the others to be woken');
    await test.sql('select');
    worker.wake();
    await test.sql('select');
    for (const { end } of others) end();
    await stopped;
    expect(wakes()).toBe(2);
  });

  it('aborts the handlers that are still at work when the grace is over', async () => {
    const worker = await working(2);
    await worker.stop(1);
    expect(atWork.map(({ signal }) => signal.aborted)).toEqual([true, true]);
    expect(await runs(`status = 'queued' and attempts = 0`)).toHaveLength(2);
  });

  it('leaves at once, and asks nothing, where it has no runs', async () => {
    await open(1).stop(600_000);
    expect(statements).toEqual([]);
  });

  it('claims nothing more, neither in batches nor by id', async () => {
    const worker = await working(1);
    const [id = ''] = await add(1);
    const stopped = worker.stop(600_000);
    expect(await worker.claimOne(id)).toBe(false);
    endAll();
    await stopped;
    expect(await runs('fence = 0')).toEqual([{ id: Number(id) }]);
  });
});

describe('a worker that has room again', () => {
  it('claims nothing by itself where there was nothing more at its last claim', async () => {
    await add(2);
    const worker = open(3);
    expect(await worker.claim()).toBe(2);
    expect(worker.hasMore).toBe(false);
    const [id = ''] = await add(1);
    endAll();
    await worker.idle();
    await worker.stop();
    expect(await runs('fence = 0')).toEqual([{ id: Number(id) }]);
  });

  it('claims nothing by itself once it is closed, though there is more', async () => {
    const worker = await working(1, 5);
    expect(worker.hasMore).toBe(true);
    worker.close();
    endAll();
    await worker.idle();
    await worker.stop();
    expect(await runs('fence = 0')).toHaveLength(4);
  });
});

describe('a worker over the pool of an app', () => {
  it('claims nothing, and does not fail, once the app ends its pool', async () => {
    const pool = new pg.Pool({ connectionString: test.url });
    const database = openDatabase({ pool });
    await add(1);
    const worker = openWorker(engineOver(database, [job]), { kind: 'library' });
    const ended = pool.end();
    expect(await worker.claim()).toBe(0);
    await ended;
    await worker.stop();
    expect(await runs('fence = 0')).toHaveLength(1);
  });
});

describe('a worker whose runs need slots', () => {
  it('says that it has left some, where a limit lets no more of them start', async () => {
    let left = 0;
    const worker = openWorker(engine, { kind: 'library', onLeft: () => left++ });
    const limited = { job: 'holds', slot_keys: ['job:holds'], slot_limits: [1] };
    await addRuns(test, limited);
    await worker.claim();
    expect([worker.running, left]).toEqual([1, 0]);
    await addRuns(test, limited);
    await worker.claim();
    expect([worker.running, left]).toEqual([1, 1]);
    await until(() => Promise.resolve(atWork.length === 1), 'the handler to be at work');
    endAll();
    await until(() => Promise.resolve(atWork.length === 2), 'the other one to be at work');
    endAll();
    await worker.idle();
    await worker.stop();
  });
});

describe('a worker of other code', () => {
  it('gives back runs of jobs that it does not know, and says so once', async () => {
    const { logger, warnings } = collectLines();
    await addRuns(test, { job: 'newer', max_attempts: 1 }, { job: 'newer' }, { job: 'holds' });
    const worker = openWorker({ ...engine, logger }, { kind: 'library' });
    await worker.claim();
    await until(() => Promise.resolve(atWork.length === 1), 'the handler to be at work');
    endAll();
    await worker.idle();
    await worker.stop();
    expect(await runs(`status = 'succeeded'`)).toHaveLength(1);
    expect(await runs(`status = 'queued' and attempts = 0 and blocked_on = 'code:newer'`)).toHaveLength(2);
    expect(warnings).toMatchObject([{ event: 'job.unknown', job: 'newer' }]);
  });

  it('asks for runs that wait only where they are expected, and only once', async () => {
    await addRuns(test, { blocked_on: 'code:newer' }, { job: 'holds', blocked_on: 'code:holds' });
    const worker = open(4);
    const asked = () => statements.filter(text => text.includes('awaited')).length;
    await worker.claim();
    expect([asked(), worker.running]).toEqual([0, 0]);
    worker.expect('waiting');
    await worker.claim();
    await until(() => Promise.resolve(atWork.length === 1), 'the handler to be at work');
    await worker.claim();
    expect([asked(), worker.hasMore]).toEqual([1, false]);
    endAll();
    await worker.idle();
    await worker.stop();
    expect(await runs(`blocked_on = 'code:newer' and fence = 0`)).toHaveLength(1);
  });
});

describe('the watermarks of claims', () => {
  /** A worker that has claimed a few times, and whose runs have ended. */
  const used = async (kind: 'daemon' | 'relay' | 'tick' | 'library') => {
    const worker = openWorker(engine, { kind, concurrency: 5 });
    for (let n = 0; n < 3; n++) {
      await add(1);
      await worker.claim();
    }
    for (const { end } of atWork) end();
    await worker.idle();
    return worker;
  };

  it.each(['tick', 'library'] as const)(
    'are not kept by one of the kind %s, which ends when nothing is left',
    { tags: 'check' },
    async kind => {
      const worker = await used(kind);
      expect(worker.watermarks.known).toEqual([]);
      await worker.stop();
    },
  );

  it.each(['daemon', 'relay'] as const)('are kept by one of the kind %s', { tags: 'check' }, async kind => {
    const worker = await used(kind);
    expect(worker.watermarks.known).toMatchObject([{ queue: 'default', priority: 0 }]);
    await worker.stop();
  });
});
