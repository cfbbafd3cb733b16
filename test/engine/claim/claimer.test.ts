// Engine: how a worker's claims follow one another.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Claimer, createClaimer } from '../../../src/engine/claim/claimer.js';
import type { Engine } from '../../../src/engine/engine.js';
import { silentLogger } from '../../../src/model/logger.js';
import { type Database, openDatabase } from '../../../src/store/connection/database.js';
import type { Claim } from '../../../src/store/runs/claim/claim.js';
import { addRuns, emptyTables, type RunRow } from '../../support/runs.js';
import { openTestTock, type TestTock, until } from '../../support/test-tock.js';

const NOTHING_CLAIMED: Claim = { runs: [], limited: [], positions: [], hasMore: false, walkMs: null };
const position = (at: string) => ({
  queue: 'default',
  priority: 0,
  at,
  id: '9',
  hasMore: false,
  isLimited: false,
  needSlots: 'none' as const,
});
const WORKER = '00000000-0000-4000-8000-000000000001';

let test: TestTock;
let database: Database;
let claimer: Claimer;
let room: number;
let worthClaiming: number;
/** Ids that were accepted, a text for each claim; those that need a slot in brackets. */
let taken: string[];
let events: string[];
/** Called with how many runs are to be accepted. */
let onAccept: (count: number) => unknown;
/** Runs that were left behind are claimed when this resolves. */
let behind: Promise<void>;
let onIdle: () => void;
/** For how long the server says that it has looked, instead of how long it has. */
let walkMs: number | null;
/** Called with the number of a claim from the front, before it is sent, and before its answer is handed over. */
let onFrontClaim: (number: number) => unknown;
let onFrontAnswer: (number: number) => unknown;
let frontClaims: number;
let frontErrors: unknown[];
/** Part of a statement that the server refuses, and how often it has. */
let refused: string | null;
let refusals: number;
let warnings: unknown[];
/** What else happens when the claim of this number is accepted. */
let onTaken: Record<number, () => unknown>;
beforeAll(async () => {
  test = await openTestTock();
  database = openDatabase({ connectionString: test.url });
});
beforeEach(async () => {
  // How soon a claim starts from the beginning again, or looks elsewhere, goes by this clock.
  vi.spyOn(performance, 'now').mockReturnValue(0);
  await emptyTables(test);
  room = 2;
  worthClaiming = 0;
  taken = [];
  events = [];
  onTaken = {};
  walkMs = null;
  refused = null;
  refusals = 0;
  frontClaims = 0;
  frontErrors = [];
  onFrontClaim = () => undefined;
  onFrontAnswer = () => undefined;
  warnings = [];
  onAccept = () => undefined;
  onIdle = () => undefined;
  behind = Promise.resolve();
  const run: Database['run'] = async (text, ...rest) => {
    if (text.includes('<= (o.after_at')) await behind;
    if (refused !== null && text.includes(refused)) {
      refusals++;
      throw new Error('canceling statement due to statement timeout');
    }
    const front = text.includes('front_moved as') ? ++frontClaims : 0;
    if (front > 0) await onFrontClaim(front);
    const rows = await database.run<never>(text, ...rest).catch((error: { code?: string }) => {
      if (front > 0) frontErrors.push(error.code);
      throw error;
    });
    if (front > 0) await onFrontAnswer(front);
    for (const row of rows as { walk_ms?: number; walkMs?: number }[]) {
      if (typeof row.walk_ms === 'number') row.walk_ms = walkMs ?? 0;
      if (row.walkMs !== undefined) row.walkMs = walkMs ?? 0;
    }
    return rows;
  };
  const logger = { ...silentLogger, warn: ({ event }: { event?: unknown }) => warnings.push(event) };
  const settings = { leaseMs: 60_000 };
  claimer = createClaimer({ database: { ...database, run }, settings, logger } as unknown as Engine, {
    workerId: WORKER,
    queues: null,
    keepsFloors: true,
    claimable: () => Math.max(0, room - claimer.reserved),
    worthClaiming: () => worthClaiming,
    async accept({ runs, limited }: Claim) {
      await onAccept(runs.length);
      taken.push([...runs.map(run => run.id), ...limited.map(id => `[${id}]`)].join(' '));
      await onTaken[taken.length]?.();
      return runs.length;
    },
    onExhausted: () => events.push('end'),
    onIdle() {
      events.push(claimer.isClaiming ? 'rest while claiming' : 'rest');
      onIdle();
    },
  });
});
afterEach(async () => {
  vi.restoreAllMocks();
  // A claim beside would deadlock with the next test's TRUNCATE.
  await claimer.idle();
});
afterAll(async () => {
  await database.close();
  await test.close();
});

const add = (count: number, row: RunRow = {}) => addRuns(test, ...Array.from({ length: count }, () => row));

/** Four runs and one, of which there is room for four: each queue gives two at first. */
const addTwoQueues = async () => {
  room = 4;
  await add(4, { queue: 'a' });
  await add(1, { queue: 'b' });
};

describe('a claim', () => {
  it('goes on until nothing more is due, from the beginning once it came up short', async () => {
    await addTwoQueues();
    onTaken[2] = () => add(1, { priority: -1 });
    expect(await claimer.claim()).toBe(6);
    expect(taken).toEqual(['1 2 5', '3', '4', '6']);
    expect([claimer.hasMore, events]).toEqual([false, ['rest']]);
    expect(await claimer.claim()).toBe(0);
  });

  it('that continues takes an urgent run first when somebody has enqueued one', async () => {
    await add(8);
    await claimer.claim();
    await add(1, { priority: -1 });
    await claimer.claim();
    await claimer.claim();
    expect(taken).toEqual(['1 2', '9 3', '4 5']);
  });

  it('takes no more than there is room for, and knows that there is more', async () => {
    await add(4);
    onTaken[1] = () => (room = 0);
    expect(await claimer.claim()).toBe(2);
    expect([taken, claimer.hasMore, events]).toEqual([['1 2'], true, ['rest']]);
    expect(await claimer.claim()).toBe(0);
    expect(taken).toEqual(['1 2']);
    room = 9;
    expect(await claimer.claim()).toBe(2);
    expect([taken.slice(1), claimer.hasMore, events]).toEqual([
      ['3 4', ''],
      false,
      ['rest', 'rest', 'end', 'rest'],
    ]);
  });

  it('counts what it has claimed before that is accepted', async () => {
    await add(6);
    room = 3;
    onTaken[1] = () => (room = 0);
    expect(await claimer.claim()).toBe(3);
    expect(taken).toEqual(['1 2 3']);
  });

  it('is followed at once by another only where there is room for enough runs, or no more was found', async () => {
    await add(7);
    room = 3;
    worthClaiming = 2;
    // What was taken is in the room still, as the claimer counts it.
    onTaken[1] = () => (room = 1);
    expect(await claimer.claim()).toBe(3);
    expect([taken, claimer.hasMore, events]).toEqual([['1 2 3'], true, ['rest']]);
    room = 5;
    worthClaiming = 9;
    expect(await claimer.claim()).toBe(4);
    expect([taken.slice(1), claimer.hasMore]).toEqual([['4 5 6 7', ''], false]);
  });

  it.each([
    [2500, [2000, 500]],
    [2499, [2000]],
  ])(
    'is followed at once by another where there is room for 500, whatever is worth it: %d',
    async (many, counts) => {
      await test.sql(
        `insert into tock.job_runs_live (job, payload, status) select 'noop', '{}', 'queued' from generate_series(1, 2600)`,
      );
      [room, worthClaiming] = [many, 1000];
      onTaken[1] = () => (room = 0);
      await claimer.claim();
      expect(taken.map(ids => ids.split(' ').length)).toEqual(counts);
    },
  );

  it('asks for two thousand at most', async () => {
    await test.sql(
      `insert into tock.job_runs_live (job, payload, status) select 'noop', '{}', 'queued' from generate_series(1, 2003)`,
    );
    room = 9999;
    await claimer.claim();
    // A claim beside the second one may have brought the last three.
    await claimer.idle();
    expect(taken.filter(ids => ids !== '').map(ids => ids.split(' ').length)).toEqual([2000, 3]);
    await test.sql('delete from tock.job_runs_live');
    await test.sql(
      `insert into tock.job_runs_live (job, payload, status) select 'noop', '{}', 'queued' from generate_series(1, 2003)`,
    );
    expect(await claimer.claim({ queue: 'default', priority: 0 })).toBe(2000);
  });

  it('is one at a time: a call during a claim returns that one', async () => {
    await add(1);
    const first = claimer.claim();
    expect(claimer.isClaiming).toBe(true);
    expect(claimer.claim()).toBe(first);
    expect(await first).toBe(1);
    expect(claimer.isClaiming).toBe(false);
  });

  it('claims again after runs without a slot, but not forever', async () => {
    await add(3, { slot_keys: ['job:x'], slot_limits: [1] });
    onTaken[2] = () => test.sql(`update tock.job_runs_live set blocked_on = 'job:x' where id <= 2`);
    await claimer.claim();
    // The last one is never blocked.
    expect(taken).toEqual(['[1] [2]', ...Array.from({ length: 19 }, () => '[3]')]);
  });

  it('accepts the claim under way after an earlier one could not be accepted, and fails with that error', async () => {
    await addTwoQueues();
    onTaken[1] = () => {
      throw new Error('no announcement');
    };
    await expect(claimer.claim()).rejects.toThrow('no announcement');
    expect(taken).toEqual(['1 2 5', '3']);
    expect([claimer.isClaiming, events]).toEqual([false, []]);
    expect(await claimer.claim()).toBe(1);
  });

  it('fails where the database does, and can be made again', async () => {
    await add(1);
    await test.sql('alter table tock.job_queues rename to elsewhere');
    const failing = claimer.claim();
    const idle = claimer.idle();
    await expect(failing).rejects.toMatchObject({ code: '42P01' });
    await expect(idle).resolves.toBeUndefined();
    await test.sql('alter table tock.elsewhere rename to job_queues');
    expect(await claimer.claim()).toBe(1);
  });
});

describe('claims in more queues than one claim looks at', () => {
  const QUEUES = 300;
  beforeEach(async () => {
    await test.sql(
      `insert into tock.job_runs_live (job, payload, status, queue, priority, run_at)
       select 'noop', '{}', 'queued', 'q' || i % $1, i / $1 % 2, '2026-03-02T12:00:00Z'::timestamptz + i * interval '1 ms'
       from generate_series(0, $1 * 32 - 1) i`,
      [QUEUES],
    );
    room = 400;
  });
  /** From 0. */
  const numbers = () => taken.flatMap(ids => (ids === '' ? [] : ids.split(' ').map(id => Number(id) - 1)));

  it('take each run once, the more urgent ones first', async () => {
    do await claimer.claim();
    while (claimer.hasMore && taken.length < 50);
    expect(numbers().toSorted((one, other) => one - other)).toEqual(
      Array.from({ length: QUEUES * 32 }, (_, n) => n),
    );
    const priorities = numbers().map(n => Math.floor(n / QUEUES) % 2);
    expect(priorities.slice(0, QUEUES * 16)).not.toContain(1);
    expect(claimer.hasMore).toBe(false);
  });

  it('come to each queue, before any has given more than a few', async () => {
    while (taken.length < 4) await claimer.claim();
    const counts = new Map<number, number>();
    for (const n of numbers()) counts.set(n % QUEUES, (counts.get(n % QUEUES) ?? 0) + 1);
    expect(counts.size).toBe(QUEUES);
    expect(Math.max(...counts.values())).toBeLessThanOrEqual(8);
  });

  it('take an urgent run first when somebody has enqueued one', async () => {
    onTaken[1] = () => (room = 0);
    await claimer.claim();
    await add(1, { priority: -1, queue: 'urgent' });
    room = 50;
    onTaken[2] = () => (room = 0);
    await claimer.claim();
    expect(taken[1]?.split(' ')[0]).toBe(String(QUEUES * 32 + 1));
  });
});

describe('a claim of runs that were left behind', () => {
  const addMany = async (count: number) =>
    await test.sql(
      `insert into tock.job_runs_live (job, payload, status, run_at) select 'noop', '{}', 'queued', tock.now() from generate_series(1, $1)`,
      [count],
    );
  const sizes = () => taken.map(ids => (ids === '' ? 0 : ids.split(' ').length));
  const numbers = () => taken.flatMap(ids => ids.split(' ').map(Number));
  /** Claims 2,000 of 6,000 runs, and then comes the time for a claim from the beginning. */
  const claimSome = async () => {
    await test.sql(`select setval('tock.claim_front_restart', 0)`);
    await addMany(6000);
    room = 2000;
    onTaken[1] = () => (room = 0);
    await claimer.claim();
    room = 1000;
    onTaken[1] = onTaken[2] = onTaken[3] = () => (room = 0);
    taken = [];
    vi.spyOn(performance, 'now').mockReturnValue(500);
  };

  it('finds nothing where nothing was left behind, and takes none of the others', async () => {
    await claimSome();
    await claimer.claim();
    await claimer.idle();
    expect(numbers()).toEqual(Array.from({ length: 1000 }, (_, n) => 2001 + n));
  });

  it('keeps room meanwhile, in which no claim is tried again and again', async () => {
    await claimSome();
    let goOn: () => void = () => undefined;
    behind = new Promise(resolve => (goOn = resolve));
    onTaken[1] = () => (room = 50);
    // As a worker does that has more to claim.
    onIdle = () => {
      if (events.length > 50) throw new Error('it turns in a circle');
      if (claimer.hasMore && room - claimer.reserved > 0) void claimer.claim();
    };
    await claimer.claim();
    expect([sizes(), claimer.reserved, events]).toEqual([[900], 100, ['rest', 'rest']]);
    goOn();
    await claimer.idle();
    expect(claimer.reserved).toBe(0);
    await claimer.idle();
    expect(sizes().slice(0, 2)).toEqual([900, 50]);
  });

  it('finds a run that needs a slot, which the others have passed over', async () => {
    await claimSome();
    await test.sql(
      `update tock.job_runs_live set status = 'queued', locked_by = null, locked_until = null, slot_keys = '{job:x}', slot_limits = '{1}' where id = 7`,
    );
    await claimer.claim();
    await claimer.idle();
    expect(taken).toContain('[7]');
  });

  it('goes on there if there are many', async () => {
    await claimSome();
    await test.sql(
      `update tock.job_runs_live set status = 'queued', locked_by = null, locked_until = null where id between 101 and 400`,
    );
    await claimer.claim();
    await claimer.idle();
    room = 300;
    await claimer.claim();
    await claimer.idle();
    expect(numbers()).toEqual(expect.arrayContaining(Array.from({ length: 300 }, (_, n) => 101 + n)));
    expect(new Set(numbers()).size).toBe(numbers().length);
  });

  it('is left to another worker that has just sent one', async () => {
    await claimSome();
    await test.sql(
      `select setval('tock.claim_front_restart', (extract(epoch from clock_timestamp()) * 1000)::bigint)`,
    );
    await claimer.claim();
    await claimer.idle();
    expect(sizes()).toEqual([1000]);
  });

  it('starts from the beginning in the place of one that continues, where there is little room', async () => {
    await claimSome();
    await test.sql(
      `update tock.job_runs_live set status = 'queued', locked_by = null, locked_until = null where id = 7`,
    );
    room = 5;
    await claimer.claim();
    expect(numbers()).toEqual([7, 2001, 2002, 2003, 2004]);
  });

  it('is followed by one from the beginning, if it fails', async () => {
    await claimSome();
    const giveBack = async () =>
      await test.sql(
        `update tock.job_runs_live set status = 'queued', locked_by = null, locked_until = null where id = 7`,
      );
    await giveBack();
    let isRefused = false;
    onAccept = async count => {
      if (isRefused || count !== 1) return;
      isRefused = true;
      await giveBack();
      throw new Error('no announcement');
    };
    expect(await claimer.claim()).toBeGreaterThanOrEqual(900);
    await claimer.idle();
    expect(isRefused).toBe(true);
    room = 2;
    await claimer.claim();
    expect(numbers()).toContain(7);
  });
});

describe('a claim beside the one that continues', () => {
  const addMany = (count: number) =>
    test.sql(
      `insert into tock.job_runs (job, payload) select 'noop', '{}' from generate_series(1, ${count})`,
    );
  const firstAndLast = () => taken.map(ids => `${ids.split(' ')[0]}-${ids.split(' ').at(-1)}`);
  /** From the beginning; the next ones continue. */
  const claimOnce = async () => {
    room = 2000;
    onTaken[1] = () => (room = 0);
    await claimer.claim();
  };
  const second = () => until(() => Promise.resolve(frontClaims > 1), 'a second claim to be sent');
  const aMoment = () => new Promise(resolve => setTimeout(resolve, 50));

  it('takes the next runs, which are accepted after those of the first', async () => {
    await addMany(7000);
    room = 4500;
    let isFirstDone = false;
    onFrontClaim = async number => {
      if (number === 2) await until(() => Promise.resolve(isFirstDone), 'the first to be carried out');
    };
    onFrontAnswer = async number => {
      if (number !== 1) return;
      isFirstDone = true;
      await second().then(aMoment);
    };
    await claimer.claim();
    await claimer.idle();
    expect(firstAndLast().slice(0, 3)).toEqual(['1-2000', '2001-4000', '4001-6000']);
    expect(taken.join(' ').trim().split(' ')).toHaveLength(7000);
    expect(claimer.reserved).toBe(0);
  });

  it('waits for the front, as the one that continues does; none does once that was in vain', async () => {
    await addMany(9000);
    await claimOnce();
    room = 4500;
    // As a worker that is frozen, and does not read what it has claimed.
    await database.transaction(async session => {
      await session.run(`select pg_advisory_xact_lock(hashtextextended('tock.front:0 default', 0))`, []);
      await claimer.claim();
      await claimer.idle();
    });
    expect(frontErrors).toEqual(['55P03', '55P03']);
    expect(taken.join(' ').trim().split(' ')).toHaveLength(9000);
  });

  it('is not sent where there is little room beside', async () => {
    await addMany(4500);
    await claimOnce();
    room = 2400;
    onTaken[2] = () => (room = 0);
    onFrontAnswer = aMoment;
    await claimer.claim();
    await claimer.idle();
    expect([frontClaims, firstAndLast()]).toEqual([2, ['1-2000', '2001-4000', '4001-4400']]);
  });

  it('is waited for by a claim that finds nothing', async () => {
    await addMany(2600);
    await claimOnce();
    room = 4500;
    let isSecondAnswered = false;
    onFrontClaim = async number => {
      if (number === 1)
        await until(() => Promise.resolve(isSecondAnswered), 'the second claim to be answered');
    };
    onFrontAnswer = number => {
      if (number !== 2) return;
      isSecondAnswered = true;
      return aMoment();
    };
    await claimer.claim();
    expect(taken.filter(ids => ids !== '').map(ids => ids.split(' ').length)).toEqual([2000, 600]);
  });

  it('that fails leaves its runs to the next claims', async () => {
    await addMany(6000);
    await claimOnce();
    room = 4500;
    onFrontClaim = number => {
      if (number === 2) throw new Error('canceling statement due to statement timeout');
    };
    onFrontAnswer = async number => {
      if (number === 1) await second().then(aMoment);
    };
    await claimer.claim();
    await claimer.idle();
    expect(firstAndLast().slice(0, 3)).toEqual(['1-2000', '2001-4000', '4001-6000']);
    expect([claimer.reserved, claimer.hasMore]).toEqual([0, false]);
  });
});

describe('a claim with a hint', () => {
  const told = { queue: 'default', priority: 0 };

  it('takes what is there, once, and knows whether there is more', async () => {
    await add(3);
    await add(1, { queue: 'other' });
    expect(await claimer.claim(told)).toBe(2);
    expect([taken, claimer.hasMore, events]).toEqual([['1 2'], true, ['rest']]);
    expect(await claimer.claim(told)).toBe(1);
    expect([taken.slice(1), claimer.hasMore]).toEqual([['3'], true]);
  });

  it('takes nothing without room', async () => {
    await add(1);
    room = 0;
    expect(await claimer.claim(told)).toBe(0);
    expect(taken).toEqual([]);
    room = 1;
    expect(await claimer.claim(told)).toBe(1);
  });
});

describe('a claim above floors', () => {
  const at = (second: number) => `2026-03-02T12:00:${String(second).padStart(2, '0')}Z`;
  const place = { queue: 'default', priority: 0 };
  const FLOOR = { ...place, at: '2026-03-02T12:00:09.000Z' };
  /** Three slow claims from the beginning, the last one of which took a run that was due at second 10. */
  const slowDown = async () => {
    await test.setClock('2026-03-02T12:01:00Z');
    walkMs = 3;
    room = 9;
    for (const second of [8, 9, 10]) {
      await add(1, { run_at: at(second) });
      await claimer.claim(place);
    }
    expect(claimer.floors.used).toEqual([FLOOR]);
    taken = [];
  };
  const taking = (ids: string) =>
    until(() => Promise.resolve(taken.filter(each => each !== '').join() === ids), `${ids} to be claimed`);
  /** As a worker does that has more to claim. */
  const goOnByItself = () => {
    let claims = 0;
    onIdle = () => {
      if (!claimer.hasMore || room - claimer.reserved <= 0) return;
      if (++claims > 50) throw new Error('it turns in a circle');
      void claimer.claim();
    };
  };
  afterEach(async () => {
    claimer.stop();
    await test.setClock(null);
  });

  it.each([
    ['everywhere', undefined],
    ['with a hint', place],
  ])('%s leaves what lies below, until a look finds it, with no further claim', async (_what, hint) => {
    await slowDown();
    goOnByItself();
    await add(1, { run_at: at(5) });
    await add(1, { run_at: at(10) });
    expect(await claimer.claim(hint)).toBe(1);
    expect(await claimer.claim(hint)).toBe(0);
    await taking('5,4');
    await claimer.idle();
    expect([claimer.hasMore, claimer.floors.mustBegin]).toEqual([false, false]);
    expect(claimer.floors.used).toEqual([{ ...FLOOR, at: '2026-03-02T12:00:04.000Z' }]);
  });

  it('takes what lies elsewhere at once', async () => {
    await slowDown();
    await add(1, { queue: 'other', run_at: at(1) });
    await add(1, { priority: 5, run_at: at(1) });
    expect(await claimer.claim()).toBe(2);
  });

  it('begins at the beginning though others answer that were sent before the look did', async () => {
    await slowDown();
    goOnByItself();
    await add(1, { run_at: at(5) });
    await add(1, { run_at: at(11) });
    const sent = claimer.floors.beginIn(place);
    await until(() => Promise.resolve(claimer.floors.mustBegin || taken.includes('4 5')), 'the look');
    claimer.floors.claimed({ ...NOTHING_CLAIMED, positions: [position(at(11))] }, sent);
    await taking('4 5');
    await claimer.idle();
    expect(claimer.hasMore).toBe(false);
  });

  it('looks only while there is room, and finds it then', async () => {
    await slowDown();
    goOnByItself();
    room = 0;
    await add(1, { run_at: at(5) });
    const read = vi.spyOn(database, 'run');
    await new Promise(resolve => setTimeout(resolve, 1200));
    expect([taken, claimer.floors.used.length, read.mock.calls]).toEqual([[], 1, []]);
    room = 9;
    await taking('4');
  });

  it('looks though another worker has just looked, whose floors may be others', async () => {
    await slowDown();
    goOnByItself();
    await test.sql(
      `select setval('tock.claim_front_restart', (extract(epoch from clock_timestamp()) * 1000)::bigint + 60000)`,
    );
    await add(1, { run_at: at(5) });
    await taking('4');
    expect(claimer.floors.mustBegin).toBe(false);
  });

  it('ends when a look says that walks are fast again', async () => {
    await slowDown();
    walkMs = 1;
    await until(() => Promise.resolve(claimer.floors.used.length === 0), 'the look');
    await add(1, { run_at: at(5) });
    expect(await claimer.claim()).toBe(1);
    expect(claimer.floors.used).toEqual([]);
  });

  it('goes on where looks fail, says so once, and finds it when they work again', async () => {
    await slowDown();
    goOnByItself();
    refused = 'as has_runs';
    await add(1, { run_at: at(5) });
    await until(() => Promise.resolve(warnings.length > 0), 'a warning');
    await until(() => Promise.resolve(refusals > 1), 'another look');
    expect(await claimer.claim()).toBe(0);
    expect(warnings).toEqual(['claim.unlooked']);
    refused = null;
    await taking('4');
  });

  it('makes no look after it was stopped', async () => {
    await slowDown();
    await add(1, { run_at: at(5) });
    claimer.stop();
    await new Promise(resolve => setTimeout(resolve, 800));
    expect([taken, claimer.hasMore]).toEqual([[], false]);
    expect(await claimer.claim()).toBe(0);
  });

  it('begins at the beginning where a claim that continues has little room for what was left behind', async () => {
    await slowDown();
    await test.sql(`select setval('tock.claim_front_restart', 0)`);
    await add(6, { run_at: at(20) });
    room = 2;
    onTaken[1] = () => (room = 0);
    await claimer.claim();
    await add(1, { run_at: at(5) });
    expect(claimer.hasMore).toBe(true);
    vi.spyOn(performance, 'now').mockReturnValue(60_000);
    room = 2;
    onTaken[2] = () => (room = 0);
    await claimer.claim();
    expect(taken).toEqual(['4 5', '10 6']);
  });
});

describe('halt', () => {
  it('forgets that there is more', async () => {
    await add(4);
    onTaken[1] = () => (room = 0);
    await claimer.claim();
    claimer.halt();
    expect(claimer.hasMore).toBe(false);
    room = 9;
    await claimer.claim();
    expect(events).toEqual(['rest', 'rest']);
  });
});
