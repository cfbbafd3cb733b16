// Metrics of several databases: one family each, with the database as a label.
import { describe, expect, it } from 'vitest';
import { mergeMetrics } from '../../../src/model/metrics/databases.js';
import { type Metric, writeExposition } from '../../../src/model/metrics/exposition.js';
import { readOpenMetrics, sampleOf } from '../../support/openmetrics-reader.js';

const ended = (job: string, value: number): Metric => ({
  name: 'tock_runs_ended',
  type: 'counter',
  help: 'Runs that ended.',
  values: [{ labels: { job }, value }],
});
const waits: Metric = {
  name: 'tock_run_wait_seconds',
  type: 'histogram',
  help: 'Waits.',
  unit: 'seconds',
  distributions: [{ labels: {}, counts: [1, 2], sum: 3 }],
};

describe('mergeMetrics', () => {
  it('keeps families together, and says which databases answered', () => {
    const merged = mergeMetrics([
      { name: 'billing', metrics: [ended('send', 3), waits] },
      { name: 'gone', metrics: null },
      { name: 'mail', metrics: [waits, ended('send', 5)] },
    ]);
    expect(merged.map(({ name }) => name)).toEqual([
      'tock_database_up',
      'tock_runs_ended',
      'tock_run_wait_seconds',
    ]);
    // The reader refuses families that are not in one piece.
    const families = readOpenMetrics(writeExposition(merged, 'openmetrics'));
    expect(sampleOf(families, 'tock_database_up', { database: 'billing' })).toBe(1);
    expect(sampleOf(families, 'tock_database_up', { database: 'gone' })).toBe(0);
    expect(sampleOf(families, 'tock_runs_ended_total', { database: 'mail', job: 'send' })).toBe(5);
    expect(sampleOf(families, 'tock_run_wait_seconds_count', { database: 'billing' })).toBe(3);
  });

  it('refuses a metric of two types', () => {
    const gauge: Metric = { name: 'tock_runs_ended', type: 'gauge', help: '', values: [] };
    expect(() =>
      mergeMetrics([
        { name: 'a', metrics: [ended('x', 1)] },
        { name: 'b', metrics: [gauge] },
      ]),
    ).toThrow('the metric tock_runs_ended has two types');
  });
});
