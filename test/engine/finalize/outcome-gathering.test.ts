// When gathered outcomes are sent.
import { beforeEach, describe, expect, it } from 'vitest';
import {
  createOutcomeGathering,
  type OutcomeGathering,
} from '../../../src/engine/finalize/outcome-gathering.js';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.js';

interface Entry {
  readonly isAwaited: boolean;
}

let gathering: OutcomeGathering<Entry>;
/** The sizes of what was sent, and when, in milliseconds. */
let sent: string[];
let isFree: boolean;
let startedAt: number;
let clock: VirtualClock;
beforeEach(() => {
  [sent, isFree, startedAt] = [[], true, 1000];
  clock = createVirtualClock({ startsAt: startedAt });
  gathering = createOutcomeGathering<Entry>({
    clock,
    isAwaited: entry => entry.isAwaited,
    send() {
      gathering.stopWaiting();
      sent.push(`${gathering.take(Number.POSITIVE_INFINITY).length} at ${clock.now() - startedAt}`);
      isFree = false;
    },
  });
});

const pass = (ms: number) => clock.pass(ms);

const add = (count: number, isAwaited = false) => {
  for (let n = 0; n < count; n++) gathering.add({ isAwaited }, isFree);
};
/** The batch of this size, which was sent at the beginning, is written `afterMs` later. */
const done = (size: number, afterMs: number) => {
  pass(afterMs);
  isFree = true;
  gathering.batchDone(size, startedAt);
};

describe('outcomes are sent', () => {
  it('3 ms after the first, together', () => {
    add(1);
    pass(2);
    add(2);
    expect(sent).toEqual([]);
    pass(1);
    expect(sent).toEqual(['3 at 3']);
  });

  it('when the batch before is written, if that was small', () => {
    isFree = false;
    add(10);
    pass(100);
    expect(sent).toEqual([]);
    startedAt = clock.now();
    done(49, 5);
    expect(sent).toEqual(['10 at 5']);
  });

  it('30 ms after the batch before was, if that was large', () => {
    isFree = false;
    add(10);
    done(50, 5);
    add(5);
    pass(24);
    expect(sent).toEqual([]);
    add(5);
    pass(1);
    expect(sent).toEqual(['20 at 30']);
    expect(clock.waiting()).toBe(0);
  });

  it('at once after a large batch that took as long', () => {
    isFree = false;
    add(1);
    done(2000, 30);
    expect(sent).toEqual(['1 at 30']);
  });

  it.each([
    ['there are 500', () => add(490), () => add(10)],
    ['there is an awaited one', () => add(1), () => add(1, true)],
  ])('after a large batch as soon as %s', (_, first, second) => {
    isFree = false;
    first();
    done(50, 5);
    expect(sent).toEqual([]);
    second();
    expect(sent).toHaveLength(1);
  });

  it.each([
    ['there are 500', () => add(500)],
    ['there is an awaited one', () => add(1, true)],
    [
      'no other is expected',
      () => {
        add(1);
        gathering.expectNoOther();
      },
    ],
  ])('when a large batch is written, if meanwhile %s', (_, meanwhile) => {
    isFree = false;
    meanwhile();
    expect(sent).toEqual([]);
    done(50, 5);
    expect(sent).toHaveLength(1);
    expect(sent[0]).toMatch(/ at 5$/);
  });

  it('at 2,000, whatever is under way', () => {
    isFree = false;
    add(1999);
    expect(sent).toEqual([]);
    add(1);
    expect(sent).toEqual(['2000 at 0']);
  });

  it('gathering ends with what is sent', () => {
    isFree = false;
    add(10);
    done(50, 5);
    pass(25);
    add(1, true);
    expect(sent).toEqual(['10 at 30']);
    startedAt = clock.now();
    done(10, 1);
    expect(sent).toEqual(['10 at 30', '1 at 1']);
  });
});

it('takes the first of those that wait', () => {
  isFree = false;
  add(3);
  expect(gathering.take(2)).toHaveLength(2);
  expect(gathering.length).toBe(1);
});
