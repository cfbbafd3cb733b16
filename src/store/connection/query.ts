// Queries of Kysely's builder, for everything that is neither hot nor a locking protocol.
import {
  type CompiledQuery,
  DummyDriver,
  type Expression,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  type QueryExecutorProvider,
  type RawBuilder,
  sql,
} from 'kysely';
import type { Schema } from '../schema/tables.js';
import type { Session } from './database.js';
import { AFTER_LATEST, EARLIEST } from './readable-instant.js';

/** Makes queries, but executes none: that is for {@link runQuery}, which applies deadline and schema name. */
export const db = new Kysely<Schema>({
  dialect: {
    createAdapter: () => new PostgresAdapter(),
    createDriver: () => new DummyDriver(),
    createIntrospector: kysely => new PostgresIntrospector(kysely),
    createQueryCompiler: () => new PostgresQueryCompiler(),
  },
});

/** A query of `db`, or of Kysely's `sql`. */
export interface Query<Row> {
  compile(executor: QueryExecutorProvider): CompiledQuery<Row>;
}

/** Runs a query, alone or in the session's transaction. */
export async function runQuery<Row>(session: Session, query: Query<Row>): Promise<Row[]> {
  const { sql: text, parameters } = query.compile(db);
  return await session.run<Row>(text, parameters);
}

export async function firstRow<Row>(session: Session, query: Query<Row>): Promise<Row | undefined> {
  return (await runQuery(session, query))[0];
}

export const now = sql<Date>`tock.now()`;

/** As one parameter, however long the list is. */
export const isAnyOf = (
  value: Expression<unknown>,
  list: readonly unknown[],
  type: 'text' | 'bigint' | 'timestamptz' | 'oid',
) => sql<boolean>`${value} = any(${list}::${sql.raw(type)}[])`;

export const isSet = (value: Expression<unknown>) => sql<boolean>`${value} is not null`;

/** An instant, or the bound if it is outside the years 0001 to 9999, so that every reader can hold it. */
export const readableInstant = <T extends Date | null>(instant: Expression<T>): RawBuilder<T> =>
  sql<T>`case when ${instant} >= ${sql.raw(AFTER_LATEST)} then '9999-12-31T23:59:59Z' when ${instant} < ${sql.raw(EARLIEST)} then ${sql.raw(EARLIEST)} else ${instant} end`;

export const epochMs = (instant: Expression<Date>): RawBuilder<number> =>
  sql<number>`(extract(epoch from ${instant}) * 1000)::float8`;
