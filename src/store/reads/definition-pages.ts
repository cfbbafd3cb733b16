// Definitions a page at a time, by name or by what is due next; and what runs after one. Reads only.
import { type SqlBool, sql } from 'kysely';
import type { Session } from '../connection/database.js';
import { db, firstRow, isAnyOf, readableInstant, runQuery } from '../connection/query.js';
import { isFinite, matches, type ScheduleMatch } from '../definitions/schedule-match.js';
import { isPlanned } from '../definitions/stored-definition.js';
import { WHY_DEFINITIONS, type WhyDefinition } from './why/why.js';

/** A definition as a list shows it. */
export interface ListedDefinition extends Omit<WhyDefinition, 'seen_at'> {
  /** Null: none, or not known before the next tick. */
  readonly next_at: Date | null;
}

export interface DefinitionPage extends ScheduleMatch {
  /** `next`: only those that make runs, the next ones first. Default `name`. */
  readonly sort?: 'name' | 'next';
  /** The name of the last one of the page before; with `next`, its id and `next_at` too. */
  readonly after?: string | null;
  readonly limit: number;
}

/** One page. By name it walks the index of the names; by `next` that of what is due. */
export async function readDefinitionPage(
  session: Session,
  { sort = 'name', after = null, limit, ...filter }: DefinitionPage,
): Promise<ListedDefinition[]> {
  const query = WHY_DEFINITIONS.select(eb =>
    eb
      .case()
      .when(isFinite(eb))
      .then(readableInstant(eb.ref('d.next_at')))
      .end()
      .as('next_at'),
  )
    .where(eb => matches(eb, filter))
    .limit(limit);
  if (sort === 'name')
    return await runQuery(
      session,
      query.$if(after !== null, page => page.where('d.name', '>', after)).orderBy('d.name'),
    );
  const [, next = '', id = ''] = /^(.+)_(\d{1,18})$/.exec(after ?? '') ?? [];
  const place = Number.isNaN(Date.parse(next)) ? null : sql<SqlBool>`(d.next_at, d.id) > (${next}, ${id})`;
  const planned = query.where(eb => eb.and([isPlanned(eb), ...(place === null ? [] : [place])]));
  return await runQuery(session, planned.orderBy('d.next_at').orderBy('d.id'));
}

/** Where the page after this definition begins. */
export function pageAfter({ name, id, next_at: next }: ListedDefinition, sort: 'name' | 'next'): string {
  return sort === 'name' ? name : `${next?.toISOString() ?? ''}_${id}`;
}

/** The names of the definitions of a filter, at most `limit`, in their order. */
export async function readDefinitionNames(
  session: Session,
  filter: ScheduleMatch,
  limit: number,
): Promise<string[]> {
  const query = db
    .selectFrom('tock.job_definitions as d')
    .select('d.name')
    .where(eb => matches(eb, filter))
    .orderBy('d.name')
    .limit(limit);
  return (await runQuery(session, query)).map(({ name }) => name);
}

/** These definitions, in no order; names that are not there are left out. */
export async function readDefinitionsNamed(
  session: Session,
  names: readonly string[],
): Promise<Omit<ListedDefinition, 'next_at'>[]> {
  return await runQuery(
    session,
    WHY_DEFINITIONS.where(eb => isAnyOf(eb.ref('d.name'), names, 'text')),
  );
}

/** Null where it has none, or where the next tick computes it. */
export async function readNextAt(session: Session, definitionId: string): Promise<Date | null> {
  const query = db
    .selectFrom('tock.job_definitions as d')
    .select(eb =>
      eb
        .case()
        .when(isFinite(eb))
        .then(readableInstant(eb.ref('d.next_at')))
        .end()
        .as('next_at'),
    )
    .where('d.id', '=', definitionId);
  return (await firstRow(session, query))?.next_at ?? null;
}

/** The definitions that run after one, by name; at most `limit`. */
export async function readFollowers(session: Session, name: string, limit: number): Promise<string[]> {
  const query = db
    .selectFrom('tock.job_definitions as d')
    .select('d.name')
    .where('d.after', 'is not', null)
    .where(sql<SqlBool>`d.after -> 'definitions' ? ${name}`)
    .where('d.vanished_at', 'is', null)
    .orderBy('d.name')
    .limit(limit);
  return (await runQuery(session, query)).map(row => row.name);
}
