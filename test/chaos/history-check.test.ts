// Chaos: the checker of histories, on histories written by hand. Each invariant can fail, and names itself.
import { describe, expect, it } from 'vitest';
import { HANDED_OFF } from '../../src/model/run/states.js';
import type { FinalState, HistoryRow } from './history.js';
import { checkFinal, type Expectations } from './history-check.js';
import { checkDecisions, countHandOffs } from './history-hand-offs.js';
import { instant as AT, type Step, written } from './written-history.js';

const EXPECTED: Expectations = {
  periods: { minutely: 60_000 },
  backoffs: { job: () => [9000, 11_000] },
  transactional: ['moves-money'],
};

const queued: HistoryRow = {
  id: 1,
  job: 'job',
  status: 'queued',
  attempts: 0,
  max_attempts: 2,
  fence: 0,
  releases: 0,
  generation: 1,
  run_at: AT(0),
  trigger: 'api',
  idempotency_key: 'key',
  errors: [],
};
const running: HistoryRow = {
  ...queued,
  status: 'running',
  attempts: 1,
  fence: 1,
  started_at: AT(1),
  locked_by: 'A',
  locked_until: AT(61),
};
const failure = (code: string | null, second: number) => [{ at: AT(second), attempt: 1, code }];
const failed: HistoryRow = {
  ...running,
  status: 'failed',
  locked_by: null,
  run_at: AT(12),
  errors: failure(null, 2),
};
const reaped: HistoryRow = { ...failed, errors: failure('TOCK_LEASE_LOST', 62), run_at: AT(72) };
const again: HistoryRow = {
  ...reaped,
  status: 'running',
  attempts: 2,
  fence: 2,
  started_at: AT(73),
  locked_by: 'B',
  locked_until: AT(133),
};
const done: HistoryRow = { ...running, status: 'succeeded' };
const doneAgain: HistoryRow = { ...again, status: 'succeeded' };
const definition = (second: number): HistoryRow => ({ id: 9, name: 'minutely', cursor: AT(second) });
const occurrence = (second: number, more: HistoryRow = {}): HistoryRow => ({
  ...queued,
  id: 100 + second,
  job: 'minutely',
  trigger: 'cron',
  definition_id: 9,
  scheduled_for: AT(second),
  idempotency_key: `cron:9:${second}`,
  ...more,
});

const planned: readonly Step[] = [
  ['definition', null, definition(0)],
  ['live', null, occurrence(60)],
  ['definition', definition(0), definition(60)],
];
const whole: readonly Step[] = [
  ...planned,
  ['live', null, queued, 'client'],
  ['live', queued, running],
  ['live', running, reaped, 'b'],
  ['live', reaped, again, 'b'],
  ['effect', null, { key: 'once:e', run_id: 1 }, 'b'],
  ['live', again, null, 'b'],
  ['finished', null, doneAgain, 'b'],
];
const final: FinalState = {
  live: ['160'],
  finished: ['1'],
  onceEffects: [{ key: 'e', count: 1 }],
  transactionEffects: [],
};
const check = (steps: readonly Step[], state = final) => checkFinal(written(steps), state, EXPECTED);
/** The invariants that are named, each once. */
const named = (wrong: readonly string[]) => [...new Set(wrong.map(line => line.split(' ')[0]))];
/** The whole history with one step in the place of another. */
const withStep = (index: number, ...steps: readonly Step[]) =>
  whole.toSpliced(planned.length + index, 1, ...steps);

/** Claimed, and given back at once to wait for a place under a limit; and the attempts that it may have after that. */
const putOff: readonly Step[] = [
  ['live', queued, running],
  ['live', running, { ...queued, fence: 1, slot_keys: ['key'] }],
];
const claimedAgain = (fence: number): HistoryRow => ({
  ...again,
  fence,
  slot_keys: ['key'],
  attempts: fence - 1,
});

describe('checkFinal', () => {
  it('finds nothing wrong with a run that was lost, taken back and executed again', () => {
    expect(check(whole)).toEqual([]);
  });

  const early = { ...reaped, errors: failure('TOCK_LEASE_LOST', 60) };
  const fallen: readonly Step[] = [
    ['definition', definition(60), definition(59)],
    ['definition', definition(59), definition(60)],
  ];
  const notByItsBackoff: readonly Step[] = [
    ['live', running, { ...failed, run_at: AT(20) }],
    ['live', failed, { ...again, started_at: AT(21) }],
  ];
  it.each<[string, readonly Step[]]>([
    ['I1', withStep(3, ['live', reaped, { ...again, fence: 1 }, 'b'])],
    ['I2', withStep(2, ['live', running, early, 'b'])],
    ['I2', withStep(3, ['live', running, again, 'b'])],
    ['I3', withStep(4, ['live', again, { ...again, locked_until: AT(200) }, 'a'])],
    ['I3', withStep(5, ['live', again, null, 'a'])],
    ['I4', [...whole, ['finished', null, doneAgain, 'b']]],
    ['I5', withStep(1, ['live', queued, { ...running, attempts: 0 }])],
    ['I5', withStep(3, ['live', reaped, { ...again, max_attempts: 1 }, 'b'])],
    ['I6', [...whole, ['live', null, occurrence(60)]]],
    ['I7', whole.toSpliced(1, 1)],
    ['I7', whole.toSpliced(1, 0, ['live', null, occurrence(30)])],
    ['I8', [...whole, ...fallen]],
    ['I9', [...whole, ['effect', null, { key: 'once:e', run_id: 1 }]]],
    ['I9', [...whole, ['effect', { key: 'once:e' }, null]]],
    ['I11', withStep(1, ['live', { ...queued, run_at: AT(2) }, running])],
    ['I11', withStep(2, ...notByItsBackoff)],
    ['I14', withStep(6)],
  ])('%s', (invariant, steps) => {
    expect(named(check(steps))).toContain(invariant);
  });

  it.each<[string, Partial<FinalState>]>([
    ['I9', { onceEffects: [{ key: 'e', count: 2 }] }],
    ['I9', { onceEffects: [] }],
    ['I9', { onceEffects: [...final.onceEffects, { key: 'unrecorded', count: 1 }] }],
    ['I14', { finished: [] }],
    ['I14', { live: ['160', '161'] }],
  ])('%s, by what is left: %o', (invariant, state) => {
    expect(named(check(whole, { ...final, ...state }))).toContain(invariant);
  });

  it('I5: a run that was put off loses no attempt, and gains none', () => {
    const [first, second] = [claimedAgain(2), claimedAgain(3)];
    const lost = { ...reaped, slot_keys: ['key'], fence: 2 };
    const twice: readonly Step[] = [
      ...whole.slice(0, planned.length + 1),
      ...putOff,
      ['live', { ...queued, fence: 1 }, first, 'b'],
      ['live', first, lost, 'b'],
      ['live', lost, second, 'b'],
    ];
    expect(check(twice).filter(line => line.startsWith('I5'))).toEqual([]);
    // With an error of the attempt it was not put off: a failure that does not count.
    const uncounted = twice.map<Step>(([place, old, row, app = 'a']) => [
      place,
      old,
      row?.attempts === 0 && row.slot_keys ? { ...row, errors: failure(null, 2) } : row,
      app,
    ]);
    expect(named(check(uncounted))).toContain('I5');
  });

  it('I9: a transaction is committed for a success, and for nothing else', () => {
    const moved = (status: string) =>
      withStep(6, ['finished', null, { ...doneAgain, job: 'moves-money', status }, 'b']);
    const paid = { ...final, transactionEffects: [{ runId: '1', count: 1 }] };
    expect(check(moved('succeeded'), paid)).toEqual([]);
    expect(named(check(moved('succeeded')))).toEqual(['I9']);
    expect(named(check(moved('dead'), paid))).toEqual(['I9']);
  });

  it('takes a run for lost that ended without its claim’s process', () => {
    const steps: readonly Step[] = [
      ...whole.slice(0, planned.length + 2),
      ['live', running, null, 'b'],
      ['finished', null, done, 'b'],
      ['effect', null, { key: 'once:e' }],
    ];
    expect(named(check(steps))).toEqual(['I3']);
  });
});

describe('handoffs', () => {
  const HANDED: HistoryRow = { ...running, locked_by: HANDED_OFF, locked_until: AT(120) };
  const note: HistoryRow = { run_id: 1, fence: 1, handed_off_at: AT(2), decided_at: null, written_at: null };
  const decided: HistoryRow = { ...note, decided_at: AT(60), decision: 'succeeded' };
  const succeeded: HistoryRow = { ...HANDED, status: 'succeeded' };
  const expired = { ...reaped, errors: failure('TOCK_LEASE_LOST', 121), run_at: AT(131) };
  const FOREVER: HistoryRow = { ...HANDED, locked_until: '9999-12-31T00:00:00Z' };
  const story: readonly Step[] = [
    ...planned,
    ['live', null, queued, 'client'],
    ['live', queued, running],
    ['live', running, HANDED],
    ['handOff', null, note],
    ['handOff', note, decided, 'client'],
    ['live', HANDED, FOREVER, 'client'],
    ['live', FOREVER, null, 'b'],
    ['finished', null, succeeded, 'b'],
    ['handOff', decided, { ...decided, written_at: AT(61) }, 'b'],
  ];
  const state = { ...final, onceEffects: [] };
  const at = (index: number, ...steps: readonly Step[]) =>
    story.toSpliced(planned.length + index, 1, ...steps);
  const call = { runId: '1', fence: 1, decision: 'succeeded', answer: true } as const;

  it('finds nothing wrong with a run that is completed by a call', () => {
    expect(check(story, state)).toEqual([]);
    expect(
      checkDecisions(written(story), [call, { ...call, answer: false }, { ...call, answer: 'unknown' }]),
    ).toEqual([]);
    expect(countHandOffs(written(story))).toEqual({ handedOff: 1, decided: 1 });
  });

  it.each<[string, readonly Step[]]>([
    ['I3', at(2, ['live', running, HANDED, 'b'])],
    ['I15', at(4, ['handOff', null, { ...decided, fence: 2 }, 'client'])],
    ['I15', at(4, ['handOff', note, { ...decided, decided_at: AT(121) }, 'client'])],
    ['I15', [...story.slice(0, -1), ['handOff', decided, { ...decided, decided_at: AT(62) }, 'client']]],
    ['I16', at(7, ['finished', null, { ...succeeded, status: 'dead' }, 'b'])],
    ['I16', at(4)],
    ['I16', at(6, ['live', HANDED, expired, 'b'])],
  ])('%s', (invariant, steps) => {
    expect(named(check(steps, state))).toContain(invariant);
  });

  it('I15 and I16, by the answers and by what is left', () => {
    const wrong = (
      steps: readonly Step[],
      ...made: readonly Parameters<typeof checkDecisions>[1][number][]
    ) => named(checkDecisions(written(steps), made));
    expect(wrong(story, call, call)).toEqual(['I15']);
    expect(wrong(story, { ...call, decision: 'dead' })).toEqual(['I15']);
    expect(wrong(story, { ...call, fence: 2 })).toEqual(['I15']);
    expect(wrong(story.slice(0, -1), call)).toEqual(['I16']);
  });

  it('lets the end of a lease take back what nobody has decided', () => {
    const steps: readonly Step[] = [
      ...story.slice(0, planned.length + 4),
      ['live', HANDED, expired, 'b'],
      ['live', expired, null, 'driver'],
      ['finished', null, { ...expired, status: 'cancelled' }, 'driver'],
    ];
    expect(check(steps, state)).toEqual([]);
  });
});
