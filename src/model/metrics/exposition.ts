// Metrics as text: OpenMetrics 1.0, and the older text format of Prometheus, which node_exporter reads.
import { BUCKET_BOUNDS } from './buckets.js';

export type Labels = Readonly<Record<string, string>>;

export interface Value {
  readonly labels: Labels;
  readonly value: number;
}

export interface Distribution {
  readonly labels: Labels;
  /** By bucket: one for each of {@link BUCKET_BOUNDS}, and one for what lies above. */
  readonly counts: readonly number[];
  readonly sum: number;
}

interface Described {
  /** Without `_total`. */
  readonly name: string;
  readonly help: string;
  /** The last part of the name. */
  readonly unit?: 'seconds' | 'bytes';
}

/** A metric with its samples: a family, in the words of OpenMetrics. */
export type Metric =
  | (Described & { readonly type: 'counter' | 'gauge'; readonly values: readonly Value[] })
  | (Described & { readonly type: 'histogram'; readonly distributions: readonly Distribution[] });

/** How metrics are written: OpenMetrics 1.0, or the older text format of Prometheus. */
export type ExpositionFormat = 'openmetrics' | 'prometheus';

export const CONTENT_TYPES: Readonly<Record<ExpositionFormat, string>> = {
  openmetrics: 'application/openmetrics-text; version=1.0.0; charset=utf-8',
  prometheus: 'text/plain; version=0.0.4; charset=utf-8',
};

/** The format for a request's Accept header: OpenMetrics where it is named and not refused. */
export function formatFor(accept: string | null | undefined): ExpositionFormat {
  const asked = (accept ?? '')
    .toLowerCase()
    .split(',')
    .map(part => part.split(';').map(word => word.trim()));
  const quality = (names: readonly string[]) =>
    Math.max(
      -1,
      ...asked
        .filter(([name]) => names.includes(name ?? ''))
        .map(
          ([, ...parameters]) => Number(parameters.find(each => each.startsWith('q='))?.slice(2) ?? 1) || 0,
        ),
    );
  const open = quality(['application/openmetrics-text']);
  return open > 0 && open >= quality(['text/plain']) ? 'openmetrics' : 'prometheus';
}

export function writeExposition(metrics: readonly Metric[], format: ExpositionFormat): string {
  const text = metrics.map(metric => writeMetric(metric, format)).join('');
  return format === 'openmetrics' ? `${text}# EOF\n` : text;
}

function writeMetric(metric: Metric, format: ExpositionFormat): string {
  const { name, type, help, unit } = metric;
  const isOpen = format === 'openmetrics';
  const sampled = type === 'counter' ? `${name}_total` : name;
  // The older format describes a counter under the name of its samples.
  const described = isOpen ? name : sampled;
  let text = `# HELP ${described} ${escapeHelp(help)}\n# TYPE ${described} ${type}\n`;
  if (isOpen && unit !== undefined) text += `# UNIT ${described} ${unit}\n`;
  if (metric.type === 'histogram') {
    for (const each of metric.distributions) text += textOf(name, each);
  } else {
    for (const { labels, value } of metric.values) {
      const pairs = pairsOf(labels);
      text += pairs === '' ? `${sampled} ${value}\n` : `${sampled}{${pairs}} ${value}\n`;
    }
  }
  return text;
}

/** The same in both formats, so that a series keeps its name: `1.0`, not `1`. */
const BOUNDS = [
  ...BUCKET_BOUNDS.map(bound => (Number.isInteger(bound) ? `${bound}.0` : `${bound}`)),
  '+Inf',
].map(bound => `le="${bound}"`);

/** With a histogram for each job, this is most of the text. */
function textOf(name: string, { labels, counts, sum }: Distribution): string {
  const pairs = pairsOf(labels);
  const begin = pairs === '' ? `${name}_bucket{` : `${name}_bucket{${pairs},`;
  const own = pairs === '' ? '' : `{${pairs}}`;
  let count = 0;
  let text = '';
  for (const [index, bound] of BOUNDS.entries()) {
    count += counts[index] ?? 0;
    text += `${begin}${bound}} ${count}\n`;
  }
  return `${text}${name}_count${own} ${count}\n${name}_sum${own} ${sum}\n`;
}

function pairsOf(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${escapeValue(value)}"`)
    .join(',');
}

const escapeHelp = (text: string) => text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n');
const escapeValue = (text: string) => escapeHelp(text.toWellFormed()).replaceAll('"', '\\"');
