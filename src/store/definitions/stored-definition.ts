// Definitions as they are stored, with or without their lock.
import { type Expression, type ExpressionBuilder, type SqlBool, sql } from 'kysely';
import { checkList } from '../../model/options.js';
import type { DefinitionColumns } from '../../model/planning/definition-columns.js';
import type { Session } from '../connection/database.js';
import { db, epochMs, firstRow, isAnyOf, isSet, now, runQuery } from '../connection/query.js';
import type { Origin, Schema } from '../schema/tables.js';
import { DECLARED } from './declared-columns.js';
import { isExcepted, type MayBeExcepted } from './occurrences/exceptions.js';

/** A row of job_definitions, with everything that an edit needs. */
export interface StoredDefinition extends DefinitionColumns, MayBeExcepted {
  readonly origin: Origin;
  /** Whose code defines it; empty: that of the service without a name, or made at run time. */
  readonly service: string;
  readonly version: number;
  readonly fingerprint: string | null;
  /** What `remaining_count` began with. */
  readonly remaining_stated: number | null;
  /** Epoch milliseconds. */
  readonly cursor_ms: number;
  readonly is_vanished: boolean;
  readonly is_paused: boolean;
  /** When its pause ends by itself, in epoch milliseconds; null: not by itself. */
  readonly paused_until_ms: number | null;
  readonly is_broken: boolean;
  /** When it is due next, in epoch milliseconds; null: never. */
  readonly next_ms: number | null;
}

/** Of a definition `d`. */
export const IS_EXCEPTED = sql<boolean>`${sql.raw(isExcepted('d'))}`.as('is_excepted');

const DEFINITIONS = db
  .selectFrom('tock.job_definitions as d')
  .select(['d.id', 'd.origin', 'd.service', 'd.version', 'd.fingerprint', 'd.remaining_stated'])
  .select(DECLARED)
  .select(eb => [
    epochMs(eb.ref('d.cursor')).as('cursor_ms'),
    isSet(eb.ref('d.vanished_at')).as('is_vanished'),
    isSet(eb.ref('d.paused_at')).as('is_paused'),
    epochMs(eb.ref('d.paused_until') as Expression<Date>)
      .$castTo<number | null>()
      .as('paused_until_ms'),
    isSet(eb.ref('d.broken_at')).as('is_broken'),
    epochMs(eb.ref('d.next_at') as Expression<Date>)
      .$castTo<number | null>()
      .as('next_ms'),
    IS_EXCEPTED,
  ]);

/** Whether a definition `d` may have a next occurrence; the condition of the index `job_definitions_due`. */
export const isPlanned = (eb: ExpressionBuilder<Schema & { d: Schema['tock.job_definitions'] }, 'd'>) =>
  eb.and([
    eb('d.next_at', 'is not', null),
    eb('d.paused_at', 'is', null),
    eb('d.broken_at', 'is', null),
    eb('d.vanished_at', 'is', null),
  ]);

/** Those due next first. */
const PLANNED = DEFINITIONS.where(isPlanned).orderBy('d.next_at').orderBy('d.id');

/** Takes no lock. */
export async function readDefinition(session: Session, name: string): Promise<StoredDefinition | null> {
  return (await firstRow(session, DEFINITIONS.where('d.name', '=', name))) ?? null;
}

/** Locks a definition until the transaction ends; waits for a tick that is materializing it. */
export async function lockDefinition(session: Session, name: string): Promise<StoredDefinition | null> {
  return (await firstRow(session, DEFINITIONS.where('d.name', '=', name).forUpdate())) ?? null;
}

/** Locks the definitions of these names, in the order of their ids; waits for ticks that materialize them. */
export async function lockDefinitionsNamed(
  session: Session,
  names: readonly string[],
): Promise<StoredDefinition[]> {
  const query = DEFINITIONS.where(eb => isAnyOf(eb.ref('d.name'), names, 'text'))
    .orderBy('d.id')
    .forUpdate();
  return await runQuery(session, query);
}

/** Locks definitions for which a condition holds once they are locked, in the order of their ids. */
export async function lockDefinitions(
  session: Session,
  ids: readonly string[],
  condition: (
    eb: ExpressionBuilder<Schema & { d: Schema['tock.job_definitions'] }, 'd'>,
  ) => Expression<SqlBool>,
): Promise<StoredDefinition[]> {
  const query = DEFINITIONS.where(eb => eb.and([isAnyOf(eb.ref('d.id'), ids, 'bigint'), condition(eb)]))
    .orderBy('d.id')
    .forUpdate();
  return await runQuery(session, query);
}

/** Which of these names other services define. Takes no lock: only who registers changes it. */
export async function readHolders(
  session: Session,
  names: readonly string[],
  service: string,
): Promise<{ readonly name: string; readonly service: string }[]> {
  const query = db
    .selectFrom('tock.job_definitions as d')
    .select(['d.name', 'd.service'])
    .where(eb => isAnyOf(eb.ref('d.name'), names, 'text'))
    .where('d.origin', '=', 'code')
    .where('d.service', '<>', service)
    .where('d.vanished_at', 'is', null)
    .orderBy('d.name');
  return await runQuery(session, query);
}

/** Whether the code of a service has any definition. Takes no lock: only who registers changes it. */
export async function hasDefinitionsInCode(session: Session, service: string): Promise<boolean> {
  const query = db
    .selectFrom('tock.job_definitions as d')
    .select('d.id')
    .where('d.service', '=', service)
    .where('d.origin', '=', 'code')
    .where('d.vanished_at', 'is', null)
    .limit(1);
  return (await runQuery(session, query)).length > 0;
}

/** Locks all definitions of a service's code, and those of these names, in the order of their ids. */
export async function lockDefinitionsOfCode(
  session: Session,
  service: string,
  names: readonly string[],
): Promise<StoredDefinition[]> {
  const query = DEFINITIONS.where(eb =>
    eb.or([
      eb.and([eb('d.origin', '=', 'code'), eb('d.service', '=', service)]),
      isAnyOf(eb.ref('d.name'), names, 'text'),
    ]),
  )
    .orderBy('d.id')
    .forUpdate();
  return await runQuery(session, query);
}

/** The definitions that name a calendar, in the order of their ids: those that vanished are left out. */
const namingCalendar = (calendar: string) =>
  DEFINITIONS.where('d.vanished_at', 'is', null)
    .where(sql<SqlBool>`d.exclude @> ${JSON.stringify([{ calendar }])}::text::jsonb`)
    .orderBy('d.id');

/** Takes no lock. */
export async function readDefinitionsOfCalendar(
  session: Session,
  calendar: string,
): Promise<StoredDefinition[]> {
  return await runQuery(session, namingCalendar(calendar));
}

/** Locks them until the transaction ends; waits for ticks that materialize them. */
export async function lockDefinitionsOfCalendar(
  session: Session,
  calendar: string,
): Promise<StoredDefinition[]> {
  return await runQuery(session, namingCalendar(calendar).forUpdate());
}

/** The planned definitions of a time zone, those due next first. */
export async function readZoneDefinitions(
  session: Session,
  timezone: string,
  limit: number,
): Promise<StoredDefinition[]> {
  return await runQuery(session, PLANNED.where('d.timezone', '=', timezone).limit(limit));
}

/** Locks the definitions of a time zone that have not vanished, in the order of their ids, from one id on. */
export async function lockDefinitionsOfZone(
  session: Session,
  timezone: string,
  { afterId, limit }: { readonly afterId: string; readonly limit: number },
): Promise<StoredDefinition[]> {
  return await runQuery(session, ofZone(timezone, { afterId, limit }).forUpdate());
}

/** Takes no lock. */
export async function readDefinitionsOfZone(
  session: Session,
  timezone: string,
  page: { readonly afterId: string; readonly limit: number },
): Promise<StoredDefinition[]> {
  return await runQuery(session, ofZone(timezone, page));
}

const ofZone = (timezone: string, { afterId, limit }: { readonly afterId: string; readonly limit: number }) =>
  DEFINITIONS.where('d.timezone', '=', timezone)
    .where('d.vanished_at', 'is', null)
    .where('d.id', '>', afterId)
    .orderBy('d.id')
    .limit(limit);

/** The definitions that are due, the longest due first. */
export async function readDueDefinitions(session: Session, limit: number): Promise<StoredDefinition[]> {
  return await runQuery(session, PLANNED.where('d.next_at', '<=', now).limit(limit));
}

/** The planned definitions of some queues, those due next first. */
export async function readQueueDefinitions(
  session: Session,
  queues: readonly string[],
  limit: number,
): Promise<StoredDefinition[]> {
  const query = PLANNED.where(eb => isAnyOf(eb.ref('d.queue'), queues, 'text'));
  return await runQuery(session, query.limit(limit));
}

/** The names that no definition has; with `isLive`, also those that vanished from code or were removed. */
export async function readUnknownNames(
  session: Session,
  names: readonly string[],
  { isLive = false } = {},
): Promise<string[]> {
  const known = db
    .selectFrom('tock.job_definitions as d')
    .select('d.name')
    .where(eb => isAnyOf(eb.ref('d.name'), checkList(names, 'names'), 'text'))
    .$if(isLive, definitions => definitions.where('d.vanished_at', 'is', null));
  const found = new Set((await runQuery(session, known)).map(row => row.name));
  return [...new Set(names)].filter(name => !found.has(name)).sort();
}
