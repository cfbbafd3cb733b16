// Metrics as text, in both formats.
import { describe, expect, it } from 'vitest';
import { BUCKET_BOUNDS } from '../../../src/model/metrics/buckets.js';
import { formatFor, type Metric, writeExposition } from '../../../src/model/metrics/exposition.js';
import { readOpenMetrics } from '../../support/openmetrics-reader.js';
import { fc } from '../../support/seed.js';

const counter = (labels: Record<string, string>, value = 1): Metric => ({
  name: 'tock_runs_ended',
  type: 'counter',
  help: 'Ends of runs.',
  values: [{ labels, value }],
});

describe('OpenMetrics', () => {
  it('is written as the specification has it', () => {
    const gauge: Metric = {
      name: 'tock_wait_seconds',
      type: 'gauge',
      unit: 'seconds',
      help: 'A back\\slash\nand a line.',
      values: [{ labels: {}, value: 0.25 }],
    };
    expect(writeExposition([counter({ job: 'mail', status: 'dead' }, 3), gauge], 'openmetrics')).toBe(
      `# HELP tock_runs_ended Ends of runs.
# TYPE tock_runs_ended counter
tock_runs_ended_total{job="mail",status="dead"} 3
# HELP tock_wait_seconds A back\\\\slash\\nand a line.
# TYPE tock_wait_seconds gauge
# UNIT tock_wait_seconds seconds
tock_wait_seconds 0.25
# EOF
`,
    );
  });

  it('has buckets that add up, to +Inf', () => {
    const counts = BUCKET_BOUNDS.map(() => 1);
    const text = writeExposition(
      [
        {
          name: 'tock_run_duration_seconds',
          type: 'histogram',
          unit: 'seconds',
          help: 'Durations.',
          distributions: [{ labels: { job: 'a' }, counts: [...counts, 2], sum: 12.5 }],
        },
      ],
      'openmetrics',
    );
    const [family] = readOpenMetrics(text);
    expect(family?.samples.map(({ value }) => value)).toEqual([
      ...counts.map((_, index) => index + 1),
      counts.length + 2,
      counts.length + 2,
      12.5,
    ]);
    expect(family?.samples.map(({ labels }) => labels['le'])).toEqual(
      expect.arrayContaining(['0.001', '1.0', '50000.0', '+Inf']),
    );
  });

  it('keeps every label’s value, however hostile', { tags: 'check' }, () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'grapheme' }), (job, queue) => {
        const [family] = readOpenMetrics(writeExposition([counter({ job, queue })], 'openmetrics'));
        expect(family?.samples[0]?.labels).toEqual({ job: job.toWellFormed(), queue });
      }),
    );
    for (const job of ['a"} 1\nfaked_total 7', '\\', '\\n', '"', '\n', '{}', ' # EOF'])
      expect(readOpenMetrics(writeExposition([counter({ job })], 'openmetrics'))[0]?.samples).toEqual([
        { name: 'tock_runs_ended_total', labels: { job }, value: 1 },
      ]);
  });

  it('is refused by the reader of these tests where a rule is broken', () => {
    const good = writeExposition([counter({ job: 'a' })], 'openmetrics');
    expect(() => readOpenMetrics(good.replace('# EOF\n', ''))).toThrow('# EOF');
    expect(() => readOpenMetrics(good.replace('_total', ''))).toThrow('outside of its family');
    expect(() => readOpenMetrics(good.replace('"a"', '"a'))).toThrow('bad labels');
    expect(() => readOpenMetrics(good.replace('# EOF', 'tock_runs_ended_total{job="a"} 1\n# EOF'))).toThrow(
      'twice',
    );
  });
});

it('the older text format describes a counter under the name of its samples, and has no units and no end', () => {
  expect(writeExposition([counter({ job: 'a' })], 'prometheus')).toBe(
    '# HELP tock_runs_ended_total Ends of runs.\n# TYPE tock_runs_ended_total counter\ntock_runs_ended_total{job="a"} 1\n',
  );
});

it.each([
  [null, 'prometheus'],
  ['', 'prometheus'],
  ['*/*', 'prometheus'],
  ['text/html,application/xhtml+xml,*/*;q=0.8', 'prometheus'],
  ['text/plain;version=0.0.4;q=1,*/*;q=0.1', 'prometheus'],
  // What Prometheus 2.42 sends.
  [
    'application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,text/plain;version=0.0.4;q=0.5,*/*;q=0.1',
    'openmetrics',
  ],
  ['Application/OpenMetrics-Text', 'openmetrics'],
  ['application/openmetrics-text;q=0', 'prometheus'],
  ['text/plain, application/openmetrics-text;q=0.5', 'prometheus'],
  ['application/openmetrics-text;q=nonsense', 'prometheus'],
] as const)('the format for a request %j: %s', (accept, format) => {
  expect(formatFor(accept)).toBe(format);
});
