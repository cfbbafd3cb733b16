// Options of the metrics: their format, and how many series there may be.
import { TockError } from '../errors.js';
import { quote } from '../names.js';
import type { ExpositionFormat } from './exposition.js';

/** At most this many of each are published; how many are left out is a metric itself. */
export interface MetricsLimits {
  /** Pairs of a job and a queue: those with the most runs. Default 500. */
  readonly maxJobs?: number | undefined;
  /** Those in code first, then the oldest. Default 1,000. */
  readonly maxSchedules?: number | undefined;
}

/** Options of `metrics`. */
export interface MetricsOptions extends MetricsLimits {
  /**
   * `openmetrics` (the default): OpenMetrics 1.0. `prometheus`: the older text format, which node_exporter
   * reads. `json`: one document.
   */
  readonly format?: ExpositionFormat | 'json' | undefined;
}

export const DEFAULT_JOBS = 500;
export const DEFAULT_SCHEDULES = 1000;
const MAX_LIMIT = 100_000;

/** @throws TockError TOCK_BAD_OPTION */
export function checkMetricsOptions(options: MetricsOptions): MetricsOptions {
  const { format = 'openmetrics' } = options;
  if (!['openmetrics', 'prometheus', 'json'].includes(format))
    throw new TockError(
      'TOCK_BAD_OPTION',
      `format ${quote(format)} is none of openmetrics, prometheus, json`,
    );
  for (const name of ['maxJobs', 'maxSchedules'] as const) {
    const limit = options[name];
    if (limit === undefined || (Number.isInteger(limit) && limit >= 0 && limit <= MAX_LIMIT)) continue;
    throw new TockError(
      'TOCK_BAD_OPTION',
      `${name} ${String(limit)} is not a whole number from 0 to ${MAX_LIMIT}`,
    );
  }
  return options;
}
