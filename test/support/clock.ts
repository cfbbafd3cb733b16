// Room: test support. A clock in the database that a test can set.
// In: a migrated schema. Out: the statements that put the clock in the place of the real one.

/** Null in the table: real time. */
export function clockStatements(schema: string): readonly string[] {
  return [
    `create table ${schema}.test_clock (at timestamptz)`,
    `insert into ${schema}.test_clock values (null)`,
    `create or replace function ${schema}.now() returns timestamptz language sql stable
     as $$ select coalesce((select at from ${schema}.test_clock), statement_timestamp()) $$`,
  ];
}
