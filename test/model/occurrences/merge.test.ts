// Model: what the schedule expects and what the tables hold, as one list.
import { describe, expect, it } from 'vitest';
import type { ConsideredDefinition } from '../../../src/model/explain/without-row.js';
import {
  type MergeInput,
  mergeOccurrences,
  type OccurrenceRow,
  uncovered,
} from '../../../src/model/occurrences/merge.js';
import { stateOfRun, stateText } from '../../../src/model/occurrences/occurrence.js';

const at = (text: string) => Date.parse(`2026-03-01T${text}Z`);
const HOURS = Array.from({ length: 24 }, (_, hour) => at(`${String(hour).padStart(2, '0')}:00:00`));

const definition = (more: Partial<ConsideredDefinition> = {}): ConsideredDefinition => ({
  cursor: new Date(at('12:00:00')),
  version: 1,
  created_at: new Date('2026-01-01T00:00:00Z'),
  updated_at: new Date('2026-01-01T00:00:00Z'),
  paused_at: null,
  broken_at: null,
  vanished_at: null,
  remaining_count: null,
  now: new Date(at('12:30:00')),
  ...more,
});
const row = (time: string, more: Partial<OccurrenceRow> = {}): OccurrenceRow => ({
  id: '7',
  at: at(time),
  state: 'succeeded',
  reason: null,
  spanFrom: null,
  standsFor: 1,
  attempts: 1,
  startedAt: at(time),
  finishedAt: at(time) + 5000,
  ...more,
});
const merge = (more: Partial<MergeInput> = {}) =>
  mergeOccurrences({
    definition: definition(),
    expected: HOURS,
    rows: [],
    from: at('00:00:00'),
    to: at('00:00:00') + 86_400_000,
    ...more,
  });
const states = (more: Partial<MergeInput> = {}) =>
  Object.fromEntries(merge(more).map(each => [new Date(each.at).toISOString().slice(11, 16), each.state]));

describe('an occurrence with a run', () => {
  it('has its state, its run and its times', () => {
    const found = merge({ rows: [row('03:00:00', { id: '42', attempts: 2, state: 'retried' })] });
    expect(found[3]).toEqual({
      at: at('03:00:00'),
      state: 'retried',
      reason: null,
      runId: '42',
      isExpected: true,
      standsFor: 1,
      attempts: 2,
      startedAt: at('03:00:00'),
      finishedAt: at('03:00:00') + 5000,
    });
  });

  it('counts as run, though it was skipped before a backfill made the run', () => {
    const skipped = row('03:00:00', { id: '1', state: 'skipped', reason: 'paused' });
    const made = row('03:00:00', { id: '2' });
    for (const rows of [
      [skipped, made],
      [made, skipped],
    ])
      expect(merge({ rows })[3]).toMatchObject({ state: 'succeeded', runId: '2' });
  });

  it('ran after retries, where it took more than one attempt, or an operator’s retry', () => {
    expect(stateOfRun('succeeded', 1, 1)).toBe('succeeded');
    expect(stateOfRun('succeeded', 2, 1)).toBe('retried');
    expect(stateOfRun('succeeded', 1, 2)).toBe('retried');
    expect(stateOfRun('dead', 5, 2)).toBe('dead');
  });

  it('is there though the schedule as it is now does not have it', () => {
    const found = merge({ rows: [row('03:17:00')] });
    expect(found.find(each => each.at === at('03:17:00'))).toMatchObject({
      isExpected: false,
      state: 'succeeded',
    });
    expect(found.map(each => each.at)).toEqual(found.map(each => each.at).toSorted((a, b) => a - b));
    expect(found).toHaveLength(25);
  });

  it('is left out if it lies outside of the span', () => {
    const after = row('03:00:00', { at: at('00:00:00') + 86_400_000 });
    expect(merge({ rows: [after] })).toHaveLength(24);
  });
});

describe('a skipped row that stands for a span', () => {
  const span = row('09:00:00', {
    id: '5',
    state: 'skipped',
    reason: 'catchup',
    spanFrom: at('04:00:00'),
    standsFor: 6,
  });

  it('covers each occurrence from its first to its last, and no other', () => {
    const found = states({ rows: [span] });
    expect(
      Object.entries(found)
        .filter(([, state]) => state === 'skipped')
        .map(([time]) => time),
    ).toEqual(['04:00', '05:00', '06:00', '07:00', '08:00', '09:00']);
    expect(merge({ rows: [span] })[5]).toMatchObject({ reason: 'catchup', runId: '5' });
  });

  it('gives way to runs within it', () => {
    const found = states({ rows: [span, row('06:00:00'), row('07:00:00', { state: 'dead' })] });
    expect([found['05:00'], found['06:00'], found['07:00'], found['08:00']]).toEqual([
      'skipped',
      'succeeded',
      'dead',
      'skipped',
    ]);
  });

  it('covers those before the end of what is shown, though it ends after it', () => {
    const to = at('06:00:00');
    const found = merge({ rows: [span], expected: HOURS.filter(each => each < to), to });
    expect(found.map(each => each.state).slice(3)).toEqual(['lost', 'skipped', 'skipped']);
    expect(found).toHaveLength(6);
  });

  it('lies beside another, and each keeps its reason', () => {
    const other = row('11:00:00', {
      state: 'skipped',
      reason: 'paused',
      spanFrom: at('10:00:00'),
      standsFor: 2,
    });
    const found = merge({ rows: [other, span] });
    expect(found.slice(4, 12).map(each => each.reason)).toEqual([
      ...Array(6).fill('catchup'),
      'paused',
      'paused',
    ]);
  });
});

describe('an occurrence without a row', () => {
  it('is to come, due, late, or lost, by cursor and time', () => {
    const found = states({
      definition: definition({ cursor: new Date(at('10:00:00')), now: new Date(at('12:01:00')) }),
    });
    expect([found['10:00'], found['11:00'], found['12:00'], found['13:00']]).toEqual([
      'lost',
      'late',
      'due',
      'upcoming',
    ]);
  });

  it('is late two minutes after it was due, and not before', () => {
    const late = (now: string) =>
      states({ definition: definition({ cursor: new Date(at('11:00:00')), now: new Date(at(now)) }) })[
        '12:00'
      ];
    expect(late('12:02:00')).toBe('due');
    expect(late('12:02:01')).toBe('late');
  });

  it('had a run that was deleted, if its key is kept', () => {
    const found = merge({ keys: new Set([at('02:00:00')]) });
    expect(found.slice(1, 4).map(each => each.state)).toEqual(['lost', 'pruned', 'lost']);
  });

  it('is left out before the definition was made', () => {
    const found = merge({ definition: definition({ created_at: new Date(at('05:30:00')) }) });
    expect(found[0]?.at).toBe(at('06:00:00'));
  });

  it('may be new, before the last edit', () => {
    const found = states({ definition: definition({ version: 2, updated_at: new Date(at('05:30:00')) }) });
    expect([found['05:00'], found['06:00']]).toEqual(['edited', 'lost']);
  });

  it.each([
    ['paused_at', 'the schedule is paused'],
    ['broken_at', 'the schedule is broken'],
    ['vanished_at', 'the schedule was removed'],
  ] as const)('gets no run while %s is set, and says so', (column, reason) => {
    const held = definition({ cursor: new Date(at('10:00:00')), [column]: new Date(at('10:30:00')) });
    const found = merge({ definition: held });
    expect(found.slice(10, 14).map(each => each.state)).toEqual(['lost', 'held', 'held', 'held']);
    expect(found[13]).toMatchObject({ reason, runId: null });
  });

  it('gets none once all its runs are made', () => {
    const found = merge({ definition: definition({ remaining_count: 0 }) });
    expect(found.at(-1)).toMatchObject({ state: 'held', reason: 'it has made all the runs it was to make' });
  });

  it('is asked for by its key only if nothing covers it, and the cursor is past it', () => {
    const rows = [row('00:00:00'), row('09:00:00', { state: 'skipped', spanFrom: at('01:00:00') })];
    const open = uncovered(merge({ rows, to: at('23:59:59') }));
    expect(open).toEqual([at('10:00:00'), at('11:00:00'), at('12:00:00')]);
  });
});

it('words tell the state, and the reason where there is one', () => {
  expect(stateText({ state: 'skipped', reason: 'overlap' })).toBe('skipped: an earlier run was still live');
  expect(stateText({ state: 'skipped', reason: null })).toBe('skipped: the reason is not on record');
  expect(stateText({ state: 'skipped', reason: 'constructor' })).toBe('skipped: constructor');
  expect(stateText({ state: 'late', reason: null })).toBe('missed, no tick yet');
  expect(stateText({ state: 'held', reason: 'the schedule is paused' })).toBe(
    'no run will be made: the schedule is paused',
  );
});
