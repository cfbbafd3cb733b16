// Engine: the rows that occurrences become.
import { describe, expect, it } from 'vitest';
import { type Engine, readSettings } from '../../../src/engine/engine.js';
import {
  occurrenceKey,
  payloadFor,
  rowsOf,
  slotsOf,
} from '../../../src/engine/materialize/occurrence-rows.js';
import { type AnyJob, defineJob, type JobSchedule } from '../../../src/index.js';
import type { Json } from '../../../src/model/job/job.js';
import type { Occurrence } from '../../../src/model/job/job-schedule.js';
import { createRegistry } from '../../../src/model/job/registry.js';
import type { Plan, PlannedRun } from '../../../src/model/planning/plan-occurrences.js';
import type { DueDefinition } from '../../../src/store/definitions/due.js';

const AT = Date.parse('2026-03-02T12:00:00Z');
const engineOf = (...jobs: AnyJob[]) =>
  ({ registry: createRegistry(jobs), settings: readSettings({}) }) as Engine;
const definition = {
  id: '7',
  name: 'nightly',
  job: 'nightly',
  payload: { stored: true },
  queue: 'mail',
  priority: 3,
  max_attempts: 4,
  waits_for: null,
} as unknown as DueDefinition & { readonly payload: Json };
const planned = (more: Partial<PlannedRun> = {}): PlannedRun => ({
  scheduledFor: AT,
  runAt: AT + 5000,
  startBy: null,
  intervalStart: null,
  occurrenceCount: 1,
  isSerial: false,
  ...more,
});

it('occurrenceKey is the definition and the instant, without fractions where there are none', () => {
  expect(occurrenceKey('7', AT)).toBe('cron:7:2026-03-02T12:00:00Z');
  expect(occurrenceKey('7', AT + 250)).toBe('cron:7:2026-03-02T12:00:00.250Z');
});

describe('slotsOf', () => {
  const job = (more: object = {}) => defineJob({ name: 'nightly', ...more, run: () => null });
  const limited = job({ concurrency: { limit: 3 } });

  it('is a turn where runs go one after another, and a place under the job’s limit', () => {
    expect(slotsOf(engineOf(job()), definition, false)).toEqual({ slot_keys: null, slot_limits: null });
    expect(slotsOf(engineOf(job()), definition, true)).toEqual({
      slot_keys: ['definition:7'],
      slot_limits: [1],
    });
    expect(slotsOf(engineOf(limited), definition, false)).toEqual({
      slot_keys: ['job:nightly'],
      slot_limits: [3],
    });
    expect(slotsOf(engineOf(limited), definition, true)).toEqual({
      slot_keys: ['definition:7', 'job:nightly'],
      slot_limits: [1, 3],
    });
  });

  it('leaves a limit by key, and that of a job it does not know, to the worker', () => {
    const byKey = job({ concurrency: { limit: 3, key: () => 'k' } });
    for (const engine of [engineOf(byKey), engineOf()])
      expect(slotsOf(engine, definition, false)).toEqual({ slot_keys: null, slot_limits: null });
  });
});

describe('payloadFor', () => {
  const computing = (payload: JobSchedule['payload']) =>
    engineOf(
      defineJob({
        name: 'nightly',
        schedule: { cron: '0 12 * * *', ...(payload === undefined ? {} : { payload }) },
        run: () => null,
      }),
    );

  it('is computed of the occurrence', () => {
    const engine = computing((occurrence: Occurrence) => occurrence);
    const run = planned({ intervalStart: AT - 60_000, occurrenceCount: 2 });
    const occurrence = {
      scheduledFor: new Date(AT),
      dataInterval: { start: new Date(AT - 60_000), end: new Date(AT) },
      occurrenceCount: 2,
    };
    expect(payloadFor(engine, definition, run)).toEqual(JSON.parse(JSON.stringify(occurrence)));
    expect(payloadFor(engine, definition, planned())).toMatchObject({
      dataInterval: { start: new Date(AT).toISOString(), end: new Date(AT).toISOString() },
    });
  });

  it('is that of the definition where code computes none, or for the job’s own schedule alone', () => {
    expect(payloadFor(engineOf(), definition, planned())).toEqual({ stored: true });
    expect(payloadFor(computing(undefined), definition, planned())).toEqual({ stored: true });
    const other = { ...definition, name: 'tenant-7' };
    expect(
      payloadFor(
        computing(() => 'computed'),
        other,
        planned(),
      ),
    ).toEqual({ stored: true });
  });

  it('is left open where the function throws', () => {
    const engine = computing(() => {
      throw new Error('not today');
    });
    expect(payloadFor(engine, definition, planned())).toBeNull();
  });
});

describe('rowsOf', () => {
  it('gives a row for each run and each skip, without what the definition has', () => {
    const plan: Plan = {
      runs: [
        planned({ startBy: AT + 9000, intervalStart: AT - 3_600_000, occurrenceCount: 2, isSerial: true }),
        planned(),
      ],
      skips: [{ first: AT - 7_200_000, last: AT - 3_600_000, occurrenceCount: 3, reason: 'catchup' }],
      displaces: null,
      cursor: AT,
      nextAt: null,
      remaining: null,
    };
    const shared = { definition_id: '7', trigger: 'cron' };
    const none = { slot_keys: null, slot_limits: null };
    expect(rowsOf(engineOf(), definition, plan)).toEqual([
      {
        ...shared,
        ...none,
        key: 'cron:7:2026-03-02T11:00:00Z',
        scheduled_for: Date.parse('2026-03-02T11:00:00.000Z'),
        run_at: Date.parse('2026-03-02T11:00:00.000Z'),
        start_by: null,
        interval_start: Date.parse('2026-03-02T10:00:00.000Z'),
        occurrence_count: 3,
        skip_reason: 'catchup',
      },
      {
        ...shared,
        key: 'cron:7:2026-03-02T12:00:00Z',
        scheduled_for: Date.parse('2026-03-02T12:00:00.000Z'),
        run_at: Date.parse('2026-03-02T12:00:05.000Z'),
        start_by: Date.parse('2026-03-02T12:00:09.000Z'),
        interval_start: Date.parse('2026-03-02T11:00:00.000Z'),
        occurrence_count: 2,
        skip_reason: null,
        slot_keys: ['definition:7'],
        slot_limits: [1],
      },
      {
        ...shared,
        ...none,
        key: 'cron:7:2026-03-02T12:00:00Z',
        scheduled_for: Date.parse('2026-03-02T12:00:00.000Z'),
        run_at: Date.parse('2026-03-02T12:00:05.000Z'),
        start_by: null,
        interval_start: null,
        occurrence_count: 1,
        skip_reason: null,
      },
    ]);
  });

  it('carries a payload that code computes', () => {
    const job = defineJob({
      name: 'nightly',
      schedule: { cron: '0 12 * * *', payload: () => ({ computed: true }) },
      run: () => null,
    });
    const plan: Plan = {
      runs: [planned()],
      skips: [],
      displaces: null,
      cursor: AT,
      nextAt: null,
      remaining: null,
    };
    expect(rowsOf(engineOf(job), definition, plan)).toMatchObject([{ payload: { computed: true } }]);
  });
});
