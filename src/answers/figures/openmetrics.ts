// The metrics of a database as text, for Prometheus and what reads its formats.
import type { Metric } from '../../model/metrics/exposition.js';
import { metricsOf, writeMetrics } from '../../model/metrics/metrics.js';
import {
  checkMetricsOptions,
  DEFAULT_SCHEDULES,
  type MetricsLimits,
  type MetricsOptions,
} from '../../model/metrics/options.js';
import type { Database, Session } from '../../store/connection/database.js';
import {
  readLastTicks,
  readLoadsOfHosts,
  readSchedulerState,
  readScheduleStates,
  readWaiting,
  withoutJit,
} from '../../store/reads/metrics/metrics.js';
import { createTotalsReader, readTotals } from '../../store/reads/metrics/totals.js';

/**
 * Reads the metrics: ten statements, whatever the history. Only reads, so a standby will do. Over a session
 * that is no transaction several are sent at once.
 */
export async function readMetrics(
  database: Database | Session,
  limits: MetricsLimits = {},
  countTotals: CountTotals = readTotals,
): Promise<Metric[]> {
  const read = { limits, countTotals };
  if (!('transaction' in database)) return await readOver(database, read, work => work());
  return await database.transaction(async session => {
    await withoutJit(session);
    return await readOver(session, read, oneByOne());
  });
}

/** Reads the counters; one that is kept from scrape to scrape reads only what is new. */
export type CountTotals = typeof readTotals;

type Turn = <T>(read: () => Promise<T>) => Promise<T>;

/** After a failure the others fail too, unasked. */
function oneByOne(): Turn {
  let last: Promise<unknown> = Promise.resolve();
  return read => {
    const mine = last.then(read);
    last = mine;
    return mine;
  };
}

/** What takes longest is begun first. */
async function readOver(
  session: Session,
  { limits, countTotals }: { readonly limits: MetricsLimits; readonly countTotals: CountTotals },
  turn: Turn,
): Promise<Metric[]> {
  const { maxSchedules = DEFAULT_SCHEDULES } = limits;
  const [totals, schedules, queues, { schedules: count, ...scheduler }, ticks, loads] = await Promise.all([
    turn(() => countTotals(session)),
    turn(() => readScheduleStates(session, maxSchedules)),
    turn(() => readWaiting(session)),
    turn(() => readSchedulerState(session)),
    turn(() => readLastTicks(session)),
    turn(() => readLoadsOfHosts(session)),
  ]);
  const schedulesLeftOut = Math.max(0, count - schedules.length);
  return metricsOf({ ...scheduler, totals, queues, schedules, schedulesLeftOut, ticks, loads }, limits);
}

/**
 * The metrics of a database as text.
 * @throws TockError TOCK_BAD_OPTION
 */
export async function openMetrics(
  database: Database | Session,
  options: MetricsOptions = {},
  countTotals: CountTotals = readTotals,
): Promise<string> {
  const { format = 'openmetrics', ...limits } = checkMetricsOptions(options);
  return writeMetrics(await readMetrics(database, limits, countTotals), format);
}

export { createTotalsReader };
