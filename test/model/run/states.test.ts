// The table of moves as a graph: nothing unreachable, nothing that leaves a final state.
import { describe, expect, it } from 'vitest';
import {
  FINISHED_STATUSES,
  isFinished,
  LIVE_STATUSES,
  RUN_STATUSES,
  type RunStatus,
  SKIP_REASONS,
  STATUS_MEANINGS,
  TRANSITIONS,
  TRIGGERS,
  type Transition,
} from '../../../src/model/run/states.js';

const moves: readonly Transition[] = Object.values(TRANSITIONS);

/** The states that a run can come to from one, by the moves that `allowed` lets through. */
function reachable(from: RunStatus, allowed: (move: Transition) => boolean = () => true): Set<RunStatus> {
  const seen = new Set<RunStatus>([from]);
  for (const status of seen)
    for (const move of moves) if (allowed(move) && move.from.includes(status)) seen.add(move.to);
  return seen;
}

describe('TRANSITIONS', () => {
  it('go from and to states that exist, and from at least one, once each', () => {
    for (const move of moves) {
      expect(RUN_STATUSES).toContain(move.to);
      expect(move.from.length).toBeGreaterThan(0);
      expect(new Set(move.from).size).toBe(move.from.length);
      for (const from of move.from) expect(RUN_STATUSES).toContain(from);
      expect(move.from).not.toContain(move.to);
    }
  });

  it('differ in mover or target where they share a name', () => {
    const told = moves.map(({ name, by, to }) => `${name} by ${by} to ${to}`);
    expect(new Set(told).size).toBe(moves.length);
    expect(moves.filter(({ when }) => when === '')).toEqual([]);
  });

  it('lead from queued to every state', () => {
    expect([...reachable('queued')].sort()).toEqual([...RUN_STATUSES].sort());
  });

  it('lead from every live state to an end, also if only workers and the reaper act', () => {
    const unattended = (move: Transition) => move.by !== 'operator' && move.by !== 'scheduler';
    for (const status of LIVE_STATUSES)
      expect([...reachable(status, unattended)].sort()).toEqual([
        'cancelled',
        'dead',
        'failed',
        'queued',
        'running',
        'skipped',
        'succeeded',
      ]);
  });

  it('do not leave skipped and succeeded', () => {
    for (const status of ['skipped', 'succeeded'] as const) expect([...reachable(status)]).toEqual([status]);
  });

  it('leave a finished state only by an operator, and only for the queue', () => {
    const resurrections = moves.filter(move => move.from.some(isFinished));
    expect(resurrections.map(({ name, by, to }) => [name, by, to])).toEqual([
      ['retry', 'operator', 'queued'],
    ]);
  });

  it('enter running only by a claim, from every waiting state', () => {
    expect(moves.filter(move => move.to === 'running').map(move => [move.name, move.by])).toEqual([
      ['claim', 'worker'],
    ]);
    expect(TRANSITIONS.claim.from).toEqual(LIVE_STATUSES.filter(status => status !== 'running'));
  });

  it('leave running only by the holder, by the reaper once the lease has expired, or by terminate_other', () => {
    const leaving = moves.filter(move => move.from.includes('running'));
    expect(new Set(leaving.map(move => move.by))).toEqual(new Set(['holder', 'reaper', 'scheduler']));
    expect(leaving.filter(move => move.by === 'scheduler').map(move => move.name)).toEqual(['terminate']);
    for (const move of moves.filter(({ by }) => by === 'holder' || by === 'reaper'))
      expect(move.from).toEqual(['running']);
  });

  it('of operator and scheduler reach every waiting state, and a retry every end without success', () => {
    const { cancel, supersede, displace, retry } = TRANSITIONS;
    for (const move of [cancel, supersede, displace]) expect(move.from).toEqual(['queued', 'failed']);
    expect(retry.from).toEqual(['dead', 'cancelled']);
  });

  it('set a run aside in whichever state its row is found to be broken', () => {
    const { setAside, setAsideExpired, setAsideHeld } = TRANSITIONS;
    expect(setAside.from).toEqual(TRANSITIONS.claim.from);
    for (const move of [setAsideExpired, setAsideHeld]) expect(move.from).toEqual(['running']);
  });

  it('enter failed only from running', () => {
    for (const move of moves.filter(({ to }) => to === 'failed')) expect(move.from).toEqual(['running']);
  });
});

it('the states are live or finished, not both, and each has a meaning', () => {
  expect(new Set(RUN_STATUSES).size).toBe(LIVE_STATUSES.length + FINISHED_STATUSES.length);
  expect(Object.keys(STATUS_MEANINGS).sort()).toEqual([...RUN_STATUSES].sort());
  expect(Object.values(STATUS_MEANINGS).filter(meaning => meaning === '')).toEqual([]);
});

it('isFinished is true of finished states, and not of live ones', () => {
  expect(RUN_STATUSES.filter(isFinished)).toEqual(FINISHED_STATUSES);
});

it('the words of reasons and triggers are one lower-case word each: they are stored and typed', () => {
  for (const word of [...Object.keys(SKIP_REASONS), ...TRIGGERS]) expect(word).toMatch(/^[a-z]+$/);
  expect(new Set(TRIGGERS).size).toBe(TRIGGERS.length);
});
