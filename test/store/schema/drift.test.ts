// Store: what somebody has changed in the schema is found; and indexes that are invalid.
import { describe, expect, it } from 'vitest';
import { readDrift, readLargeIndexes } from '../../../src/store/schema/schema-trouble.js';
import { storeTest } from '../../support/open.js';

const { test, database } = storeTest('2026-03-02T12:00:00Z');

/** What is found after these statements, which are undone. */
const after = async (...statements: readonly string[]) => {
  const undone = new Error('undone');
  let found: string[] = [];
  await database
    .transaction(async session => {
      for (const statement of statements) await session.run(statement);
      found = (await readDrift(session)).map(({ object, what }) => `${what}: ${object}`);
      throw undone;
    })
    .catch((error: unknown) => {
      if (error !== undone) throw error;
    });
  return found;
};

describe('drift', () => {
  it('is none as the migrations made the schema, with partitions of a later month, and after a vacuum', async () => {
    expect(await readDrift(database)).toEqual([]);
    await test.setClock('2026-09-02T12:00:00Z');
    await test.tock.tick();
    await test.sql('vacuum analyze tock.job_runs_live');
    expect(await readDrift(database)).toEqual([]);
  });

  it.each([
    ['drop index tock.job_runs_live_key', 'missing: index job_runs_live_key of job_runs_live'],
    ['alter table tock.job_queues drop column timezone', 'missing: column job_queues.timezone'],
    [`alter table tock.job_queues alter timezone set default 'CET'`, 'changed: column job_queues.timezone'],
    ['alter table tock.job_queues alter timezone drop not null', 'changed: column job_queues.timezone'],
    [
      'alter table tock.job_runs_live disable trigger start_successor',
      'changed: trigger start_successor of job_runs_live',
    ],
    [
      'create trigger spy after update on tock.job_definitions for each row execute function suppress_redundant_updates_trigger()',
      'added: trigger spy of job_definitions',
    ],
    ['create index mine on tock.job_runs_live (created_at)', 'added: index mine of job_runs_live'],
    [
      'alter table tock.workers drop constraint workers_kind_check',
      'missing: constraint workers_kind_check of workers',
    ],
    [
      `create or replace function tock.this_database() returns table (system_identifier bigint, database_oid oid) language sql as 'select 1::bigint, 1::oid'`,
      'changed: function this_database()',
    ],
    ['create index mine on tock.job_runs_finished (created_at)', null],
    ['alter table tock.job_queues add column mine text', null],
  ])('%s: %s', async (statement, found) => {
    expect(await after(statement)).toEqual(found === null ? [] : [found]);
  });

  it('of another major version of the server, which may print definitions otherwise, is what is there and what is not', async () => {
    expect(
      await after(
        `update tock.migrations set objects = jsonb_set(objects, '{server}', '1') where objects is not null`,
        `alter table tock.job_queues alter timezone set default 'CET'`,
        'drop index tock.job_runs_live_key',
      ),
    ).toEqual(['missing: index job_runs_live_key of job_runs_live']);
    expect(
      await after('update tock.migrations set objects = null', 'drop index tock.job_runs_live_key'),
    ).toEqual([]);
  });
});

it('large indexes are those with as many bytes, and whatever is invalid', async () => {
  await test.sql('analyze tock.job_runs_live');
  expect(await readLargeIndexes(database, 1e12)).toEqual([]);
  const found = await readLargeIndexes(database, 0);
  expect(found.find(({ name }) => name === 'job_runs_live_claim')).toMatchObject({ isValid: true });
  await test.sql('create unique index twice on tock.job_runs_live (id)');
  try {
    await test.sql(`update pg_index set indisvalid = false where indexrelid = 'tock.twice'::regclass`);
    expect(await readLargeIndexes(database, 1e12)).toMatchObject([{ name: 'twice', isValid: false }]);
  } finally {
    await test.sql('drop index tock.twice');
  }
});
