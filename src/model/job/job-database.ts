// Kysely as handlers get it: of the app's own kysely, with tables that the job names.
import type { Kysely, Transaction } from 'kysely';

/**
 * A Kysely handle on Tock's own database, for the app's own tables. It knows no table until the job names
 * them: `ctx.db.withTables<DB>().selectFrom('invoices')`.
 */
export type JobDatabase = {
  /** The same handle with these tables. `DB` may be an interface, as for `new Kysely<DB>`. */
  withTables<DB extends object>(): Kysely<DB>;
} & Kysely<object>;

/** An open transaction of a handler, for the app's own tables: `trx.withTables<DB>()`. */
export type JobTransaction = {
  /** The same transaction with these tables. */
  withTables<DB extends object>(): Transaction<DB>;
} & Transaction<object>;
