// The schema's functions look up names in pg_catalog only: a caller's temporary types and views are never taken for them.
import pg from 'pg';
import { expect, it } from 'vitest';
import { storeTest } from '../../support/open.js';

const { test } = storeTest('2026-03-02T12:00:00Z');

it('each function that sets its search path names pg_temp last, or the caller’s would come first', async () => {
  const functions = await test.sql<{ name: string }>(
    `select p.proname as name from pg_proc p, unnest(p.proconfig) s
     where p.pronamespace = 'tock'::regnamespace and s like 'search_path=%' and s <> 'search_path=pg_catalog, pg_temp'`,
  );
  expect(functions).toEqual([]);
});

it('each function with the rights of its owner sets its search path', async () => {
  const functions = await test.sql<{ name: string }>(
    `select p.proname as name from pg_proc p
     where p.pronamespace = 'tock'::regnamespace and p.prosecdef and p.proconfig::text not like '%search_path=%'`,
  );
  expect(functions).toEqual([]);
});

it.each([
  [
    'a view',
    `create view pg_temp.pg_database as select * from pg_catalog.pg_database where pg_temp.spy('')`,
    'tock.is_copy()',
  ],
  [
    'a type',
    'create domain pg_temp.uuid as pg_catalog.uuid check (pg_temp.spy(value::text))',
    'tock.complete(1, 1)',
  ],
])('%s of a caller is not executed with the rights of the owner', async (_what, create, call) => {
  const role = `caller_${process.pid}`;
  await test.sql(`create role ${role} login password 'secret'`);
  const url = new URL(test.url);
  url.username = role;
  url.password = 'secret';
  const client = new pg.Client({ connectionString: url.href });
  const told: string[] = [];
  client.on('notice', ({ message }) => told.push(message ?? ''));
  try {
    await test.sql(`grant usage on schema tock to ${role}`);
    await test.sql(`grant execute on function tock.complete(bigint, integer, jsonb) to ${role}`);
    await client.connect();
    await client.query(`create function pg_temp.spy(what text) returns boolean language plpgsql as $$
      begin raise notice 'as %', current_user; return true; end $$`);
    await client.query(create);
    await client.query(`select ${call}`);
    expect(told).toEqual([]);
  } finally {
    await client.end();
    await test.sql(`drop owned by ${role}`);
    await test.sql(`drop role ${role}`);
  }
});
