// Model: the variables by which a command knows its run.
import { describe, expect, it } from 'vitest';
import { runVariables } from '../../../src/model/shell/environment.js';

const run = {
  runId: '812',
  job: 'backup',
  attempt: 2,
  maxAttempts: 3,
  fence: 4,
  trigger: 'cron',
  idempotencyKey: null,
  scheduledFor: new Date('2026-03-08T07:30:00Z'),
  dataInterval: null,
};

describe('runVariables', () => {
  it('are texts, empty where the run has nothing', () => {
    expect(runVariables(run, '{"a":1}')).toEqual({
      TOCK_RUN_ID: '812',
      TOCK_JOB: 'backup',
      TOCK_ATTEMPT: '2',
      TOCK_MAX_ATTEMPTS: '3',
      TOCK_FENCE: '4',
      TOCK_TRIGGER: 'cron',
      TOCK_KEY: '',
      TOCK_SCHEDULED_FOR: '2026-03-08T07:30:00.000Z',
      TOCK_INTERVAL_START: '',
      TOCK_INTERVAL_END: '',
      TOCK_PAYLOAD: '{"a":1}',
    });
  });

  it('refuse a payload that is too long for a variable, unless it is passed otherwise', () => {
    const payload = JSON.stringify('x'.repeat(200_000));
    expect(() => runVariables(run, payload)).toThrow(
      /200002 bytes is too long for the variable TOCK_PAYLOAD/,
    );
    expect(runVariables(run, payload, true)['TOCK_PAYLOAD']).toBe('');
  });
});
