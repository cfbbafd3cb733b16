// What somebody has done to the schema that keeps Tock from working in it, though all tables are there.
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';

export interface SchemaTrouble {
  /** Tables whose rows this role does not see, because row level security is on. */
  readonly hidden: readonly string[];
  /** The schema that its functions name: another one after it was renamed. Null: there is no schema. */
  readonly named: string | null;
}

// Without a policy, row level security shows no rows to a role that is not the owner, and no error.
const READ = statement<object, SchemaTrouble>(
  'read-schema-trouble',
  `
select array(
    select c.relname::text from pg_class c
    where c.relnamespace = to_regnamespace('tock') and c.relkind in ('r', 'p') and row_security_active(c.oid) order by 1) as hidden,
  (select substring(p.prosrc from 'from "?([a-z_][a-z0-9_]*)"?[.]sleepers') from pg_proc p
    where p.pronamespace = to_regnamespace('tock') and p.proname = 'wake') as named`,
);

export async function readSchemaTrouble(session: Session): Promise<SchemaTrouble> {
  return (await READ.first(session, {})) ?? { hidden: [], named: null };
}
