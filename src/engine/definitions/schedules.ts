// Definitions at run time: made, edited and removed by an operator or the app. Each in one transaction under
// the definition's row lock, so that a tick, an edit and a pause come one after the other.

import type { Expectation } from '../../model/alerts/options.js';
import { TockError } from '../../model/errors.js';
import { checkPriority } from '../../model/job/define-job.js';
import type { QueryClient } from '../../model/job/enqueue-options.js';
import type { AnyJob, PayloadFor } from '../../model/job/job.js';
import type { IsOptional, JobSchedule } from '../../model/job/job-schedule.js';
import { acceptPayload, findJob } from '../../model/job/registry.js';
import { checkName, quote } from '../../model/names.js';
import { checkOptions, optionNames } from '../../model/options.js';
import {
  type DescribedDefinition,
  describeSchedule,
  SCHEDULE_OPTIONS,
} from '../../model/planning/definition.js';
import { checkMaxAttempts } from '../../model/run/retry.js';
import { joinTags } from '../../model/run/tags.js';
import { clientSession, inCallersTransaction } from '../../store/connection/client/client-session.js';
import { readNow } from '../../store/connection/clock.js';
import type { Session } from '../../store/connection/database.js';
import { isServiceGone, putOutOfForce } from '../../store/definitions/registrations.js';
import { lockDefinition } from '../../store/definitions/stored-definition.js';
import { markRemoved } from '../../store/definitions/write-definitions.js';
import type { DefinitionRecord } from '../../store/reads/runs.js';
import { audit } from '../audit.js';
import type { Engine } from '../engine.js';
import { requireClient, withDefaults } from '../enqueue.js';
import { readRecord, requireDefinition } from '../materialize/locked-definition.js';
import { recordGone, withdrawAtEdit } from './settle-before-edit.js';
import { definedInCode, type GuardedDefinition, requireVersion, writeSchedules } from './write-schedules.js';

/** A schedule made at run time: when, by which policies, and with which payload a job is to run. */
export interface ScheduleInput<J = string | AnyJob, Payload = PayloadFor<J>>
  extends Omit<JobSchedule, 'payload'> {
  /** Identity; letters, digits and `. _ : @ -`, at most 200 bytes. No definition in code may have it. */
  readonly name: string;
  /** Several schedules may share one job. */
  readonly job: J;
  /** JSON, checked by the job's schema. Default `{}`. */
  readonly payload?: Payload;
  /** Default: the job's. */
  readonly queue?: string;
  /** Lower goes first. Default: the job's. */
  readonly priority?: number;
  /** Default: the job's. */
  readonly maxAttempts?: number;
  /** Given to each of its runs, beside those of the job. */
  readonly tags?: readonly string[];
  /** What alerts watch. Default: nothing. */
  readonly expect?: Expectation;
}

/** {@link ScheduleInput}, with a payload unless `{}` is valid. */
export type ScheduleInputFor<J, Payload> = ScheduleInput<J, Payload> &
  (IsOptional<Payload> extends true ? unknown : { readonly payload: Payload });

/** Guards an edit against a concurrent one. */
export interface VersionGuard {
  /** Refuses, with TOCK_VERSION_CONFLICT, unless the schedule has this version; 0: unless there is none. */
  readonly ifVersion?: number;
}

/** Options of `schedules.upsertMany`. */
export interface UpsertManyOptions {
  /** The caller's own transaction: a pg client, or anything with `query(text, values)`. */
  readonly client?: QueryClient;
}

/** Options of `schedules.upsert`. */
export interface UpsertOptions extends VersionGuard, UpsertManyOptions {}

/** A schedule, and the version at which it must be. */
export interface GuardedSchedule {
  readonly schedule: ScheduleInput;
  readonly ifVersion?: number | undefined;
}

interface InTransaction {
  /** The caller's own transaction. */
  readonly client?: QueryClient | undefined;
}

/** Does for one what {@link upsertSchedules} does for many. */
export async function upsertSchedule(
  engine: Engine,
  edit: GuardedSchedule,
  options: InTransaction,
): Promise<DefinitionRecord> {
  const [record] = await upsertSchedules(engine, [edit], options);
  if (!record) throw new TockError('TOCK_BAD_STATE', 'no schedule was written');
  return record;
}

/**
 * Makes schedules, or edits those of their names, all or none; resolves to them in their order. With
 * `client`, what is written commits or rolls back with the caller's transaction, which may go on after a
 * refusal. Everything is checked before anything is written.
 *
 * An edit keeps the id, begins at the database's now, withdraws queued runs that are not yet due and that
 * the edited schedule would not make, and never touches a running one. Due occurrences without a run are
 * first materialized by the old schedule. A pause is kept. If nothing changed, nothing is written,
 * including the version. A name that was removed comes back with its old id, so that no occurrence can come
 * twice.
 * @throws TockError TOCK_VERSION_CONFLICT; TOCK_BAD_STATE for a name that code has; TOCK_UNKNOWN_JOB,
 * TOCK_BAD_PAYLOAD, TOCK_BAD_SCHEDULE, TOCK_BAD_DURATION; TOCK_BAD_OPTION also for two of one name, and for a
 * client without a transaction
 */
export async function upsertSchedules(
  engine: Engine,
  inputs: readonly GuardedSchedule[],
  { client }: InTransaction,
): Promise<DefinitionRecord[]> {
  for (const { ifVersion } of inputs) checkVersion(ifVersion);
  const all = await Promise.all(inputs.map(each => describeInput(engine, each)));
  requireDistinct(all);
  if (all.length === 0) return [];
  const write = (session: Session) => writeSchedules(session, engine, all);
  if (client !== undefined) {
    const session = clientSession(requireClient(client), text => engine.database.rewrite(text));
    const written = await inCallersTransaction(session, write);
    return written.map(({ record }) => record);
  }
  const written = await engine.database.transaction(write);
  // Those of a caller's transaction may yet be rolled back, and are not logged.
  for (const { change, record } of written) {
    if (change === 'unchanged') continue;
    const { name, job, version } = record;
    engine.logger.info(
      { event: `schedule.${change}`, definition: name, job, version },
      `schedule ${name} ${change}`,
    );
  }
  return written.map(({ record }) => record);
}

function requireDistinct(all: readonly DescribedDefinition[]): void {
  const names = new Set<string>();
  for (const { columns } of all) {
    if (names.has(columns.name))
      throw new TockError('TOCK_BAD_OPTION', `two of the schedules are called ${quote(columns.name)}`);
    names.add(columns.name);
  }
}

const OWN_OPTIONS = optionNames<Omit<ScheduleInput, keyof JobSchedule>>({
  name: true,
  job: true,
  queue: true,
  priority: true,
  maxAttempts: true,
  tags: true,
  expect: true,
});
const SCHEDULE_INPUT = new Set([...SCHEDULE_OPTIONS, ...OWN_OPTIONS]);

function scheduleNamed(input: unknown): string {
  const name = typeof input === 'object' && input !== null ? (input as { name?: unknown }).name : undefined;
  return typeof name === 'string' ? `schedule ${quote(name)}` : 'the schedule';
}

async function describeInput(
  engine: Engine,
  { schedule: input, ifVersion }: GuardedSchedule,
): Promise<GuardedDefinition> {
  checkOptions(input, SCHEDULE_INPUT, scheduleNamed(input), 'TOCK_BAD_OPTION');
  const { name, job: stated, payload, queue, priority, maxAttempts, tags, expect, ...schedule } = input;
  checkName(name, 'schedule', 'TOCK_BAD_OPTION');
  const { jobs, aliases } = engine.registry;
  if (jobs.has(name) || aliases?.has(name)) throw definedInCode(name);
  const known = findJob(engine.registry, stated);
  const job = (await withDefaults(engine.database, [known])).get(known.name) ?? known;
  checkPriority(priority);
  const passed = {
    name,
    job: job.name,
    payload: await acceptPayload(job, payload, engine.settings.maxPayloadBytes),
    queue: checkName(queue ?? job.queue ?? 'default', 'queue', 'TOCK_BAD_OPTION'),
    priority: priority ?? job.priority ?? 0,
    max_attempts: checkMaxAttempts(
      maxAttempts ?? job.retry?.maxAttempts ?? engine.settings.retry.maxAttempts ?? 10,
    ),
    tags: joinTags(job.tags, tags),
    on_dead: null,
    // Its job's definition says so, also when its code changes.
    keeps_changes: null,
  };
  return { ...describeSchedule(passed, schedule, expect), ifVersion };
}

/**
 * Removes a schedule that was made at run time, a definition that vanished from code, or one of a service
 * that was not seen for five minutes. Its queued runs that are not yet due are withdrawn (skipped, `edited`),
 * others are executed. The row is kept, hidden: a new schedule of that name, or the job when it is in code
 * again, gets the same id.
 * @throws TockError TOCK_NOT_FOUND; TOCK_VERSION_CONFLICT; TOCK_BAD_STATE for one that code defines
 */
export async function removeSchedule(
  engine: Engine,
  name: string,
  { ifVersion }: VersionGuard = {},
): Promise<DefinitionRecord> {
  checkVersion(ifVersion);
  const record = await engine.database.transaction(async session => {
    const row = requireDefinition(await lockDefinition(session, name), name);
    if (row.origin === 'code' && !row.is_vanished) {
      if (!(await isServiceGone(session, row.service))) throw definedInCode(name);
      // Should it come back, it registers what it has.
      await putOutOfForce(session, [row.service]);
    }
    requireVersion(name, row, ifVersion);
    const now = Math.max(await readNow(session), row.cursor_ms);
    // One that vanished has had no occurrences since.
    if (!row.is_vanished) await recordGone(session, row, now);
    await withdrawAtEdit(session, [{ row, after: null }]);
    await markRemoved(session, row.id, now);
    const details = { version: row.version, job: row.job };
    await audit(session, engine, { action: 'schedules.remove', targets: [name], details });
    return await readRecord(session, name);
  });
  engine.logger.info(
    { event: 'schedule.removed', definition: name, job: record.job },
    `schedule ${name} removed`,
  );
  return record;
}

function checkVersion(version: number | undefined): void {
  if (version === undefined || (Number.isInteger(version) && version >= 0)) return;
  throw new TockError('TOCK_BAD_OPTION', `ifVersion ${quote(version)} is not a whole number of at least 0`);
}
