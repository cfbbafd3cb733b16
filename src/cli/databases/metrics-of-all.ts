// `tock metrics --all`: one exposition, with the database as a label.
import { readMetrics } from '../../answers/figures/openmetrics.js';
import { type DatabaseMetrics, mergeMetrics } from '../../model/metrics/databases.js';
import { writeMetrics } from '../../model/metrics/metrics.js';
import type { MetricsOptions } from '../../model/metrics/options.js';
import { databaseOf } from '../../tock/database-of.js';
import type { Shell } from '../shell.js';
import { askEach } from './each-database.js';

/** A database that is away has `tock_database_up 0`, and is noted on standard error. */
export async function metricsOfAll(
  shell: Shell,
  format: NonNullable<MetricsOptions['format']>,
  limits: Omit<MetricsOptions, 'format'>,
): Promise<string> {
  const answers = await askEach(shell, async ({ tock }) => await readMetrics(await databaseOf(tock), limits));
  for (const { name, error } of answers) if (error !== null) shell.note(`${name}: ${error.message}`);
  const merged = answers.map(({ name, value }): DatabaseMetrics => ({ name, metrics: value }));
  return writeMetrics(mergeMetrics(merged), format);
}
