// Room: test support. Describes the schema as text, the same on every supported version of PostgreSQL.
// In: a migrated database. Out: domains, tables, columns, constraints, indexes, functions and comments; no month partitions.
import type { Database } from '../../src/store/connection/database.js';

const QUERIES: Readonly<Record<string, string>> = {
  domains: `
    select t.oid::regtype || ' as ' || format_type(t.typbasetype, t.typtypmod) || ' ' || k.conname || ' ' || pg_get_constraintdef(k.oid) as line
    from pg_type t left join pg_constraint k on k.contypid = t.oid
    where t.typnamespace = $1::regnamespace and t.typtype = 'd' order by t.typname, k.conname`,
  columns: `
    select c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
      || case when a.attnotnull then ' not null' else '' end || coalesce(' default ' || pg_get_expr(d.adbin, d.adrelid), '') as line
    from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
    where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p') and NOT_A_MONTH order by c.relname, a.attnum`,
  partitions: `
    select c.relname || ' ' || coalesce('partition of ' || i.inhparent::regclass || ' ' || pg_get_expr(c.relpartbound, c.oid), '')
      || coalesce(' partition by ' || pg_get_partkeydef(c.oid), '') || coalesce(' with ' || c.reloptions::text, '') as line
    from pg_class c left join pg_inherits i on i.inhrelid = c.oid
    where c.relnamespace = $1::regnamespace and c.relkind in ('r', 'p') and NOT_A_MONTH order by c.relname`,
  constraints: `
    select c.relname || ' ' || k.conname || ' ' || pg_get_constraintdef(k.oid) as line
    from pg_constraint k join pg_class c on c.oid = k.conrelid
    where c.relnamespace = $1::regnamespace and k.contype <> 'n' and NOT_A_MONTH order by c.relname, k.conname`,
  indexes: `
    select pg_get_indexdef(x.indexrelid) as line from pg_index x join pg_class c on c.oid = x.indrelid
    where c.relnamespace = $1::regnamespace and NOT_A_MONTH order by 1`,
  functions: `
    select p.oid::regprocedure || ' returns ' || format_type(p.prorettype, null) || ' ' || p.provolatile::text
      || case when p.prosecdef then ' security definer' else '' end || coalesce(' set ' || array_to_string(p.proconfig, ', '), '')
      || case when has_function_privilege('public', p.oid, 'execute') then '' else ' not public' end || E'\\n' || p.prosrc as line
    from pg_proc p where p.pronamespace = $1::regnamespace order by p.oid::regprocedure::text`,
  comments: `
    select coalesce(c.relname, p.proname) || coalesce('.' || a.attname, '') || ': ' || d.description as line
    from pg_description d
    left join pg_class c on c.oid = d.objoid and d.classoid = 'pg_catalog.pg_class'::regclass and c.relnamespace = $1::regnamespace
    left join pg_attribute a on a.attrelid = c.oid and a.attnum = d.objsubid and d.objsubid > 0
    left join pg_proc p on p.oid = d.objoid and d.classoid = 'pg_catalog.pg_proc'::regclass and p.pronamespace = $1::regnamespace
    where c.oid is not null or p.oid is not null order by 1`,
};

export async function describeSchema(database: Database): Promise<string> {
  const parts: string[] = [];
  for (const [title, query] of Object.entries(QUERIES)) {
    const text = query.replaceAll('NOT_A_MONTH', () => `c.relname !~ '_\\d{4}_\\d{2}$'`);
    const rows = await database.transaction(async session => {
      // So that names are written with their schema, whoever asks.
      await session.run(`set local search_path = ''`);
      await session.run(`set local timezone = 'UTC'`);
      return await session.run<{ line: string }>(text, [database.schema]);
    });
    parts.push(`${title}\n${'-'.repeat(title.length)}\n${rows.map(row => row.line).join('\n')}`);
  }
  // Whatever the schema's name is, with or without quotes.
  return `${parts
    .join('\n\n')
    .replaceAll(new RegExp(`"?\\b${database.schema}"?\\.`, 'g'), 'tock.')
    .replaceAll(`'${database.schema}'`, `'tock'`)}\n`;
}
