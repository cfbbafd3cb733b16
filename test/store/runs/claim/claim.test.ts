// Store: the statements of a claim, each by itself.
import { describe, expect, it } from 'vitest';
import { type Database } from '../../../../src/store/connection/database.js';
import { readNextDue } from '../../../../src/store/reads/next-due.js';
import {
  type Claim,
  claimFreeRun,
  claimFreeRuns,
  claimInLanes,
  readClaimable,
} from '../../../../src/store/runs/claim/claim.js';
import type { Watermark } from '../../../../src/store/runs/claim/queue-lanes.js';
import { storeTest } from '../../../support/open.js';
import { addRuns, whileLocked, withoutIndexes } from '../../../support/runs.js';

const NOW = '2026-03-02T12:00:00Z';
const AGO = (minutes: number) => new Date(Date.parse(NOW) - minutes * 60_000).toISOString();
const WORKER = '00000000-0000-4000-8000-000000000001';
const options = { workerId: WORKER, leaseMs: 60_000, queues: null } as const;

const { test, database } = storeTest(NOW);

const mark = (queue: string, priority: number, more: Partial<Watermark> = {}): Watermark => ({
  queue,
  priority,
  at: '-infinity',
  id: '0',
  ...more,
});
const goOn = (watermarks: readonly Watermark[], limit = 10, session = database) =>
  claimInLanes(session, { ...options, limit }, watermarks);
const fromStart = (limit = 10, queues: readonly string[] | null = null) =>
  claimFreeRuns(database, { ...options, limit, queues });
const idsOf = (claim: Claim) => claim.runs.map(run => run.id);
const namesOf = (claim: Claim) => claim.lanes.map(each => `${each.queue} ${each.priority}`);
const rowOf = async (id: string) =>
  (await test.sql('select * from tock.job_runs_live where id = $1', [id]))[0];

/** Each way to claim runs of the queue `default` and priority 0. */
const WAYS: readonly [string, (limit: number, session?: Database) => Promise<Claim>][] = [
  ['from the beginning', (limit, session = database) => claimFreeRuns(session, { ...options, limit })],
  [
    'from a watermark',
    (limit, session = database) =>
      claimFreeRuns(session, { ...options, limit }, [mark('default', 0, { at: AGO(60) })]),
  ],
  ['in one lane', (limit, session) => goOn([mark('default', 0)], limit, session)],
  ['in several lanes', (limit, session) => goOn([mark('default', 0), mark('other', 1)], limit, session)],
];

describe.each(WAYS)('a claim %s', (_way, claim) => {
  it('starts the lease, counts the attempt and raises the fence', async () => {
    const [id = ''] = await addRuns(test, { run_at: NOW });
    expect((await claim(1)).runs).toMatchObject([{ id, fence: 1, attempts: 1 }]);
    expect(await rowOf(id)).toMatchObject({
      status: 'running',
      attempts: 1,
      fence: 1,
      locked_by: WORKER,
      locked_until: new Date('2026-03-02T12:01:00Z'),
      started_at: new Date(NOW),
    });
    await test.sql(`update tock.job_runs_live set status = 'failed'`);
    expect((await claim(1)).runs).toMatchObject([{ id, fence: 2, attempts: 2 }]);
  });

  it('takes what is due, by time and id, as many as it is asked for', { tags: 'check' }, async () => {
    const ids = await addRuns(
      test,
      { run_at: AGO(1) },
      { run_at: AGO(3), status: 'failed' },
      { run_at: AGO(1) },
      { run_at: NOW },
      { run_at: '2026-03-02T12:00:00.001Z' },
      { run_at: AGO(9), status: 'running', locked_by: WORKER, locked_until: AGO(5) },
      { run_at: AGO(9), blocked_on: 'job:x' },
    );
    const due = [ids[1], ids[0], ids[2], ids[3]];
    const first = await claim(3);
    expect([idsOf(first), first.hasMore]).toEqual([due.slice(0, 3), true]);
    const second = await claim(3);
    expect([idsOf(second), second.hasMore]).toEqual([due.slice(3), false]);
    const none = await claim(3);
    expect([none.runs, none.needsAdmission, none.hasMore]).toEqual([[], [], false]);
  });

  it('needs no index for its order', { tags: 'check' }, async () => {
    const ids = await addRuns(
      test,
      { run_at: AGO(1) },
      { run_at: AGO(3) },
      { run_at: AGO(2) },
      { run_at: AGO(9) },
    );
    const { runs } = await withoutIndexes(test, session => claim(3, session));
    expect(runs.map(run => run.id)).toEqual([ids[3], ids[1], ids[2]]);
  });

  it('leaves what needs a slot as it was, and names it unless it asks in lanes only', {
    tags: 'check',
  }, async () => {
    const [id = ''] = await addRuns(test, { slot_keys: ['job:x'], slot_limits: [1] });
    const needsAdmission = _way.startsWith('from') ? [id] : [];
    expect(await claim(1)).toMatchObject({ runs: [], needsAdmission, hasMore: needsAdmission.length > 0 });
    expect(await rowOf(id)).toMatchObject({ status: 'queued', attempts: 0, fence: 0, locked_by: null });
  });

  it('says where it left off: at the last one in that order, whatever its id', {
    tags: 'check',
  }, async () => {
    await addRuns(test, { run_at: AGO(1) }, { run_at: AGO(5) });
    const { lanes } = await claim(5);
    expect(lanes.filter(each => each.id !== null)).toMatchObject([
      { queue: 'default', priority: 0, id: '1', hasMore: false, isLimited: false },
    ]);
    expect(Date.parse(lanes[0]?.at ?? '')).toBe(Date.parse(AGO(1)));
    expect(await claim(1)).toMatchObject({ runs: [], hasMore: false });
  });

  it('skips what another session has locked', { tags: 'check' }, async () => {
    const [locked = '', free = ''] = await addRuns(test, { run_at: AGO(2) }, { run_at: AGO(1) });
    expect(idsOf(await whileLocked(test, [locked], () => claim(1)))).toEqual([free]);
    expect(idsOf(await claim(1))).toEqual([locked]);
  });

  it('takes nothing of lanes that it does not visit', { tags: 'check' }, async () => {
    await addRuns(test, { queue: 'a' }, { priority: 1 }, { priority: -1 });
    const taken = idsOf(await claim(10));
    expect(taken).toEqual(_way.startsWith('from') ? ['3', '1', '2'] : []);
  });
});

describe('a claim above a watermark', () => {
  const watermark = mark('a', 0, { at: AGO(2), id: '1' });

  it('takes nothing up to it, and everything elsewhere', async () => {
    await addRuns(
      test,
      { queue: 'a', run_at: AGO(2) },
      { queue: 'a', run_at: AGO(2) },
      { queue: 'a', run_at: AGO(1) },
      { queue: 'a', priority: 1, run_at: AGO(9) },
      { queue: 'b', run_at: AGO(9) },
    );
    const claim = await claimFreeRuns(database, { ...options, limit: 9 }, [watermark]);
    expect([idsOf(claim), claim.hasMore]).toEqual([['2', '3', '5', '4'], false]);
    expect(idsOf(await fromStart())).toEqual(['1']);
  });

  it('starts at the beginning where the queue has a limit', async () => {
    await addRuns(test, { queue: 'a', run_at: AGO(3) });
    await test.tock.queues.set('a', { concurrency: 2 });
    expect((await claimFreeRuns(database, { ...options, limit: 9 }, [watermark])).needsAdmission).toEqual([
      '1',
    ]);
    expect((await goOn([watermark])).needsAdmission).toEqual([]);
  });

  it('leaves what a daemon’s poll finds: what is after it or elsewhere, and whatever is due later', async () => {
    const poll = async () => await readNextDue(database, null, false, [watermark]);
    await addRuns(test, { queue: 'a', run_at: AGO(2) });
    expect(await poll()).toMatchObject({ isOverdue: false, runMs: null });
    expect(await readNextDue(database, null, false)).toMatchObject({ isOverdue: true });
    await addRuns(test, { queue: 'a', run_at: '2026-03-02T12:00:07Z' });
    expect(await poll()).toMatchObject({ isOverdue: false, runMs: 7000 });
    const [above] = await addRuns(test, { queue: 'a', run_at: AGO(1) });
    expect(await poll()).toMatchObject({ isOverdue: true });
    await test.sql('delete from tock.job_runs_live where id = $1', [above]);
    await addRuns(test, { queue: 'b', run_at: AGO(9) });
    expect(await poll()).toMatchObject({ isOverdue: true });
    expect(await readNextDue(database, ['a'], true, [watermark])).toMatchObject({ isOverdue: false });
  });

  it('tells a poll of runs that wait for code, also where it does not check for reaping', async () => {
    expect(await readNextDue(database, null, false)).toMatchObject({ waitsForCode: false });
    await addRuns(test, { queue: 'a', run_at: AGO(2), blocked_on: 'code:newer' });
    expect(await readNextDue(database, null, false)).toMatchObject({ isOverdue: false, waitsForCode: true });
  });
});

describe('a claim in lanes', () => {
  it('goes on in each by itself, the first ones given first, and says so', async () => {
    const ids = await addRuns(
      test,
      { queue: 'b', run_at: AGO(1) },
      { queue: 'a', run_at: AGO(9) },
      { queue: 'a', run_at: AGO(1) },
      { queue: 'a', priority: 1, run_at: AGO(9) },
    );
    const claim = await goOn([mark('b', 0), mark('a', 0, { at: AGO(5) }), mark('a', 1)]);
    expect(idsOf(claim)).toEqual([ids[0], ids[2], ids[3]]);
    expect(claim.lanes).toMatchObject([
      { queue: 'b', priority: 0, id: ids[0], hasMore: false, isLimited: false },
      { queue: 'a', priority: 0, id: ids[2] },
      { queue: 'a', priority: 1, id: ids[3] },
    ]);
  });

  it.each([
    ['paused', () => test.tock.queues.pause('a')],
    ['limited', () => test.tock.queues.set('a', { concurrency: 9 })],
    ['relayed', () => test.sql(`insert into tock.job_queues (name, relayed_to) values ('a', 'broker')`)],
  ])('takes nothing of a queue that has become %s', { tags: 'check' }, async (_what, close) => {
    await addRuns(test, { queue: 'a' }, { queue: 'b' });
    await close();
    const claim = await goOn([mark('a', 0), mark('b', 0)]);
    expect([idsOf(claim), claim.hasMore]).toEqual([['2'], false]);
  });
});

describe('a claim for a service', () => {
  const RUNS = ['default:shop', 'default', 'default:billing', 'other'].map(queue => ({ queue }));
  const marks = RUNS.map(({ queue }) => mark(queue, 0, { at: AGO(60) }));
  const wanted = (ownService: string, queues: readonly string[] | null = null) => ({
    ...options,
    queues,
    ownService,
    limit: 9,
  });
  const WAYS_FOR: readonly [string, (asked: ReturnType<typeof wanted>) => Promise<Claim>][] = [
    ['from the beginning', asked => claimFreeRuns(database, asked)],
    ['from watermarks', asked => claimFreeRuns(database, asked, marks)],
    ['in these lanes', asked => claimInLanes(database, asked, marks)],
  ];
  const worker = async (service: string, more: { readonly queues?: string; readonly seen?: string } = {}) =>
    await test.sql(
      `insert into tock.workers (id, kind, host, pid, capacity, service, queues, seen_at)
       values (gen_random_uuid(), 'daemon', 'web', 1, 1, $1, $2, $3)`,
      [service, more.queues ?? null, more.seen ?? NOW],
    );

  it.each(WAYS_FOR)('leaves the default queues of others to their workers, %s', async (_way, claim) => {
    await worker('shop');
    await addRuns(test, ...RUNS);
    expect(idsOf(await claim(wanted('billing'))).toSorted()).toEqual(['2', '3', '4']);
    expect(idsOf(await claim(wanted('')))).toEqual([]);
    expect(idsOf(await claim(wanted('billing', ['default'])))).toEqual([]);
    expect(idsOf(await claim(wanted('billing', ['default:shop'])))).toEqual(['1']);
    await addRuns(test, ...RUNS);
    expect(idsOf(await claim(wanted('shop'))).toSorted()).toEqual(['5', '6', '7', '8']);
  });

  it.each(WAYS_FOR)('takes from them where no worker of theirs does, %s', async (_way, claim) => {
    await worker('shop', { queues: '{mail}' });
    await worker('shop', { seen: AGO(2) });
    await addRuns(test, ...RUNS);
    expect(idsOf(await claim(wanted('billing'))).toSorted()).toEqual(['1', '2', '3', '4']);
  });

  it.each(WAYS_FOR.slice(0, 2))(
    'that names the queue default takes from all default queues, %s',
    async (_way, claim) => {
      await addRuns(test, ...RUNS);
      expect(idsOf(await claim(wanted('', ['default']))).toSorted()).toEqual(['1', '2', '3']);
    },
  );

  it('leaves them in one lane, and where it lists what it could claim', async () => {
    await worker('shop');
    await addRuns(test, ...RUNS);
    expect(idsOf(await claimInLanes(database, wanted('billing'), marks.slice(0, 1)))).toEqual([]);
    expect(await readClaimable(database, wanted('billing'))).toEqual(['2', '3', '4']);
    expect(await readClaimable(database, wanted('shop'))).toHaveLength(4);
  });

  it('is not due for what it leaves, now or later', async () => {
    await worker('shop');
    const due = async (ownService: string) => await readNextDue(database, null, false, [], ownService);
    await addRuns(test, { queue: 'default:shop', run_at: '2026-03-02T12:00:05Z' });
    expect([(await due('billing')).runMs, (await due('shop')).runMs]).toEqual([null, 5000]);
    await addRuns(test, { queue: 'default:shop' });
    expect([(await due('billing')).isOverdue, (await due('shop')).isOverdue]).toEqual([false, true]);
  });
});

// Long ago, so that they make no difference; one where there is nothing.
const WATERMARKS = ['a', 'b', 'c', 'm', 'narrow', 'none', 'plain', 'z'].map(queue =>
  mark(queue, 0, { at: AGO(60) }),
);

describe.each([
  ['the beginning', []],
  ['watermarks', WATERMARKS],
])('a claim from %s', (_from, watermarks) => {
  const fromStart = (limit = 10, queues: readonly string[] | null = null) =>
    claimFreeRuns(database, { ...options, limit, queues }, watermarks);

  it.each([
    ['with', (work: (database: Database) => Promise<Claim>) => work(database)],
    ['without', (work: (database: Database) => Promise<Claim>) => withoutIndexes(test, work)],
  ])(
    'finds each queue and priority once, in which something is due, %s indexes',
    { tags: 'check' },
    async (_what, run) => {
      await addRuns(
        test,
        { queue: 'z', priority: 1 },
        { queue: 'a', priority: 2 },
        { queue: 'a', priority: 2 },
        { queue: 'a', priority: -1 },
        { queue: 'later', run_at: '2026-03-02T12:00:01Z' },
        { queue: 'a', priority: 7, run_at: '2026-03-02T12:00:01Z' },
        { queue: 'running', status: 'running', locked_by: WORKER, locked_until: AGO(1) },
        { queue: 'blocked', blocked_on: 'job:x' },
        { queue: 'm' },
      );
      const claim = await run(session => claimFreeRuns(session, { ...options, limit: 10 }, watermarks));
      expect(namesOf(claim)).toEqual(['a -1', 'm 0', 'z 1', 'a 2']);
      expect(idsOf(claim)).toEqual(['4', '9', '1', '2', '3']);
      expect(claim.lanes.map(each => each.id)).toEqual(['4', '9', '1', '3']);
    },
  );

  it('gives every queue of a priority its share, and goes to the next priority only when the first is exhausted', {
    tags: 'check',
  }, async () => {
    await addRuns(
      test,
      ...Array.from({ length: 4 }, () => ({ queue: 'a' })),
      { queue: 'b' },
      { queue: 'b' },
      { queue: 'c', priority: 1 },
    );
    const queuesOf = (claim: Claim) => Number(claim.hasMore) + idsOf(claim).join();
    // Half for each, rounded up; no more than was asked for.
    expect(queuesOf(await fromStart(3))).toBe('11,2,5');
    const second = await fromStart(4);
    expect(queuesOf(second)).toBe('13,4,6');
    expect(second.lanes.map(each => each.hasMore)).toEqual([true, false, false]);
    expect(queuesOf(await fromStart(4))).toBe('07');
  });

  it('has more after an urgent run when it is full, though the backlog gave less than its share', {
    tags: 'check',
  }, async () => {
    const urgent = { queue: 'a', priority: -10 };
    await addRuns(test, urgent, ...Array.from({ length: 6 }, () => ({ queue: 'a' })), urgent);
    const first = await fromStart(4);
    expect([idsOf(first), first.hasMore]).toEqual([['1', '8', '2', '3'], true]);
    expect(first.lanes.map(each => each.hasMore)).toEqual([false, true]);
    // So the next claim continues, in place of walking over all that was claimed.
    const second = await goOn([mark('a', 0, { at: first.lanes[1]?.at ?? '', id: '3' })], 3);
    expect([idsOf(second), second.hasMore]).toEqual([['4', '5', '6'], true]);
  });

  it('stays where it was in a queue whose runs others have locked', { tags: 'check' }, async () => {
    const [locked = '', free = ''] = await addRuns(test, { queue: 'a' }, { queue: 'b' });
    const claim = await whileLocked(test, [locked], () => fromStart());
    expect(idsOf(claim)).toEqual([free]);
    expect(claim.lanes).toMatchObject([
      { queue: 'a', id: null, at: null, hasMore: false },
      { queue: 'b', id: free, hasMore: false },
    ]);
  });

  it('leaves the next priority alone while a queue of the first has more, though both give their share', {
    tags: 'check',
  }, async () => {
    const next = ['c', 'd', 'e'].flatMap(queue => [
      { queue, priority: 1 },
      { queue, priority: 1 },
    ]);
    await addRuns(test, ...Array.from({ length: 5 }, () => ({ queue: 'a' })), { queue: 'b' }, ...next);
    expect(idsOf(await fromStart(6))).toEqual(['1', '2', '3', '6']);
  });

  it('goes round the queues where it takes few of many, and names those it did not visit', {
    tags: 'check',
  }, async () => {
    await addRuns(test, ...['a', 'b', 'c', 'd'].flatMap(queue => [{ queue }, { queue }]), {
      queue: 'e',
      priority: 1,
    });
    const claimTwo = async (afterQueue: string) => {
      const { lanes } = await claimFreeRuns(database, { ...options, limit: 2, afterQueue }, watermarks);
      return lanes.map(({ queue, at, hasMore }) => `${queue} ${at ? 'taken' : 'not'} ${hasMore}`);
    };
    expect(await claimTwo('')).toEqual([
      'a taken true',
      'b taken true',
      'c not true',
      'd not true',
      'e not false',
    ]);
    expect(await claimTwo('b')).toEqual([
      'c taken true',
      'd taken true',
      'a not true',
      'b not true',
      'e not false',
    ]);
    const unread = ['d', 'a', 'c', 'b'].map(queue => mark(queue, 0));
    const claimed = await goOn(unread, 3);
    expect(idsOf(claimed)).toEqual(['8', '2', '6']);
    expect(claimed.lanes.map(({ queue, hasMore }) => `${queue} ${hasMore}`)).toEqual([
      'd true',
      'a true',
      'c true',
      'b true',
    ]);
  });

  it('takes only from the queues that it is asked for', { tags: 'check' }, async () => {
    await addRuns(test, { queue: 'a' }, { queue: 'b' }, { queue: 'c' });
    expect(idsOf(await fromStart(10, ['c', 'b']))).toEqual(['2', '3']);
    expect(idsOf(await fromStart(10, []))).toEqual([]);
    expect(idsOf(await fromStart(10))).toEqual(['1']);
  });

  it('names what needs a slot, and leaves it as it was', { tags: 'check' }, async () => {
    await addRuns(
      test,
      { queue: 'plain' },
      { queue: 'plain', slot_keys: ['job:x'], slot_limits: [1] },
      { queue: 'narrow' },
      { queue: 'paced' },
    );
    await test.tock.queues.set('narrow', { concurrency: 2 });
    await test.tock.queues.set('paced', { rate: { count: 5, per: '1m' } });
    const claim = await fromStart();
    expect([idsOf(claim), claim.needsAdmission.toSorted()]).toEqual([['1'], ['2', '3', '4']]);
    expect(claim.lanes.map(each => [each.queue, each.isLimited, each.needsAdmission])).toEqual([
      ['narrow', true, true],
      ['paced', true, true],
      ['plain', false, true],
    ]);
    expect(await rowOf('3')).toMatchObject({ status: 'queued', attempts: 0, fence: 0, locked_by: null });
  });

  it('takes no more of a queue than it has free slots', { tags: 'check' }, async () => {
    await addRuns(test, ...Array.from({ length: 5 }, () => ({ queue: 'narrow' })), { queue: 'other' });
    await test.tock.queues.set('narrow', { concurrency: 3 });
    await test.sql(`insert into tock.job_slots (concurrency_key, slot, run_id, fence)
      values ('queue:narrow', 1, 91, 1), ('queue:other', 1, 92, 1), ('job:narrow', 1, 93, 1)`);
    expect((await fromStart()).needsAdmission).toEqual(['1', '2']);
    await addRuns(test, { queue: 'other' });
    await test.sql(`insert into tock.job_slots (concurrency_key, slot, run_id, fence)
      values ('queue:narrow', 2, 94, 1), ('queue:narrow', 3, 95, 1)`);
    const full = await fromStart();
    expect([full.needsAdmission, namesOf(full), idsOf(full)]).toEqual([[], ['other 0'], ['7']]);
  });

  it.each([
    ['paused', `paused_at = tock.now()`, false],
    ['waiting for its next token', `rate_next_at = tock.now() + interval '1 millisecond'`, false],
    ['with a token due now', `rate_next_at = tock.now()`, true],
    ['with a token overdue', `rate_next_at = tock.now() - interval '1 hour'`, true],
    [
      'that had a rate once',
      `rate_count = null, rate_period_ms = null, rate_next_at = tock.now() + interval '1 hour'`,
      true,
    ],
  ])('visits a queue that is %s, or not', { tags: 'check' }, async (_what, change, isOpen) => {
    await addRuns(test, { queue: 'mail' }, { queue: 'other' });
    await test.tock.queues.set('mail', { rate: { count: 5, per: '1m' } });
    await test.tock.queues.set('other', { rate: { count: 5, per: '1m' } });
    await test.sql(`update tock.job_queues set ${change} where name = 'mail'`);
    expect(namesOf(await fromStart())).toEqual(isOpen ? ['mail 0', 'other 0'] : ['other 0']);
  });

  it.each([
    ['08:00-18:00', '06:59:59', false],
    ['08:00-18:00', '07:00:00', true],
    ['08:00-18:00', '16:59:59', true],
    ['08:00-18:00', '17:00:00', false],
    ['22:00-06:00', '20:59:59', false],
    ['22:00-06:00', '21:00:00', true],
    ['22:00-06:00', '04:59:59', true],
    ['22:00-06:00', '05:00:00', false],
  ])(
    'keeps to the hours %s of a queue in Berlin: at %s UTC open is %s',
    { tags: 'check' },
    async (window, time, isOpen) => {
      await test.setClock(`2026-03-02T${time}Z`);
      await addRuns(test, { queue: 'mail', run_at: AGO(9999) });
      await test.tock.queues.set('mail', { window, timezone: 'Europe/Berlin' });
      expect(idsOf(await fromStart())).toHaveLength(isOpen ? 1 : 0);
      expect(idsOf(await claimFreeRun(database, '1', options))).toEqual([]);
    },
  );
});

describe('the claim of one run', () => {
  const claimOne = (id: string) => claimFreeRun(database, id, options);

  it('claims it, if it is due and waits, and starts its lease', async () => {
    const [, id = ''] = await addRuns(test, {}, {});
    expect((await claimOne(id)).runs).toMatchObject([{ id, fence: 1, attempts: 1 }]);
    expect(await rowOf(id)).toMatchObject({ status: 'running', locked_by: WORKER });
    expect(await rowOf('1')).toMatchObject({ status: 'queued' });
    expect((await claimOne(id)).runs).toEqual([]);
  });

  it.each([
    ['is not due', { run_at: '2026-03-02T12:00:00.001Z' }],
    ['is blocked', { blocked_on: 'job:x' }],
    ['runs', { status: 'running', locked_by: WORKER, locked_until: AGO(1) }],
    ['is in a queue that is paused', { queue: 'stopped' }],
  ])('takes none that %s', { tags: 'check' }, async (_what, row) => {
    await test.tock.queues.pause('stopped');
    const [id = ''] = await addRuns(test, row);
    expect(await claimOne(id)).toMatchObject({ runs: [], needsAdmission: [] });
  });

  it('names it where it needs a slot', { tags: 'check' }, async () => {
    await test.tock.queues.set('narrow', { concurrency: 2 });
    await test.tock.queues.set('paced', { rate: { count: 5, per: '1m' } });
    await test.tock.queues.set('open', { window: '08:00-18:00' });
    const rows = [{ queue: 'narrow' }, { queue: 'paced' }, { slot_keys: ['job:x'], slot_limits: [1] }];
    for (const id of await addRuns(test, ...rows)) {
      expect(await claimOne(id)).toMatchObject({ runs: [], needsAdmission: [id] });
      expect(await rowOf(id)).toMatchObject({ status: 'queued', attempts: 0, locked_by: null });
    }
    const [free = ''] = await addRuns(test, { queue: 'open' });
    expect(await claimOne(free)).toMatchObject({ runs: [{ id: free }], needsAdmission: [] });
  });

  it('skips it where another session has locked it', async () => {
    const [id = ''] = await addRuns(test, {});
    expect((await whileLocked(test, [id], () => claimOne(id))).runs).toEqual([]);
  });
});

describe('readClaimable', () => {
  const ids = (limit: number, queues: readonly string[] | null = null) =>
    readClaimable(database, { limit, queues });

  it('names what a claim would take, in its order, and nothing else', async () => {
    await test.tock.queues.pause('stopped');
    await addRuns(
      test,
      { run_at: '2026-03-02T12:00:00.001Z' },
      { status: 'running', locked_by: WORKER, locked_until: NOW },
      { blocked_on: 'job:y' },
      { queue: 'stopped', run_at: AGO(9) },
      { run_at: AGO(1) },
      { run_at: AGO(2), status: 'failed' },
      { run_at: AGO(9), priority: 1 },
      { run_at: AGO(3), queue: 'a' },
      { run_at: AGO(2) },
    );
    expect(await ids(10)).toEqual(['8', '6', '9', '5', '7']);
    expect(await ids(2)).toEqual(['8', '6']);
    expect(await ids(10, ['a'])).toEqual(['8']);
    expect(
      await withoutIndexes(test, session => readClaimable(session, { limit: 1, queues: ['default'] })),
    ).toEqual(['6']);
  });
});
