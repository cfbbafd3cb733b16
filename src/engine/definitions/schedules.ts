// Definitions at run time: made, edited and removed by an operator or the app. Each in one transaction under
// the definition's row lock, so that a tick, an edit and a pause come one after the other.

import type { Expectation } from '../../model/alerts/options.js';
import { changesBetween } from '../../model/audit.js';
import { TockError } from '../../model/errors.js';
import { checkPriority } from '../../model/job/define-job.js';
import type { AnyJob, JobSchedule, PayloadFor } from '../../model/job/job.js';
import { acceptPayload, findJob } from '../../model/job/registry.js';
import { checkName, quote } from '../../model/names.js';
import { checkOptions } from '../../model/options.js';
import { circleError } from '../../model/planning/chain.js';
import {
  type DescribedDefinition,
  describeSchedule,
  SCHEDULE_OPTIONS,
} from '../../model/planning/definition.js';
import { checkMaxAttempts } from '../../model/run/retry.js';
import { utcText } from '../../model/schedule/instant-text.js';
import { readNow } from '../../store/connection/clock.js';
import type { Session } from '../../store/connection/database.js';
import {
  lockDefinition,
  readUnknownNames,
  type StoredDefinition,
} from '../../store/definitions/stored-definition.js';
import {
  clearPause,
  insertDefinition,
  markRemoved,
  upsertDefinitions,
} from '../../store/definitions/write-definitions.js';
import type { DefinitionRecord } from '../../store/reads/runs.js';
import { supersedeRuns } from '../../store/runs/operator-moves.js';
import { audit } from '../audit.js';
import type { Engine } from '../engine.js';
import {
  readRecord,
  recordSpan,
  requireDefinition,
  storedFingerprint,
} from '../materialize/locked-definition.js';
import { materializeBeforeEdit } from '../materialize/materialize.js';
import { linkChains, readCircle } from './chain-links.js';
import { writtenRow } from './register.js';

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
  /** What alerts watch. Default: nothing. */
  readonly expect?: Expectation;
}

/** Guards an edit against a concurrent one. */
export interface VersionGuard {
  /** Refuses, with TOCK_VERSION_CONFLICT, unless the schedule has this version; 0: unless there is none. */
  readonly ifVersion?: number;
}

/**
 * Makes a schedule, or edits the one of that name. Everything is checked before anything is written.
 *
 * An edit keeps the id, begins at the database's now, withdraws queued runs that are not yet due, and never
 * touches a running one. Due occurrences without a run are first materialized by the old schedule. A pause is
 * kept. If nothing changed, nothing is written, including the version. A name that was removed comes back
 * with its old id, so that no occurrence can come twice.
 * @throws TockError TOCK_VERSION_CONFLICT; TOCK_BAD_STATE for a name that code has; TOCK_UNKNOWN_JOB,
 * TOCK_BAD_PAYLOAD, TOCK_BAD_SCHEDULE, TOCK_BAD_DURATION, TOCK_BAD_OPTION
 */
export async function upsertSchedule(
  engine: Engine,
  input: ScheduleInput,
  { ifVersion }: VersionGuard = {},
): Promise<DefinitionRecord> {
  checkVersion(ifVersion);
  const described = await describeInput(engine, input);
  const { name } = described.columns;
  const { change, record } = await engine.database.transaction(async session => {
    await requireParents(session, described);
    const { made, before } = await writeSchedule(session, engine, described, ifVersion);
    if (made !== 'unchanged') await linkChains(session, [described]);
    const circle = await readCircle(session, [described]);
    if (circle) throw circleError(circle);
    const written = await readRecord(session, name);
    const details = detailsOfEdit(made, written.version, before, described);
    const count = made === 'unchanged' ? 0 : 1;
    await audit(session, engine, { action: 'schedules.upsert', targets: [name], count, details });
    return { change: made, record: written };
  });
  if (change !== 'unchanged') {
    const { job, version } = record;
    engine.logger.info(
      { event: `schedule.${change}`, definition: name, job, version },
      `schedule ${name} ${change}`,
    );
  }
  return record;
}

async function requireParents(session: Session, { columns }: DescribedDefinition): Promise<void> {
  const missing =
    columns.after === null
      ? []
      : await readUnknownNames(session, columns.after.definitions, { isLive: true });
  if (missing.length === 0) return;
  throw new TockError(
    'TOCK_NOT_FOUND',
    `after names ${missing.map(quote).join(', ')}, which no definition is called (tock jobs lists them)`,
  );
}

const SCHEDULE_INPUT = new Set([
  ...SCHEDULE_OPTIONS,
  'name',
  'job',
  'queue',
  'priority',
  'maxAttempts',
  'expect',
]);

function scheduleNamed(input: unknown): string {
  const name = typeof input === 'object' && input !== null ? (input as { name?: unknown }).name : undefined;
  return typeof name === 'string' ? `schedule ${quote(name)}` : 'the schedule';
}

async function describeInput(engine: Engine, input: ScheduleInput): Promise<DescribedDefinition> {
  checkOptions(input, SCHEDULE_INPUT, scheduleNamed(input), 'TOCK_BAD_OPTION');
  const { name, job: stated, payload, queue, priority, maxAttempts, expect, ...schedule } = input;
  checkName(name, 'schedule', 'TOCK_BAD_OPTION');
  if (engine.registry.jobs.has(name)) throw definedInCode(name);
  const job = findJob(engine.registry, stated);
  checkPriority(priority);
  return describeSchedule({
    name,
    job: job.name,
    payload: await acceptPayload(job, payload, engine.settings.maxPayloadBytes),
    schedule,
    expect,
    queue: checkName(queue ?? job.queue ?? 'default', 'queue', 'TOCK_BAD_OPTION'),
    priority: priority ?? job.priority ?? 0,
    maxAttempts: checkMaxAttempts(
      maxAttempts ?? job.retry?.maxAttempts ?? engine.settings.retry.maxAttempts ?? 10,
    ),
  });
}

/** What an edit changed; of a new schedule, when it runs. Of its payload only that it was changed. */
function detailsOfEdit(
  change: Change,
  version: number,
  before: StoredDefinition | null,
  { columns }: DescribedDefinition,
) {
  const { name: _, job, cron, every_ms, at, after, ...rest } = columns;
  const facts = { change, version, job };
  if (before === null || change === 'made')
    return { ...facts, cron: cron ?? undefined, every_ms: every_ms ?? undefined, at: at ?? undefined };
  return { ...facts, changes: changesBetween({ ...before }, { job, cron, every_ms, at, after, ...rest }) };
}

type Change = 'made' | 'edited' | 'unchanged';

interface Written {
  readonly made: Change;
  /** Null: there was none, not even a removed one. */
  readonly before: StoredDefinition | null;
}

async function writeSchedule(
  session: Session,
  engine: Engine,
  described: DescribedDefinition,
  ifVersion: number | undefined,
): Promise<Written> {
  const { name } = described.columns;
  let row = await lockDefinition(session, name);
  if (row === null && (ifVersion ?? 0) === 0) {
    const now = await readNow(session);
    refusePast(described, null, now);
    if (await insertDefinition(session, writtenRow(described, now))) return { made: 'made', before: null };
    // Another transaction was inserting it, and the insert waited for its commit.
    row = await lockDefinition(session, name);
  }
  if (row?.origin === 'code' && !row.is_vanished) throw definedInCode(name);
  requireVersion(name, row, ifVersion);
  const made = row === null ? 'unchanged' : await editSchedule(session, engine, row, described);
  return { made, before: row };
}

async function editSchedule(
  session: Session,
  engine: Engine,
  row: StoredDefinition,
  described: DescribedDefinition,
): Promise<Change> {
  const isSame = [row.fingerprint, storedFingerprint(row)].includes(described.fingerprint);
  if (isSame && !row.is_vanished && !row.is_broken) return 'unchanged';
  refusePast(described, row.is_vanished ? null : row, await readNow(session));
  await materializeBeforeEdit(session, engine, [row.id]);
  const now = Math.max(await readNow(session), row.cursor_ms);
  if (row.is_paused && !row.is_vanished) await recordSpan(session, row, now, 'paused');
  await upsertDefinitions(session, 'runtime', [writtenRow(described, now)]);
  await supersedeRuns(session, [row.id]);
  if (!row.is_vanished) return 'edited';
  // A schedule that is made again begins without the old one's pause.
  await clearPause(session, row.id);
  return 'made';
}

/** Refuses a single time that has passed: it would never run. An edit may keep the one that it has. */
function refusePast({ columns }: DescribedDefinition, before: StoredDefinition | null, now: number): void {
  if (columns.at === null) return;
  const at = Date.parse(columns.at);
  if (at > now || before?.at?.getTime() === at) return;
  throw new TockError(
    'TOCK_BAD_SCHEDULE',
    `at ${utcText(at)} is in the past, so it would never run (the database has ${utcText(now)}); write a later time, or enqueue a run`,
  );
}

/**
 * Removes a schedule that was made at run time, or a definition that vanished from code. Its queued runs that
 * are not yet due are withdrawn (skipped, `edited`), others are executed. The row is kept, hidden: a new
 * schedule of that name, or the job when it is in code again, gets the same id.
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
    if (row.origin === 'code' && !row.is_vanished) throw definedInCode(name);
    requireVersion(name, row, ifVersion);
    const now = Math.max(await readNow(session), row.cursor_ms);
    // One that vanished has had no occurrences since.
    if (!row.is_vanished) await recordSpan(session, row, now, row.is_paused ? 'paused' : 'edited');
    await supersedeRuns(session, [row.id]);
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

function definedInCode(name: string): TockError {
  return new TockError(
    'TOCK_BAD_STATE',
    `${quote(name)} is defined in code: edit it there, or take another name (it can be paused and resumed)`,
  );
}

function checkVersion(version: number | undefined): void {
  if (version === undefined || (Number.isInteger(version) && version >= 0)) return;
  throw new TockError('TOCK_BAD_OPTION', `ifVersion ${quote(version)} is not a whole number of at least 0`);
}

/** Missing or removed schedules have version 0. */
function requireVersion(name: string, row: StoredDefinition | null, ifVersion: number | undefined): void {
  const current = row === null || row.is_vanished ? 0 : row.version;
  if (ifVersion === undefined || ifVersion === current) return;
  const is = current === 0 ? 'there is no schedule' : `version ${current} is there`;
  throw new TockError(
    'TOCK_VERSION_CONFLICT',
    `the schedule ${quote(name)} is not at version ${ifVersion}: ${is}; read it again, then decide`,
  );
}
