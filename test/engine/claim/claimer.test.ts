// Engine: how a worker's claims follow one another.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Claimer } from '../../../src/engine/claim/claimer.js';
import type { Engine } from '../../../src/engine/engine.js';
import { systemClock } from '../../../src/environment/system-clock.js';
import { silentLogger } from '../../../src/model/logger.js';
import type { Database } from '../../../src/store/connection/database.js';
import type { Claim } from '../../../src/store/runs/claim/claim.js';
import { openDatabase } from '../../support/database.js';
import { openOnce } from '../../support/open.js';
import { addRuns, emptyTables, type RunRow } from '../../support/runs.js';
import { reuseTestTock, until } from '../../support/test-tock.js';

const WORKER = '00000000-0000-4000-8000-000000000001';

const test = openOnce(reuseTestTock);
const database = openOnce(() => openDatabase({ connectionString: test.url }));
let claimer: Claimer;
let room: number;
/** How often the claimer has asked for the room. */
let asked: number;
let worthClaiming: number;
/** Ids that were accepted, a text for each claim; those that need a slot in brackets. */
let taken: string[];
let events: string[];
/** Called with how many runs are to be accepted. */
let onAccept: (count: number) => unknown;
let onIdle: () => void;
/** Part of a statement that the server refuses, and how often it has. */
let refused: string | null;
let refusals: number;
/** Which claims and sweeps were sent. */
let sent: string[];
/** Of the steady clock, in milliseconds. */
let now: number;
let warnings: unknown[];
/** What else happens when the claim of this number is accepted. */
let onTaken: Record<number, () => unknown>;
beforeEach(async () => {
  now = 0;
  // When a claim visits all lanes again goes by this clock.
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  await emptyTables(test);
  room = 2;
  asked = 0;
  worthClaiming = 0;
  taken = [];
  events = [];
  onTaken = {};
  refused = null;
  refusals = 0;
  sent = [];
  warnings = [];
  onAccept = () => undefined;
  onIdle = () => undefined;
  claimer = open(true);
});
/** @param goesOn see ClaimerOptions */
const open = (goesOn: boolean) => {
  const run: Database['run'] = async (text, ...rest) => {
    if (text.includes('before_queue')) sent.push('everywhere');
    else if (text.includes('carrier')) sent.push('in lanes');
    else if (text.includes('<= (m.after_at')) sent.push('sweep');
    if (refused !== null && text.includes(refused)) {
      refusals++;
      throw new Error('canceling statement due to statement timeout');
    }
    return await database.run<never>(text, ...rest);
  };
  const logger = { ...silentLogger, warn: ({ event }: { event?: unknown }) => warnings.push(event) };
  const settings = { leaseMs: 60_000 };
  return new Claimer(
    { clock: systemClock, database: { ...database, run }, settings, logger } as unknown as Engine,
    {
      workerId: WORKER,
      queues: null,
      goesOn,
      claimable() {
        asked++;
        return Math.max(0, room);
      },
      worthClaiming: () => worthClaiming,
      async accept({ runs, needsAdmission }: Claim) {
        await onAccept(runs.length);
        taken.push([...runs.map(run => run.id), ...needsAdmission.map(id => `[${id}]`)].join(' '));
        await onTaken[taken.length]?.();
        return runs.length;
      },
      onExhausted: () => events.push('end'),
      onIdle() {
        events.push(claimer.isClaiming ? 'rest while claiming' : 'rest');
        onIdle();
      },
    },
  );
};
afterEach(async () => {
  claimer.stop();
  vi.useRealTimers();
  vi.restoreAllMocks();
  await claimer.idle();
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

  it('that continues takes an urgent run after a tenth of a second, when somebody has enqueued one', async () => {
    await add(8);
    const claimTwo = async () => {
      onTaken[taken.length + 1] = () => (room = 0);
      room = 2;
      await claimer.claim();
    };
    await claimTwo();
    await add(1, { priority: -1 });
    await claimTwo();
    now = 101;
    await claimTwo();
    expect(taken).toEqual(['1 2', '3 4', '9 5']);
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

  it('is followed at once by another only where there is room for enough runs', async () => {
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
    // The lane had no more, so claims there start a second earlier again: what was given back meanwhile is found.
    expect([taken.slice(1), claimer.hasMore]).toEqual([['4 5 6 7'], true]);
    expect(await claimer.claim()).toBe(0);
    expect([taken.slice(2), claimer.hasMore]).toEqual([[''], false]);
  });

  it.each([
    [2500, [2000, 500]],
    [2499, [2000]],
  ])(
    'is followed at once by another where there is room for 500, whatever is worth it: %d',
    { tags: 'check' },
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

  it('asks for two thousand at most', { tags: 'check' }, async () => {
    await test.sql(
      `insert into tock.job_runs_live (job, payload, status) select 'noop', '{}', 'queued' from generate_series(1, 2003)`,
    );
    room = 9999;
    await claimer.claim();
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

describe('claims in more lanes than one claim visits', () => {
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

  it('take each run once, the more urgent ones first', { tags: 'check' }, async () => {
    do await claimer.claim();
    while (claimer.hasMore && taken.length < 50);
    expect(numbers().toSorted((one, other) => one - other)).toEqual(
      Array.from({ length: QUEUES * 32 }, (_, n) => n),
    );
    const priorities = numbers().map(n => Math.floor(n / QUEUES) % 2);
    expect(priorities.slice(0, QUEUES * 16)).not.toContain(1);
    expect(claimer.hasMore).toBe(false);
  });

  it('come to each queue, before any has given more than a few', { tags: 'check' }, async () => {
    while (taken.length < 4) await claimer.claim();
    const counts = new Map<number, number>();
    for (const n of numbers()) counts.set(n % QUEUES, (counts.get(n % QUEUES) ?? 0) + 1);
    expect(counts.size).toBe(QUEUES);
    expect(Math.max(...counts.values())).toBeLessThanOrEqual(8);
  });

  it('take an urgent run first when it is time to visit all lanes', { tags: 'check' }, async () => {
    onTaken[1] = () => (room = 0);
    await claimer.claim();
    await add(1, { priority: -1, queue: 'urgent' });
    now = 200;
    room = 50;
    onTaken[2] = () => (room = 0);
    await claimer.claim();
    expect(taken[1]?.split(' ')[0]).toBe(String(QUEUES * 32 + 1));
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

describe('a claim that continues', () => {
  it('asks only where there was more, and now and then everywhere', async () => {
    await add(20);
    for (let n = 0; n < 4; n++) {
      now = n * 40;
      onTaken[n + 1] = () => (room = 0);
      room = 2;
      await claimer.claim();
    }
    expect(taken).toEqual(['1 2', '3 4', '5 6', '7 8']);
    expect(sent).toEqual(['everywhere', 'in lanes', 'in lanes', 'everywhere']);
  });

  it('visits all lanes once one has no more', async () => {
    await add(3);
    await claimer.claim();
    await claimer.claim();
    expect(taken.filter(ids => ids !== '')).toEqual(['1 2', '3']);
    expect(sent.filter(each => each !== 'sweep').slice(0, 3)).toEqual([
      'everywhere',
      'in lanes',
      'everywhere',
    ]);
  });

  it('finds a run that needs a slot', async () => {
    await add(3);
    await add(1, { slot_keys: ['job:x'], slot_limits: [1] });
    onTaken[3] = () => (room = 0);
    await claimer.claim();
    await claimer.claim();
    expect(taken).toEqual(['1 2', '3', '[4]']);
  });
});

describe('a run below the watermarks', () => {
  const at = (second: number) => `2026-03-02T12:00:${String(second).padStart(2, '0')}Z`;
  const lane = { queue: 'default', priority: 0 };
  const starts = () => claimer.watermarks.known.map(mark => mark.at);
  /** A claim has taken a run that was due at second 10. */
  const claimAt10 = async (time: 'goes on' | 'stands' = 'goes on') => {
    await test.setClock('2026-03-02T12:01:00Z');
    if (time === 'goes on') vi.restoreAllMocks();
    // Else a sweep might come, on a busy machine, before what is to precede it.
    else vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    claimer = open(true);
    room = 9;
    await add(1, { run_at: at(10) });
    await claimer.claim(lane);
    expect(starts()).toEqual(['2026-03-02T12:00:09.000Z']);
    taken = [];
    sent = [];
  };
  const taking = (ids: string) =>
    until(() => Promise.resolve(taken.filter(each => each !== '').join() === ids), `${ids} to be claimed`);
  /** As a worker does that has more to claim. */
  const goOnByItself = () => {
    let claims = 0;
    onIdle = () => {
      if (!claimer.hasMore || room <= 0) return;
      if (++claims > 50) throw new Error('it turns in a circle');
      void claimer.claim();
    };
  };
  const sweeps = () => sent.filter(each => each === 'sweep').length;
  const letTimeGoOn = () => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  };
  afterEach(() => test.setClock(null));

  it.each([
    ['everywhere', undefined],
    ['with a hint', lane],
  ])(
    'is left by a claim %s, and found by a sweep, with no further claim',
    { tags: 'check' },
    async (_what, hint) => {
      await claimAt10();
      goOnByItself();
      await add(1, { run_at: at(5) });
      await add(1, { run_at: at(10) });
      await claimer.claim(hint);
      await taking('3,2');
      await claimer.idle();
      expect([claimer.hasMore, claimer.watermarks.haveFallen]).toEqual([false, false]);
    },
  );

  it('is found at once elsewhere', async () => {
    await claimAt10('stands');
    await add(1, { queue: 'other', run_at: at(1) });
    await add(1, { priority: 5, run_at: at(1) });
    expect(await claimer.claim()).toBe(2);
  });

  it('is found at once by a tick, when nothing else is left', async () => {
    claimer = open(false);
    await test.setClock('2026-03-02T12:01:00Z');
    await add(2, { run_at: at(10) });
    onTaken[1] = () => add(1, { run_at: at(5) });
    await claimer.claim();
    await claimer.claim();
    expect([taken.filter(ids => ids !== ''), sweeps()]).toEqual([['1 2', '3'], 0]);
  });

  it('is swept for after a claim that found nothing, and after others once in half a second', async () => {
    await claimAt10('stands');
    await add(1, { run_at: at(11) });
    await claimer.claim(lane);
    await claimer.idle();
    vi.advanceTimersByTime(499);
    expect(sweeps()).toBe(0);
    await add(1, { run_at: at(5) });
    await claimer.claim(lane);
    goOnByItself();
    vi.advanceTimersByTime(0);
    letTimeGoOn();
    await taking('2,3');
  });

  it('is swept for no more once nothing was claimed or found', { tags: 'check' }, async () => {
    vi.restoreAllMocks();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    try {
      claimer = open(true);
      room = 9;
      await add(1);
      await claimer.claim();
      sent = [];
      // Twenty times show that it has stopped. A sweep takes some round trips.
      for (let n = 0; n < 20; n++) {
        vi.advanceTimersByTime(5000);
        await new Promise(resolve => setImmediate(resolve));
        await database.run('select 1', []);
        await database.run('select 1', []);
      }
      claimer.stop();
      expect(sweeps()).toBeLessThanOrEqual(2);
    } finally {
      vi.useRealTimers();
    }
  });

  it('is swept for only while there is room, and found then', { tags: 'check' }, async () => {
    await claimAt10('stands');
    goOnByItself();
    await add(1, { run_at: at(11) });
    onTaken[1] = () => (room = 0);
    await claimer.claim(lane);
    await add(1, { run_at: at(5) });
    const before = asked;
    vi.advanceTimersByTime(499);
    expect(asked).toBe(before);
    now = 500;
    // It asks every 20 ms. Regression: it asked without a pause for as long as the worker was full.
    vi.advanceTimersByTime(201);
    expect(asked - before).toBe(11);
    expect([taken, sweeps()]).toEqual([['2'], 0]);
    // Whichever worker has swept last, it is this one's turn.
    await test.sql(`select setval('tock.swept_at', 0)`);
    room = 9;
    vi.advanceTimersByTime(20);
    letTimeGoOn();
    await taking('2,3');
  });

  it('is swept for again where that fails, which is logged once', { tags: 'check' }, async () => {
    await claimAt10();
    goOnByItself();
    refused = '<= (m.after_at';
    await add(1, { run_at: at(5) });
    await claimer.claim(lane);
    await until(() => Promise.resolve(refusals > 1), 'two failures');
    expect(warnings).toEqual(['claim.unswept']);
    refused = null;
    await taking('2');
  });
});
