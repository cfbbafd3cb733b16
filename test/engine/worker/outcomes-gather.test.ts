// When outcomes are written: how long they wait for others. The database is a fake, which answers when the
// test says so.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/engine/engine.js';
import { activeRun } from '../../../src/engine/execute/active-run.js';
import { Outcomes } from '../../../src/engine/worker/outcomes.js';
import type { Outcome } from '../../../src/model/run/decide.js';
import type { ClaimedRun } from '../../../src/store/runs/claim/claimed-run.js';
import { collectLines } from '../../support/lines.js';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.js';

const SUCCEED: Outcome = { transition: 'succeed', output: null, error: null, delayMs: 0, skipReason: null };

let clock: VirtualClock;
let outcomes: Outcomes;
/** The sizes of what was sent, and when, in milliseconds. */
let sent: string[];
/** Answers the statement that is under way. */
let answer: () => Promise<void>;
let nextId: number;

beforeEach(() => {
  const startsAt = 1000;
  [sent, nextId] = [[], 1];
  clock = createVirtualClock({ startsAt });
  const database = {
    run: (_: string, [ids]: readonly unknown[]) =>
      new Promise<readonly unknown[]>(resolve => {
        sent.push(`${String(ids).split(',').length} at ${clock.now() - startsAt}`);
        answer = async () => {
          resolve([{ ids: null, freed: null, outboxWritten: false }]);
          await settled();
        };
      }),
  };
  const settings = { leaseMs: 60_000 };
  const { logger } = collectLines();
  outcomes = new Outcomes(
    { clock, database, logger, settings, workers: new Set(), wakeHost: () => undefined } as unknown as Engine,
    {
      workerId: '00000000-0000-4000-8000-000000000001',
      queues: null,
      room: () => 0,
      reports: { flush: () => Promise.resolve() },
      onWritten: () => undefined,
      accept: () => undefined,
      onResumed: () => undefined,
    },
  );
});

/** Resolves when all that follows from what has happened has been done. */
const settled = () => new Promise<void>(resolve => setImmediate(resolve));
const pass = async (ms: number) => {
  clock.pass(ms);
  await settled();
};
const add = async (count: number, isAwaited = false) => {
  for (let n = 0; n < count; n++) {
    const run = { id: String(nextId++), fence: 1, slot_keys: isAwaited ? ['job:x'] : null } as ClaimedRun;
    outcomes.add(activeRun(run, clock.now()), SUCCEED);
  }
  await settled();
};
/** A batch of this size is sent now. */
const send = async (size: number) => {
  await add(size);
  outcomes.flushSoon();
  await settled();
  expect(sent.splice(0)).toEqual([`${size} at 0`]);
};

describe('outcomes are written', () => {
  it('3 ms after the first, together', async () => {
    await add(1);
    await pass(2);
    await add(2);
    expect(sent).toEqual([]);
    await pass(1);
    expect(sent).toEqual(['3 at 3']);
    expect(clock.waiting()).toBe(0);
  });

  it('when the batch before is written, if that was small', async () => {
    await send(49);
    await add(10);
    await pass(100);
    expect(sent).toEqual([]);
    await answer();
    expect(sent).toEqual(['10 at 100']);
  });

  it('30 ms after the batch before was, if that was large', async () => {
    await send(50);
    await add(10);
    await pass(5);
    await answer();
    await add(5);
    await pass(24);
    expect(sent).toEqual([]);
    await add(5);
    await pass(1);
    expect(sent).toEqual(['20 at 30']);
    expect(clock.waiting()).toBe(0);
  });

  it('at once after a large batch that took as long', async () => {
    await send(2000);
    await add(1);
    await pass(30);
    await answer();
    expect(sent).toEqual(['1 at 30']);
  });

  it('3 ms after the first, once nothing has come for 30 ms after a large batch', async () => {
    await send(50);
    await pass(5);
    await answer();
    await pass(25);
    expect(clock.waiting()).toBe(0);
    await pass(10);
    await add(1);
    await pass(3);
    expect(sent).toEqual(['1 at 43']);
  });

  it.each([
    ['there are 500', () => add(490), () => add(10)],
    ['there is an awaited one', () => add(1), () => add(1, true)],
  ])('after a large batch as soon as %s', async (_, first, second) => {
    await send(50);
    await first();
    await pass(5);
    await answer();
    expect(sent).toEqual([]);
    await second();
    expect(sent).toHaveLength(1);
  });

  it.each([
    ['there are 500', () => add(500)],
    ['there is an awaited one', () => add(1, true)],
    [
      'no other is expected',
      async () => {
        await add(1);
        outcomes.flushSoon();
      },
    ],
    [
      'the last is expected',
      async () => {
        outcomes.flushSoon();
        await add(1);
      },
    ],
  ])('when a large batch is written, if meanwhile %s', async (_, meanwhile) => {
    await send(50);
    await meanwhile();
    await pass(5);
    expect(sent).toEqual([]);
    await answer();
    expect(sent).toEqual([expect.stringMatching(/ at 5$/)]);
  });

  it('at 2,000, without waiting for others', async () => {
    await add(1999);
    expect(sent).toEqual([]);
    await add(1);
    expect(sent).toEqual(['2000 at 0']);
  });

  it('at 2,000, also while a batch hangs, as at a row that is locked', async () => {
    await send(1);
    await add(1999);
    await pass(100);
    expect(sent).toEqual([]);
    await add(1);
    expect(sent).toEqual(['2000 at 100']);
  });

  it('at once for what was hurried, and no sooner for what comes after it', async () => {
    await send(1);
    await answer();
    await add(1);
    await pass(2);
    expect(sent).toEqual([]);
    await pass(1);
    expect(sent).toEqual(['1 at 3']);
  });
});
