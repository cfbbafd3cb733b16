// Model: the columns of a definition, by their names in the table, in a record, and as options.
import { describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/index.js';
import {
  describeDefinition,
  fingerprintOf,
  SCHEDULE_OPTIONS,
} from '../../../src/model/planning/definition.js';
import { byOption, statedOf } from '../../../src/model/planning/definition-columns.js';

const { columns } = describeDefinition(
  defineJob({
    name: 'report',
    schedule: { every: '1h', startAt: '2026-03-01T00:00:00Z', endAt: '2026-04-01T00:00:00Z', jitter: '5m' },
    run: () => null,
  }),
);

describe('the columns of a definition', () => {
  it('are those of the options of a schedule, and of what a job states besides', () => {
    const others = ['name', 'job', 'queue', 'priority', 'maxAttempts', 'tags', 'expectWithin', 'maxDuration'];
    // Business days are stored as exclusions.
    const stored = [...SCHEDULE_OPTIONS].filter(option => option !== 'businessDays');
    // Of `after`, what stands beside a schedule has a column of its own.
    expect(Object.keys(byOption(() => null)).sort()).toEqual([...stored, ...others, 'waitsFor'].sort());
  });

  it('are all stated by a job, and called *_at where they are instants', () => {
    const row = { ...columns, id: '7' };
    expect(statedOf(row)).toEqual(columns);
    const instants = Object.entries(columns).flatMap(([name, value]) => (value instanceof Date ? name : []));
    expect(instants.sort()).toEqual(['end_at', 'start_at']);
    expect(columns).toMatchObject({ every_ms: 3_600_000, jitter_ms: 300_000, at: null });
  });

  it('have a fingerprint that a column which an upgrade adds does not change, where it is null', () => {
    expect(fingerprintOf({ ...columns, calendar: null })).toBe(fingerprintOf(columns));
    expect(fingerprintOf({ ...columns, calendar: 'x' })).not.toBe(fingerprintOf(columns));
    expect(fingerprintOf({ payload: { a: null } })).not.toBe(fingerprintOf({ payload: {} }));
  });

  it.each([...SCHEDULE_OPTIONS].filter(option => option !== 'payload'))(
    'are never null for %s: it is refused',
    option => {
      const schedule = { ...(option === 'cron' ? {} : { cron: '0 9 * * *' }), [option]: null };
      expect(() => defineJob({ name: 'x', schedule, run: () => null })).toThrow(
        expect.objectContaining({ code: expect.stringMatching(/^TOCK_BAD_/) }),
      );
    },
  );
});
