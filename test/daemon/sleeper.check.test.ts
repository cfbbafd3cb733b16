// NOTIFY is sent only where a daemon may be asleep, and no run waits for a poll because of that. The daemons here
// poll every ten minutes.
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Daemon, startDaemon } from '../../src/daemon/daemon.js';
import { createSleeper, type Sleeper } from '../../src/daemon/sleeper.js';
import { type Engine, readSettings } from '../../src/engine/engine.js';
import { systemClock } from '../../src/environment/system-clock.js';
import { defineJob } from '../../src/index.js';
import { createRegistry } from '../../src/model/job/registry.js';
import { silentLogger } from '../../src/model/logger.js';
import type { Database } from '../../src/store/connection/database.js';
import {
  haveAllEndedBefore,
  isNotifyLockAwaited,
  newTransactionId,
} from '../../src/store/runs/workers/sleepers.js';
import { openDatabase } from '../support/database.js';
import { noMethods } from '../support/engine.js';
import { openForEach, stopAfterEach } from '../support/open.js';
import { insertSleeper, insertWorker, SLEEPER_ID } from '../support/sleepers.js';
import { openTestTock, until } from '../support/test-tock.js';

const POLL_MS = 600_000;

let hasStarted = false;
let release = () => undefined as void;
let held = Promise.resolve();
const quick = defineJob({ name: 'quick', run: () => 'done' });
const slow = defineJob({
  name: 'slow',
  run: async () => {
    hasStarted = true;
    await held;
  },
});

const test = openForEach(() => openTestTock([quick, slow]));
const database = openForEach(() => openDatabase({ connectionString: test.url }));
let listener: pg.Client;
const clients: pg.Client[] = [];
const daemons = stopAfterEach();
const notifications: string[] = [];

async function connect(role?: string): Promise<pg.Client> {
  const url = new URL(test.url);
  if (role !== undefined) [url.username, url.password] = [role, role];
  const client = new pg.Client({ connectionString: url.href });
  client.on('error', () => undefined);
  await client.connect();
  clients.push(client);
  return client;
}

beforeEach(async () => {
  hasStarted = false;
  held = new Promise(resolve => {
    release = resolve;
  });
  notifications.length = 0;
  sent.length = 0;
  listener = await connect();
  listener.on('notification', ({ payload }) => notifications.push(payload ?? ''));
  await listener.query('listen tock');
});
afterEach(async () => {
  release();
  await Promise.all(clients.splice(0).map(each => each.end()));
});

/** The notifications of runs since the last call. A later notification arrives after all that were committed before. */
async function notificationsOfRuns(): Promise<string[]> {
  const mark = `mark:${Math.random()}`;
  await test.sql(`select pg_notify('tock', $1)`, [mark]);
  await until(async () => notifications.includes(mark), 'the last notification');
  return notifications.splice(0).filter(each => each.startsWith('queued'));
}

const sleepers = () =>
  test.sql<{ id: string; queues: string[] | null; row: string }>(
    'select worker_id as id, queues, xmin || ctid::text as row from tock.sleepers',
  );
const isAsleep = (id: string) => async () => (await sleepers()).some(each => each.id === id);
const isAwake = (id: string) => async () => !(await sleepers()).some(each => each.id === id);

/** The texts of the statements that the engine sent by themselves. */
const sent: string[] = [];
const engineOf = (): Engine => ({
  clock: systemClock,
  database: {
    ...database,
    async run<Row>(...statement: Parameters<Database['run']>) {
      sent.push(statement[0]);
      return await database.run<Row>(...statement);
    },
  },
  registry: createRegistry([quick, slow]),
  logger: silentLogger,
  settings: readSettings({ heartbeat: '100ms', lease: '10s' }),
  isolation: null,
  hooks: {},
  forHandlers: noMethods,
  wakeHost: () => undefined,
  operator: null,
  appName: null,
  workers: new Set(),
});
async function start(options: Parameters<typeof startDaemon>[1] = {}): Promise<Daemon> {
  const daemon = await startDaemon(engineOf(), options, POLL_MS);
  daemons.push(daemon);
  await until(isAsleep(daemon.id), 'the daemon to announce that it may be asleep');
  return daemon;
}
/** A daemon that is full, with more to do: it announces that it is awake once notifications let it look. */
async function startAwake(queue = 'default'): Promise<Daemon> {
  const daemon = await start({ concurrency: 1, queues: [queue] });
  await test.tock.enqueueMany([1, 2].map(() => ({ job: slow, queue })));
  await until(async () => {
    await test.sql(`select pg_notify('tock', 'queued')`);
    return await isAwake(daemon.id)();
  }, 'the daemon to announce that it is awake');
  return daemon;
}
const ended = (id: string) =>
  until(async () => (await test.tock.runs.get(id))?.status === 'succeeded', `run ${id} to end`);

const ENQUEUES: readonly [string, (queue: string) => Promise<unknown>][] = [
  ['tock.enqueue', queue => test.sql(`select tock.enqueue('quick', queue => $1)`, [queue])],
  ['one run', queue => test.tock.enqueue(quick, {}, { queue })],
  ['one run under a key', queue => test.tock.enqueue(quick, {}, { queue, key: 'k' })],
  ['one run under a live key', queue => test.tock.enqueue(quick, {}, { queue, key: 'k', unique: 'live' })],
  ['a batch', queue => test.tock.enqueueMany([1, 2].map(() => ({ job: quick, queue })))],
  [
    'a batch with live keys',
    queue => test.tock.enqueueMany([1, 2].map(n => ({ job: quick, queue, key: `k${n}`, unique: 'live' }))),
  ],
];

describe.each(ENQUEUES)('enqueueing by %s', (_way, enqueue) => {
  it('notifies nobody while no daemon may be asleep', async () => {
    await insertWorker(test);
    await enqueue('mail');
    expect(await notificationsOfRuns()).toEqual([]);
  });

  it('notifies a daemon that may be asleep and claims from all queues', async () => {
    await insertSleeper(test);
    await enqueue('mail');
    expect(await notificationsOfRuns()).toHaveLength(1);
  });

  it('notifies a daemon that claims from the queue, and none that does not', async () => {
    await insertSleeper(test, ['reports', 'prune']);
    await enqueue('mail');
    expect(await notificationsOfRuns()).toEqual([]);
    await test.sql(`update tock.sleepers set queues = '{reports,mail}'`);
    await test.sql('delete from tock.job_runs_live');
    await test.sql('delete from tock.job_keys');
    await enqueue('mail');
    expect(await notificationsOfRuns()).toHaveLength(1);
  });

  it.each(['repeatable read', 'serializable'])(
    'notifies under %s, whose snapshot may be older than a row that says asleep',
    async isolation => {
      await test.sql(
        `do $$ begin execute format('alter database %I set default_transaction_isolation = ${JSON.stringify(isolation).replaceAll('"', "''")}', current_database()); end $$`,
      );
      const strict = await connect();
      await strict.query('begin');
      await strict.query('select count(*) from tock.sleepers');
      await insertSleeper(test);
      await strict.query(`select tock.enqueue('quick')`);
      await strict.query('commit');
      expect(await notificationsOfRuns()).toEqual(['queued']);
    },
  );
});

it('a batch of many runs notifies whoever may be asleep, whatever the queue', async () => {
  const batch = () =>
    test.tock.enqueueMany(Array.from({ length: 101 }, () => ({ job: quick, queue: 'mail' })));
  await batch();
  expect(await notificationsOfRuns()).toEqual([]);
  await insertSleeper(test, ['reports']);
  await batch();
  expect(await notificationsOfRuns()).toEqual(['queued']);
});

it('a role that may only enqueue wakes who is asleep, and can neither read nor change who that is', async () => {
  const role = `enqueuer_${process.pid}_${Date.now()}`;
  await test.sql(`create role ${role} login password '${role}'`);
  await test.sql(`grant usage on schema tock to ${role}`);
  await test.sql(`grant execute on function tock.enqueue to ${role}`);
  try {
    const enqueuer = await connect(role);
    await enqueuer.query(`select tock.enqueue('quick')`);
    expect(await notificationsOfRuns()).toEqual([]);
    await insertSleeper(test);
    await enqueuer.query(`select tock.enqueue('quick')`);
    expect(await notificationsOfRuns()).toEqual(['queued']);
    for (const attempt of [
      'select from tock.sleepers',
      'delete from tock.sleepers',
      `update tock.sleepers set queues = '{}'`,
      `insert into tock.sleepers values ('${SLEEPER_ID}', null)`,
    ])
      await expect(enqueuer.query(attempt)).rejects.toThrow(/permission denied/);
    expect(await sleepers()).toHaveLength(1);
    await enqueuer.end();
  } finally {
    await test.sql(`drop owned by ${role}`);
    await test.sql(`drop role ${role}`);
  }
});

describe('createSleeper', () => {
  let sleeper: Sleeper;
  beforeEach(async () => {
    await insertWorker(test);
    sleeper = createSleeper(engineOf(), SLEEPER_ID, null);
  });

  /** Transactions of other databases count too. */
  const isAtRest = async () => {
    await sleeper.beforePoll();
    return sleeper.maxSleepMs() === Number.POSITIVE_INFINITY;
  };

  it('announces nothing before somebody listens', async () => {
    await sleeper.beforePoll();
    expect([await sleepers(), sleeper.maxSleepMs()]).toEqual([[], Number.POSITIVE_INFINITY]);
  });

  it('polls again until all transactions have ended that could not see its row, and then no more', async () => {
    const late = await connect();
    await late.query('begin');
    await late.query(`select tock.enqueue('quick')`);
    sleeper.announceAgain();
    await sleeper.beforePoll();
    expect(sleeper.maxSleepMs()).toBeLessThanOrEqual(1000);
    await sleeper.beforePoll();
    expect(sleeper.maxSleepMs()).toBeLessThanOrEqual(1000);
    // It saw no row. One that begins now does, and is not waited for.
    await late.query('commit');
    expect(await notificationsOfRuns()).toEqual([]);
    await late.query('begin');
    await late.query(`select tock.enqueue('quick')`);
    await until(isAtRest, 'the sleeper to be at rest');
    await late.query('commit');
    expect(await notificationsOfRuns()).toEqual(['queued']);
  });

  it('waits for one that got its id between the insert of the row and its commit', async () => {
    const [daemon, late] = [await connect(), await connect()];
    await daemon.query('begin');
    await daemon.query('insert into tock.sleepers values ($1, null)', [SLEEPER_ID]);
    await late.query('begin');
    await late.query(`select tock.enqueue('quick')`);
    await daemon.query('commit');
    const horizon = await newTransactionId.first(database, {});
    const haveEnded = async () =>
      (await haveAllEndedBefore.first(database, { id: horizon?.id ?? '' }))?.haveEnded;
    expect(await haveEnded()).toBe(false);
    await late.query('rollback');
    await until(haveEnded, 'all earlier transactions, of other databases too, to end');
  });

  it('polls as long as the worker has no row to refer to, and announces it once there is one', async () => {
    await test.sql('delete from tock.workers');
    sleeper.announceAgain();
    await sleeper.beforePoll();
    expect(sleeper.maxSleepMs()).toBeLessThanOrEqual(1000);
    await insertWorker(test);
    await until(isAtRest, 'the sleeper to be at rest');
    expect(await sleepers()).toMatchObject([{ id: SLEEPER_ID, queues: null }]);
  });

  it('polls where it may not announce it', async () => {
    await test.sql('alter table tock.sleepers rename to gone');
    sleeper.announceAgain();
    await sleeper.beforePoll();
    expect(sleeper.maxSleepMs()).toBeLessThanOrEqual(1000);
    await test.sql('alter table tock.gone rename to sleepers');
    await sleeper.beforePoll();
    expect(await sleepers()).toHaveLength(1);
  });
});

describe('isNotifyLockAwaited', () => {
  const isAwaited = async () => (await isNotifyLockAwaited.first(database, {}))?.isAwaited;

  // Those who notify in other databases of the server wait for it, too.
  const isFree = () => until(async () => !(await isAwaited()), 'none to wait');

  it('is true while many notify, and false once they have stopped', async () => {
    await isFree();
    let isOver = false;
    const notifying = Array.from({ length: 8 }, async () => {
      const client = await connect();
      while (!isOver) await client.query(`select pg_notify('other', '')`);
    });
    try {
      await until(async () => await isAwaited(), 'one to wait for another');
    } finally {
      isOver = true;
      await Promise.all(notifying);
    }
    expect(await isFree()).toBe(true);
  });
});

describe('a daemon', () => {
  it('writes no row while it is woken for one run after another', async () => {
    const daemon = await start();
    const [before] = await sleepers();
    for (let count = 0; count < 30; count++) await ended(await test.tock.enqueue(quick));
    expect(await sleepers()).toEqual([before]);
    expect(before?.id).toBe(daemon.id);
    expect(await notificationsOfRuns()).toHaveLength(30);
  });

  it('finds what is enqueued while it is awake, without a notification', async () => {
    await startAwake();
    await notificationsOfRuns();
    const ids = [await test.tock.enqueue(quick), await test.tock.enqueue(quick, {}, { priority: -1 })];
    release();
    for (const id of ids) await ended(id);
    expect(await notificationsOfRuns()).toEqual([]);
  });

  it('finds a run whose transaction read that nobody sleeps, and commits after it has fallen asleep', async () => {
    const daemon = await startAwake();
    await notificationsOfRuns();
    const late = await connect();
    await late.query('begin');
    const { rows } = await late.query<{ id: string }>(`select tock.enqueue('quick') as id`);
    sent.length = 0;
    release();
    await until(isAsleep(daemon.id), 'the daemon to fall asleep');
    const hasPolled = () => {
      const asked = sent.indexOf(haveAllEndedBefore.text);
      return asked >= 0 && sent.slice(asked).some(text => text.includes('"isOverdue"'));
    };
    await until(async () => hasPolled(), 'it to poll, and to find nothing');
    await late.query('commit');
    await ended(rows[0]?.id ?? '');
    expect(await notificationsOfRuns()).toEqual([]);
  });

  it('is woken for its queue while another, for another queue, is awake', async () => {
    await startAwake('reports');
    await start({ queues: ['mail'] });
    await notificationsOfRuns();
    await ended(await test.tock.enqueue(quick, {}, { queue: 'mail' }));
    await test.tock.enqueue(quick, {}, { queue: 'reports' });
    expect(await notificationsOfRuns()).toEqual(['queued:0:mail']);
  });

  it('announces again that it may be asleep after its rows were deleted', async () => {
    const daemon = await start();
    await test.sql('delete from tock.workers');
    await until(isAsleep(daemon.id), 'it to announce that');
    await ended(await test.tock.enqueue(quick));
    expect(await notificationsOfRuns()).toHaveLength(1);
  });

  it('announces it again when it listens anew: a server that took over may not have the row', async () => {
    const daemon = await start();
    await test.sql('delete from tock.sleepers');
    await test.sql(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where datname = current_database() and query = 'listen "tock"'`,
    );
    await until(isAsleep(daemon.id), 'it to announce that');
    await ended(await test.tock.enqueue(quick));
    expect(await notificationsOfRuns()).toHaveLength(1);
  });

  it('is not to be woken while it drains, nor after', async () => {
    const daemon = await start({ concurrency: 2 });
    await test.tock.enqueue(slow);
    await until(() => Promise.resolve(hasStarted), 'the run to start');
    const stopping = daemon.stop();
    await until(isAwake(daemon.id), 'its row to go');
    await notificationsOfRuns();
    await test.tock.enqueue(quick);
    expect(await notificationsOfRuns()).toEqual([]);
    release();
    await stopping;
    expect(await sleepers()).toEqual([]);
  });

  it('is woken beside one that died awake, which has no row', async () => {
    await insertWorker(test);
    await start();
    await ended(await test.tock.enqueue(quick));
    expect(await notificationsOfRuns()).toHaveLength(1);
  });

  it('leaves a row that only costs notifications, if it dies asleep, until it is reaped', async () => {
    await insertSleeper(test);
    await test.tock.enqueue(quick);
    expect(await notificationsOfRuns()).toHaveLength(1);
    await test.sql(`update tock.workers set seen_at = tock.now() - interval '11 minutes'`);
    await test.tock.tick();
    expect(await sleepers()).toEqual([]);
  });
});

it('a tick never asks to be woken', async () => {
  await test.tock.enqueueMany(Array.from({ length: 50 }, () => ({ job: quick })));
  await test.tock.tick();
  await test.sql('select count(*) from tock.sleepers');
  expect([await sleepers(), await notificationsOfRuns()]).toEqual([[], []]);
});
