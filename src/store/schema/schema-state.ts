// Whether there is a schema of this name, whether it is Tock's, and whose it is. Reads catalogues only.
import { TockError } from '../../model/errors.js';
import type { Database, Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';

export interface SchemaOwner {
  readonly owner: string;
  /** Whether this session has the owner's rights. */
  readonly isOwner: boolean;
  /** Of this session. */
  readonly role: string;
  /** Whether this session may read which migrations are applied. */
  readonly mayRead: boolean;
}

/** The rows of a table `c` with statistics `s`. */
export const ESTIMATED_ROWS = 'greatest(c.reltuples, s.n_live_tup, 0)::float8';

/** Tables that every version has. A schema with all of them is Tock's. */
const IS_TOCK = `(select count(*) from pg_class c where c.relnamespace = n.oid and c.relkind in ('r', 'p')
    and c.relname in ('migrations', 'job_definitions', 'job_runs', 'job_runs_live', 'job_keys', 'workers')) = 6`;

const READ_STATE = statement<object, SchemaOwner & { isTock: boolean }>(
  'read-schema-state',
  `
select pg_get_userbyid(n.nspowner) as owner, pg_has_role(n.nspowner, 'usage') as "isOwner", current_user::text as role,
  has_schema_privilege(n.oid, 'usage') and coalesce((select has_table_privilege(c.oid, 'select') from pg_class c
    where c.relnamespace = n.oid and c.relname = 'migrations'), false) as "mayRead",
  ${IS_TOCK} as "isTock"
from pg_namespace n where n.nspname = 'tock'`,
);

const LIST_SCHEMAS = statement<object, { name: string }>(
  'list-tock-schemas',
  `select n.nspname as name from pg_namespace n where ${IS_TOCK} order by n.nspname limit 20`,
);

/**
 * @throws TockError TOCK_NOT_FOUND without such a schema, with the names of those that are Tock's;
 * TOCK_BAD_STATE if it is not Tock's
 */
export async function requireTockSchema(session: Session, { schema }: Database): Promise<SchemaOwner> {
  const state = await READ_STATE.first(session, {});
  if (state?.isTock === true) return state;
  const others = (await LIST_SCHEMAS.run(session, {})).map(({ name }) => name);
  const where =
    others.length === 0
      ? 'no schema of this database is Tock’s: check DATABASE_URL, or make it with tock migrate'
      : `Tock’s here ${others.length === 1 ? 'is' : 'are'} ${others.join(', ')}: set TOCK_SCHEMA`;
  throw state === undefined
    ? new TockError('TOCK_NOT_FOUND', `there is no schema ${schema}; ${where}`)
    : new TockError('TOCK_BAD_STATE', `the schema ${schema} is not Tock’s: it lacks Tock’s tables; ${where}`);
}
