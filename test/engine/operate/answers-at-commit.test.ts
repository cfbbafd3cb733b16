// Engine: what an act answers is what its transaction has done, however quick others are after the commit.
// Regression: acts read again after their commit, so that beside an idle daemon most retries answered 'running' or 'succeeded'.
import { describe, expect, it } from 'vitest';
import { endFreeze, thaw } from '../../../src/engine/definitions/freeze.js';
import type { Engine } from '../../../src/engine/engine.js';
import { limitKey } from '../../../src/engine/operate/keys.js';
import { retryMany } from '../../../src/engine/operate/many.js';
import { limitQueue, pause, resetQueue, resume } from '../../../src/engine/operate/queues.js';
import { cancel, retry } from '../../../src/engine/operate/runs.js';
import { reap } from '../../../src/engine/reap.js';
import { defineJob } from '../../../src/index.js';
import { NO_SETTINGS } from '../../../src/model/queue/queue-settings.js';
import { HANDED_OFF } from '../../../src/model/run/states.js';
import type { Database, Session } from '../../../src/store/connection/database.js';
import { definedStatements } from '../../../src/store/connection/statement.js';
import { engineOver } from '../../support/engine.js';
import { storeTest } from '../../support/open.js';
import { addRuns, expireLeases, type RunRow } from '../../support/runs.js';
import { reuseTestTock } from '../../support/test-tock.js';

const NOW = '2026-03-02T12:00:00Z';
const jobs = [defineJob({ name: 'mail', run: () => undefined })];
const WORKER = '7f0c1c1e-0000-4000-8000-000000000001';

const { test, database } = storeTest(NOW, () => reuseTestTock(jobs));

const cancelled = { job: 'mail', status: 'cancelled', finished_at: NOW };
const dead = { ...cancelled, status: 'dead' };
const running = {
  job: 'mail',
  status: 'running',
  attempts: 1,
  fence: 1,
  started_at: NOW,
  locked_by: WORKER,
  locked_until: '2026-03-02T12:10:00Z',
};

const add = (row: RunRow) => async () => (await addRuns(test, row))[0] ?? '';
const run = async (id: string) => await test.tock.runs.get(id);
const execute = async (id: string) => await test.tock.runs.wait(id, { execute: true });
const reapAll = async () => {
  await expireLeases(test);
  await reap(engineOver(database));
};
const queue = async (name: string) => (await test.tock.queues.list()).find(each => each.name === name);
const queueInCode = async () => {
  const settings = JSON.stringify({ ...NO_SETTINGS, concurrency: 5 });
  await test.sql(`insert into tock.job_queues (name, concurrency, in_code) values ('stated', 5, $1)`, [
    settings,
  ]);
  return 'stated';
};

/** A database after each of whose transactions, rolled back or not, another process does something. */
function watched(meanwhile: () => Promise<unknown>): Database {
  const transaction = async (work: Parameters<Database['transaction']>[0]) => {
    try {
      return await database.transaction(work);
    } finally {
      await meanwhile();
    }
  };
  return Object.create(database, { transaction: { value: transaction } }) as Database;
}

/** The same, once: after the transaction of this number. */
function engineBeside(meanwhile: () => Promise<unknown>, number = 1): Engine {
  let count = 0;
  return engineOver(watched(async () => (++count === number ? await meanwhile() : undefined)));
}

interface Act {
  /** Of what it acts on. */
  readonly id: () => Promise<string>;
  readonly act: (engine: Engine, id: string) => Promise<unknown>;
  /** What another process does right after the commit. */
  readonly meanwhile: (id: string) => Promise<unknown>;
  readonly answer: object;
  /** How it is read after that. */
  readonly read: (id: string) => Promise<unknown>;
  readonly later: object;
}

const at = new Date(NOW);
const ACTS: Readonly<Record<string, Act>> = {
  'a retry says queued, though the run has ended since': {
    id: add(cancelled),
    act: retry,
    meanwhile: execute,
    answer: { status: 'queued', generation: 2, attempts: 0, beganAt: null },
    read: run,
    later: { status: 'succeeded' },
  },
  'a cancel says cancelled, though the run is retried since': {
    id: add({ job: 'mail' }),
    act: (engine, id) => cancel(engine, id, { reason: 'no' }),
    meanwhile: id => test.tock.runs.retry(id),
    answer: { status: 'cancelled', skipReason: 'no', finishedAt: at },
    read: run,
    later: { status: 'queued' },
  },
  'a cancel of a running one says that it was asked, though it has ended since': {
    id: add(running),
    act: cancel,
    meanwhile: reapAll,
    answer: { status: 'running', lockedBy: WORKER, cancelRequestedAt: at, finishedAt: null },
    read: run,
    later: { status: 'cancelled' },
  },
  'a cancel of one that is handed off says so, though it has ended since': {
    id: async () => {
      const id = await add({ ...running, locked_by: HANDED_OFF })();
      await test.sql(
        `insert into tock.job_hand_offs (run_id, fence, handed_off_at) values ($1, 1, tock.now())`,
        [id],
      );
      return id;
    },
    act: cancel,
    meanwhile: () => reap(engineOver(database)),
    answer: { status: 'running', handOff: { fence: 1 }, cancelRequestedAt: at },
    read: run,
    later: { status: 'cancelled', handOff: null },
  },
  'a cancel of a successor says cancelled, though it is retried since': {
    id: async () => {
      const live = { key: 'shop', unique: 'live', replace: true } as const;
      const first = await test.tock.enqueue('mail', {}, live);
      await test.sql(
        `update tock.job_runs_live set status = 'running', attempts = 1, fence = 1, started_at = tock.now(),
         locked_by = $2, locked_until = tock.now() + interval '10 min' where id = $1`,
        [first, WORKER],
      );
      return await test.tock.enqueue('mail', {}, live);
    },
    act: cancel,
    meanwhile: async id => {
      await test.sql('delete from tock.job_runs_live');
      await test.tock.runs.retry(id);
    },
    answer: { status: 'cancelled', generation: 1 },
    read: run,
    later: { status: 'queued', generation: 2 },
  },
  'limits of a queue': {
    id: () => Promise.resolve('mails'),
    act: (engine, name) => limitQueue(engine, name, { concurrency: 3, rate: { count: 5, per: '1s' } }),
    meanwhile: name => test.tock.queues.set(name, { concurrency: 9, rate: null }),
    answer: { name: 'mails', concurrency: 3, rate: { count: 5, perMs: 1000 }, waiting: 0, running: 0 },
    read: queue,
    later: { concurrency: 9, rate: null },
  },
  'a pause of a queue': {
    id: () => Promise.resolve('mails'),
    act: (engine, name) => pause(engine, name, { note: 'move', until: '1h' }),
    meanwhile: name => test.tock.queues.resume(name),
    answer: { pausedAt: at, pauseReason: 'move', pausedUntil: new Date('2026-03-02T13:00:00Z') },
    read: queue,
    later: { pausedAt: null },
  },
  'the end of that, with a rate': {
    id: async () => (await test.tock.queues.pause('mails')).name,
    act: (engine, name) => resume(engine, name, { rate: { count: 5, per: '1s' } }),
    meanwhile: name => test.tock.queues.pause(name),
    answer: { wasPaused: true, pausedAt: null, rate: { count: 5, perMs: 1000 } },
    read: queue,
    later: { pausedAt: at },
  },
  'the end of a pause that there is not': {
    id: () => Promise.resolve('mails'),
    act: (engine, name) => resume(engine, name),
    meanwhile: name => test.tock.queues.pause(name),
    answer: { name: 'mails', wasPaused: false, pausedAt: null, timezone: 'UTC', overrides: {} },
    read: queue,
    later: { pausedAt: at },
  },
  'the reset of a queue to its code': {
    id: async () => (await test.tock.queues.set(await queueInCode(), { concurrency: 2 })).name,
    act: resetQueue,
    meanwhile: name => test.tock.queues.set(name, { concurrency: 9 }),
    answer: { concurrency: 5, overrides: {} },
    read: queue,
    later: { concurrency: 9 },
  },
  'the reset of a queue that is as its code states': {
    id: queueInCode,
    act: resetQueue,
    meanwhile: name => test.tock.queues.set(name, { concurrency: 9 }),
    answer: { concurrency: 5, overrides: {} },
    read: queue,
    later: { concurrency: 9 },
  },
  'settings of a key': {
    id: () => Promise.resolve('acme'),
    act: (engine, key) => limitKey(engine, key, { weight: 2, limit: 3 }),
    meanwhile: key => test.tock.keys.set(key, { weight: 7, limit: null }),
    answer: { key: 'acme', weight: 2, limit: 3, rate: null, states: [] },
    read: key => test.tock.keys.get(key),
    later: { weight: 7, limit: null },
  },
  'a thaw with a ramp does not say that nothing waits, though what waited is spread since': {
    id: async () => {
      await test.tock.freeze({ until: '1h', note: 'move' });
      return await add({ job: 'mail' })();
    },
    act: engine => thaw(engine, { ramp: '1h' }),
    meanwhile: () => endFreeze(engineOver(database)),
    answer: { ended: { note: 'move' }, rampMs: 3_600_000, spread: null },
    read: () => test.tock.frozen().then(held => ({ held })),
    later: { held: null },
  },
};

describe('answers as of the commit', () => {
  it.each(Object.entries(ACTS))('%s', async (_name, { id: prepare, act, meanwhile, answer, read, later }) => {
    const id = await prepare();
    const engine = engineBeside(() => meanwhile(id));
    expect(await act(engine, id)).toMatchObject(answer);
    expect(await read(id)).toMatchObject(later);
  });

  it.each([
    ['retry', { job: 'mail' }, execute, 'queued; only dead and cancelled runs can be retried'],
    ['cancel', dead, (id: string) => test.tock.runs.retry(id), 'dead already; there is nothing to cancel'],
  ] as const)('a refused %s says why it was refused', async (name, row, meanwhile, why) => {
    const id = await add(row)();
    const engine = engineBeside(() => meanwhile(id));
    await expect({ retry, cancel }[name](engine, id)).rejects.toMatchObject({
      code: 'TOCK_BAD_STATE',
      message: `run ${id} is ${why}`,
    });
  });

  it('a retry of many names what could not be live again, though it is since', async () => {
    const shop = { live_key: 'shop', idempotency_key: 'shop' };
    const ids = await addRuns(test, dead, { ...dead, ...shop }, { job: 'mail', ...shop });
    const [, taken = '', live = ''] = ids;
    const meanwhile = async () => {
      await test.tock.runs.cancel(live);
      await test.tock.runs.retry(taken);
    };
    // After the batch comes each by itself.
    const result = await retryMany(engineBeside(meanwhile, 3), { job: 'mail' });
    expect(result).toMatchObject({
      matched: 2,
      done: { queued: 1 },
      passed: 0,
      failed: [{ id: taken, code: 'TOCK_BAD_STATE' }],
    });
    expect(await run(taken)).toMatchObject({ status: 'queued' });
  });
});

describe('a run that moves while it is acted on', () => {
  const moves = ['retry-runs', 'cancel-runs'].map(name => definedStatements().get(name)?.text);
  /** An engine beside which another process acts before and after each statement that moves a run. */
  const engineAmong = (before: () => Promise<unknown>, after: () => Promise<unknown>) => {
    const among = (session: Session): Session => ({
      async run<Row>(text: string, values?: readonly unknown[]) {
        if (!moves.includes(text)) return await session.run<Row>(text, values);
        await before();
        const rows = await session.run<Row>(text, values);
        await after();
        return rows;
      },
    });
    const transaction = async (work: Parameters<Database['transaction']>[0]) =>
      await database.transaction(session => work(among(session)));
    return engineOver(Object.create(database, { transaction: { value: transaction } }) as Database);
  };
  const nothing = () => Promise.resolve();
  const once = (work: () => Promise<unknown>) => {
    let isDone = false;
    return async () => {
      if (isDone) return;
      isDone = true;
      await work();
    };
  };

  it('is retried where it has died since the first try', async () => {
    const id = await add({ ...running, max_attempts: 1 })();
    const engine = engineAmong(nothing, once(reapAll));
    expect(await retry(engine, id)).toMatchObject({ status: 'queued', generation: 2 });
  });

  it('is cancelled where it was retried since the first try', async () => {
    const id = await add(dead)();
    const engine = engineAmong(
      nothing,
      once(() => test.tock.runs.retry(id)),
    );
    expect(await cancel(engine, id)).toMatchObject({ status: 'cancelled', generation: 2 });
  });

  it('is given up where others are always quicker', async () => {
    const id = await add(cancelled)();
    const others = engineAmong(
      () => test.tock.runs.retry(id),
      () => test.tock.runs.cancel(id),
    );
    await expect(retry(others, id)).rejects.toMatchObject({ code: 'TOCK_BAD_STATE' });
    expect(await run(id)).toMatchObject({ status: 'cancelled', generation: 4 });
  });
});
