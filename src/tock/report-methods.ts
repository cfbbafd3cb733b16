// Reports of a Tock: what is read, computed, and written nowhere.
import type { PlanOptions, SchedulePlan } from '../answers/plan/plan.js';
import type { ProveOptions } from '../answers/prove/prove.js';
import type { CapacityReport } from '../model/capacity/capacity.js';
import type { CapacityOptions } from '../model/capacity/options.js';
import type { MetricsOptions } from '../model/metrics/options.js';
import type { Proof } from '../model/prove/report.js';
import type { ZonesReport } from '../model/schedule/zone/zones-report.js';

/** What a Tock reports. */
export interface ReportMethods {
  /**
   * Proves what became of every occurrence in [from, to): computes them again, by the version of each
   * definition that was in force, and matches each with a run, a skipped row, an exception, or the key of a
   * run that retention has deleted. Nothing is unexplained if `holds`. Only reads, and holds no transaction
   * open. @throws TockError TOCK_NOT_FOUND for a name that no definition has; TOCK_BAD_TIME, TOCK_BAD_OPTION
   */
  prove(options?: ProveOptions): Promise<Proof>;
  /**
   * Which time zone data this process and the hosts have, by which the stored times were computed, and what
   * would move by those of this process. Only reads.
   */
  zones(): Promise<ZonesReport>;
  /**
   * What the schedules of this Tock's jobs would change in the database's, in [from, to), seven days from now
   * by default: which occurrences appear, vanish and move. And what all runs would do: simulated with jitter,
   * windows, overlap, chains and limits, by the durations of the last four weeks. Only reads.
   * @throws TockError TOCK_BAD_TIME for a window that is none, that is longer than 366 days, or that has over
   * 5 million occurrences; TOCK_BAD_OPTION
   */
  plan(options?: PlanOptions): Promise<SchedulePlan>;
  /**
   * Metrics as text, for Prometheus and what reads its formats: ends, durations and waits of runs, queues,
   * schedules. Only reads. @throws TockError TOCK_BAD_OPTION
   */
  metrics(options?: MetricsOptions): Promise<string>;
  /** Rates, sizes, how they grow, and what ends first. Only reads. @throws TockError TOCK_BAD_OPTION */
  capacity(options?: CapacityOptions): Promise<CapacityReport>;
}
