// Metrics of several databases as one exposition: each series gets a label that names its database.
import type { Labels, Metric } from './exposition.js';

export interface DatabaseMetrics {
  readonly name: string;
  /** Null: it did not answer. */
  readonly metrics: readonly Metric[] | null;
}

const LABEL = 'database';

/**
 * Families keep the order of the first database that has them, and stay together, as OpenMetrics asks. First
 * comes `tock_database_up`: 1, or 0 for one that did not answer.
 */
export function mergeMetrics(databases: readonly DatabaseMetrics[]): Metric[] {
  const up: Metric = {
    name: 'tock_database_up',
    type: 'gauge',
    help: 'Whether the database answered.',
    values: databases.map(({ name, metrics }) => ({
      labels: { [LABEL]: name },
      value: metrics === null ? 0 : 1,
    })),
  };
  const families = new Map<string, Metric>();
  for (const { name, metrics } of databases)
    for (const metric of metrics ?? []) {
      const known = families.get(metric.name);
      const named = labelled(metric, name);
      families.set(metric.name, known === undefined ? named : joined(known, named));
    }
  return [up, ...families.values()];
}

const withName = <Sample extends { readonly labels: Labels }>(
  samples: readonly Sample[],
  name: string,
): Sample[] => samples.map(sample => ({ ...sample, labels: { [LABEL]: name, ...sample.labels } }));

function labelled(metric: Metric, name: string): Metric {
  return metric.type === 'histogram'
    ? { ...metric, distributions: withName(metric.distributions, name) }
    : { ...metric, values: withName(metric.values, name) };
}

function joined(one: Metric, other: Metric): Metric {
  if (one.type === 'histogram' && other.type === 'histogram')
    return { ...one, distributions: [...one.distributions, ...other.distributions] };
  if (one.type !== 'histogram' && other.type === one.type)
    return { ...one, values: [...one.values, ...other.values] };
  throw new Error(`the metric ${one.name} has two types`);
}
