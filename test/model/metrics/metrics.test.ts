// The metrics that are made of what the database has.
import { describe, expect, it } from 'vitest';
import { writeExposition } from '../../../src/model/metrics/exposition.js';
import { type CountedRuns, type MetricsData, metricsOf } from '../../../src/model/metrics/metrics.js';
import { checkMetricsOptions, type MetricsLimits } from '../../../src/model/metrics/options.js';
import { type Family, readOpenMetrics, sampleOf } from '../../support/openmetrics-reader.js';

const NOTHING: MetricsData = {
  totals: [],
  jobs: [],
  queues: [],
  schedules: [],
  schedulesLeftOut: 0,
  ticks: [],
  loads: [],
  overdueSeconds: 0,
  isFrozen: false,
  oldestSnapshotSeconds: null,
};
const counted = (more: Partial<CountedRuns> = {}): CountedRuns => ({
  job: 'mail',
  queue: 'default',
  status: 'succeeded',
  reason: '',
  runs: 1,
  occurrences: 1,
  durationSeconds: 0,
  waitSeconds: 0,
  durations: null,
  waits: null,
  ...more,
});
const publish = (data: Partial<MetricsData>, limits?: MetricsLimits): Family[] =>
  readOpenMetrics(writeExposition(metricsOf({ ...NOTHING, ...data }, limits), 'openmetrics'));
const samplesOf = (families: readonly Family[], name: string) =>
  families.find(each => each.name === name)?.samples ?? [];

describe('metrics', () => {
  it('of an empty database are described all the same', () => {
    const families = publish({});
    expect(families.map(({ name }) => name)).toEqual([
      'tock_runs_ended',
      'tock_run_duration_seconds',
      'tock_run_wait_seconds',
      'tock_queue_waiting',
      'tock_queue_oldest_wait_seconds',
      'tock_schedule_last_success_timestamp_seconds',
      'tock_schedule_next_timestamp_seconds',
      'tock_schedule_expected_by_timestamp_seconds',
      'tock_schedule_up',
      'tock_occurrences_skipped',
      'tock_occurrence_overdue_seconds',
      'tock_frozen',
      'tock_last_tick_timestamp_seconds',
      'tock_worker_cpu_cores',
      'tock_worker_memory_bytes',
      'tock_worker_loop_delay_seconds',
      'tock_oldest_snapshot_seconds',
      'tock_metrics_left_out',
    ]);
    for (const { name, help, unit } of families) {
      expect(help).toMatch(/^[A-Z0].*\.$/);
      expect(unit).toBe(/_(seconds|bytes)$/.exec(name)?.[1] ?? null);
    }
    expect(samplesOf(families, 'tock_oldest_snapshot_seconds')).toEqual([]);
  });

  it('add the states of a job and queue into one histogram', () => {
    const counts = (bucket: number) => Array.from({ length: 25 }, (_, index) => (index === bucket ? 2 : 0));
    const families = publish({
      totals: [
        counted({ runs: 2, durations: counts(0), durationSeconds: 0.5, waits: counts(3), waitSeconds: 4 }),
        counted({ status: 'dead', runs: 2, durations: counts(24), durationSeconds: 100_000.25 }),
        counted({ status: 'skipped', reason: 'overlap', runs: 3, occurrences: 7 }),
        counted({ status: 'skipped', reason: 'other', runs: 1, occurrences: 1, queue: 'slow' }),
      ],
    });
    const of = { job: 'mail', queue: 'default' };
    expect(sampleOf(families, 'tock_runs_ended_total', { ...of, status: 'succeeded' })).toBe(2);
    expect(sampleOf(families, 'tock_runs_ended_total', { ...of, status: 'skipped' })).toBe(3);
    expect(sampleOf(families, 'tock_runs_ended_total', { ...of, status: 'cancelled' })).toBe(0);
    expect(sampleOf(families, 'tock_run_duration_seconds_count', of)).toBe(4);
    expect(sampleOf(families, 'tock_run_duration_seconds_bucket', { ...of, le: '50000.0' })).toBe(2);
    expect(sampleOf(families, 'tock_run_duration_seconds_sum', of)).toBe(100_000.75);
    expect(sampleOf(families, 'tock_run_wait_seconds_count', of)).toBe(2);
    expect(sampleOf(families, 'tock_occurrences_skipped_total', { reason: 'overlap' })).toBe(7);
    expect(sampleOf(families, 'tock_occurrences_skipped_total', { reason: 'other' })).toBe(1);
    expect(sampleOf(families, 'tock_occurrences_skipped_total', { reason: 'paused' })).toBe(0);
  });

  it('begin at zero for the jobs in code and their queues', () => {
    const families = publish({ jobs: [{ job: 'new', queue: 'q' }] });
    expect(sampleOf(families, 'tock_runs_ended_total', { job: 'new', queue: 'q', status: 'dead' })).toBe(0);
    expect(sampleOf(families, 'tock_queue_waiting', { queue: 'q' })).toBe(0);
  });

  it('leave out what is not known', () => {
    const families = publish({
      schedules: [
        { schedule: 'a', isUp: true, lastSuccess: null, next: 100.5, expectedBy: null },
        { schedule: 'b', isUp: false, lastSuccess: 50, next: null, expectedBy: null },
      ],
    });
    expect(samplesOf(families, 'tock_schedule_up').map(({ value }) => value)).toEqual([1, 0]);
    expect(samplesOf(families, 'tock_schedule_next_timestamp_seconds')).toEqual([
      { name: 'tock_schedule_next_timestamp_seconds', labels: { schedule: 'a' }, value: 100.5 },
    ]);
    expect(samplesOf(families, 'tock_schedule_last_success_timestamp_seconds')).toHaveLength(1);
  });

  it('keep the pairs with the most runs, where there are more than the limit, and say how many are left out', () => {
    const totals = [1, 9, 5].map((runs, index) => counted({ job: `job-${index}`, runs }));
    const families = publish({ totals, schedulesLeftOut: 99_000 }, { maxJobs: 2 });
    const jobs = new Set(samplesOf(families, 'tock_runs_ended').map(({ labels }) => labels['job']));
    expect([...jobs]).toEqual(['job-1', 'job-2']);
    expect(sampleOf(families, 'tock_metrics_left_out', { what: 'jobs' })).toBe(1);
    expect(sampleOf(families, 'tock_metrics_left_out', { what: 'schedules' })).toBe(99_000);
  });

  it('have a bound for queues and hosts too, however many names there are', () => {
    const many = Array.from({ length: 2000 }, (_, index) => index);
    const families = publish({
      queues: many.map(index => ({ queue: `tenant-${index}`, waiting: index, oldestSeconds: 0 })),
      ticks: many.map(index => ({ host: `pod-${index}`, at: index })),
    });
    expect(samplesOf(families, 'tock_queue_waiting')).toHaveLength(500);
    expect(
      samplesOf(families, 'tock_queue_waiting').some(({ labels }) => labels['queue'] === 'tenant-1999'),
    ).toBe(true);
    expect(samplesOf(families, 'tock_last_tick_timestamp_seconds')).toHaveLength(100);
    expect(sampleOf(families, 'tock_metrics_left_out', { what: 'queues' })).toBe(1500);
    expect(sampleOf(families, 'tock_metrics_left_out', { what: 'hosts' })).toBe(1900);
  });
});

it.each([
  [{ format: 'xml' as never }, 'format "xml" is none of openmetrics, prometheus, json'],
  [{ maxJobs: -1 }, 'maxJobs -1 is not a whole number'],
  [{ maxSchedules: 1.5 }, 'maxSchedules 1.5 is not a whole number'],
  [{ maxSchedules: Number.NaN }, 'maxSchedules NaN'],
  [{ maxSchedules: 1e9 }, 'from 0 to 100000'],
])('options %j are refused', (options, message) => {
  expect(() => checkMetricsOptions(options)).toThrow(message);
});
