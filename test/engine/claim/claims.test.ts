// Engine: which claims a worker sends, and in which order they find what is due.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Claims } from '../../../src/engine/claim/claims.js';
import type { Engine } from '../../../src/engine/engine.js';
import { silentLogger } from '../../../src/model/logger.js';
import type { Database } from '../../../src/store/connection/database.js';
import type { QueueLane } from '../../../src/store/runs/claim/claim.js';
import { openDatabase } from '../../support/database.js';
import { openOnce } from '../../support/open.js';
import { addRuns, emptyTables, type RunRow } from '../../support/runs.js';
import { reuseTestTock } from '../../support/test-tock.js';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.js';

const WORKER = '00000000-0000-4000-8000-000000000001';

const test = openOnce(reuseTestTock);
const database = openOnce(() => openDatabase({ connectionString: test.url }));
let claims: Claims;
let room: number;
/** Ids that were claimed, a text for each claim; those that need a slot in brackets. */
let taken: string[];
/** Which claims were sent. */
let sent: string[];
/** How long the server takes for a claim everywhere, in milliseconds. */
let takesMs: number;
/** Whether the server refuses complete claims. */
let isRefused: boolean;
let warnings: unknown[];
/** What else happens when the claim of this number was answered. */
let onTaken: Record<number, () => unknown>;
let clock: VirtualClock;
/** What the claims have begun by themselves, when it was time. */
let underWay: Promise<unknown>;
beforeEach(async () => {
  await emptyTables(test);
  room = 2;
  [taken, sent, onTaken, takesMs, isRefused, warnings] = [[], [], {}, 0, false, []];
  // So that timers come a moment early, as Node's do.
  clock = createVirtualClock({ startsAt: 0.6, settle: async () => void (await underWay) });
  underWay = Promise.resolve();
  claims = open(true);
});
/** @param goesOn see ClaimsOptions */
const open = (goesOn: boolean) => {
  const run: Database['run'] = async (text, values, ...rest) => {
    const isEverywhere = text.includes('before_queue');
    if (isEverywhere) sent.push('everywhere');
    else if (text.includes('carrier')) sent.push('in lanes');
    else if (text.includes('tock.fair_scopes')) sent.push('fair');
    // It sends no watermark.
    const sendsMarks = values?.some(value => JSON.stringify(value).startsWith('["default'));
    if (isRefused && isEverywhere && !sendsMarks) {
      clock.pass(takesMs);
      throw new Error('canceling statement due to statement timeout');
    }
    const rows = await database.run<never>(text, values, ...rest);
    if (isEverywhere) clock.pass(takesMs);
    return rows;
  };
  const settings = { leaseMs: 60_000 };
  const logger = { ...silentLogger, warn: ({ event }: { event?: unknown }) => warnings.push(event) };
  return new Claims({ clock, database: { ...database, run }, settings, logger } as unknown as Engine, {
    workerId: WORKER,
    queues: null,
    goesOn,
    onMore: () => {
      underWay = goOn();
    },
  });
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
    clock.pass(101);
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
    expect([taken.filter(ids => ids !== ''), claims.hasMore]).toEqual([['1 2', '3 4'], false]);
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
    clock.pass(200);
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
    // Anybody may say so: a worker is no busier for it.
    expect([claims.hasMore, claims.isDue]).toEqual([false, true]);
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
      if (n > 0) clock.pass(40);
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
    expect(sent.slice(0, 3)).toEqual(['everywhere', 'in lanes', 'everywhere']);
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

describe('what claims wait for', () => {
  beforeEach(() => test.setClock('2026-03-02T12:01:00Z'));
  afterEach(() => test.setClock(null));

  it('holds no process, and nothing waits any more once they have stopped', async () => {
    await test.sql(
      `insert into tock.fair_keys (name, queue, job, key, is_ready, ready_at) values ('~default//a', 'default', '', 'a', false, tock.now() + interval '5 seconds')`,
    );
    claims.expect('fair');
    await add(1);
    await ask();
    // A complete claim, and the fair key.
    expect([clock.waiting(), clock.holding()]).toEqual([2, 0]);
    sent = [];
    await clock.advance(4000);
    expect(sent).toEqual(['everywhere']);
    await clock.advance(1000);
    expect(sent).toEqual(['everywhere', 'fair']);
    await add(1);
    await ask();
    expect(clock.waiting()).toBe(2);
    claims.stop();
    expect(clock.waiting()).toBe(0);
  });
});

describe('a run below the watermarks', () => {
  const at = (second: number) => `2026-03-02T12:00:${String(second).padStart(2, '0')}Z`;
  const lane = { queue: 'default', priority: 0 };
  /** A claim has taken a run that was due at second 10, and the complete claim after it has found nothing. */
  beforeEach(async () => {
    await test.setClock('2026-03-02T12:01:00Z');
    room = 9;
    takesMs = 1;
    await add(1, { run_at: at(10) });
    await ask(lane);
    await pass(500);
    [taken, sent] = [[], []];
  });
  afterEach(() => test.setClock(null));
  const pass = (ms: number) => clock.advance(ms);

  it('is left by a claim in its lane, and found by a complete one soon after a claim in vain', async () => {
    expect(claims.watermarks.known.map(mark => mark.at)).toEqual(['2026-03-02T12:00:09.000Z']);
    await add(1, { run_at: at(5) });
    await ask(lane);
    // Twenty times as long as the last one took, which was between one and two milliseconds.
    await pass(19);
    expect(taken).toEqual(['']);
    await pass(21);
    expect([taken, claims.hasMore, clock.waiting()]).toEqual([['', '2'], false, 1]);
  });

  it('is found half a second after a claim that has found others', async () => {
    await add(1, { run_at: at(5) });
    await add(1, { run_at: at(11) });
    await ask(lane);
    await pass(499);
    expect(taken).toEqual(['3']);
    await pass(1);
    expect(taken).toEqual(['3', '2']);
  });

  it('is looked for more rarely where that takes long, and where there are other daemons', async () => {
    const pauseAfter = async (daemons: number) => {
      claims.daemons = daemons;
      claims.expect('below');
      await goOn();
      await add(1);
      await ask(lane);
      return (clock.next() ?? 0) - clock.now();
    };
    takesMs = 100;
    const found: number[] = [];
    for (const daemons of [1, 3, 50]) found.push(Math.round((await pauseAfter(daemons)) / 100) / 10);
    expect(found).toEqual([12, 12, 100]);
  });

  it.each([
    ['has found some', false],
    ['was refused', true],
  ])('is looked for again after a pause by how long the claim took that %s', async (_what, refused) => {
    [takesMs, isRefused] = [100, refused];
    await add(1, { run_at: at(5) });
    claims.expect('below');
    await claim();
    expect(Math.round(((clock.next() ?? 0) - clock.now()) / 1000)).toBe(12);
  });

  it('is found at once elsewhere', async () => {
    await add(1, { queue: 'other', run_at: at(1) });
    await add(1, { priority: 5, run_at: at(1) });
    expect(await ask()).toBe(2);
  });

  it('is found at once by a claim that is told so, also where that was while another was under way', async () => {
    await add(1, { run_at: at(5) });
    claims.expect('below');
    expect([claims.hasMore, claims.isDue]).toEqual([false, true]);
    const complete = claim();
    claims.expect('below');
    expect(await complete).toBe(1);
    await add(1, { run_at: at(6) });
    expect(await goOn()).toBe(1);
    expect([taken.slice(0, 2), claims.hasMore]).toEqual([['2', '3'], false]);
  });

  it('is looked for no more once that was in vain', async () => {
    claims.expect('below');
    await goOn();
    expect([taken, claims.isDue, clock.waiting()]).toEqual([[''], false, 0]);
  });

  it('is looked for once there is room', async () => {
    await add(1, { run_at: at(11) });
    onTaken[1] = () => (room = 0);
    await ask(lane);
    await add(1, { run_at: at(5) });
    await pass(2000);
    // Nobody takes the worker for one that goes on claiming.
    expect([taken, claims.isDue, claims.hasMore]).toEqual([['2'], true, false]);
    room = 1;
    onTaken[2] = () => (room = 0);
    await goOn();
    expect(taken).toEqual(['2', '3']);
  });

  it('is looked for again where the server has refused that, which is said once, and others are claimed', async () => {
    isRefused = true;
    claims.expect('below');
    for (const second of [11, 12]) {
      await add(1, { run_at: at(second) });
      expect(await ask()).toBe(1);
      await pass(500);
    }
    expect([taken.filter(ids => ids !== ''), warnings]).toEqual([['2', '3'], ['claim.incomplete']]);
    isRefused = false;
    await add(1, { run_at: at(5) });
    await ask(lane);
    await pass(1000);
    expect(taken.filter(ids => ids !== '')).toEqual(['2', '3', '4']);
  });

  it('is found by the next claim of a tick that is told so', async () => {
    claims = open(false);
    room = 2;
    await add(10, { run_at: at(10) });
    onTaken[1] = async () => {
      await add(1, { run_at: at(5) });
      claims.expect('below');
    };
    await ask();
    expect(taken.slice(0, 2)).toEqual(['2 3', '12 4']);
  });

  it('is found at once by a tick, when nothing else is left', async () => {
    claims = open(false);
    await add(2, { run_at: at(10) });
    onTaken[1] = () => add(1, { run_at: at(5) });
    await ask();
    await ask();
    expect([taken.filter(ids => ids !== ''), clock.waiting()]).toEqual([['2 3', '4'], 0]);
  });
});
