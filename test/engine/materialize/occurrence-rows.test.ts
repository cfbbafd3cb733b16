// Engine: the rows that occurrences become, and the statement that inserts them.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/engine/engine.js';
import {
  occurrenceKey,
  payloadFor,
  rowsOf,
  slotsOf,
} from '../../../src/engine/materialize/occurrence-rows.js';
import { type AnyJob, defineJob, type JobSchedule } from '../../../src/index.js';
import type { Occurrence } from '../../../src/model/job/job.js';
import { createRegistry } from '../../../src/model/job/registry.js';
import type { Plan, PlannedRun } from '../../../src/model/planning/plan-occurrences.js';
import { type Database, openDatabase, type Session } from '../../../src/store/connection/database.js';
import type { DueDefinition } from '../../../src/store/definitions/due.js';
import { insertOccurrences, type NewRow } from '../../../src/store/runs/materialize.js';
import { emptyTables } from '../../support/runs.js';
import { openTestTock, type TestTock, until } from '../../support/test-tock.js';

const AT = Date.parse('2026-03-02T12:00:00Z');
const engineOf = (...jobs: AnyJob[]) => ({ registry: createRegistry(jobs) }) as Engine;
const definition = {
  id: '7',
  name: 'nightly',
  job: 'nightly',
  payload: { stored: true },
  queue: 'mail',
  priority: 3,
  max_attempts: 4,
} as unknown as DueDefinition;
const planned = (more: Partial<PlannedRun> = {}): PlannedRun => ({
  scheduledFor: AT,
  runAt: AT + 5000,
  startBy: null,
  intervalStart: null,
  occurrenceCount: 1,
  isSerial: false,
  ...more,
});

describe('occurrenceKey', () => {
  it('is the definition and the instant, without fractions where there are none', () => {
    expect(occurrenceKey('7', AT)).toBe('cron:7:2026-03-02T12:00:00Z');
    expect(occurrenceKey('7', AT + 250)).toBe('cron:7:2026-03-02T12:00:00.250Z');
  });
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
    expect(payloadFor(engine, definition, run)).toEqual(occurrence);
    expect(payloadFor(engine, definition, planned())).toMatchObject({
      dataInterval: { start: new Date(AT), end: new Date(AT) },
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
  it('gives a row for each run and each skip, in whole milliseconds of UTC', () => {
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
    const shared = {
      definition_id: '7',
      job: 'nightly',
      queue: 'mail',
      priority: 3,
      max_attempts: 4,
      trigger: 'cron',
    };
    const none = { slot_keys: null, slot_limits: null };
    expect(rowsOf(engineOf(), definition, plan)).toEqual([
      {
        ...shared,
        ...none,
        payload: { stored: true },
        key: 'cron:7:2026-03-02T11:00:00Z',
        scheduled_for: '2026-03-02T11:00:00.000Z',
        run_at: '2026-03-02T11:00:00.000Z',
        start_by: null,
        interval_start: '2026-03-02T10:00:00.000Z',
        occurrence_count: 3,
        skip_reason: 'catchup',
      },
      {
        ...shared,
        payload: { stored: true },
        key: 'cron:7:2026-03-02T12:00:00Z',
        scheduled_for: '2026-03-02T12:00:00.000Z',
        run_at: '2026-03-02T12:00:05.000Z',
        start_by: '2026-03-02T12:00:09.000Z',
        interval_start: '2026-03-02T11:00:00.000Z',
        occurrence_count: 2,
        skip_reason: null,
        slot_keys: ['definition:7'],
        slot_limits: [1],
      },
      {
        ...shared,
        ...none,
        payload: { stored: true },
        key: 'cron:7:2026-03-02T12:00:00Z',
        scheduled_for: '2026-03-02T12:00:00.000Z',
        run_at: '2026-03-02T12:00:05.000Z',
        start_by: null,
        interval_start: null,
        occurrence_count: 1,
        skip_reason: null,
      },
    ]);
  });
});

describe('insertOccurrences', () => {
  let test: TestTock;
  let database: Database;
  beforeAll(async () => {
    test = await openTestTock();
    database = openDatabase({ connectionString: test.url });
  });
  beforeEach(async () => {
    await emptyTables(test);
    await test.sql(
      `insert into tock.job_definitions (name, job, has_followers) values ('nightly', 'nightly', true), ('other', 'other', false)`,
    );
  });
  afterAll(async () => {
    await database.close();
    await test.close();
  });

  /** The occurrence of definition 1 so many hours after AT, as a run; or as a skip, for a reason. */
  const row = (hours: number, more: Partial<NewRow> = {}): NewRow => {
    const at = AT + hours * 3_600_000;
    const iso = new Date(at).toISOString();
    return {
      definition_id: '1',
      job: 'nightly',
      queue: 'mail',
      priority: 3,
      max_attempts: 4,
      payload: { hours },
      key: occurrenceKey(more.definition_id ?? '1', at),
      scheduled_for: iso,
      run_at: iso,
      start_by: iso,
      interval_start: iso,
      occurrence_count: 2,
      skip_reason: null,
      slot_keys: ['definition:1'],
      slot_limits: [1],
      trigger: 'cron',
      ...more,
    };
  };
  const skip = (hours: number, more: Partial<NewRow> = {}) => row(hours, { skip_reason: 'catchup', ...more });
  const insert = (...rows: NewRow[]) => insertOccurrences(database, rows);
  const statuses = async () =>
    (
      await test.sql<{ text: string }>(
        `select (payload ->> 'hours') || ' ' || status as text from tock.job_runs order by scheduled_for, id`,
      )
    ).map(each => each.text);

  it('inserts runs that wait, and skips with their reason, and says how many', async () => {
    expect(await insert(row(1), skip(0), row(2))).toEqual({ runs: 2, skips: 1, outboxWritten: true });
    expect(await statuses()).toEqual(['0 skipped', '1 queued', '2 queued']);
    const [skipped, run] = await test.sql('select * from tock.job_runs order by scheduled_for');
    const shared = {
      definition_id: '1',
      job: 'nightly',
      queue: 'mail',
      priority: 3,
      max_attempts: 4,
      occurrence_count: 2,
      trigger: 'cron',
      attempts: 0,
    };
    const at = new Date(AT + 3_600_000);
    expect(run).toMatchObject({
      ...shared,
      idempotency_key: 'cron:1:2026-03-02T13:00:00Z',
      scheduled_for: at,
      run_at: at,
      start_by: at,
      interval_start: at,
      slot_keys: ['definition:1'],
      slot_limits: [1],
      finished_at: null,
    });
    expect(skipped).toMatchObject({ ...shared, skip_reason: 'catchup', finished_at: expect.any(Date) });
    expect(await insert()).toEqual({ runs: 0, skips: 0, outboxWritten: false });
  });

  it('leaves out what is there already, as whatever it is', async () => {
    await insert(row(0), skip(1));
    expect(await insert(row(0), skip(0), row(1), skip(1), row(2))).toMatchObject({ runs: 1, skips: 0 });
    expect(await statuses()).toEqual(['0 queued', '1 skipped', '2 queued']);
  });

  it('notes what is skipped for those that run after it, and nothing else', async () => {
    expect(await insert(row(0))).toMatchObject({ outboxWritten: false });
    expect(await insert(skip(1, { definition_id: '2', job: 'other' }))).toMatchObject({
      outboxWritten: false,
    });
    expect(await insert(skip(2))).toMatchObject({ outboxWritten: true });
    expect(await test.sql('select kind, definition_id from tock.job_outbox')).toEqual([
      { kind: 'chain', definition_id: '1' },
    ]);
  });

  it('makes a run in place of a chained occurrence that was skipped, and of no other', async () => {
    await insert(skip(0), skip(1), row(2), skip(3));
    const chained = { trigger: 'chain' } as const;
    expect(await insert(row(0, chained), row(1), row(2, chained), skip(3, chained))).toMatchObject({
      runs: 1,
      skips: 0,
    });
    expect(await statuses()).toEqual(['0 skipped', '0 queued', '1 skipped', '2 queued', '3 skipped']);
    // It is the occurrence's run from now on.
    expect(await insert(row(0, chained))).toMatchObject({ runs: 0 });
  });

  it('inserts the occurrences in one order, whatever order they come in: two never wait in a circle', async () => {
    const within = (limit: string, rows: readonly NewRow[], then: () => Promise<unknown>) =>
      database.transaction(async (session: Session) => {
        await session.run(`set local lock_timeout = '${limit}'`);
        const made = await insertOccurrences(session, rows);
        await then();
        return made;
      });
    const isWaiting = async () =>
      (
        await test.sql(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        )
      ).length;
    let batch: Promise<unknown> | undefined;
    await within('0', [row(2)], async () => {
      batch = insert(row(2), row(1));
      await until(async () => (await isWaiting()) === 1, 'the batch to wait');
      // It has the first one by now.
      await expect(within('50ms', [row(1)], async () => undefined)).rejects.toMatchObject({ code: '55P03' });
    });
    expect(await batch).toMatchObject({ runs: 1 });
  });
});
