// What `prove` explains: every way in which an occurrence comes to its end leaves nothing unexplained.
import { describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { openTestTock, reuseTestTock } from '../support/test-tock.js';

const work = defineJob({ name: 'work', run: async () => undefined });
/** Its run stays live: it waits for its second attempt. */
const flaky = defineJob({
  name: 'flaky',
  retry: { maxAttempts: 2, base: '10d', max: '10d', jitter: 0 },
  run: () => Promise.reject(new Error('no')),
});
const test = openForEach(
  () => reuseTestTock([work, flaky]),
  ({ setClock }) => setClock('2026-03-01T12:00:00Z'),
);

const upsert = async (more: object = {}) =>
  await test.tock.schedules.upsert({ name: 's', job: 'work', cron: '*/10 * * * *', ...more });
/** Time passes, with a tick after each step. */
const ticks = async (count: number, step = '10m') => {
  for (let n = 0; n < count; n++) {
    await test.advance(step);
    await test.tock.tick();
  }
};
const prove = async (options: object = {}) =>
  await test.tock.prove({
    from: '2026-02-28T00:00:00Z',
    to: '2026-03-04T00:00:00Z',
    names: ['s'],
    ...options,
  });

/** A story, and how many of the occurrences up to the clock's time end in which way. */
const STORIES: readonly (readonly [string, () => Promise<void>, Readonly<Record<string, number>>])[] = [
  [
    'runs, and what is due',
    async () => {
      await upsert();
      await ticks(3);
      await test.advance('20m');
    },
    { run: 3, due: 2 },
  ],
  [
    'a run that its jitter has put off, and that is withdrawn',
    async () => {
      await upsert({ jitter: '9m', catchup: 'all' });
      await ticks(1, '50m');
      await test.tock.schedules.remove('s');
    },
    { run: 4, 'skipped:edited': 1 },
  ],
  [
    'an outage under latest',
    async () => {
      await upsert({ catchup: 'latest' });
      await ticks(2);
      await ticks(1, '2h');
    },
    { run: 3, 'skipped:catchup': 11 },
  ],
  [
    'an outage under all, with a window of an hour',
    async () => {
      await upsert({ catchup: 'all', catchupWindow: '1h', overlap: 'allow_all' });
      await ticks(1, '2h');
    },
    { run: 7, 'skipped:catchup': 5 },
  ],
  [
    'an outage under none',
    async () => {
      await upsert({ catchup: 'none' });
      await ticks(1, '125m');
      await ticks(1, '5m');
    },
    { run: 1, 'skipped:catchup': 12 },
  ],
  [
    'a live run under skip, and an outage then',
    async () => {
      await upsert({ job: 'flaky', catchup: 'all' });
      await ticks(2);
      await ticks(1, '1h');
    },
    { run: 1, 'skipped:overlap': 7 },
  ],
  [
    'a later run that takes the place of the earlier ones',
    async () => {
      await upsert({ job: 'flaky', catchup: 'all', overlap: 'cancel_other' });
      await ticks(2);
      await ticks(1, '1h');
    },
    { run: 3, 'skipped:overlap': 5 },
  ],
  [
    'hours outside a window that skips',
    async () => {
      await upsert({ catchup: 'all', window: '12:30-14:30', outsideWindow: 'skip', overlap: 'allow_all' });
      await ticks(1, '2h');
    },
    { run: 10, 'skipped:window': 2 },
  ],
  [
    'a pause that has ended',
    async () => {
      await upsert();
      await ticks(1);
      await test.tock.schedules.pause('s');
      await ticks(2);
      await test.tock.schedules.resume('s');
      await ticks(2);
    },
    { run: 3, 'skipped:paused': 2 },
  ],
  [
    'a pause that has not ended, after an edit in it',
    async () => {
      await upsert();
      await ticks(1);
      await test.tock.schedules.pauseMany({ names: ['s'] });
      await ticks(2);
      await upsert({ cron: '*/20 * * * *' });
      await ticks(3);
    },
    { run: 1, 'skipped:paused': 2, paused: 2 },
  ],
  [
    'an edit of the time and of the zone',
    async () => {
      await upsert({ cron: '0 8 * * *', timezone: 'Asia/Tokyo' });
      await ticks(1, '12h');
      await upsert({ cron: '30 3 * * *', timezone: 'America/New_York' });
      await ticks(2, '12h');
    },
    { run: 2 },
  ],
  [
    'what was due when it was edited, and waits for its jitter',
    async () => {
      await upsert({ jitter: '9m' });
      await test.advance('10m');
      await test.tock.register();
      await upsert({ cron: '*/15 * * * *' });
      await ticks(1);
    },
    { 'skipped:edited': 1, run: 1 },
  ],
  [
    'the last runs that remaining allows',
    async () => {
      await upsert({ remaining: 3 });
      await ticks(5);
    },
    { run: 3, 'used-up': 2 },
  ],
  [
    'more that came due than remaining allows',
    async () => {
      await upsert({ remaining: 2, catchup: 'all', overlap: 'allow_all' });
      await ticks(1, '1h');
      await upsert({ remaining: 1 });
      await ticks(2);
    },
    { run: 3, 'used-up': 5 },
  ],
  [
    'more than remaining allows, beside a live run',
    async () => {
      await upsert({ job: 'flaky', remaining: 3, catchup: 'all' });
      await ticks(1);
      await ticks(1, '1h');
    },
    { run: 1, 'skipped:overlap': 6 },
  ],
  [
    'a beginning and an end',
    async () => {
      await upsert({ startAt: '2026-03-01T12:30:00Z', endAt: '2026-03-01T12:50:00Z' });
      await ticks(6);
    },
    { run: 3 },
  ],
  [
    'a backfill of before it was made, of a pause and of an outage',
    async () => {
      await upsert({ catchup: 'latest' });
      await test.tock.schedules.pause('s');
      await ticks(3);
      await test.tock.schedules.resume('s');
      await ticks(1, '1h');
      await test.tock.schedules.backfill('s', { from: '2026-03-01T11:00:00Z', to: '2026-03-01T13:30:00Z' });
      await test.tock.tick();
    },
    { run: 1, backfill: 8 },
  ],
  [
    'a backfill of the last of those that an outage and a pause have left out, before a tick has come',
    async () => {
      await upsert({ catchup: 'latest' });
      await test.advance('29m');
      await test.tock.schedules.backfill('s', { from: '2026-03-01T12:20:00Z', to: '2026-03-01T12:29:00Z' });
      await ticks(1, '1m');
      await test.tock.schedules.pause('s');
      await test.advance('30m');
      await test.tock.schedules.backfill('s', { from: '2026-03-01T13:00:00Z', to: '2026-03-01T13:00:01Z' });
      await test.tock.schedules.resume('s');
      await test.tock.tick();
      await test.setClock('2027-03-01T12:00:00Z');
      await test.tock.tick();
      await test.setClock('2026-03-01T13:00:00Z');
      await test.tock.schedules.resetCursors();
      await ticks(1);
    },
    { run: 1, backfill: 2, 'skipped:catchup': 1, 'skipped:overlap': 1, 'skipped:paused': 2 },
  ],
  [
    'an edit of what was paused, and had less left than came due',
    async () => {
      await upsert({ remaining: 1 });
      await test.tock.schedules.pause('s');
      await test.advance('20m');
      await upsert();
    },
    { 'skipped:paused': 2 },
  ],
  [
    'one that is removed and made again',
    async () => {
      await upsert();
      await ticks(2);
      await test.advance('10m');
      await test.tock.schedules.remove('s');
      await ticks(6);
      await upsert({ cron: '*/15 * * * *' });
      await ticks(2, '15m');
    },
    { run: 4, 'skipped:edited': 1 },
  ],
  [
    'a clock that was a year ahead',
    async () => {
      await upsert();
      await ticks(2);
      await test.setClock('2027-03-01T12:00:00Z');
      await test.tock.tick();
      await test.setClock('2026-03-01T12:30:00Z');
      await ticks(1);
      await test.tock.schedules.resetCursors();
      await ticks(2);
    },
    { run: 4, 'skipped:catchup': 2 },
  ],
];

describe('prove', () => {
  it.each(STORIES)('explains %s', async (_, tell, counts) => {
    await tell();
    const proof = await prove();
    expect(proof.found).toEqual([]);
    expect(proof.holds).toBe(true);
    const { upcoming: _coming, ...past } = proof.byKind;
    expect(past).toEqual(counts);
  });

  it('explains what vanished from code, and came back', { tags: 'check' }, async () => {
    const scheduled = (cron: string) => [{ ...work, schedule: { cron } }, flaky];
    const [first, second] = [
      test.another({ jobs: scheduled('*/10 * * * *') }),
      test.another({ jobs: [flaky] }),
    ];
    const proof = async () => await prove({ names: ['work'] });
    await first.tick();
    await test.advance('10m');
    await first.tick();
    await test.advance('25m');
    // Two were due and had no run: nothing makes them now, which is on record.
    await second.tick();
    expect(await proof()).toMatchObject({ holds: true, byKind: { run: 1, 'skipped:edited': 2 } });
    await test.advance('1h');
    await test.another({ jobs: scheduled('*/20 * * * *') }).tick();
    await test.advance('10m');
    await test.another({ jobs: scheduled('*/20 * * * *') }).tick();
    expect(await proof()).toMatchObject({ holds: true, byKind: { run: 2, 'skipped:edited': 2 } });
  });

  it('says what cannot be proved, and why', { tags: 'check' }, async () => {
    await upsert();
    await test.tock.schedules.upsert({ name: 'after-s', job: 'work', after: 's' });
    await ticks(1);
    const proof = await test.tock.prove({
      from: '2026-03-01T11:00:00Z',
      to: '2026-03-01T12:11:00Z',
      names: ['s', 'after-s'],
    });
    expect(proof).toMatchObject({ holds: true, occurrences: 1, definitions: 2 });
    expect(proof.notProvable).toEqual([
      { reason: 'registration', definitions: 2, occurrences: 0 },
      { reason: 'chain', definitions: 1, occurrences: 0 },
    ]);
    await test.sql('delete from tock.definition_versions');
    expect((await prove()).notProvable).toEqual([{ reason: 'no-version', definitions: 1, occurrences: 0 }]);
  });

  it('refuses a name that no definition has, and a window that is none', async () => {
    await expect(prove({ names: ['nobody'] })).rejects.toMatchObject({ code: 'TOCK_NOT_FOUND' });
    await expect(prove({ names: undefined, from: '2027-01-01T00:00:00Z' })).rejects.toMatchObject({
      code: 'TOCK_BAD_TIME',
    });
    await expect(prove({ names: undefined, until: 1 })).rejects.toMatchObject({ code: 'TOCK_BAD_OPTION' });
  });

  it('reports how far it is, and stops when it is told to', async () => {
    await upsert();
    const seen: number[] = [];
    await prove({
      onProgress: ({ done, total }: { done: number; total: number }) => seen.push(done / total),
    });
    expect(seen.at(-1)).toBe(1);
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(prove({ signal })).rejects.toThrow('enough');
  });
});

describe('prove, and retention', () => {
  const kept = openForEach(
    () => openTestTock([work]),
    ({ setClock }) => setClock('2026-03-01T12:00:00Z'),
  );
  const all = { from: '2026-03-01T12:00:01Z', to: '2026-03-01T14:00:00Z', names: ['s'] };

  it('knows what had a run by its key, and cannot prove what had none', { tags: 'check' }, async () => {
    const { tock, advance, setClock, sql } = kept;
    await tock.schedules.upsert({ name: 's', job: 'work', cron: '*/10 * * * *', catchup: 'latest' });
    for (const step of ['10m', '10m', '40m']) {
      await advance(step);
      await tock.tick();
    }
    expect((await tock.prove(all)).byKind).toEqual({ run: 3, 'skipped:catchup': 3, upcoming: 5 });
    await setClock('2026-06-20T12:00:00Z');
    await tock.schedules.pause('s');
    await tock.prune();
    const proof = await tock.prove({ ...all, to: '2026-03-01T13:00:00Z' });
    expect(proof).toMatchObject({ holds: true, byKind: { pruned: 3 } });
    expect(proof.notProvable).toEqual([{ reason: 'retention', definitions: 1, occurrences: 2 }]);
    await setClock('2027-09-01T12:00:00Z');
    await tock.prune();
    const later = await tock.prove({ ...all, to: '2026-03-01T13:00:00Z' });
    expect(later).toMatchObject({ holds: true, occurrences: 0, byKind: {} });
    expect(later.notProvable).toEqual([{ reason: 'versions', definitions: 1, occurrences: 0 }]);
    const own = `definition_id = (select id from tock.job_definitions where name = 's')`;
    expect(await sql(`select change from tock.definition_versions where ${own}`)).toEqual([
      { change: 'pause' },
    ]);
  });
});
