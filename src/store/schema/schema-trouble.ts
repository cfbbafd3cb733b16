// What somebody has done to the schema that keeps Tock from working in it, though all tables are there; what
// else is not as it was migrated; and what has become of its indexes.
import type { Drift, IndexHealth } from '../../model/doctor/schema-checks.js';
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';
import { ESTIMATED_ROWS } from './schema-state.js';

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

// Another major version of the server may print the same differently. An index that somebody added costs
// something where the live runs are; a trigger does so everywhere.
const READ_DRIFT = statement<object, Drift>(
  'read-schema-drift',
  `
with made as materialized (
  select e.object, e.digest, (m.objects ->> 'server')::integer = current_setting('server_version_num')::integer / 10000 as is_comparable
  from tock.migrations m cross join lateral jsonb_each_text(m.objects -> 'objects') e(object, digest)
), present as materialized (select o.object, md5(o.definition) as digest from tock.schema_objects() o)
select coalesce(m.object, p.object) as object,
  case when p.object is null then 'missing' when m.object is null then 'added' else 'changed' end as what
from made m full join present p on p.object = m.object
where case when p.object is null then true when m.object is not null then m.is_comparable and m.digest <> p.digest
  else exists (select from made) and p.object ~ '^(index .* of job_runs_live|trigger .*)$' end
order by what desc, object limit 100`,
);

/** Nothing where it is not known what the schema held. */
export async function readDrift(session: Session): Promise<Drift[]> {
  return await READ_DRIFT.run(session, {});
}

const READ_INDEXES = statement<{ readonly bytes: number }, IndexHealth>(
  'read-large-indexes',
  `
select i.relname as name, pg_relation_size(i.oid)::float8 as bytes, ${ESTIMATED_ROWS} as rows, x.indisvalid as "isValid"
from pg_class c join pg_index x on x.indrelid = c.oid join pg_class i on i.oid = x.indexrelid join pg_am a on a.oid = i.relam
left join pg_stat_all_tables s on s.relid = c.oid
where c.relnamespace = to_regnamespace('tock') and c.relkind = 'r'
  and (not x.indisvalid or a.amname = 'btree' and c.reltuples >= 0 and pg_relation_size(i.oid) >= :bytes::float8)
order by 2 desc, 1`,
);

/** B-trees of at least so many bytes, of tables with statistics; and whatever is invalid. */
export async function readLargeIndexes(session: Session, bytes: number): Promise<IndexHealth[]> {
  return await READ_INDEXES.run(session, { bytes });
}
