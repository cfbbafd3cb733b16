// The metrics that Tock publishes, from what the database has. docs/metrics.md lists them.
import { FINISHED_STATUSES, type FinishedStatus, SKIP_REASONS } from '../run/states.js';
import { BUCKET_BOUNDS } from './buckets.js';
import { type Distribution, type Labels, type Metric, type Value, writeExposition } from './exposition.js';
import { DEFAULT_JOBS, type MetricsLimits, type MetricsOptions } from './options.js';

/** What metrics are made of. Instants in seconds since 1970. */
export interface MetricsData {
  readonly totals: readonly CountedRuns[];
  /** Of the jobs in code, so that their counters begin at zero. */
  readonly jobs: readonly { readonly job: string; readonly queue: string }[];
  readonly queues: readonly {
    readonly queue: string;
    readonly waiting: number;
    readonly oldestSeconds: number;
  }[];
  readonly schedules: readonly ScheduleState[];
  /** Schedules that were not read, since there are too many. */
  readonly schedulesLeftOut: number;
  /** Last ticks of hosts. */
  readonly ticks: readonly { readonly host: string; readonly at: number }[];
  /** What the workers of each host asked of it at their last heartbeats. */
  readonly loads: readonly {
    readonly host: string;
    readonly cpu: number;
    readonly memoryBytes: number;
    readonly loopDelaySeconds: number;
  }[];
  /** Since when an occurrence has been due that is no run yet; 0: none is. */
  readonly overdueSeconds: number;
  readonly isFrozen: boolean;
  /** Null: hidden from this role. */
  readonly oldestSnapshotSeconds: number | null;
}

/** Ended runs of one job, queue, status and reason. */
export interface CountedRuns {
  readonly job: string;
  readonly queue: string;
  readonly status: FinishedStatus;
  readonly reason: string;
  readonly runs: number;
  readonly occurrences: number;
  readonly durationSeconds: number;
  readonly waitSeconds: number;
  readonly durations: readonly number[] | null;
  readonly waits: readonly number[] | null;
}

export interface ScheduleState {
  readonly schedule: string;
  /** It is neither broken nor paused by itself. */
  readonly isUp: boolean;
  readonly lastSuccess: number | null;
  readonly next: number | null;
  readonly expectedBy: number | null;
}

const MAX_QUEUES = 500;
const MAX_HOSTS = 100;

export function metricsOf(data: MetricsData, { maxJobs = DEFAULT_JOBS }: MetricsLimits = {}): Metric[] {
  const { kept: pairs, leftOut: jobs } = atMost(maxJobs, jobQueuesOf(data), pair => pair.runs);
  const { kept: queues, leftOut: queuesLeftOut } = atMost(MAX_QUEUES, queuesOf(data), each => each.waiting);
  const { kept: ticks, leftOut: hosts } = atMost(MAX_HOSTS, data.ticks, each => each.at);
  const { kept: loads } = atMost(MAX_HOSTS, data.loads, each => each.cpu);
  const ofSchedules = (value: (schedule: ScheduleState) => number | null) =>
    data.schedules.flatMap(each => valuesOf({ schedule: each.schedule }, value(each)));
  return [
    {
      name: 'tock_runs_ended',
      type: 'counter',
      help: 'Ends of runs, by state. A run that is retried after its end counts again when it ends again.',
      values: pairs.flatMap(({ labels, ended }) =>
        FINISHED_STATUSES.map(status => ({ labels: { ...labels, status }, value: ended[status] })),
      ),
    },
    {
      name: 'tock_run_duration_seconds',
      type: 'histogram',
      unit: 'seconds',
      help: 'From the start of the last attempt to the end of the run, for runs that succeeded or are dead.',
      distributions: pairs.map(({ labels, duration }) => ({ labels, ...duration })),
    },
    {
      name: 'tock_run_wait_seconds',
      type: 'histogram',
      unit: 'seconds',
      help: 'From when the last attempt was due to its start, for runs that succeeded or are dead.',
      distributions: pairs.map(({ labels, wait }) => ({ labels, ...wait })),
    },
    {
      name: 'tock_queue_waiting',
      type: 'gauge',
      help: 'Runs that are due and not claimed, of at most a million live runs.',
      values: queues.map(({ queue, waiting }) => ({ labels: { queue }, value: waiting })),
    },
    {
      name: 'tock_queue_oldest_wait_seconds',
      type: 'gauge',
      unit: 'seconds',
      help: 'How long the run that has been due for longest has waited; 0 if none waits.',
      values: queues.map(({ queue, oldestSeconds }) => ({ labels: { queue }, value: oldestSeconds })),
    },
    {
      name: 'tock_schedule_last_success_timestamp_seconds',
      type: 'gauge',
      unit: 'seconds',
      help: 'When a run of the schedule last succeeded. Absent if none is known.',
      values: ofSchedules(each => each.lastSuccess),
    },
    {
      name: 'tock_schedule_next_timestamp_seconds',
      type: 'gauge',
      unit: 'seconds',
      help: 'The next occurrence. In the past if nothing ticks. Absent while paused, broken, or without a next one.',
      values: ofSchedules(each => each.next),
    },
    {
      name: 'tock_schedule_expected_by_timestamp_seconds',
      type: 'gauge',
      unit: 'seconds',
      help: 'The occurrence after the last success that was not skipped: what should succeed next.',
      values: ofSchedules(each => each.expectedBy),
    },
    {
      name: 'tock_schedule_up',
      type: 'gauge',
      help: '0 if the definition is broken or was paused by itself after dead runs, else 1.',
      values: ofSchedules(each => (each.isUp ? 1 : 0)),
    },
    {
      name: 'tock_occurrences_skipped',
      type: 'counter',
      help: 'Occurrences that were expected and gave no execution, by reason.',
      values: skippedOf(data.totals),
    },
    {
      name: 'tock_occurrence_overdue_seconds',
      type: 'gauge',
      unit: 'seconds',
      help: 'How long the occurrence that has been due for longest has not become a run. Grows if nothing ticks.',
      values: [{ labels: {}, value: data.overdueSeconds }],
    },
    {
      name: 'tock_frozen',
      type: 'gauge',
      help: 'Whether a freeze holds (1): nothing starts, and what is due waits.',
      values: [{ labels: {}, value: data.isFrozen ? 1 : 0 }],
    },
    {
      name: 'tock_last_tick_timestamp_seconds',
      type: 'gauge',
      unit: 'seconds',
      help: 'The last tick, or beat of a daemon, of each host. Noted at most twice a minute.',
      values: ticks.map(({ host, at }) => ({ labels: { host }, value: at })),
    },
    {
      name: 'tock_worker_cpu_cores',
      type: 'gauge',
      help: 'Cores that the workers of each host used between their last two heartbeats.',
      values: loads.map(({ host, cpu }) => ({ labels: { host }, value: cpu })),
    },
    {
      name: 'tock_worker_memory_bytes',
      type: 'gauge',
      unit: 'bytes',
      help: 'Resident memory of the workers of each host.',
      values: loads.map(({ host, memoryBytes }) => ({ labels: { host }, value: memoryBytes })),
    },
    {
      name: 'tock_worker_loop_delay_seconds',
      type: 'gauge',
      unit: 'seconds',
      help: 'By how much a timer was late between the last two heartbeats, in the worst worker of each host.',
      values: loads.map(({ host, loopDelaySeconds }) => ({ labels: { host }, value: loopDelaySeconds })),
    },
    {
      name: 'tock_oldest_snapshot_seconds',
      type: 'gauge',
      unit: 'seconds',
      help: 'The age of the oldest snapshot in the database, which keeps dead rows. Absent if the role may not see it.',
      values: valuesOf({}, data.oldestSnapshotSeconds),
    },
    {
      name: 'tock_metrics_left_out',
      type: 'gauge',
      help: 'How many jobs and queues, schedules or hosts are not published, because there are more than the limit.',
      values: Object.entries({
        jobs: jobs,
        queues: queuesLeftOut,
        schedules: data.schedulesLeftOut,
        hosts,
      }).map(([what, value]) => ({ labels: { what }, value })),
    },
  ];
}

/** Metrics as text. */
export function writeMetrics(
  metrics: readonly Metric[],
  format: NonNullable<MetricsOptions['format']>,
): string {
  return format === 'json' ? `${JSON.stringify({ metrics })}\n` : writeExposition(metrics, format);
}

function valuesOf(labels: Labels, value: number | null): Value[] {
  return value === null ? [] : [{ labels, value }];
}

/** Those that weigh most, in their order. */
function atMost<T>(
  limit: number,
  all: readonly T[],
  weightOf: (each: T) => number,
): { kept: readonly T[]; leftOut: number } {
  if (all.length <= limit) return { kept: all, leftOut: 0 };
  const kept = new Set(all.toSorted((a, b) => weightOf(b) - weightOf(a)).slice(0, limit));
  return { kept: all.filter(each => kept.has(each)), leftOut: all.length - limit };
}

interface JobQueue {
  readonly labels: { readonly job: string; readonly queue: string };
  readonly ended: Record<FinishedStatus, number>;
  runs: number;
  readonly duration: Sum;
  readonly wait: Sum;
}

type Sum = {
  -readonly [Key in keyof Omit<Distribution, 'labels'>]: Key extends 'counts' ? number[] : number;
};

/** By job and queue, in the order of their names. */
function jobQueuesOf({ totals, jobs }: MetricsData): JobQueue[] {
  const found = new Map<string, JobQueue>();
  const at = (job: string, queue: string) => {
    const key = JSON.stringify([job, queue]);
    const there = found.get(key) ?? emptyJobQueue(job, queue);
    found.set(key, there);
    return there;
  };
  for (const { job, queue } of jobs) at(job, queue);
  for (const each of totals) {
    const pair = at(each.job, each.queue);
    pair.ended[each.status] += each.runs;
    pair.runs += each.runs;
    add(pair.duration, each.durations, each.durationSeconds);
    add(pair.wait, each.waits, each.waitSeconds);
  }
  return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, pair]) => pair);
}

function emptyJobQueue(job: string, queue: string): JobQueue {
  const empty = (): Sum => ({ counts: Array.from({ length: BUCKET_BOUNDS.length + 1 }, () => 0), sum: 0 });
  return {
    labels: { job, queue },
    ended: { succeeded: 0, dead: 0, cancelled: 0, skipped: 0 },
    runs: 0,
    duration: empty(),
    wait: empty(),
  };
}

function add(sum: Sum, counts: readonly number[] | null, seconds: number): void {
  counts?.forEach((count, index) => {
    sum.counts[index] = (sum.counts[index] ?? 0) + count;
  });
  sum.sum += seconds;
}

/** Queues of jobs too, so that their gauges are there before something waits. */
function queuesOf(data: MetricsData): MetricsData['queues'][number][] {
  const found = new Map(data.queues.map(each => [each.queue, each]));
  for (const { queue } of [...data.jobs, ...data.totals])
    if (!found.has(queue)) found.set(queue, { queue, waiting: 0, oldestSeconds: 0 });
  return [...found.values()].sort((a, b) => (a.queue < b.queue ? -1 : 1));
}

function skippedOf(totals: readonly CountedRuns[]): Value[] {
  const counts = new Map<string, number>(Object.keys(SKIP_REASONS).map(reason => [reason, 0]));
  for (const { status, reason, occurrences } of totals)
    if (status === 'skipped') counts.set(reason, (counts.get(reason) ?? 0) + occurrences);
  return [...counts].map(([reason, value]) => ({ labels: { reason }, value }));
}
