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
import { AFTER_LATEST, EARLIEST } from './values/readable-instant.js';

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

const bounded = (at: Expression<Date | null>) =>
  sql`case when ${at} >= ${sql.raw(AFTER_LATEST)} then '9999-12-31T23:59:59Z' when ${at} < ${sql.raw(EARLIEST)} then ${sql.raw(EARLIEST)} else ${at} end`;

/** A selected instant, or the bound if it is outside the years 0001 to 9999: every reader can hold it. */
export const readableInstant = <T extends Date | null>(at: Expression<T>): RawBuilder<T> =>
  selectedInstant(bounded(at) as RawBuilder<T>);

/** The same within JSON, where it is ISO text. */
export const readableText = <T extends Date | null>(at: Expression<T>) =>
  bounded(at) as RawBuilder<null extends T ? string | null : string>;

/** An instant that is selected; see `instant` in readable-instant.ts. */
export const selectedInstant = <T extends Date | null>(at: Expression<T>): RawBuilder<T> =>
  sql<T>`extract(epoch from ${at})`;

export const epochMs = (instant: Expression<Date>): RawBuilder<number> =>
  sql<number>`(extract(epoch from ${instant}) * 1000)::float8`;
