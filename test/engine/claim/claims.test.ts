// Engine: which claims a worker sends, and in which order they find what is due.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Claims } from '../../../src/engine/claim/claims.js';
import type { Engine } from '../../../src/engine/engine.js';
import { systemClock } from '../../../src/environment/system-clock.js';
import { silentLogger } from '../../../src/model/logger.js';
import type { Database } from '../../../src/store/connection/database.js';
import type { QueueLane } from '../../../src/store/runs/claim/claim.js';
import { openDatabase } from '../../support/database.js';
import { openOnce } from '../../support/open.js';
import { addRuns, emptyTables, type RunRow } from '../../support/runs.js';
import { reuseTestTock, until } from '../../support/test-tock.js';

const WORKER = '00000000-0000-4000-8000-000000000001';

const test = openOnce(reuseTestTock);
const database = openOnce(() => openDatabase({ connectionString: test.url }));
let claims: Claims;
let room: number;
/** How often the claims have asked whether there is room. */
let asked: number;
/** Ids that were claimed, a text for each claim; those that need a slot in brackets. */
let taken: string[];
/** There is more, of which no claim has told. */
let onMore: () => void;
/** Part of a statement that the server refuses, and how often it has. */
let refused: string | null;
let refusals: number;
/** Which claims and sweeps were sent. */
let sent: string[];
/** Of the steady clock, in milliseconds. */
let now: number;
let warnings: unknown[];
/** What else happens when the claim of this number was answered. */
let onTaken: Record<number, () => unknown>;
let underWay: Promise<unknown>;
beforeEach(async () => {
  now = 0;
  // When a claim visits all lanes again goes by this clock.
  vi.spyOn(performance, 'now').mockImplementation(() => now);
  await emptyTables(test);
  room = 2;
  asked = 0;
  [taken, sent, warnings, onTaken] = [[], [], [], {}];
  [refused, refusals] = [null, 0];
  onMore = () => undefined;
  underWay = Promise.resolve();
  claims = open(true);
});
/** @param goesOn see ClaimsOptions */
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
  return new Claims(
    { clock: systemClock, database: { ...database, run }, settings, logger } as unknown as Engine,
    {
      workerId: WORKER,
      queues: null,
      goesOn,
      hasRoom() {
        asked++;
        return room > 0;
      },
      onMore: () => onMore(),
    },
  );
};
/**
 * Claims as long as there is room and anything is expected, as a worker does. Resolves to how many were
 * taken.
 */
const goOn = async () => {
  let count = 0;
  for (let next = claim(); next !== null; next = claim()) count += await next;
  return count;
};
const claim = () => {
  const claiming = room > 0 ? claims.next(room) : null;
  return (
    claiming?.then(async ({ runs, needsAdmission }) => {
      taken.push([...runs.map(run => run.id), ...needsAdmission.map(id => `[${id}]`)].join(' '));
      await onTaken[taken.length]?.();
      return runs.length;
    }) ?? null
  );
};
const ask = (lane?: QueueLane) => {
  claims.ask(lane);
  return goOn();
};
afterEach(async () => {
  claims.stop();
  vi.useRealTimers();
  vi.restoreAllMocks();
  await underWay;
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
    expect(await ask()).toBe(6);
    expect(taken).toEqual(['1 2 5', '3 4', '6']);
    expect(claims.hasMore).toBe(false);
    expect(await ask()).toBe(0);
  });

  it('that continues takes an urgent run after a tenth of a second, when somebody has enqueued one', async () => {
    await add(8);
    const claimTwo = async () => {
      onTaken[taken.length + 1] = () => (room = 0);
      room = 2;
      await ask();
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
    expect(await ask()).toBe(2);
    expect([taken, claims.hasMore]).toEqual([['1 2'], true]);
    expect(await ask()).toBe(0);
    expect(taken).toEqual(['1 2']);
    room = 9;
    expect(await ask()).toBe(2);
    expect([taken.slice(1), claims.hasMore]).toEqual([['3 4', ''], false]);
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
    do await ask();
    while (claims.hasMore && taken.length < 50);
    expect(numbers().toSorted((one, other) => one - other)).toEqual(
      Array.from({ length: QUEUES * 32 }, (_, n) => n),
    );
    const priorities = numbers().map(n => Math.floor(n / QUEUES) % 2);
    expect(priorities.slice(0, QUEUES * 16)).not.toContain(1);
    expect(claims.hasMore).toBe(false);
  });

  it('come to each queue, before any has given more than a few', { tags: 'check' }, async () => {
    claims.ask();
    while (taken.length < 4) await claim();
    const counts = new Map<number, number>();
    for (const n of numbers()) counts.set(n % QUEUES, (counts.get(n % QUEUES) ?? 0) + 1);
    expect(counts.size).toBe(QUEUES);
    expect(Math.max(...counts.values())).toBeLessThanOrEqual(8);
  });

  it('take an urgent run first when it is time to visit all lanes', { tags: 'check' }, async () => {
    onTaken[1] = () => (room = 0);
    await ask();
    await add(1, { priority: -1, queue: 'urgent' });
    now = 200;
    room = 50;
    onTaken[2] = () => (room = 0);
    await ask();
    expect(taken[1]?.split(' ')[0]).toBe(String(QUEUES * 32 + 1));
  });
});

describe('a claim with a hint', () => {
  const told = { queue: 'default', priority: 0 };

  it.each([
    ['another queue', { queue: 'other', priority: 0 }],
    ['another priority', { queue: 'default', priority: 1 }],
    ['none', undefined],
  ])('is everywhere once somebody has named %s', async (_what, other) => {
    await add(1, { queue: 'third' });
    claims.ask(told);
    claims.ask(other);
    claims.ask(told);
    expect(await goOn()).toBe(1);
    expect(sent[0]).toBe('everywhere');
  });

  it('is in that lane, however often somebody has named it', async () => {
    await add(1);
    claims.ask(told);
    claims.ask({ ...told });
    expect(await goOn()).toBe(1);
    expect(sent).toEqual(['in lanes']);
  });

  it('which is given while it is under way is followed by another', async () => {
    await add(1);
    claims.ask(told);
    const first = claim();
    claims.ask(told);
    await first;
    await add(1);
    expect(await goOn()).toBe(1);
    expect([sent, claims.hasMore]).toEqual([['in lanes', 'in lanes'], false]);
  });

  it('takes what is there, once, and knows whether there is more', async () => {
    await add(3);
    await add(1, { queue: 'other' });
    claims.ask(told);
    expect(await claim()).toBe(2);
    expect([taken, claims.hasMore]).toEqual([['1 2'], true]);
    claims.ask(told);
    expect(await claim()).toBe(1);
    expect([taken.slice(1), claims.hasMore]).toEqual([['3'], true]);
  });

  it('takes nothing without room', async () => {
    await add(1);
    room = 0;
    expect(await ask(told)).toBe(0);
    expect(taken).toEqual([]);
    room = 1;
    expect(await ask(told)).toBe(1);
  });
});

describe('a claim that continues', () => {
  it('asks only where there was more, and now and then everywhere', async () => {
    await add(20);
    for (let n = 0; n < 4; n++) {
      now = n * 40;
      onTaken[n + 1] = () => (room = 0);
      room = 2;
      await ask();
    }
    expect(taken).toEqual(['1 2', '3 4', '5 6', '7 8']);
    expect(sent).toEqual(['everywhere', 'in lanes', 'in lanes', 'everywhere']);
  });

  it('visits all lanes once one has no more', async () => {
    await add(3);
    await ask();
    await ask();
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
    await ask();
    await ask();
    expect(taken).toEqual(['1 2', '3', '[4]']);
  });
});

describe('a run below the watermarks', () => {
  const at = (second: number) => `2026-03-02T12:00:${String(second).padStart(2, '0')}Z`;
  const lane = { queue: 'default', priority: 0 };
  const starts = () => claims.watermarks.known.map(mark => mark.at);
  /** A claim has taken a run that was due at second 10. */
  const claimAt10 = async (time: 'goes on' | 'stands' = 'goes on') => {
    await test.setClock('2026-03-02T12:01:00Z');
    if (time === 'goes on') vi.restoreAllMocks();
    // Else a sweep might come, on a busy machine, before what is to precede it.
    else vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    claims = open(true);
    room = 9;
    await add(1, { run_at: at(10) });
    await ask(lane);
    expect(starts()).toEqual(['2026-03-02T12:00:09.000Z']);
    taken = [];
    sent = [];
  };
  const taking = (ids: string) =>
    until(() => Promise.resolve(taken.filter(each => each !== '').join() === ids), `${ids} to be claimed`);
  /** As a worker does that has more to claim. */
  const goOnByItself = () => {
    let times = 0;
    onMore = () => {
      if (room <= 0) return;
      if (++times > 50) throw new Error('it turns in a circle');
      underWay = goOn();
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
      await ask(hint);
      await taking('3,2');
      await underWay;
      expect([claims.hasMore, claims.watermarks.haveFallen]).toEqual([false, false]);
    },
  );

  it('is found at once elsewhere', async () => {
    await claimAt10('stands');
    await add(1, { queue: 'other', run_at: at(1) });
    await add(1, { priority: 5, run_at: at(1) });
    expect(await ask()).toBe(2);
  });

  it('is found at once by a tick, when nothing else is left', async () => {
    claims = open(false);
    await test.setClock('2026-03-02T12:01:00Z');
    await add(2, { run_at: at(10) });
    onTaken[1] = () => add(1, { run_at: at(5) });
    await ask();
    await ask();
    expect([taken.filter(ids => ids !== ''), sweeps()]).toEqual([['1 2', '3'], 0]);
  });

  it('is swept for after a claim that found nothing, and after others once in half a second', async () => {
    await claimAt10('stands');
    await add(1, { run_at: at(11) });
    await ask(lane);
    vi.advanceTimersByTime(499);
    expect(sweeps()).toBe(0);
    await add(1, { run_at: at(5) });
    await ask(lane);
    goOnByItself();
    vi.advanceTimersByTime(0);
    letTimeGoOn();
    await taking('2,3');
  });

  it('is swept for no more once nothing was claimed or found', { tags: 'check' }, async () => {
    vi.restoreAllMocks();
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    try {
      claims = open(true);
      room = 9;
      await add(1);
      await ask();
      sent = [];
      // Twenty times show that it has stopped. A sweep takes some round trips.
      for (let n = 0; n < 20; n++) {
        vi.advanceTimersByTime(5000);
        await new Promise(resolve => setImmediate(resolve));
        await database.run('select 1', []);
        await database.run('select 1', []);
      }
      claims.stop();
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
    await ask(lane);
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
    await ask(lane);
    await until(() => Promise.resolve(refusals > 1), 'two failures');
    expect(warnings).toEqual(['claim.unswept']);
    refused = null;
    await taking('2');
  });
});
