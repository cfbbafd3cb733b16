// Durations: what people write, and what they are shown.
import { describe, expect, it } from 'vitest';
import { formatDuration, MAX_DURATION_MS, parseDuration } from '../../src/model/duration.js';
import { fc } from '../support/seed.js';

describe('parseDuration', () => {
  it.each([
    ['250ms', 250],
    ['30s', 30_000],
    ['5m', 300_000],
    ['1h30m', 5_400_000],
    ['1d', 86_400_000],
    ['2w', 1_209_600_000],
    ['1.5h', 5_400_000],
    [' 10s ', 10_000],
    ['0s', 0],
    ['PT5M', 300_000],
    ['P1DT12H', 129_600_000],
    ['P2W', 1_209_600_000],
    ['PT0.25S', 250],
    ['pt90s', 90_000],
    [1500, 1500],
    [0.6, 1],
    [MAX_DURATION_MS, MAX_DURATION_MS],
  ])('reads %j as %d ms', (text, ms) => {
    expect(parseDuration(text)).toBe(ms);
  });

  it.each([
    '',
    ' ',
    'soon',
    '5',
    '-5m',
    '+5m',
    '5 minutes',
    '1h 30m',
    '1y',
    '1M',
    'P',
    'PT',
    'P1M',
    'P1Y',
    'P1DT',
    '1e3s',
    '٣s',
    '1s'.repeat(51),
    '31y',
    '1600w',
    Number.NaN,
    Number.POSITIVE_INFINITY,
    -1,
    1e12,
    MAX_DURATION_MS + 1,
  ])('refuses %j', value => {
    expect(() => parseDuration(value)).toThrow(expect.objectContaining({ code: 'TOCK_BAD_DURATION' }));
  });

  it.each([[null], [undefined], [{}], [[5]], [5n], [true], [Symbol('5m')], [() => 5]])(
    'refuses %s, which is neither text nor a number',
    value => {
      expect(() => parseDuration(value as unknown as string)).toThrow(
        expect.objectContaining({ code: 'TOCK_BAD_DURATION' }),
      );
    },
  );

  it('names the option and shows the value on one line', () => {
    expect(() => parseDuration('1\nh', 'lease')).toThrow(
      /^lease "1\\nh" is not a duration .* write it as 30s/,
    );
  });

  it('reads text that cannot match in linear time', () => {
    expect(() => parseDuration(`${'1'.repeat(200_000)}s`)).toThrow('is not a duration');
  });

  it('reads whole milliseconds, whatever the parts', () => {
    const part = fc.tuple(fc.nat(50), fc.constantFrom('ms', 's', 'm', 'h', 'd'));
    const sizes = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
    fc.assert(
      fc.property(fc.array(part, { minLength: 1, maxLength: 6 }), parts => {
        const text = parts.map(([count, unit]) => `${count}${unit}`).join('');
        const sum = parts.reduce((ms, [count, unit]) => ms + count * sizes[unit], 0);
        expect(parseDuration(text)).toBe(sum);
      }),
    );
  });
});

describe('formatDuration', () => {
  it.each([
    [0, '0ms'],
    [250.4, '250ms'],
    [999.7, '1s'],
    [1000, '1s'],
    [4230, '4.2s'],
    [59_949, '59.9s'],
    [59_970, '1m'],
    [200_000, '3m 20s'],
    [3_599_900, '1h'],
    [18_120_000, '5h 2m'],
    [273_600_000, '3d 4h'],
    [86_401_000, '1d'],
    [-4230, '-4.2s'],
    [Number.NaN, '-'],
    [Number.POSITIVE_INFINITY, '-'],
  ])('writes %d as %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text);
  });

  it('tells a duration to within a twentieth', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: MAX_DURATION_MS }), ms => {
        const read = parseDuration(formatDuration(ms).replace(' ', ''));
        expect(Math.abs(read - ms)).toBeLessThanOrEqual(Math.max(ms / 20, 0.5));
      }),
    );
  });
});
