// Chaos: I19, I20 and I22 in histories written by hand. Each can fail, and names itself.
import { describe, expect, it } from 'vitest';
import type { HistoryRow } from './history.js';
import { checkWaits, countWaits } from './history-waits.js';
import { instant as AT, type Step, written } from './written-history.js';

const check = (steps: readonly Step[]) => checkWaits(written(steps));

const event: HistoryRow = { id: 7, name: 'news', key: 'k', created_at: AT(2) };
const wait = (kind: string, more: HistoryRow = {}): HistoryRow => ({
  id: 3,
  run_id: 1,
  kind,
  name: 'news',
  key: 'k',
  since: AT(1),
  outcome: null,
  ...more,
});
const over = (outcome: string, more: HistoryRow = {}): HistoryRow => ({ outcome, ended_at: AT(5), ...more });
const note = (kind: string, saw: string): Step => ['note', null, { run_id: 1, wait: kind, saw }];

const heardOf = (id: string) => wait('event', over('event', { result: { id } }));
const tooSoon: Step = ['wait', wait('sleep'), wait('sleep', { until: AT(6), ...over('time') })];

const heard: readonly Step[] = [
  ['wait', null, wait('event')],
  ['event', null, event],
  ['commit', null, { id: 7 }],
  ['wait', wait('event'), heardOf('7')],
  note('event', '7'),
];
const slept: readonly Step[] = [
  ['wait', null, wait('sleep', { until: AT(5) })],
  ['wait', wait('sleep', { until: AT(5) }), wait('sleep', { until: AT(5), ...over('time') })],
  note('sleep', 'time'),
];
const awaited = (position: number, status: string | null): HistoryRow => ({
  wait_id: 3,
  position,
  run_id: 10 + position,
  ...(status === null ? {} : { status }),
});
const joined: readonly Step[] = [
  ['wait', null, wait('runs')],
  ['awaited', null, awaited(1, null)],
  ['awaited', null, awaited(2, null)],
  ['finished', null, { id: 11, status: 'dead' }],
  ['awaited', awaited(1, null), awaited(1, 'dead')],
  ['finished', null, { id: 12, status: 'succeeded' }],
  ['wait', wait('runs'), wait('runs', over('ended'))],
  ['awaited', awaited(2, null), awaited(2, 'succeeded')],
  note('runs', 'dead,succeeded'),
];
const group: readonly Step[] = [
  ['live', null, { id: 1, status: 'queued' }],
  ['wait', null, wait('group', { needs_success: true })],
  ['awaited', null, awaited(1, null)],
  ['awaited', null, awaited(2, null)],
  ['finished', null, { id: 11, status: 'succeeded' }],
  ['finished', null, { id: 12, status: 'succeeded' }],
  ['wait', wait('group', { needs_success: true }), wait('group', { needs_success: true, ...over('ended') })],
  ['live', { id: 1, status: 'queued' }, { id: 1, status: 'running' }],
  ['finished', null, { id: 1, status: 'succeeded' }],
];
const working: HistoryRow = { id: 1, status: 'running', attempts: 2, releases: 0 };

describe('checkWaits', () => {
  it('accepts waits that end after what they are for, and counts them', () => {
    for (const steps of [heard, slept, joined, group]) expect(check(steps)).toEqual([]);
    // Parents have no order.
    const ended = (position: number, status: string): Step => [
      'awaited',
      awaited(position, null),
      awaited(position, status),
    ];
    expect(
      check([...group, ended(1, 'succeeded'), ended(2, 'dead'), note('parents', 'dead,succeeded')]),
    ).toEqual([]);
    // What is awaited is written in any order; handlers see it by position.
    expect(check(joined.with(1, joined[2] as Step).with(2, joined[1] as Step))).toEqual([]);
    expect(countWaits(written([...heard, ...slept, ...joined]))).toEqual({
      event: 1,
      time: 1,
      timeout: 0,
      ended: 1,
      passed: 3,
    });
  });

  it.each<[string, string, readonly Step[]]>([
    ['I20', 'an event that was rolled back', heard.toSpliced(1, 2)],
    ['I20', 'an event before its commit was sent', [...heard.toSpliced(2, 1), ['commit', null, { id: 7 }]]],
    ['I20', 'an event of another key', heard.with(1, ['event', null, { ...event, key: 'other' }])],
    ['I20', 'an event from before it', heard.with(1, ['event', null, { ...event, created_at: AT(0) }])],
    ['I20', 'a wait that is not over', heard.toSpliced(3, 1)],
    ['I20', 'a time that has not come', slept.with(1, tooSoon)],
    ['I20', 'a run that has not ended', joined.toSpliced(5, 1)],
    ['I20', 'a member that has not ended', group.toSpliced(5, 1)],
    ['I22', 'a member that did not succeed', group.with(5, ['finished', null, { id: 12, status: 'dead' }])],
    ['I22', 'a join before its group has ended', group.toSpliced(6, 1)],
    ['I22', 'a join that succeeds again', [...group, ['finished', null, { id: 1, status: 'succeeded' }]]],
    ['I20', 'an attempt that counts', [['live', working, { ...working, status: 'queued' }]]],
    ['I19', 'another result than that on record', heard.with(4, note('event', '8'))],
    ['I19', 'an outcome that is not there', joined.toSpliced(7, 1)],
    ['I19', 'a second end', [...heard, ['wait', heardOf('7'), heardOf('8')]]],
    ['I19', 'an outcome that is taken back', [...joined, ['awaited', awaited(1, 'dead'), awaited(1, null)]]],
  ])('%s: %s', (invariant, _what, steps) => {
    expect(check(steps).map(line => line.split(' ')[0])).toEqual([invariant]);
  });
});
