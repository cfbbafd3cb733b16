// Stacked bars as SVG, without a library. Every text is escaped; a title, a description and a tooltip per bar
// serve people who cannot see the chart.

export interface BarChart {
  readonly title: string;
  /** What the chart says, in a sentence; for screen readers. */
  readonly description: string;
  readonly categories: readonly string[];
  /** From the bottom of the bars to their top. `values[i]` belongs to `categories[i]`. */
  readonly series: readonly {
    readonly name: string;
    /** A CSS colour on which white text can be read. */
    readonly color: string;
    readonly values: readonly number[];
    /** Writes the values that are not 0 under the bars too, for a series whose bars are few but matter. */
    readonly callOut?: boolean;
  }[];
}

const WIDTH = 760;
const HEIGHT = 380;
const PLOT = { left: 64, right: 736, top: 96, bottom: 316 };
const LABELS_AT_MOST = 9;

/** Draws stacked bars, 760 × 380, for a white ground. */
export function drawStackedBars(chart: BarChart): string {
  const { categories, series } = chart;
  const totals = categories.map((_, index) =>
    series.reduce((sum, each) => sum + (each.values[index] ?? 0), 0),
  );
  const step = niceStep(Math.max(1, ...totals));
  const top = step * Math.max(1, Math.ceil(Math.max(...totals, 0) / step));
  const yOf = (value: number): number => round(PLOT.bottom - (value / top) * (PLOT.bottom - PLOT.top));
  const slot = (PLOT.right - PLOT.left) / Math.max(1, categories.length);
  const bars = categories.map((category, index) => {
    const center = round(PLOT.left + slot * (index + 0.5));
    const labelled = index % Math.ceil(categories.length / LABELS_AT_MOST) === 0;
    return bar(chart, {
      category,
      index,
      total: totals[index] ?? 0,
      center,
      width: Math.min(56, slot * 0.64),
      yOf,
      labelled,
    });
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${HEIGHT}" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="title description" font-family="system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif" font-size="12">`,
    `<title id="title">${escapeXml(chart.title)}</title>`,
    `<desc id="description">${escapeXml(chart.description)}</desc>`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#ffffff"/>`,
    text(chart.title, 24, 36, 'font-size="18" font-weight="600" fill="#111827"'),
    ...legend(chart),
    ...grid(top, step, yOf),
    ...bars,
    `<line x1="${PLOT.left}" y1="${PLOT.bottom}" x2="${PLOT.right}" y2="${PLOT.bottom}" stroke="#6b7280"/>`,
    '</svg>',
    '',
  ].join('\n');
}

/** Makes any text safe inside XML: markup is escaped, what XML cannot hold becomes U+FFFD. */
function escapeXml(value: string): string {
  return value
    .replace(/[\p{Cs}\uFFFE\uFFFF]|[^\P{Cc}\t\n\r]/gu, '\uFFFD')
    .replaceAll('&', '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;')
    .replaceAll('"', '&quot;')
    .replaceAll("'", '&#39;');
}

interface BarPlace {
  readonly category: string;
  readonly index: number;
  readonly total: number;
  readonly center: number;
  readonly width: number;
  readonly labelled: boolean;
  readonly yOf: (value: number) => number;
}

function bar(
  { series }: BarChart,
  { category, index, total, center, width, labelled, yOf }: BarPlace,
): string {
  const parts: string[] = [];
  let base = PLOT.bottom;
  let below = PLOT.bottom + 36;
  for (const { name, color, values, callOut } of series) {
    const value = values[index] ?? 0;
    if (value <= 0) continue;
    // Never thinner than can be seen: one dead run among a thousand is the news.
    const height = round(Math.max(3, PLOT.bottom - yOf(value)));
    base = round(base - height);
    const tip = `<title>${escapeXml(`${category}: ${count(value)} ${name}`)}</title>`;
    parts.push(
      `<rect x="${round(center - width / 2)}" y="${base}" width="${round(width)}" height="${height}" fill="${escapeXml(color)}" stroke="#ffffff">${tip}</rect>`,
    );
    if (height >= 18 && width >= 28)
      parts.push(text(count(value), center, base + height / 2 + 4, 'text-anchor="middle" fill="#ffffff"'));
    if (callOut && labelled) {
      parts.push(
        text(
          `${count(value)} ${name}`,
          center,
          below,
          `text-anchor="middle" font-weight="600" fill="${escapeXml(color)}"`,
        ),
      );
      below += 15;
    }
  }
  if (labelled) {
    parts.push(text(count(total), center, base - 6, 'text-anchor="middle" font-weight="600" fill="#111827"'));
    parts.push(text(category, center, PLOT.bottom + 19, 'text-anchor="middle" fill="#374151"'));
  }
  return parts.join('\n');
}

function legend({ series }: BarChart): string[] {
  let x = 24;
  return series.flatMap(({ name, color }) => {
    const at = x;
    x += 36 + name.length * 7;
    return [
      `<rect x="${at}" y="54" width="12" height="12" rx="2" fill="${escapeXml(color)}"/>`,
      text(name, at + 18, 64, 'fill="#374151"'),
    ];
  });
}

function grid(top: number, step: number, yOf: (value: number) => number): string[] {
  const lines = Array.from({ length: Math.round(top / step) + 1 }, (_, index) => index * step);
  return lines.flatMap(value => [
    `<line x1="${PLOT.left}" y1="${yOf(value)}" x2="${PLOT.right}" y2="${yOf(value)}" stroke="#e5e7eb"/>`,
    text(count(value), PLOT.left - 8, yOf(value) + 4, 'text-anchor="end" fill="#6b7280"'),
  ]);
}

/** A step of 1, 2 or 5 times a power of ten that cuts `most` into about four. */
function niceStep(most: number): number {
  const rough = Math.max(1, most / 4);
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5].find(factor => factor * power >= rough) ?? 10);
}

function text(value: string, x: number, y: number, attributes: string): string {
  return `<text x="${round(x)}" y="${round(y)}" ${attributes}>${escapeXml(value)}</text>`;
}

function count(value: number): string {
  return value.toLocaleString('en-US');
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}
