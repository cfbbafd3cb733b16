// Store: who gets a connection next, among handlers of which some hold one already.
import { AsyncLocalStorage } from 'node:async_hooks';
import { describe, expect, it } from 'vitest';
import {
  createHandlerTurns,
  type HandlerTurns,
} from '../../../../src/store/connection/shares/handler-turns.js';

const DEADLINE_MS = 60_000;
const NESTED = { code: 'TOCK_NESTED_CONNECTION' };

/** A handler that holds a connection until `end`, and does what it is told meanwhile. */
async function holder(turns: HandlerTurns) {
  const leave = await turns.take(DEADLINE_MS);
  let end = () => {};
  let within: <T>(work: () => T) => T = work => work();
  const ended = turns.holding(async () => {
    within = AsyncLocalStorage.snapshot();
    await new Promise<void>(resolve => void (end = resolve));
  });
  return {
    /** As part of what it does while it holds its connection. */
    does: <T>(work: () => T) => within(work),
    end: async () => {
      end();
      await ended;
      leave();
    },
  };
}

/** Whether it has settled, once all that can go on has gone on. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let is = false;
  const settle = () => void (is = true);
  promise.then(settle, settle);
  await new Promise(resolve => setImmediate(resolve));
  return is;
}

describe('turns with the connections of a pool', () => {
  it('leave one for those who hold one', async () => {
    const turns = createHandlerTurns(() => 3, 5);
    const [first] = [await holder(turns), await holder(turns)];
    const third = turns.take(DEADLINE_MS);
    expect(await isSettled(third)).toBe(false);
    const leaveSecond = await first.does(() => turns.take(DEADLINE_MS));
    leaveSecond();
    expect(await isSettled(third)).toBe(false);
    await first.end();
    (await third)();
  });

  it('go to those who hold one before those who hold none', async () => {
    const turns = createHandlerTurns(() => 2, 4);
    const first = await holder(turns);
    const leaveSecond = await first.does(() => turns.take(DEADLINE_MS));
    const outside = turns.take(DEADLINE_MS);
    const nested = first.does(() => turns.take(DEADLINE_MS).then(leave => leave()));
    expect(await isSettled(nested)).toBe(false);
    leaveSecond();
    await nested;
    expect(await isSettled(outside)).toBe(false);
    await first.end();
    (await outside)();
    expect(turns.held).toBe(0);
  });

  it('are refused at once where the caller holds all that there are', async () => {
    const turns = createHandlerTurns(() => 1, 2);
    const only = await holder(turns);
    await expect(only.does(() => turns.take(DEADLINE_MS))).rejects.toMatchObject(NESTED);
    await only.end();
  });

  it('are refused at once to whoever holds two, where none is free: none is left for a third', async () => {
    const turns = createHandlerTurns(() => 3, 5);
    const [first, second] = [await holder(turns), await holder(turns)];
    const third = first.does(async () => {
      const leave = await turns.take(DEADLINE_MS);
      return await turns.holding(() => turns.take(DEADLINE_MS)).finally(leave);
    });
    await expect(third).rejects.toMatchObject(NESTED);
    expect(turns.held).toBe(2);
    await Promise.all([first.end(), second.end()]);
  });

  it('are refused to whoever holds one, and waits longer than the deadline', async () => {
    const turns = createHandlerTurns(() => 2, 4);
    const first = await holder(turns);
    const leave = await first.does(() => turns.take(DEADLINE_MS));
    await expect(first.does(() => turns.take(1))).rejects.toMatchObject({
      ...NESTED,
      message: expect.stringMatching(/none of the pool's 4 became free within 1ms.*use its trx/),
    });
    leave();
    await first.end();
    expect(turns.held).toBe(0);
  });

  it('are not nested for what a handler does afterwards, though it began while the connection was held', async () => {
    const turns = createHandlerTurns(() => 1, 2);
    const handler = await holder(turns);
    const later = handler.does(() => () => turns.take(DEADLINE_MS));
    await expect(handler.does(later)).rejects.toMatchObject(NESTED);
    await handler.end();
    (await handler.does(later))();
  });

  it('are more as soon as a connection listens no more', async () => {
    let limit = 1;
    const turns = createHandlerTurns(() => limit, 4);
    const leave = await turns.take(DEADLINE_MS);
    const waiting = turns.take(DEADLINE_MS);
    limit = 3;
    turns.passOn();
    await expect(waiting).resolves.toBeTypeOf('function');
    leave();
  });
});
