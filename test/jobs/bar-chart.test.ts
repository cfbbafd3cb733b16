import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';
import { type BarChart, drawStackedBars } from '../../jobs/lib/bar-chart.js';
import { openOnce } from '../support/open.js';
import { openJobKit } from './job-kit.js';

// PostgreSQL brings an XML parser: a document that is not well-formed is an error.
const kit = openOnce(openJobKit);

async function texts(svg: string, path: string): Promise<string[]> {
  const query = sql<{ found: string[] }>`
    select xpath(${path}, xmlparse(document ${svg}::text), array[array['s', 'http://www.w3.org/2000/svg']])::text[] as found`;
  const { rows } = await query.execute(kit.db);
  return rows[0]?.found ?? [];
}

const chart: BarChart = {
  title: 'Runs',
  description: 'Two days.',
  categories: ['Mon', 'Tue'],
  series: [
    { name: 'succeeded', color: '#2563ab', values: [1000, 500] },
    { name: 'dead', color: '#c2323f', values: [1, 0], callOut: true },
  ],
};

const heightOf = (name: string): string => `//s:rect[contains(s:title, '${name}')]/@height`;

describe('drawStackedBars', () => {
  it('gives a well-formed picture that says what it shows', async () => {
    const svg = drawStackedBars(chart);
    expect(await texts(svg, '/s:svg/@role')).toEqual(['img']);
    expect(await texts(svg, "//s:title[@id='title']/text()")).toEqual(['Runs']);
    expect(await texts(svg, "//s:desc[@id='description']/text()")).toEqual(['Two days.']);
    expect(await texts(svg, '//s:rect/s:title/text()')).toEqual([
      'Mon: 1,000 succeeded',
      'Mon: 1 dead',
      'Tue: 500 succeeded',
    ]);
  });

  it('draws bars in proportion, and none too thin to be seen', async () => {
    const svg = drawStackedBars(chart);
    const [monday] = await texts(svg, heightOf('Mon: 1,000 succeeded'));
    const [tuesday] = await texts(svg, heightOf('Tue: 500 succeeded'));
    expect(Number(monday) / Number(tuesday)).toBeCloseTo(2, 1);
    expect(await texts(svg, heightOf('1 dead'))).toEqual(['3']);
  });

  it('calls out a series that asks for it, except where it is 0', async () => {
    expect(await texts(drawStackedBars(chart), "//s:text[contains(., ' dead')]/text()")).toEqual(['1 dead']);
  });

  it('keeps texts that are markup, or no XML at all, from being either', async () => {
    const hostile = `</title><script>alert(1)</script>&amp;"'<![CDATA[\u0000\u0008\uD800\uFFFF`;
    const svg = drawStackedBars({
      title: hostile,
      description: hostile,
      categories: [hostile],
      series: [{ name: hostile, color: '"/><script/>', values: [5], callOut: true }],
    });
    expect(await texts(svg, '//s:script')).toEqual([]);
    // PostgreSQL gives what it found as XML, escaped again, but for the quotes.
    expect(await texts(svg, "//s:title[@id='title']/text()")).toEqual([
      `&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;&amp;amp;"'&lt;![CDATA[\uFFFD\uFFFD\uFFFD\uFFFD`,
    ]);
    expect(await texts(svg, '//s:rect/@fill')).toContain('"/&gt;&lt;script/&gt;');
    expect(svg).not.toContain('<script');
  });

  it.each([
    ['nothing', [], []],
    ['only zeros', ['Mon'], [0]],
    [
      'a year of days',
      Array.from({ length: 366 }, (_, day) => `day ${day}`),
      Array.from({ length: 366 }, () => 7),
    ],
  ])('draws %s', async (_what, categories, values) => {
    const svg = drawStackedBars({ ...chart, categories, series: [{ name: 'runs', color: 'navy', values }] });
    expect(await texts(svg, '//s:rect[s:title]')).toHaveLength(values.filter(value => value > 0).length);
    expect(svg).not.toMatch(/NaN|Infinity/);
  });
});
