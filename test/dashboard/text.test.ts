// Numbers and times as the pages write them, and the picture of the last hour.
import { html } from 'hono/html';
import { describe, expect, it } from 'vitest';
import { markup } from '../../src/dashboard/layout/markup.js';
import {
  clockTime,
  longTime,
  numberText,
  placeOf,
  relativeText,
  shortTime,
} from '../../src/dashboard/layout/text.js';
import { type Minute, Minutes, MinutesTable } from '../../src/dashboard/pictures/minutes.js';

/** What is drawn renders itself as text. */
const htmlOf = (drawn: { toString(): unknown }) => drawn.toString() as string;

const NOW = new Date('2026-07-01T09:13:24Z');
const later = (seconds: number) => new Date(NOW.getTime() + seconds * 1000);

describe('markup', () => {
  it.each([
    ['plain', 'plain'],
    [`<a href="x" title='y'>&amp;`, '&lt;a href=&quot;x&quot; title=&#39;y&#39;&gt;&amp;amp;'],
  ])('escapes values: %s', (text, expected) => {
    expect(htmlOf(markup`<b title="${text}">${text}</b>`)).toBe(`<b title="${expected}">${expected}</b>`);
    expect(htmlOf(html`${text}`)).toBe(expected);
  });

  it('takes markup as it is, alone and in lists, within itself and within JSX', () => {
    const inner = [markup`<i>${'<'}</i>`, markup`<i>${1.5}</i>`];
    const outer = markup`<p>${inner}${markup``}</p>`;
    expect(htmlOf(outer)).toBe('<p><i>&lt;</i><i>1.5</i></p>');
    expect(htmlOf(html`${outer}`)).toBe(htmlOf(outer));
  });
});

it('a number has its thousands apart, and a plus above the cap', () => {
  expect([0, 999, 1000, 58_312, 1_234_567].map(value => numberText(value))).toEqual([
    '0',
    '999',
    '1\u202F000',
    '58\u202F312',
    '1\u202F234\u202F567',
  ]);
  expect([9999, 10_000, 10_001].map(value => numberText(value, 10_000))).toEqual([
    '9\u202F999',
    '10\u202F000',
    '10\u202F000+',
  ]);
});

describe('a time', () => {
  it('is short today, and says its day otherwise', () => {
    expect(shortTime(later(3600), 'UTC', NOW)).toBe('10:13:24');
    expect(shortTime(later(-86_400), 'UTC', NOW)).toBe('30 Jun 09:13:24');
    expect(shortTime(new Date('2025-07-01T09:13:24Z'), 'UTC', NOW)).toBe('1 Jul 2025 09:13:24');
    // In Auckland it is another day already.
    expect(shortTime(later(10_000), 'Pacific/Auckland', NOW)).toBe('2 Jul 00:00:04');
  });

  it('is long with both, and by the clock', () => {
    expect(longTime(NOW, 'UTC')).toBe('Wed 1 Jul 2026, 09:13:24');
    expect(longTime(NOW, 'America/New_York')).toBe('Wed 1 Jul 2026, 05:13:24');
    expect(clockTime(NOW, 'Asia/Kolkata')).toBe('14:43');
    expect(clockTime(new Date('2026-07-01T22:00:00Z'), 'Europe/Berlin')).toBe('00:00');
    expect([placeOf('America/New_York'), placeOf('UTC')]).toEqual(['New York', 'UTC']);
  });

  it('is told from now', () => {
    expect([0, 0.4, 40, -40, 7200].map(seconds => relativeText(later(seconds), NOW))).toEqual([
      'now',
      'now',
      'in 40s',
      '40s ago',
      'in 2h',
    ]);
  });
});

describe('the picture of the last hour', () => {
  const minute = (index: number, counts: Partial<Minute> = {}): Minute => ({
    at: later((index - 59) * 60),
    succeeded: 0,
    dead: 0,
    skipped: 0,
    cancelled: 0,
    ...counts,
  });
  const hour = (...ended: readonly (readonly [number, Partial<Minute>])[]) =>
    Array.from({ length: 60 }, (_, index) => minute(index, Object.fromEntries(ended)[index]));
  const draw = (minutes: readonly Minute[]) => htmlOf(Minutes({ minutes, marks: [], zone: 'UTC' }));
  const barsOf = (svg: string, look: string) =>
    [...svg.matchAll(new RegExp(`<rect class="${look}"[^>]*y="([\\d.]+)"[^>]*height="([\\d.]+)"`, 'g'))].map(
      ([, y, height]) => [Number(y), Number(height)],
    );

  it('is a line where nothing ended', () => {
    const svg = draw(hour());
    expect(barsOf(svg, 'f-ok')).toEqual([]);
    expect(svg).toContain('0 succeeded, 0 dead');
    expect(svg).toContain('09:13: nothing ended');
  });

  it('has what succeeded above the line and what is dead below it, however few', () => {
    const svg = draw(hour([3, { succeeded: 1000 }], [4, { succeeded: 500, dead: 1 }], [5, { skipped: 400 }]));
    expect(barsOf(svg, 'f-ok')).toEqual([
      [16, 120],
      [76, 60],
    ]);
    expect(barsOf(svg, 'f-dead')).toEqual([[137.5, 2.5]]);
    expect(barsOf(svg, 'f-other')).toHaveLength(1);
    expect(svg).toContain('500 succeeded, 1 dead');
    expect(svg).toContain('>1\u202F000</text>');
  });

  it('is a table too, without the minutes in which nothing ended', () => {
    const table = htmlOf(MinutesTable({ minutes: hour([3, { succeeded: 7, dead: 2 }]), zone: 'UTC' }));
    expect(table.match(/<tr>/g)).toHaveLength(2);
    expect(table).toContain('<td>08:17</td><td class="n">7</td><td class="n">2</td>');
  });
});
