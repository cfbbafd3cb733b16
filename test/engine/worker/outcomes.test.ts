// Engine: what becomes of outcomes, also of those that the server does not take. The database is real; what it answers to some
// statements is the test's. When they are written: outcomes-gather.test.ts.
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/engine/engine.js';
import { activeRun } from '../../../src/engine/execute/active-run.js';
import { Outcomes } from '../../../src/engine/worker/outcomes.js';
import { systemClock } from '../../../src/environment/system-clock.js';
import type { Outcome } from '../../../src/model/run/decide.js';
import type { Database } from '../../../src/store/connection/database.js';
import type { ClaimedRun } from '../../../src/store/runs/claim/claimed-run.js';
import { openDatabase } from '../../support/database.js';
import { collectLines, type LineLog } from '../../support/lines.js';
import { storeTest } from '../../support/open.js';
import { addRuns } from '../../support/runs.js';
import { until } from '../../support/test-tock.js';

const WORKER = '00000000-0000-4000-8000-000000000001';

const { test } = storeTest('2026-03-02T12:00:00Z');
let pool: pg.Pool;
let database: Database;
let log: LineLog;
let outcomes: Outcomes;
/** The ids of each batch that was sent. */
let sent: string[];
let underWay = 0;
/** Called with what is sent; and with it when it has been carried out, and the answer is on its way. */
let before: (ids: string, text: string) => unknown;
let answered: (ids: string) => unknown;
let done: string[];
let resumed: number;
let repeated: string[];
let canWrite: (id: string) => boolean;
beforeAll(() => {
  pool = new pg.Pool({ connectionString: test.url });
  database = openDatabase({ pool });
});
beforeEach(async () => {
  log = collectLines();
  [sent, done, repeated, resumed] = [[], [], [], 0];
  before = () => undefined;
  answered = () => undefined;
  canWrite = () => true;
  const watched: Database = {
    ...database,
    async run<Row>(...[text, values = [], prepared]: Parameters<Database['run']>) {
      // What writes outcomes, or reads them back, has the ids first, and then their fences.
      const ids = /^\{[\d,]*\}$/.test(String(values[0])) ? String(values[0]).slice(1, -1) : null;
      if (ids !== null) {
        sent.push(ids);
        await before(ids, `${text} ${JSON.stringify(values)}`);
      }
      underWay++;
      const rows = await database.run<Row>(text, values, prepared).finally(() => underWay--);
      if (ids !== null) await answered(ids);
      return rows;
    },
  };
  const engine = {
    clock: systemClock,
    database: watched,
    logger: log.logger,
    settings: { leaseMs: 60_000 },
    workers: new Set(),
    wakeHost: () => undefined,
  } as unknown as Engine;
  outcomes = new Outcomes(engine, {
    workerId: WORKER,
    queues: null,
    room: () => 0,
    reports: { flush: async actives => void repeated.push(actives.map(({ run }) => run.id).join()) },
    onWritten: ({ run }, _outcome, isWritten) => done.push(`${run.id} ${isWritten}`),
    accept: () => undefined,
    onResumed: () => resumed++,
  });
});
afterAll(async () => {
  await database.close();
  await pool.end();
});

const SUCCEED: Outcome = { transition: 'succeed', output: null, error: null, delayMs: 0, skipReason: null };
const FAIL: Outcome = {
  ...SUCCEED,
  transition: 'fail',
  error: { attempt: 2, name: 'Error', code: null, message: 'poison', stack: null },
};
/** Runs that WORKER holds. */
const hold = (count: number) =>
  addRuns(
    test,
    ...Array.from({ length: count }, () => ({ status: 'running', attempts: 2, fence: 3, locked_by: WORKER })),
  );
const add = (ids: readonly string[], outcome: Outcome = SUCCEED) => {
  for (const id of ids) {
    const run = { id, fence: 3, slot_keys: null } as ClaimedRun;
    outcomes.add({ ...activeRun(run, performance.now()), isLost: !canWrite(id) }, outcome);
  }
};
const ended = (count: number) => until(async () => done.length >= count, `${count} outcomes to end`);
const idle = async () => {
  for (let last = -1; last !== sent.length + done.length || underWay > 0; ) {
    last = sent.length + done.length;
    await database.run('select 1');
    await new Promise(resolve => setImmediate(resolve));
  }
};
const eventsOf = () => log.lines.map(line => line['event']);
const refusing = (code: string) => Object.assign(new Error(`refused ${code}`), { code });
const rowOf = async (id: string) => (await test.sql('select * from tock.job_runs where id = $1', [id]))[0];

describe('outcomes', () => {
  it('of a lease that is lost are not written, and that is said of them alone', async () => {
    const ids = await hold(2);
    await test.sql('update tock.job_runs_live set fence = 4 where id = 1');
    add(ids);
    await ended(2);
    expect(done).toEqual(['1 false', '2 true']);
  });

  it('unblock the runs that waited for their slots, and pause a definition that fails too often', async () => {
    await test.sql(
      `insert into tock.job_definitions (name, job, cron, pause_on_failure_count) values ('nightly', 'noop', '0 0 * * *', 1)`,
    );
    const [placed = '', last = '', lost = ''] = await hold(3);
    await test.sql(
      'update tock.job_runs_live set definition_id = 1, scheduled_for = tock.now() where id > 1',
    );
    await test.sql(`insert into tock.job_slots values ('job:x', 1, $1, 3)`, [placed]);
    const [waits = ''] = await addRuns(test, { slot_keys: ['job:x'], slot_limits: [1], blocked_on: 'job:x' });
    add([placed]);
    await ended(1);
    await until(
      async () => (await rowOf(waits))?.['blocked_on'] === null,
      'the one that waits to be unblocked',
    );
    await test.sql('update tock.job_runs_live set fence = 4 where id = $1', [lost]);
    add([lost], { ...FAIL, transition: 'exhaust' });
    await ended(2);
    expect(eventsOf()).toEqual([]);
    add([last], { ...FAIL, transition: 'exhaust' });
    await ended(3);
    await until(async () => eventsOf().includes('definition.paused'), 'the definition to be paused');
  });
});

describe('outcomes that the server does not take for now', () => {
  it('are sent again, in halves, until it does; it is said once', async () => {
    const ids = await hold(4);
    const heldUp: boolean[] = [];
    before = () => {
      // The batch and its halves.
      if (sent.length <= 3) throw refusing('57014');
      heldUp.push(outcomes.isHeldUp);
    };
    add(ids);
    await ended(4);
    await until(async () => resumed === 1, 'the outcomes to be idle again');
    expect(heldUp[0]).toBe(true);
    expect(sent).toEqual(['1,2,3,4', '1,2', '3,4', '1', '2', '3', '4']);
    expect(repeated).toEqual(['1,2', '3,4', '1', '2', '3', '4']);
    expect([done, outcomes.isHeldUp]).toEqual([['1 true', '2 true', '3 true', '4 true'], false]);
    expect(log.lines).toMatchObject([
      { event: 'finalize.waiting', runs: 4, code: '57014', error: 'Error: refused 57014' },
      { event: 'finalize.resumed' },
    ]);
    // It is said anew when it begins anew.
    add((await hold(1)).slice());
    before = ids => {
      before = () => undefined;
      if (ids === '5') throw refusing('57014');
    };
    await ended(5);
    await until(async () => resumed === 2, 'the outcomes to be idle again');
    expect(eventsOf().slice(2)).toEqual(['finalize.waiting', 'finalize.resumed']);
  });

  it('are sent in turn, until three in a row are rejected in a round', { tags: 'check' }, async () => {
    const ids = await hold(7);
    before = () => {
      throw refusing('57014');
    };
    add(ids);
    await until(async () => sent.length >= 12, 'a few rounds');
    const rounds = ['1,2,3,4,5,6,7', '1,2,3,4 5,6,7', '1,2 3,4 5,6', '7 1 2', '3 4 5'];
    expect(sent.slice(0, 12).join(' ')).toBe(rounds.join(' '));
    before = () => undefined;
    await ended(7);
  });

  it('hold up no others: one that stays refused is alone soon', { tags: 'check' }, async () => {
    const ids = await hold(4);
    let isOpen = false;
    before = sentIds => {
      if (!isOpen && sentIds.split(',').includes('2')) throw refusing('55P03');
    };
    add(ids);
    await ended(3);
    expect(done.toSorted()).toEqual(['1 true', '3 true', '4 true']);
    // What is new is written meanwhile.
    const fresh = await hold(1);
    add(fresh);
    await ended(4);
    expect(outcomes.isHeldUp).toBe(false);
    isOpen = true;
    await ended(5);
    await until(async () => resumed === 1, 'the outcomes to be idle again');
  });

  it('take what is new along with the next try, first', async () => {
    const ids = await hold(2);
    before = () => {
      throw refusing('57014');
    };
    add(ids.slice(0, 1));
    await until(async () => outcomes.isHeldUp, 'the outcomes to be held up');
    add(ids.slice(1));
    outcomes.flushSoon();
    await until(async () => sent.includes('2'), 'the new one to be sent');
    expect(sent.indexOf('2')).toBe(sent.lastIndexOf('1', sent.indexOf('2')) + 1);
    before = () => undefined;
    await ended(2);
    expect(done.toSorted()).toEqual(['1 true', '2 true']);
  });

  it('are given up when their leases are over, and no others', async () => {
    const ids = await hold(3);
    before = () => {
      throw refusing('57014');
    };
    canWrite = id => id !== '3';
    add(ids);
    await ended(1);
    expect(done).toEqual(['3 false']);
    before = () => undefined;
    await ended(3);
    expect(done.slice(1).toSorted()).toEqual(['1 true', '2 true']);
    expect(repeated).not.toContain('');
    expect(log.lines.filter(line => line['event'] === 'finalize.lost')).toMatchObject([
      { runs: 1, error: 'Error: refused 57014' },
    ]);
  });
});

describe('a server that is away', () => {
  const away = () => Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });

  it('is sent the whole batch again, once in a round', { tags: 'check' }, async () => {
    const ids = await hold(5);
    before = () => {
      throw away();
    };
    add(ids.slice(0, 4));
    await until(async () => sent.length >= 3, 'two more tries');
    add(ids.slice(4));
    outcomes.flushSoon();
    await until(async () => sent.length >= 5, 'two more tries');
    before = () => undefined;
    await ended(5);
    expect(new Set(sent)).toEqual(new Set(['1,2,3,4', '5']));
  });

  it('may have carried it out: that is read back, and again where that fails too', async () => {
    const ids = await hold(2);
    await test.sql('update tock.job_runs_live set fence = 4 where id = 2');
    let losses = 0;
    const heldUp: boolean[] = [];
    before = () => heldUp.push(outcomes.isHeldUp);
    answered = () => {
      losses++;
      // The batch; then, of what was sent again, the one that asks what became of it.
      if (losses === 1 || losses === 3) throw away();
    };
    add(ids);
    await ended(2);
    expect(done).toEqual(['1 true', '2 false']);
    expect(await rowOf('1')).toMatchObject({ status: 'succeeded' });
    // Nothing was accepted before what became of the batch could be read.
    expect(heldUp).toEqual([false, true, true, true, true]);
  });

  it('may have carried out one that was alone', async () => {
    const ids = await hold(1);
    answered = () => {
      answered = () => undefined;
      throw away();
    };
    add(ids);
    await ended(1);
    expect(done).toEqual(['1 true']);
  });
});

describe('an outcome that PostgreSQL can never store', () => {
  it('is written without what it refuses; the others of its batch are written as they are', async () => {
    const ids = await hold(4);
    before = (_ids, text) => {
      if (text.includes('poison')) throw refusing('22P05');
    };
    add(ids.slice(0, 2), { ...SUCCEED, output: { sent: 1 } });
    add(ids.slice(2, 3), FAIL);
    add(ids.slice(3), {
      ...FAIL,
      error: { attempt: 2, name: 'E', code: null, message: 'fine', stack: null },
    });
    outcomes.flushSoon();
    await ended(4);
    expect(done.toSorted()).toEqual(['1 true', '2 true', '3 true', '4 true']);
    expect(await rowOf('1')).toMatchObject({ status: 'succeeded', output: { sent: 1 } });
    expect(await rowOf('3')).toMatchObject({
      status: 'failed',
      errors: [{ attempt: 2, message: 'the error could not be stored' }],
    });
    expect(await rowOf('4')).toMatchObject({ status: 'failed', errors: [{ message: 'fine' }] });
    expect(log.lines).toMatchObject([{ event: 'finalize.refused', run_id: '3', code: '22P05' }]);
    expect([outcomes.isHeldUp, resumed]).toEqual([false, 0]);
  });

  it('holds up new ones where the server takes neither half of its batch for now', async () => {
    const ids = await hold(2);
    before = sentIds => {
      throw refusing(sentIds.includes(',') ? '22P05' : '57014');
    };
    add(ids);
    await until(async () => sent.length > 3, 'a half to be sent again');
    expect(outcomes.isHeldUp).toBe(true);
    before = () => undefined;
    await ended(2);
    await until(async () => resumed === 1, 'the outcomes to be idle again');
  });

  it('is given up where even the constant text is refused', async () => {
    const ids = await hold(2);
    before = sentIds => {
      if (sentIds.split(',').includes('1')) throw refusing('22P05');
    };
    add(ids, FAIL);
    await ended(2);
    expect(done.toSorted()).toEqual(['1 false', '2 true']);
    expect(eventsOf()).toEqual(['finalize.refused', 'finalize.failed']);
    expect(outcomes.isHeldUp).toBe(false);
  });

  it('holds up no others where it is alone in its batch and is given up', async () => {
    const ids = await hold(2);
    before = sentIds => {
      if (sentIds === '1') throw refusing('22P05');
    };
    add(ids.slice(0, 1), FAIL);
    await ended(1);
    await idle();
    expect([done, outcomes.isHeldUp]).toEqual([['1 false'], false]);
    add(ids.slice(1));
    await ended(2);
    expect(done).toEqual(['1 false', '2 true']);
  });
});
