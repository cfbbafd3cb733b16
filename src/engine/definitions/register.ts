// The first step of a tick: keeps job_definitions in step with the jobs in code. One transaction, safe from
// several hosts, and from an old and a new version of the code at once.

import { calendarsLacking } from '../../model/calendar/calendar-entries.js';
import { sessionError } from '../../model/doctor/settings.js';
import { formatDuration } from '../../model/duration.js';
import { checkGivenPayloads } from '../../model/job/payload/given-payloads.js';
import { circleError } from '../../model/planning/chain.js';
import { type DescribedDefinition, isAlias, scheduleOfColumns } from '../../model/planning/definition.js';
import { type DefinitionColumns, leftOf } from '../../model/planning/definition-columns.js';
import { type Exception, nextDue } from '../../model/planning/exceptions.js';
import { nameTakenError, takeNames, vanishingError, wouldLoseMost } from '../../model/planning/services.js';
import { compileSchedule } from '../../model/schedule/compile.js';
import { zoneDataVersion } from '../../model/schedule/zone/zone-data.js';
import type { Session } from '../../store/connection/database.js';
import { countAhead } from '../../store/definitions/cursors.js';
import { writeJobScopes } from '../../store/definitions/fair-scopes.js';
import { writeJobLimits } from '../../store/definitions/job-limits.js';
import {
  lockRegistrations,
  noteSeen,
  putInForce,
  putOutOfForce,
  type RegisteredSet,
  readDatabaseName,
  readRegistrations,
  setSeenBack,
} from '../../store/definitions/registrations.js';
import {
  hasDefinitionsInCode,
  lockDefinitionsOfCode,
  readHolders,
  type StoredDefinition,
} from '../../store/definitions/stored-definition.js';
import {
  handToService,
  markBroken,
  markVanished,
  type RenamedDefinition,
  renameDefinition,
  upsertDefinitions,
  type WrittenDefinition,
} from '../../store/definitions/write-definitions.js';
import { copiedError } from '../../store/schema/database-identity.js';
import type { Engine } from '../engine.js';
import { learnZones } from '../materialize/learn-zones.js';
import { recordSpan } from '../materialize/locked-definition.js';
import { unknownCalendars, withCalendars } from './calendar-dates.js';
import { linkChains, readCircle } from './chain-links.js';
import { type RegisteredQueues, registerQueues, reportQueues } from './queues-in-code.js';
import {
  beginAgain,
  exceptionsAtEdit,
  recordGone,
  settleBeforeEdit,
  withdrawAtEdit,
} from './settle-before-edit.js';
import { holdZones, settleZones } from './zones/settle-zones.js';

/** What registering the definitions in code has changed. */
export interface RegisterResult {
  /** `unchanged`: nothing to do. `superseded`: another version of the code is in force and alive. */
  readonly status: 'registered' | 'unchanged' | 'superseded' | 'empty';
  readonly added: readonly string[];
  readonly changed: readonly string[];
  readonly vanished: readonly string[];
}

/**
 * Registers the definitions of this process.
 *
 * One cheap statement when nothing changed. Otherwise one transaction under an advisory lock: new
 * definitions begin at now. Of changed ones, due occurrences are first materialized by the old definition;
 * then they keep their id, move their cursor to at least now (in a roll-back: to when the newer version was
 * last seen), and their queued runs that are not yet due, and that they would not make now, are withdrawn.
 * Vanished ones are marked, their queued runs kept. A definition whose job was renamed, and has the old
 * name as an alias, is renamed first, and keeps its id. What code states of queues is written with them,
 * below what operators have set. All this concerns the process's own service. A service with a name takes
 * definitions over from the one without at once; from another one only if that has not been seen for five
 * minutes. A process without jobs registers nothing, and a set that was never in force must not let most
 * definitions vanish unless that is allowed: a wrong path, or a wrong database, changes nothing.
 * @throws TockError TOCK_DATABASE_COPIED if this database is a copy that has not been adopted;
 * TOCK_BAD_SESSION for settings of the session under which Tock would read or write what is wrong;
 * TOCK_WOULD_VANISH; TOCK_NAME_TAKEN; TOCK_BAD_JOB for a schema that refuses what its job is given
 */
export async function register(engine: Engine): Promise<RegisterResult> {
  const { database, registry } = engine;
  const seen = await noteSeen.first(database, {
    ...setOf(engine),
    zoneData: zoneDataVersion(),
  });
  if (seen?.isCopy) throw copiedError(database.schema);
  const error = seen && sessionError(seen.session);
  if (error) throw error;
  if (seen?.wasAhead) await reportClock(engine);
  if (seen?.hasOlderZones) await settleZones(engine);
  else if (seen && seen.otherZones !== null) await learnZones(database, seen.otherZones);
  if (registry.definitions.length === 0) return { ...NOTHING, status: 'empty' };
  if (seen?.isCurrent) return { ...NOTHING, status: 'unchanged' };
  await checkGivenPayloads(registry);
  const { wasAhead, queues, ...result } = await database.transaction(session => takeOver(session, engine));
  await reportQueues(engine, queues);
  if (wasAhead) await reportClock(engine);
  if (result.status === 'superseded') noteSuperseded(engine);
  else engine.wakeHost();
  engine.logger.info({ event: `definitions.${result.status}`, ...result }, sentence(result));
  return result;
}

const NOTHING = { added: [], changed: [], vanished: [] } as const;
const NO_QUEUES = { changed: [], vanished: [] } as const;

interface TakenOver extends RegisterResult {
  readonly wasAhead: boolean;
  readonly queues: RegisteredQueues;
}

function sentence({ status, added, changed, vanished }: RegisterResult): string {
  if (status === 'superseded')
    return 'another version of the jobs is in force; these definitions are not registered';
  return `definitions registered: ${added.length} new, ${changed.length} changed, ${vanished.length} vanished`;
}

/** Longer than a deploy, or a roll-back, takes. */
const SPLIT_MS = 10 * 60_000;
/** Since when processes are superseded; null: that was logged. */
const supersededSince = new WeakMap<Engine['registry'], number | null>();

/** Logged once, by a process that stays. `tock status` says more, also of those that tick. */
function noteSuperseded({ clock, logger, registry, settings: { service } }: Engine): void {
  const since = supersededSince.get(registry);
  if (since === undefined) supersededSince.set(registry, clock.now());
  if (since === undefined || since === null || clock.now() - since < SPLIT_MS) return;
  supersededSince.set(registry, null);
  logger.warn(
    { event: 'service.split', service },
    `other definitions of the ${service === '' ? 'service without a name' : `service ${service}`} have been in force for over ten minutes, and these are not registered: if two applications share this database, give each a name (createTock({ service: … }), TOCK_SERVICE); if not, finish the deployment; see tock status`,
  );
}

/** Logged once: the process that finds the registration's time in the future overwrites it with now. */
async function reportClock({ database, logger }: Engine): Promise<void> {
  const { definitions, aheadMs } = await countAhead(database);
  const effect =
    definitions === 0
      ? 'no schedule is affected'
      : `${definitions} ${definitions === 1 ? 'definition gets' : 'definitions get'} no runs until it has caught up, for up to ${formatDuration(Math.round(aheadMs / 1000) * 1000)}; once it is right, run: tock reset-cursor --all`;
  logger.warn(
    { event: 'clock.set_back', definitions, ahead_ms: Math.round(aheadMs) },
    `the database's clock was set back: ${effect}`,
  );
}

/** The set of definitions of this process. */
const setOf = ({ registry, settings }: Engine): RegisteredSet => ({
  service: settings.service,
  fingerprint: registry.fingerprint,
});

async function takeOver(session: Session, engine: Engine): Promise<TakenOver> {
  const { definitions, fairScopes = new Map(), jobLimits = new Map(), queues = new Map() } = engine.registry;
  const own = setOf(engine);
  await lockRegistrations(session, engine.database);
  const registrations = await readRegistrations(session, own);
  const ofService = registrations.filter(each => each.service === own.service);
  const current = ofService.find(each => each.is_current);
  const wasAhead = registrations.some(each => each.is_current && each.is_ahead);
  if (wasAhead) await setSeenBack(session);
  const nothing = { ...NOTHING, queues: NO_QUEUES, wasAhead };
  if (current?.fingerprint === own.fingerprint) return { ...nothing, status: 'unchanged' };
  const wasSeenBefore = ofService.some(each => each.fingerprint === own.fingerprint);
  if (current && wasSeenBefore && !current.is_stale) return { ...nothing, status: 'superseded' };
  const holders = await readHolders(session, definitions.map(nameOf), own.service);
  const others = registrations.filter(each => each.is_current && each.service !== own.service);
  const { refused, from } = takeNames(holders, others, wasSeenBefore);
  if (refused.length > 0) {
    // An older version, from before others got these names: it executes runs, and registers nothing.
    if (wasSeenBefore) return { ...nothing, status: 'superseded' };
    throw nameTakenError(own.service, refused);
  }
  const before = registrations.filter(
    each => each.is_current && [own.service, ...from].includes(each.service),
  );
  // A roll-back: the newer version has not held since it was last seen.
  const since = wasSeenBefore && before.length > 0 ? Math.max(...before.map(each => each.seen_ms)) : null;
  const stated = { queues: [...queues.keys()], fair_jobs: [...fairScopes.keys()] };
  await putOutOfForce(session, from);
  await putInForce(session, { ...own, ...stated });
  // A set that was in force belongs here.
  const mayLoseMost = wasSeenBefore || engine.settings.allowVanishing;
  const synced = await sync(session, engine, definitions, { since, mayLoseMost, from });
  const remaining = others.filter(each => !from.includes(each.service));
  // Another application without a name may have what is left, and register it again.
  const isUnnamedLeft = from.includes('') && (await hasDefinitionsInCode(session, ''));
  const dropped = (what: 'queues' | 'fair_jobs') =>
    before
      .filter(each => each.service === own.service || each.service !== '' || !isUnnamedLeft)
      .flatMap(each => each[what])
      .filter(name => ![stated, ...remaining].some(each => each[what].includes(name)));
  await writeJobScopes(session, fairScopes, dropped('fair_jobs'));
  await writeJobLimits(session, jobLimits);
  const registered = await registerQueues(session, queues, dropped('queues'));
  return { ...nothing, ...synced, queues: registered, status: 'registered' };
}

interface SyncOptions {
  /** From when on these definitions hold, in epoch milliseconds; null: from now on. */
  readonly since: number | null;
  /** Whether most definitions may vanish. */
  readonly mayLoseMost: boolean;
  /** The services from which it takes names. */
  readonly from: readonly string[];
}

async function sync(
  session: Session,
  engine: Engine,
  definitions: readonly DescribedDefinition[],
  { since, mayLoseMost, from }: SyncOptions,
) {
  const { service } = engine.settings;
  // Calendars and zones are locked before any definition, as everywhere.
  const { dated } = await withCalendars(session, definitions);
  await holdZones(session, definitions);
  const names = definitions.map(nameOf);
  const existing = await lockDefinitionsOfCode(session, service, names);
  const byName = new Map(existing.map(row => [row.name, row]));
  const renamed = takeRenamed(definitions, byName, [service, ...from]);
  const added = definitions.filter(each => !byName.has(nameOf(each)));
  const changed = definitions.filter(each => {
    const row = byName.get(nameOf(each));
    return row && (row.fingerprint !== each.fingerprint || row.is_vanished || row.origin !== 'code');
  });
  const kept = new Set(names);
  const present = existing.filter(
    row => row.origin === 'code' && row.service === service && !row.is_vanished,
  );
  const vanished = present.filter(row => !kept.has(row.name));
  if (!mayLoseMost && wouldLoseMost(present.length, vanished.length))
    throw vanishingError({
      present: present.length,
      vanishing: vanished.map(row => row.name),
      jobs: names,
      jobsModule: engine.isolation?.jobsModule ?? null,
      service,
      schema: engine.database.schema,
      database: await readDatabaseName(session),
    });

  const before = changed.flatMap(each => byName.get(nameOf(each)) ?? []);
  await beginAgain(session, before.filter(isRemoved));
  // By their old names, from which the values of H are.
  const { rows: changedRows, now } = await settleBeforeEdit(session, engine, before, since);
  changed.forEach((each, index) => {
    const row = changedRows[index];
    if (row) byName.set(nameOf(each), row);
  });
  const cursorOf = (row: StoredDefinition | undefined) => Math.max(now, row?.cursor_ms ?? 0);
  for (const row of changedRows.filter(isPaused)) await recordSpan(session, row, cursorOf(row), 'paused');
  for (const each of renamed) await renameDefinition(session, each);
  const isWritten = new Set([...added, ...changed].map(nameOf));
  const taken = definitions.flatMap(({ columns: { name, queue } }) => {
    const row = byName.get(name);
    if (row === undefined || isWritten.has(name)) return [];
    return row.service === service && row.queue === queue ? [] : { id: row.id, queue };
  });
  if (taken.length > 0) await handToService(session, service, taken);
  const written = dated.filter(each => isWritten.has(nameOf(each)));
  if (written.length > 0) {
    const edits = written.flatMap(each => {
      const row = byName.get(nameOf(each));
      return row === undefined ? [] : [{ row, after: each.columns }];
    });
    const exceptionsOf = await exceptionsAtEdit(session, edits, now);
    const rows = written.map(each => {
      const row = byName.get(nameOf(each));
      if (row === undefined) return writtenRow(each, cursorOf(row));
      return writtenRow(each, cursorOf(row), isRemoved(row) ? null : row, exceptionsOf(row));
    });
    await upsertDefinitions(session, 'code', rows, service);
    await withdrawAtEdit(session, edits);
    await linkChains(session, written);
    await markCircles(session, engine, written);
    await markUndated(
      session,
      engine,
      written.map(({ columns }) => columns),
    );
  }
  for (const row of vanished) await recordGone(session, row, cursorOf(row));
  if (vanished.length > 0)
    await markVanished(
      session,
      vanished.map(row => row.id),
      now,
    );
  return { added: added.map(nameOf), changed: changed.map(nameOf), vanished: vanished.map(row => row.name) };
}

const nameOf = ({ columns }: DescribedDefinition) => columns.name;

/**
 * A job's own definition goes on under the job's new name, unless there is one of that name. Only where one
 * of these services has the old name.
 * @param byName has it under the new name from then on
 */
function takeRenamed(
  definitions: readonly DescribedDefinition[],
  byName: Map<string, StoredDefinition>,
  services: readonly string[],
): RenamedDefinition[] {
  return definitions.filter(isAlias).flatMap(({ columns: { name: from, job: to } }) => {
    const row = byName.get(from);
    if (row?.job !== from || row.origin !== 'code' || !services.includes(row.service) || byName.has(to))
      return [];
    byName.delete(from);
    byName.set(to, row);
    return { id: row.id, from, to };
  });
}

/** Marks circles that code and schedules made at run time form together as broken; the rest goes on. */
async function markCircles(
  session: Session,
  engine: Engine,
  written: readonly DescribedDefinition[],
): Promise<void> {
  for (let circle = await readCircle(session, written); circle; circle = await readCircle(session, written)) {
    const names = circle.filter(name => written.some(each => each.columns.name === name));
    const { message } = circleError(circle);
    await markBroken(session, names, message);
    engine.logger.error({ event: 'definition.broken', definitions: names, reason: message }, message);
  }
}

/** Marks definitions as broken that name a calendar which is not there: making it repairs them. */
export async function markUndated(
  session: Session,
  { logger }: Engine,
  written: readonly Pick<DefinitionColumns, 'name' | 'exclude'>[],
): Promise<void> {
  for (const { name, exclude } of written) {
    const unknown = calendarsLacking(exclude);
    if (unknown.length === 0) continue;
    const { message } = unknownCalendars(unknown);
    await markBroken(session, [name], message);
    logger.error({ event: 'definition.broken', definitions: [name], reason: message }, message);
  }
}

const isPaused = (row: StoredDefinition) => row.is_paused && !row.is_vanished;
const isRemoved = (row: StoredDefinition) => row.is_vanished && row.origin === 'runtime';

/**
 * @param cursor epoch milliseconds
 * @param row as it was; null: there was none, or it was removed
 */
export function writtenRow(
  { columns, fingerprint }: DescribedDefinition,
  cursor: number,
  row: StoredDefinition | null = null,
  exceptions: readonly Exception[] = [],
): WrittenDefinition {
  const schedule = scheduleOfColumns(columns);
  const { remaining_count: stated } = columns;
  const left = leftOf(stated, row);
  const next =
    schedule === null || left === 0 || calendarsLacking(columns.exclude).length > 0
      ? null
      : nextDue(compileSchedule(schedule, columns.name), exceptions, cursor);
  return {
    ...columns,
    fingerprint,
    remaining_count: left,
    remaining_stated: stated,
    cursor: new Date(cursor).toISOString(),
    next_at: next === null ? null : new Date(next).toISOString(),
  };
}
