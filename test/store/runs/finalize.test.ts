// Store: what the holder of a lease writes, each statement by itself.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Outcome } from '../../../src/model/run/decide.js';
import { finalizeRuns, readEndedAttempts } from '../../../src/store/runs/finalize.js';
import { storeTest } from '../../support/open.js';
import { addRuns, whileWaitedFor } from '../../support/runs.js';
import { held, NOT_HELD, NOW, OTHER, SOON, WORKER } from './held.js';

const { test, database } = storeTest(NOW);

const ERROR = { attempt: 2, name: 'Error', code: null, message: 'no', stack: null };
const outcome = (transition: Outcome['transition'], more: Partial<Outcome> = {}): Outcome => ({
  transition,
  output: null,
  error: null,
  delayMs: 0,
  skipReason: null,
  ...more,
});
const finalize = (ids: readonly string[], ...outcomes: readonly Outcome[]) =>
  finalizeRuns(
    database,
    ids.map((id, index) => ({ id, fence: 3, outcome: outcomes[index % outcomes.length] as Outcome })),
    WORKER,
  );
const rowOf = async (id: string) => (await test.sql('select * from tock.job_runs where id = $1', [id]))[0];
const takeSlot = (key: string, runId: string) =>
  test.sql(`insert into tock.job_slots values ($1, 1, $2, 3)`, [key, runId]);
const slotsLeft = async () =>
  (await test.sql<{ key: string }>('select concurrency_key as key from tock.job_slots order by 1')).map(
    row => row.key,
  );

/** All that an attempt can end in, and what its run is then. */
const ENDS = [
  [outcome('succeed'), { status: 'succeeded', output: null, errors: [] }],
  [outcome('succeed', { output: { sent: 1 } }), { status: 'succeeded', output: { sent: 1 } }],
  [
    outcome('exhaust', { error: ERROR }),
    { status: 'dead', output: null, errors: [{ message: 'no', attempt: 2 }] },
  ],
  [outcome('withdraw'), { status: 'cancelled', skip_reason: null }],
  [outcome('expire', { skipReason: 'deadline' }), { status: 'skipped', skip_reason: 'deadline' }],
] as const;
const MOVES_BACK = [
  [
    outcome('fail', { error: ERROR, delayMs: 1500 }),
    {
      status: 'failed',
      attempts: 2,
      run_at: new Date('2026-03-02T12:00:01.500Z'),
      errors: [{ message: 'no' }],
    },
  ],
  [outcome('release'), { status: 'queued', attempts: 1, releases: 1, errors: [] }],
  [
    outcome('defer', { deferral: { runAt: Date.parse('2026-03-02T18:00:00Z'), limits: [] } }),
    { status: 'queued', attempts: 1, releases: 0, run_at: new Date('2026-03-02T18:00:00Z') },
  ],
] as const;
const nameOf = (each: readonly [Outcome, object]) =>
  [`${each[0].transition}${each[0].output ? ' with output' : ''}`, ...each] as const;

it.each([...ENDS, ...MOVES_BACK].map(nameOf))(
  'an outcome that waits for a session which takes the run away is not written (%s)',
  async (_name, end) => {
    await addRuns(test, held());
    const taken = `update tock.job_runs_live set fence = fence + 1, locked_by = '${OTHER}' where id = 1`;
    const { lost } = await whileWaitedFor(test, taken, () => finalize(['1'], end));
    expect(lost).toEqual(new Set(['1']));
    expect(await rowOf('1')).toMatchObject({ status: 'running', fence: 4, locked_by: OTHER });
  },
);

it.each(MOVES_BACK.filter(([{ transition }]) => transition !== 'defer').map(nameOf))(
  'a run that goes on keeps when it was first started (%s)',
  async (_name, end) => {
    const first = '2026-03-02T11:00:00Z';
    await addRuns(test, held(), held({ began_at: first }));
    await finalize(['1', '2'], end);
    expect([await rowOf('1'), await rowOf('2')]).toMatchObject([
      { began_at: new Date(NOW) },
      { began_at: new Date(first) },
    ]);
  },
);

describe('the end of an attempt', () => {
  it.each(ENDS.map(nameOf))(
    'that is the end of its run (%s) is in the history, and no longer among the live',
    { tags: 'check' },
    async (_name, end, expected) => {
      const row = held({
        definition_id: 7,
        run_at: '2026-03-02T11:00:00Z',
        priority: 5,
        releases: 2,
        generation: 3,
        occurrence_count: 4,
        scheduled_for: '2026-03-02T10:00:00Z',
        interval_start: '2026-03-02T09:00:00Z',
        start_by: '2026-03-02T13:00:00Z',
        created_at: '2026-03-02T08:00:00Z',
        queue: 'mail',
        trigger: 'cron',
        idempotency_key: 'k',
        payload: '{"a":1}',
        progress: '{"fraction":0.5}',
        slot_keys: ['job:x'],
        slot_limits: [2],
        live_key: 'l',
      });
      const [id = ''] = await addRuns(test, row);
      const before = await rowOf(id);
      expect(await finalize([id], end)).toMatchObject({ lost: new Set(), freed: [], outboxWritten: false });
      expect(await test.sql('select from tock.job_runs_live')).toEqual([]);
      const { status: _s, errors: _e, output: _o, skip_reason: _r, ...kept } = before ?? {};
      expect(await rowOf(id)).toEqual({
        ...kept,
        locked_until: null,
        finished_at: new Date(NOW),
        errors: [],
        output: null,
        skip_reason: null,
        ...expected,
        ...('errors' in expected && (expected.errors as unknown[]).length > 0
          ? {
              errors: [
                {
                  ...ERROR,
                  at: '2026-03-02T12:00:00.000Z',
                  dueAt: '2026-03-02T11:00:00.000Z',
                  startedAt: '2026-03-02T12:00:00.000Z',
                },
              ],
            }
          : {}),
      });
    },
  );

  it.each(MOVES_BACK.map(nameOf))(
    'that is not the end of its run (%s) puts it back, without a holder',
    async (_name, end, expected) => {
      const [id = ''] = await addRuns(test, held());
      expect(await finalize([id], end)).toMatchObject({ lost: new Set(), freed: [], outboxWritten: false });
      expect(await rowOf(id)).toMatchObject({
        ...expected,
        fence: 3,
        locked_by: null,
        locked_until: null,
        finished_at: null,
      });
    },
  );

  it.each([...ENDS, ...MOVES_BACK].map(nameOf))(
    '(%s) moves what is held alone, and says what is not',
    { tags: 'check' },
    async (_name, end) => {
      const ids = await addRuns(test, ...NOT_HELD, held(), held());
      const before = await test.sql('select * from tock.job_runs where id <= 4 order by id');
      const { lost } = await finalize([...ids.toReversed(), '99'], end);
      expect(lost).toEqual(new Set(['1', '2', '3', '4', '99']));
      expect(await test.sql('select * from tock.job_runs where id <= 4 order by id')).toEqual(before);
      expect((await finalize(['99'], end)).lost).toEqual(new Set(['99']));
      expect(await test.sql(`select from tock.job_runs where status = 'running' and id > 4`)).toEqual([]);
    },
  );

  it('is written for a batch of all kinds at once', async () => {
    const all = [...ENDS, ...MOVES_BACK, ...ENDS];
    const ids = await addRuns(test, ...all.map(() => held()));
    expect((await finalize(ids, ...all.map(([end]) => end))).lost).toEqual(new Set());
    for (const [index, [, expected]] of all.entries())
      expect(await rowOf(ids[index] ?? '')).toMatchObject(expected);
    expect(await finalizeRuns(database, [], WORKER)).toMatchObject({
      lost: new Set(),
      freed: [],
      outboxWritten: false,
    });
  });

  it('keeps the errors of earlier attempts, of which the last fifty', async () => {
    const errors = (count: number) =>
      JSON.stringify(Array.from({ length: count }, (_, n) => ({ attempt: n })));
    const rows = [1, 49, 50].map(count => held({ errors: errors(count) }));
    const ids = await addRuns(test, ...rows, ...rows);
    const failed = outcome('fail', { error: { ...ERROR, attempt: 99 } });
    await finalize(ids.slice(0, 3), failed);
    await finalize(ids.slice(3), outcome('exhaust', { error: { ...ERROR, attempt: 99 } }));
    const attempts = await test.sql<{ first: number; last: number; count: number }>(
      `select (errors -> 0 ->> 'attempt')::int as first, (errors -> -1 ->> 'attempt')::int as last, jsonb_array_length(errors) as count
       from tock.job_runs order by id`,
    );
    const expected = [
      { first: 0, last: 99, count: 2 },
      { first: 0, last: 99, count: 50 },
      { first: 1, last: 99, count: 50 },
    ];
    expect(attempts).toEqual([...expected, ...expected]);
    const [again = ''] = await addRuns(test, held({ errors: errors(2) }));
    await finalize([again], outcome('fail'));
    expect((await rowOf(again))?.['errors']).toHaveLength(2);
  });

  it('keeps an operator’s reason with a run that is withdrawn, and with no other', async () => {
    const reason = { skip_reason: 'not needed' };
    const ids = await addRuns(test, held(reason), held(reason), held(reason));
    await finalize(
      ids,
      outcome('withdraw'),
      outcome('succeed', { output: 1 }),
      outcome('expire', { skipReason: 'window' }),
    );
    const reasons = ids.map(async id => (await rowOf(id))?.['skip_reason']);
    expect(await Promise.all(reasons)).toEqual(['not needed', null, 'window']);
  });

  it.each(MOVES_BACK.map(nameOf))(
    '(%s) withdraws the run where an operator asked to cancel it',
    async (_name, end) => {
      await test.sql(
        `insert into tock.job_definitions (name, job, has_followers) values ('nightly', 'noop', true)`,
      );
      const row = { definition_id: 1, scheduled_for: NOW };
      const ids = await addRuns(
        test,
        held({ ...row, cancel_requested_at: NOW, skip_reason: 'not needed' }),
        held(row),
      );
      for (const id of ids) await takeSlot(`definition:${id}`, id);
      // Another's, which was asked to cancel too.
      const [others = ''] = await addRuns(test, held({ fence: 4, cancel_requested_at: NOW }));
      const { lost, freed, outboxWritten } = await finalize([...ids, others], end);
      expect([lost, freed, outboxWritten]).toEqual([new Set([others]), ['definition:1'], true]);
      expect(await rowOf(others)).toMatchObject({ status: 'running', fence: 4 });
      expect(await rowOf('1')).toMatchObject({
        status: 'cancelled',
        skip_reason: 'not needed',
        finished_at: new Date(NOW),
        attempts: 2,
      });
      expect((await rowOf('2'))?.['status']).not.toBe('cancelled');
      expect(await test.sql('select kind, run_id from tock.job_outbox')).toEqual([
        { kind: 'chain', run_id: '1' },
      ]);
    },
  );

  it('defers a run until its window, or until it has slots, in addition to those that it has', async () => {
    const limits = [{ key: 'job:y', limit: 5 }];
    const ids = await addRuns(
      test,
      held({ run_at: '2026-03-02T11:00:00Z' }),
      held({ slot_keys: ['job:x'], slot_limits: [2] }),
      held({ slot_keys: ['job:x'], slot_limits: [2] }),
    );
    const forPlaces = outcome('defer', { deferral: { runAt: null, limits } });
    await finalize(
      ids,
      forPlaces,
      forPlaces,
      outcome('defer', { deferral: { runAt: Date.parse(SOON), limits: [] } }),
    );
    expect(await rowOf('1')).toMatchObject({
      run_at: new Date('2026-03-02T11:00:00Z'),
      slot_keys: ['job:y'],
      slot_limits: [5],
    });
    expect(await rowOf('2')).toMatchObject({ slot_keys: ['job:x', 'job:y'], slot_limits: [2, 5] });
    expect(await rowOf('3')).toMatchObject({
      run_at: new Date(SOON),
      slot_keys: ['job:x'],
      slot_limits: [2],
    });
    const [none = ''] = await addRuns(test, held());
    await finalize([none], outcome('defer'));
    expect(await rowOf(none)).toMatchObject({ status: 'queued', run_at: new Date(NOW) });
  });
});

describe('slots', () => {
  it.each(ENDS.map(nameOf))(
    'are given back with the end of the run (%s), its turn too',
    { tags: 'check' },
    async (_name, end) => {
      const ids = await addRuns(test, held(), held(), held());
      await takeSlot('job:x', '1');
      await takeSlot('definition:1', '1');
      await takeSlot('job:a', '2');
      await takeSlot('job:other', '3');
      const { freed } = await finalize(ids.slice(0, 2), end);
      expect([freed, await slotsLeft()]).toEqual([['definition:1', 'job:a', 'job:x'], ['job:other']]);
    },
  );

  it.each(MOVES_BACK.map(nameOf))(
    'are given back when the run waits again (%s), but its turn is kept',
    async (_name, end) => {
      const ids = await addRuns(test, held());
      await takeSlot('job:x', '1');
      await takeSlot('definition:1', '1');
      await takeSlot('job:other', '99');
      const { freed } = await finalize(ids, end);
      expect([freed, await slotsLeft()]).toEqual([['job:x'], ['definition:1', 'job:other']]);
    },
  );

  it('are named once, though several of a key are given back', async () => {
    const ids = await addRuns(test, held(), held(), held());
    for (const id of ids)
      await test.sql(`insert into tock.job_slots values ('job:x', $1, $2, 3)`, [Number(id), id]);
    await takeSlot('job:z', '1');
    await takeSlot('job:a', '2');
    expect((await finalize(ids, outcome('succeed'), outcome('release'))).freed).toEqual([
      'job:a',
      'job:x',
      'job:z',
    ]);
  });
});

describe('the outbox', () => {
  beforeEach(() =>
    test.sql(`insert into tock.job_definitions (name, job, has_followers, on_dead) values
      ('leads', 'leads', true, null), ('noop', 'noop', false, 'alarm'), ('other', 'other', false, 'alarm')`),
  );
  const noted = async () =>
    (
      await test.sql<{ note: string }>(
        `select kind || ' ' || run_id || ' of ' || coalesce(definition_id::text, '-') as note from tock.job_outbox order by run_id`,
      )
    ).map(row => row.note);
  const rows = [
    held({ definition_id: 1, scheduled_for: NOW, job: 'leads' }),
    held({ definition_id: 1, job: 'leads' }),
    held({ definition_id: 3, scheduled_for: NOW, job: 'third' }),
    held({ definition_id: 99, scheduled_for: NOW, job: 'third' }),
    held({ job: 'third' }),
    held(),
    held({ definition_id: 1, scheduled_for: NOW }),
  ];

  it.each([
    ['succeed', outcome('succeed'), ['chain 1 of 1', 'chain 7 of 1']],
    ['succeed with output', outcome('succeed', { output: 1 }), ['chain 1 of 1', 'chain 7 of 1']],
    [
      'exhaust',
      outcome('exhaust', { error: ERROR }),
      ['chain 1 of 1', 'dead 6 of -', 'chain 7 of 1', 'dead 7 of 1'],
    ],
  ])(
    'gets what follows a run (%s): its definition’s followers, and its job’s on_dead',
    { tags: 'check' },
    async (_name, end, expected) => {
      const ids = await addRuns(test, ...rows);
      expect(await finalize(ids, end)).toMatchObject({ outboxWritten: true });
      expect((await noted()).toSorted()).toEqual(expected.toSorted());
      const others = await addRuns(test, held({ job: 'third' }));
      expect(await finalize(others, end)).toMatchObject({ outboxWritten: false });
    },
  );
});

describe('readEndedAttempts', () => {
  const settled = (ids: readonly string[]) =>
    readEndedAttempts(
      database,
      ids.map(id => ({ id, fence: 3 })),
      WORKER,
    );

  it.each([...ENDS, ...MOVES_BACK].map(nameOf))(
    'knows what this attempt has ended (%s)',
    { tags: 'check' },
    async (_name, end) => {
      const ids = await addRuns(test, held(), held());
      expect(await settled(ids)).toEqual(new Set());
      await finalize(ids.slice(0, 1), end);
      expect(await settled(ids)).toEqual(new Set(['1']));
      // By another fence, or another holder, in between.
      await test.sql('update tock.job_runs set fence = fence + 1 where id = 1');
      expect(await settled(ids)).toEqual(new Set());
    },
  );

  it('leaves out what another holder ended, and what was reaped', async () => {
    const lost = JSON.stringify([{ code: 'TOCK_LEASE_LOST' }]);
    const ids = await addRuns(
      test,
      held({ status: 'succeeded', locked_by: OTHER, finished_at: NOW }),
      held({ status: 'failed', locked_by: null, errors: lost }),
      held({ status: 'failed', locked_by: OTHER }),
      held({ status: 'running', locked_by: null }),
      held({
        status: 'failed',
        locked_by: null,
        errors: JSON.stringify([{ code: 'TOCK_LEASE_LOST' }, { code: 'X' }]),
      }),
    );
    expect(await settled(ids)).toEqual(new Set(['5']));
  });
});
