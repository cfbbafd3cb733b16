// What a handler returns to hand its run off: which options it takes, and that it cannot be kept as data.
import { describe, expect, it } from 'vitest';
import { HandOff, type HandOffOptions, isHandOff, readHandOff } from '../../../src/model/job/hand-off.js';

describe('readHandOff', () => {
  it('reads the lease as a duration, and to whom', () => {
    expect(readHandOff({ lease: '2d' })).toMatchObject({ leaseMs: 172_800_000, to: null });
    expect(readHandOff({ lease: 1000, to: 'finance' })).toMatchObject({ leaseMs: 1000, to: 'finance' });
    expect(readHandOff({ lease: '366d' }).leaseMs).toBe(366 * 86_400_000);
  });

  it.each([
    [{}, /^lease is missing: say how long the other side has, as in '2d'$/],
    [undefined, /^handOff is undefined; write an object of options$/],
    [{ lease: '2 days' }, /^lease "2 days" is not a duration/],
    [{ lease: '999ms' }, /^lease "999ms" is not between 1 second and 366 days$/],
    [{ lease: '367d' }, /^lease "367d" is not between 1 second and 366 days$/],
    [{ lease: -1 }, /^lease -1 is not a duration/],
    [{ lease: '1h', to: '' }, /^to "" is not a text of 1 to 200 characters$/],
    [{ lease: '1h', to: 'x'.repeat(201) }, /is not a text of 1 to 200 characters$/],
    [{ lease: '1h', to: 'a\0b' }, /is not a text of 1 to 200 characters$/],
    [{ lease: '1h', too: 'finance' }, /^handOff has no option "too"; did you mean "to"\?$/],
  ])('refuses %j', (options, message) => {
    expect(() => readHandOff(options as HandOffOptions)).toThrow(message);
  });
});

describe('a handoff', () => {
  it('is known by its kind, also if it is of another copy of the package', () => {
    expect(isHandOff(new HandOff(1000, null))).toBe(true);
    expect(isHandOff({ kind: 'tock.hand-off', leaseMs: 5, to: null })).toBe(true);
    for (const value of [null, undefined, 5, 'tock.hand-off', {}, { kind: 'tock.dead' }])
      expect(isHandOff(value)).toBe(false);
    const hostile = new Proxy({}, { get: () => expect.fail('a trap') });
    expect(isHandOff(Object.create(null))).toBe(false);
    expect(() => isHandOff(hostile)).not.toThrow();
  });

  it('cannot be kept as data', () => {
    expect(() => JSON.stringify({ kept: new HandOff(1000, null) })).toThrow(
      expect.objectContaining({
        code: 'TOCK_BAD_RESULT',
        message: expect.stringMatching(/return ctx\.handOff/),
      }),
    );
  });
});
