// Engine: the beats of a worker, one by one: timers are the test's, the database is real.
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/engine/engine.js';
import { signalOf } from '../../../src/engine/execute/abort.js';
import { type ActiveRun, activeRun } from '../../../src/engine/execute/active-run.js';
import { type Heartbeat, startHeartbeat } from '../../../src/engine/worker/heartbeat.js';
import { flushProgress } from '../../../src/engine/worker/reports.js';
import type { Database } from '../../../src/store/connection/database.js';
import type { ClaimedRun } from '../../../src/store/runs/claim/claimed-run.js';
import { openDatabase } from '../../support/database.js';
import { gate } from '../../support/gate.js';
import { collectLines, type LineLog } from '../../support/lines.js';
import { storeTest } from '../../support/open.js';
import { addRuns, type RunRow, whileLocked } from '../../support/runs.js';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.js';

const NOW = '2026-03-02T12:00:00Z';
const WORKER = '00000000-0000-4000-8000-000000000001';
const LEASE_MS = 60_000;
const BEAT_MS = 15_000;

const { test } = storeTest(NOW);
let pool: pg.Pool;
let database: Database;
let clock: VirtualClock;
let log: LineLog;
let active: Set<ActiveRun>;
let heartbeat: Heartbeat | undefined;
/** Statements that were sent, and what happens to each before it is sent and when it is answered. */
let sent: number;
/** Statements that the server has not answered yet. */
let underWay: number;
let before: () => unknown;
let answered: () => unknown;
let seen: number;
let refreshRow: () => Promise<void>;
beforeAll(async () => {
  pool = new pg.Pool({ connectionString: test.url });
  database = openDatabase({ pool });
  await database.run('select 1');
});
beforeEach(() => {
  // Leases are judged by this clock too, which a busy machine must not move.
  clock = createVirtualClock({ startsAt: 1_000_000 });
  log = collectLines();
  active = new Set();
  [sent, seen, underWay] = [0, 0, 0];
  before = () => undefined;
  answered = () => undefined;
  refreshRow = async () => {
    seen++;
  };
});
afterEach(() => {
  heartbeat?.stop();
  heartbeat = undefined;
});
afterAll(async () => {
  await database.close();
  await pool.end();
});

/** The real database, with a look at what is sent. */
const watched = (): Database => ({
  ...database,
  async run<Row>(...statement: Parameters<Database['run']>) {
    sent++;
    await before();
    underWay++;
    const rows = await database.run<Row>(...statement).finally(() => underWay--);
    await answered();
    return rows;
  },
});
const engine = () =>
  ({
    clock,
    database: watched(),
    logger: log.logger,
    settings: { leaseMs: LEASE_MS, heartbeatMs: BEAT_MS },
  }) as unknown as Engine;
const start = (pollMs?: number) => {
  heartbeat = startHeartbeat(engine(), WORKER, active, () => refreshRow(), { pollMs });
  return heartbeat;
};
/** Advances the timers, and waits for the answers to what they sent. */
const pass = async (ms: number) => {
  clock.pass(ms);
  await rest();
};
/** Nothing new has happened for a while; the answers of the database take real time. */
const rest = async () => {
  for (let last = -1, quiet = 0; quiet < 3; ) {
    const now = sent + seen + log.lines.length;
    quiet = now === last && underWay === 0 ? quiet + 1 : 0;
    last = now;
    await database.run('select 1');
    await new Promise(resolve => setImmediate(resolve));
  }
};
/** A run that WORKER holds, in the database and here. */
const hold = async (row: RunRow = {}, more: Partial<ActiveRun> = {}): Promise<ActiveRun> => {
  const [id = ''] = await addRuns(test, {
    status: 'running',
    fence: 3,
    locked_by: WORKER,
    locked_until: '2026-03-02T12:00:30Z',
    ...row,
  });
  const each = activeRun({ id, fence: 3, job: 'noop' } as ClaimedRun, clock.now() - 1000);
  active.add(Object.assign(each, more));
  return each;
};
const renewed = async () =>
  (
    await test.sql<{ id: string }>(
      `select id from tock.job_runs_live where locked_until = '2026-03-02T12:01:00Z' order by id`,
    )
  ).map(row => row.id);
const reasonOf = (each: ActiveRun) => signalOf(each.interrupt).reason as unknown;
const eventsOf = () => log.lines.map(line => line['event']);

describe('a beat', () => {
  it('renews the leases of all runs that are executed, in one statement, each time', async () => {
    const [one, two] = [await hold(), await hold()];
    start();
    await pass(BEAT_MS - 1);
    expect([sent, seen]).toEqual([0, 0]);
    const at = clock.now();
    await pass(1);
    expect([sent, seen, await renewed()]).toEqual([1, 1, [one.run.id, two.run.id]]);
    expect(Math.min(one.renewedAt, two.renewedAt)).toBeGreaterThanOrEqual(at);
    await test.sql(`update tock.job_runs_live set locked_until = tock.now()`);
    await pass(BEAT_MS - 1);
    expect(sent).toBe(1);
    await pass(1);
    expect([sent, seen, await renewed()]).toEqual([2, 2, [one.run.id, two.run.id]]);
    expect(eventsOf()).toEqual([]);
  });

  it('asks nothing where nothing is to be renewed', async () => {
    await hold({}, { isLost: true });
    await hold({}, { isCommitted: true });
    await hold({}, { isTimedOut: true });
    await hold({}, { isFinalizing: true });
    await hold({}, { isFinalizing: true, renewedAt: clock.now() - LEASE_MS / 2 + 25_000 });
    start();
    await pass(BEAT_MS);
    expect([sent, seen, await renewed()]).toEqual([0, 1, []]);
  });

  it('renews what waits long to be written, once half its lease is over', async () => {
    const old = { isFinalizing: true, renewedAt: clock.now() - LEASE_MS / 2 };
    const ids = [await hold({}, old), await hold({}, { ...old, isTimedOut: true })].map(each => each.run.id);
    start();
    await pass(BEAT_MS);
    expect(await renewed()).toEqual(ids);
  });

  it('loses a run that the database does not name, says so once, and keeps the others', async () => {
    const gone = await hold({ fence: 4 });
    const kept = await hold();
    start();
    await pass(BEAT_MS);
    await pass(BEAT_MS);
    expect([gone.isLost, kept.isLost]).toEqual([true, false]);
    expect(reasonOf(gone)).toMatchObject({ code: 'TOCK_LEASE_LOST' });
    expect(reasonOf(kept)).toBeUndefined();
    expect(log.lines).toMatchObject([
      { event: 'run.lease_lost', run_id: gone.run.id, job: 'noop', fence: 3 },
    ]);
  });

  it.each<[string, (each: ActiveRun) => void]>([
    ['has left', each => active.delete(each)],
    ['was settled by its own transaction', each => Object.assign(each, { isCommitted: true })],
    ['is being written', each => Object.assign(each, { isFinalizing: true })],
  ])('does not lose a run that %s while the statement was under way', async (_what, happen) => {
    const each = await hold({ fence: 4 });
    answered = () => happen(each);
    start();
    await pass(BEAT_MS);
    expect([sent, each.isLost]).toEqual([1, false]);
  });

  it('passes an operator’s wish on, once', async () => {
    const each = await hold({ cancel_requested_at: NOW });
    const other = await hold();
    start();
    await pass(BEAT_MS);
    const reason = reasonOf(each);
    expect(reason).toMatchObject({ message: 'cancelled by an operator' });
    expect([each.cancelRequested, other.cancelRequested]).toEqual([true, false]);
    await pass(BEAT_MS);
    expect(reasonOf(each)).toBe(reason);
    expect(await renewed()).toHaveLength(2);
  });

  it('is repeated soon where somebody else has locked a row, which is not lost as long as its lease lasts', async () => {
    const locked = await hold();
    const other = await hold();
    start();
    await whileLocked(test, [locked.run.id], async () => {
      await pass(BEAT_MS);
      expect([sent, await renewed(), locked.isLost]).toEqual([1, [other.run.id], false]);
      await pass(99);
      expect(sent).toBe(1);
      await pass(1);
      expect([sent, locked.isLost]).toEqual([2, false]);
      locked.renewedAt = clock.now() - LEASE_MS;
      await pass(200);
      expect([sent, locked.isLost]).toEqual([3, true]);
    });
    expect(eventsOf()).toEqual(['run.lease_lost']);
  });
});

describe('a beat that fails', () => {
  const fail = () => {
    throw new Error('no route to host');
  };

  it('is repeated, less and less often, and said once', { tags: 'check' }, async () => {
    await hold();
    before = fail;
    start();
    await pass(BEAT_MS);
    const waits: number[] = [];
    for (let count = 0; count < 8; count++) {
      const last = sent;
      let waited = 0;
      while (sent === last) {
        await pass(100);
        waited += 100;
      }
      waits.push(waited);
    }
    // Then a beat comes by itself.
    expect(waits).toEqual([100, 200, 400, 800, 1600, 3200, 6400, 2300]);
    expect(eventsOf()).toEqual(['heartbeat.failed']);
    expect(log.lines[0]).toMatchObject({ error: 'Error: no route to host' });
  });

  it('starts again with short pauses, and logs again, once one has succeeded', async () => {
    await hold();
    before = fail;
    start();
    await pass(BEAT_MS);
    await pass(100);
    before = () => undefined;
    await pass(200);
    expect([sent, await renewed()]).toEqual([3, ['1']]);
    before = fail;
    await pass(BEAT_MS - 300);
    expect([sent, eventsOf()]).toEqual([4, ['heartbeat.failed', 'heartbeat.failed']]);
    await pass(100);
    expect(sent).toBe(5);
  });

  it('loses the runs whose leases are over by our own clock, and no others', async () => {
    const over = await hold({}, { renewedAt: clock.now() - LEASE_MS });
    const settled = await hold({}, { renewedAt: clock.now() - LEASE_MS, isCommitted: true });
    const lasts = await hold({}, { renewedAt: clock.now() - LEASE_MS + 30_000 });
    before = fail;
    start();
    await pass(BEAT_MS);
    expect([over.isLost, settled.isLost, lasts.isLost]).toEqual([true, false, false]);
    expect(reasonOf(over)).toMatchObject({ code: 'TOCK_LEASE_LOST' });
  });

  it('that hangs is not sent again, and loses what is over meanwhile', async () => {
    const each = await hold();
    const { opened, open: go } = gate();
    before = () => opened;
    start();
    await pass(BEAT_MS);
    await pass(BEAT_MS);
    expect([sent, each.isLost]).toEqual([1, false]);
    each.renewedAt = clock.now() - LEASE_MS;
    await pass(BEAT_MS);
    expect([sent, each.isLost]).toEqual([1, true]);
    go();
    await rest();
    const other = await hold();
    await pass(BEAT_MS);
    expect([sent, await renewed()]).toEqual([2, ['1', other.run.id]]);
  });
});

it('the worker itself is seen beside the beat: one that hangs or fails costs no lease, and is not asked twice at once', async () => {
  await hold();
  let fail = (_error: Error): void => undefined;
  refreshRow = () => {
    seen++;
    return new Promise((_resolve, reject) => (fail = reject));
  };
  start();
  await pass(BEAT_MS);
  await pass(BEAT_MS);
  expect([sent, seen]).toEqual([2, 1]);
  fail(new Error('no'));
  await rest();
  await pass(BEAT_MS);
  expect([sent, seen, eventsOf()]).toEqual([3, 2, []]);
});

describe('stop', () => {
  it('ends beats, progress, repetitions and checks', async () => {
    const each = await hold();
    before = () => {
      throw new Error('no');
    };
    const started = start();
    await pass(BEAT_MS);
    started.checkCancel(each.run.id);
    started.checkCancel(each.run.id);
    started.stop();
    const [asked, shown] = [sent, seen];
    each.progress = { fraction: 0.5, stage: null, events: 1 };
    await pass(10 * BEAT_MS);
    expect([sent, seen, clock.waiting()]).toEqual([asked, shown, 0]);
  });

  it('also of a beat that is under way: it is not repeated', async () => {
    await hold();
    let fail = (_error: Error): void => undefined;
    before = () => new Promise((_resolve, reject) => (fail = reject));
    const started = start();
    await pass(BEAT_MS);
    started.stop();
    fail(new Error('no'));
    await rest();
    expect([sent, clock.waiting()]).toEqual([1, 0]);
  });
});

describe('checkCancel', () => {
  it('asks at once whether somebody has asked to cancel that run, and renews nothing', async () => {
    const each = await hold({ cancel_requested_at: NOW });
    const other = await hold({ cancel_requested_at: NOW });
    start().checkCancel(each.run.id);
    await rest();
    expect([sent, each.cancelRequested, other.cancelRequested, await renewed()]).toEqual([
      1,
      true,
      false,
      [],
    ]);
    // It found something: the next one need not wait.
    heartbeat?.checkCancel(other.run.id);
    await rest();
    expect([sent, other.cancelRequested]).toEqual([2, true]);
  });

  it('asks nothing of runs that are not here, or that it knows all about', async () => {
    const known = [
      await hold({}, { isLost: true }),
      await hold({}, { cancelRequested: true }),
      await hold({}, { isCommitted: true }),
      await hold({}, { isFinalizing: true }),
    ];
    const { checkCancel } = start();
    for (const each of known) checkCancel(each.run.id);
    checkCancel('99');
    await pass(1000);
    expect(sent).toBe(0);
  });

  it('loses a run that is not held any more, and leaves alone one of which nobody asked anything', async () => {
    const gone = await hold({ fence: 4 });
    const kept = await hold();
    const { checkCancel } = start();
    checkCancel(gone.run.id);
    checkCancel(kept.run.id);
    await pass(1000);
    expect([gone.isLost, kept.isLost, kept.cancelRequested]).toEqual([true, false, false]);
  });

  it('gathers notifications while it asks, and checks all runs after a thousand', async () => {
    const first = await hold();
    const each = await hold({ cancel_requested_at: NOW });
    const { checkCancel } = start();
    let isTold = false;
    answered = () => {
      if (isTold) return;
      isTold = true;
      for (let count = 1; count <= 1000; count++) checkCancel(String(1_000_000 + count));
    };
    checkCancel(first.run.id);
    await rest();
    expect([sent, each.cancelRequested]).toEqual([1, false]);
    await pass(1000);
    expect([sent, each.cancelRequested]).toEqual([2, true]);
  });

  it('checks again after a check that failed', async () => {
    const each = await hold({ cancel_requested_at: NOW });
    before = () => {
      throw new Error('no');
    };
    const { checkCancel } = start();
    checkCancel(each.run.id);
    await pass(1000);
    before = () => undefined;
    checkCancel(each.run.id);
    await pass(1000);
    expect([sent, each.cancelRequested, eventsOf()]).toEqual([2, true, []]);
  });
});

describe('a poll', () => {
  it('asks by one statement which runs are to be cancelled, and renews nothing', async () => {
    const [each, other] = [await hold({ cancel_requested_at: NOW }), await hold()];
    start(1000);
    await pass(999);
    expect(sent).toBe(0);
    await pass(1);
    expect([sent, each.cancelRequested, other.cancelRequested, await renewed()]).toEqual([
      1,
      true,
      false,
      [],
    ]);
    await pass(1000);
    expect(sent).toBe(2);
  });

  it('asks nothing if no run is at work, and of a run that was renewed since the last one too', async () => {
    start(1000);
    await pass(5000);
    expect(sent).toBe(0);
    const each = await hold({ cancel_requested_at: NOW }, { renewedAt: clock.now() + 999 });
    await pass(1000);
    expect([sent, each.cancelRequested]).toEqual([1, true]);
  });

  it('is left to the heartbeats of a worker that does not poll', async () => {
    await hold({ cancel_requested_at: NOW });
    start();
    await pass(BEAT_MS - 1);
    expect(sent).toBe(0);
  });
});

describe('flushProgress', () => {
  const progress = (fraction: number) => ({ fraction, stage: null, events: 1 });
  const stored = async () =>
    (
      await test.sql<{ fraction: number | null }>(
        `select (progress ->> 'fraction')::float8 as fraction from tock.job_runs_live order by id`,
      )
    ).map(row => row.fraction);

  it('writes what was reported since, every second, and once', async () => {
    const one = await hold({}, { progress: progress(0.25) });
    await hold();
    await hold({}, { progress: progress(0.5), isLost: true });
    start();
    await pass(999);
    expect(sent).toBe(0);
    await pass(1);
    expect([sent, one.progress, await stored()]).toEqual([1, null, [0.25, null, null]]);
    await pass(1000);
    expect(sent).toBe(1);
  });

  it('keeps what is being written, so that the end of the attempt writes it too', async () => {
    const one = await hold({}, { progress: progress(0.25) });
    let atEnd: Promise<void> | undefined;
    before = () => {
      before = () => undefined;
      atEnd = flushProgress(engine(), WORKER, [one]);
    };
    await flushProgress(engine(), WORKER, active);
    await atEnd;
    expect([sent, one.progress, await stored()]).toEqual([2, null, [0.25]]);
  });

  it('keeps for the next time what could not be written, unless there is newer, or it can never be', async () => {
    const [kept, newer] = [
      await hold({}, { progress: progress(0.1) }),
      await hold({}, { progress: progress(0.2) }),
    ];
    before = () => {
      newer.progress = progress(0.9);
      throw new Error('no route to host');
    };
    await flushProgress(engine(), WORKER, active);
    expect([kept.progress, newer.progress]).toEqual([progress(0.1), progress(0.9)]);
    before = () => {
      throw Object.assign(new Error('invalid'), { code: '22P05' });
    };
    await flushProgress(engine(), WORKER, active);
    expect([kept.progress, newer.progress]).toEqual([null, null]);
  });
});
