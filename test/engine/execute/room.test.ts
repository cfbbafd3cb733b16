// Engine: how many bytes are at work at once.
import { describe, expect, it } from 'vitest';
import { createRoom } from '../../../src/engine/execute/execute.js';

/** Takes room for each, and notes those that have it. */
function takeEach(most: number, ...bytes: readonly number[]) {
  const room = createRoom(most);
  const begun: number[] = [];
  for (const each of bytes) void room.take(each).then(() => begun.push(each));
  return { room, begun };
}
const settled = () => new Promise(resolve => setImmediate(resolve));

describe('a room', () => {
  it('holds as many as fit, and lets the next in when one leaves', async () => {
    const { room, begun } = takeEach(10, 4, 5, 6, 1);
    await settled();
    expect(begun).toEqual([4, 5]);
    room.give(4);
    await settled();
    // The last one would fit, but comes after the third.
    expect(begun).toEqual([4, 5]);
    room.give(5);
    await settled();
    expect(begun).toEqual([4, 5, 6, 1]);
  });

  it('lets one in that is larger than itself, alone', async () => {
    const { room, begun } = takeEach(10, 30, 1);
    await settled();
    expect(begun).toEqual([30]);
    // It was read, and is smaller than it could have been.
    room.give(25);
    await settled();
    expect(begun).toEqual([30, 1]);
  });
});
