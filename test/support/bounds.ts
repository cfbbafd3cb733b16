// Rows that no statement can work with, for tests.

/** SQL that drops what keeps the values of a table in bounds: its checks, and those of its columns' types. */
export const dropBounds = (table: string) => `do $$ declare bound record; begin
  for bound in
    select 'table ' || k.conrelid::regclass as owner, k.conname as name from pg_constraint k
    where k.conrelid = 'tock.${table}'::regclass and k.contype = 'c' and k.coninhcount = 0
    union
    select 'domain ' || k.contypid::regtype, k.conname from pg_attribute a join pg_constraint k on k.contypid = a.atttypid
    where a.attrelid = 'tock.${table}'::regclass and k.contype = 'c'
  loop execute format('alter %s drop constraint %I', bound.owner, bound.name); end loop; end $$`;
