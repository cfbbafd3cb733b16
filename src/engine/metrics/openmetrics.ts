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
  readSchedulerState,
  readScheduleStates,
  readWaiting,
  withoutJit,
} from '../../store/reads/metrics/metrics.js';
import { readTotals } from '../../store/reads/metrics/rollup.js';

/** Reads the metrics: eight statements, whatever the history. Only reads, so a standby will do. */
export async function readMetrics(
  database: Database | Session,
  limits: MetricsLimits = {},
): Promise<Metric[]> {
  if (!('transaction' in database)) return await readOver(database, limits);
  return await database.transaction(async session => {
    await withoutJit(session);
    return await readOver(session, limits);
  });
}

async function readOver(session: Session, limits: MetricsLimits): Promise<Metric[]> {
  const totals = await readTotals(session);
  const { schedules: count, ...scheduler } = await readSchedulerState(session);
  const schedules = await readScheduleStates(session, limits.maxSchedules ?? DEFAULT_SCHEDULES);
  const schedulesLeftOut = Math.max(0, count - schedules.length);
  const queues = await readWaiting(session);
  const ticks = await readLastTicks(session);
  return metricsOf({ ...scheduler, totals, queues, schedules, schedulesLeftOut, ticks }, limits);
}

/**
 * The metrics of a database as text.
 * @throws TockError TOCK_BAD_OPTION
 */
export async function openMetrics(
  database: Database | Session,
  options: MetricsOptions = {},
): Promise<string> {
  const { format = 'openmetrics', ...limits } = checkMetricsOptions(options);
  return writeMetrics(await readMetrics(database, limits), format);
}
