// `pg-tock/adapters`: transactions of Kysely, Drizzle, Prisma and Knex as the client that `enqueue` takes.
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

/** An adapter's name, and where its transaction comes from. */
interface Adapter {
  readonly name: string;
  readonly source: string;
}

const KYSELY = { name: 'fromKysely', source: 'the trx of db.transaction().execute(async trx => …)' };
const DRIZZLE = { name: 'fromDrizzle', source: 'the tx of db.transaction(async tx => …)' };
const PRISMA = { name: 'fromPrisma', source: 'the tx of prisma.$transaction(async tx => …)' };
const KNEX = { name: 'fromKnex', source: 'the trx of knex.transaction(async trx => …)' };

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
