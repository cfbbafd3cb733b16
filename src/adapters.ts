// `pg-tock/adapters`: transactions of Kysely, Drizzle, Prisma, Knex and Postgres.js, and Neon's queries over
// HTTP, as the client that `enqueue` takes.
// None of these libraries is imported: each is described by the few members that are called here.
import { questionMarks } from './adapters/question-marks.js';
import { TockError } from './model/errors.js';
import type { QueryClient } from './model/job/enqueue-options.js';

type Rows = Record<string, unknown>[];

/** The part of a Kysely transaction that {@link fromKysely} uses. */
export interface KyselyLike {
  withoutPlugins(): KyselyLike;
  // biome-ignore lint/suspicious/noExplicitAny: a compiled query; its type differs between Kysely's versions
  // oxlint-disable-next-line typescript/no-explicit-any
  executeQuery(query: any): Promise<{ readonly rows: unknown[] }>;
}

/** The part of a Drizzle transaction, over any driver for PostgreSQL, that {@link fromDrizzle} uses. */
export interface DrizzleLike {
  // biome-ignore lint/suspicious/noExplicitAny: an SQLWrapper, which is a class of Drizzle's own
  // oxlint-disable-next-line typescript/no-explicit-any
  execute(query: any): PromiseLike<unknown>;
  // Distinguishes a transaction from a query, which has execute too.
  transaction: unknown;
}

/** The part of Prisma's interactive transaction that {@link fromPrisma} uses. */
export interface PrismaLike {
  $queryRawUnsafe(text: string, ...values: unknown[]): PromiseLike<unknown>;
}

/** The part of a Knex transaction that {@link fromKnex} uses. */
export interface KnexLike {
  raw(sql: string, bindings: readonly string[]): PromiseLike<unknown>;
  transaction: unknown;
}

/** The part of a transaction of Postgres.js that {@link fromPostgresJs} uses. */
export interface PostgresJsLike {
  // biome-ignore lint/suspicious/noExplicitAny: its own type of a parameter
  // oxlint-disable-next-line typescript/no-explicit-any
  unsafe(text: string, values: any[]): PromiseLike<readonly unknown[]>;
  // biome-ignore lint/suspicious/noExplicitAny: its own type of a parameter
  // oxlint-disable-next-line typescript/no-explicit-any
  typed(value: any, oid: number): unknown;
}

/** The part of Neon's `neon(url)` that {@link fromNeon} uses. */
export interface NeonLike {
  // biome-ignore lint/suspicious/noExplicitAny: its rows differ by its options
  // oxlint-disable-next-line typescript/no-explicit-any
  query(text: string, values?: any[]): PromiseLike<any>;
  transaction: unknown;
}

/**
 * Makes a client of a Kysely transaction, for `tock.enqueue(job, payload, { client: fromKysely(trx) })`.
 * Plugins such as CamelCasePlugin do not see Tock's statements. With a Kysely instance instead of a
 * transaction, the run is committed at once.
 * @throws TockError TOCK_BAD_OPTION if it is no Kysely transaction
 */
export function fromKysely(trx: KyselyLike): QueryClient {
  requireMembers(trx, ['executeQuery', 'withoutPlugins'], KYSELY);
  return {
    query: async (text, values) => {
      // What Kysely's CompiledQuery.raw makes.
      const { rows } = await trx.withoutPlugins().executeQuery({
        sql: text,
        parameters: values,
        query: { kind: 'RawNode', sqlFragments: [text], parameters: [] },
        queryId: { queryId: 'tock' },
      });
      return { rows: rowsOf(rows, KYSELY) };
    },
  };
}

/**
 * Makes a client of a Drizzle transaction over node-postgres, for `tock.enqueue(job, payload, { client:
 * fromDrizzle(tx) })`. With a database instead of a transaction, the run is committed at once.
 * @throws TockError TOCK_BAD_OPTION if it is no Drizzle transaction
 */
export function fromDrizzle(tx: DrizzleLike): QueryClient {
  requireMembers(tx, ['execute', 'transaction'], DRIZZLE);
  return {
    query: async (text, values) => {
      // Drizzle calls these two methods of any statement. Its own `sql` would have to be imported.
      const statement = { getSQL: () => statement, toQuery: () => ({ sql: text, params: values }) };
      return { rows: rowsOf(await tx.execute(statement), DRIZZLE) };
    },
  };
}

/**
 * Makes a client of the `tx` of Prisma's interactive transaction, for `tock.enqueue(job, payload, { client:
 * fromPrisma(tx) })`. With a PrismaClient instead, the run is committed at once.
 * @throws TockError TOCK_BAD_OPTION if it is no Prisma transaction
 */
export function fromPrisma(tx: PrismaLike): QueryClient {
  requireMembers(tx, ['$queryRawUnsafe'], PRISMA);
  return {
    query: async (text, values) => ({ rows: rowsOf(await tx.$queryRawUnsafe(text, ...values), PRISMA) }),
  };
}

/**
 * Makes a client of a Knex transaction, for `tock.enqueue(job, payload, { client: fromKnex(trx) })`. With a
 * Knex instance instead of a transaction, the run is committed at once.
 * @throws TockError TOCK_BAD_OPTION if it is no Knex transaction
 */
export function fromKnex(trx: KnexLike): QueryClient {
  requireMembers(trx, ['raw', 'transaction'], KNEX);
  return {
    query: async (text, values) => {
      const { sql, bindings } = questionMarks(text, values);
      return { rows: rowsOf(await trx.raw(sql, bindings as readonly string[]), KNEX) };
    },
  };
}

/** The type `unknown`: the server infers the real one, and Postgres.js sends the text as it is. */
const UNKNOWN_TYPE = 705;

/**
 * Makes a client of the `tx` of Postgres.js, for `tock.enqueue(job, payload, { client: fromPostgresJs(tx)
 * })`. With a `sql` that is no transaction, the run is committed at once. Not for a `sql` that renames
 * columns (`transform`).
 * @throws TockError TOCK_BAD_OPTION if it is no `sql` of Postgres.js
 */
export function fromPostgresJs(tx: PostgresJsLike): QueryClient {
  requireMembers(tx, ['unsafe', 'typed'], POSTGRES_JS);
  // Without the type, it would put what is JSON already into quotes once more.
  const sent = (value: unknown) => (typeof value === 'string' ? tx.typed(value, UNKNOWN_TYPE) : value);
  return {
    query: async (text, values) => ({
      rows: rowsOf(await tx.unsafe(text, values.map(sent)), POSTGRES_JS),
    }),
  };
}

/**
 * Makes a client of Neon's `neon(url)`, which sends each statement over HTTP, for `tock.enqueue(job, payload,
 * { client: fromNeon(sql) })`: the run is committed at once. A client of Neon's `Pool` needs no adapter, and
 * has transactions.
 * @throws TockError TOCK_BAD_OPTION if it is not what `neon()` returns
 */
export function fromNeon(sql: NeonLike): QueryClient {
  requireMembers(sql, ['query', 'transaction'], NEON);
  return { query: async (text, values) => ({ rows: rowsOf(await sql.query(text, values), NEON) }) };
}

/** An adapter's name, and where its transaction comes from. */
interface Adapter {
  readonly name: string;
  readonly source: string;
}

const KYSELY = { name: 'fromKysely', source: 'the trx of db.transaction().execute(async trx => …)' };
const DRIZZLE = { name: 'fromDrizzle', source: 'the tx of db.transaction(async tx => …)' };
const PRISMA = { name: 'fromPrisma', source: 'the tx of prisma.$transaction(async tx => …)' };
const KNEX = { name: 'fromKnex', source: 'the trx of knex.transaction(async trx => …)' };
const POSTGRES_JS = { name: 'fromPostgresJs', source: 'the tx of sql.begin(async tx => …)' };
const NEON = { name: 'fromNeon', source: 'the sql of neon(url)' };

function requireMembers(given: unknown, members: readonly string[], { name, source }: Adapter): void {
  const has = (member: string) =>
    (typeof given === 'object' || typeof given === 'function') &&
    given !== null &&
    typeof (given as Record<string, unknown>)[member] === 'function';
  const missing = members.find(member => !has(member));
  if (missing === undefined) return;
  throw new TockError('TOCK_BAD_OPTION', `${name} was given something without ${missing}(): pass ${source}`);
}

/** The rows of an answer: an array, or an object that has one. */
function rowsOf(answer: unknown, { name, source }: Adapter): Rows {
  const rows: unknown = Array.isArray(answer) ? answer : (answer as { rows?: unknown } | null)?.rows;
  if (Array.isArray(rows)) return rows as Rows;
  throw new TockError(
    'TOCK_BAD_OPTION',
    `${name} got no rows back; it works over PostgreSQL: pass ${source} of a database where Tock's schema is`,
  );
}
