// Runs as CSV.
import { expect, it } from 'vitest';
import { CSV_HEADER, csvLine } from '../../../src/model/run/run-csv.js';
import type { RunRecord } from '../../../src/model/run/run-record.js';

const NOW = new Date('2026-03-02T12:00:00Z');
const run = (more: object): RunRecord =>
  ({
    id: '7',
    job: 'mail',
    definition: null,
    status: 'dead',
    attempts: 1,
    maxAttempts: 3,
    queue: 'default',
    trigger: 'api',
    idempotencyKey: null,
    tags: null,
    deploy: null,
    scheduledFor: null,
    runAt: NOW,
    startedAt: NOW,
    finishedAt: null,
    errors: [],
    skipReason: null,
    ...more,
  }) as unknown as RunRecord;

it('has a value for each column, on one line', () => {
  const line = csvLine(
    run({ errors: [{ name: 'E', code: null, message: 'said "no",\nthen \u001B[31mred' }] }),
  );
  expect(line).toBe(
    '7,mail,,dead,1,3,default,api,,,,,2026-03-02T12:00:00.000Z,2026-03-02T12:00:00.000Z,,E,,"said ""no"",\\nthen \\u001b[31mred",',
  );
  expect(CSV_HEADER.split(',')).toHaveLength(19);
});

it.each(['=1+1', '+1', '-1', '@sum', '\t=1'])('keeps a spreadsheet from computing %j', key => {
  expect(csvLine(run({ idempotencyKey: key })).split(',')[8]).toBe(`'${key}`);
});
