// Test support: the database that each test file has for itself.
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { query } from '../embedded/embedded-harness.js';
import { createTestDatabase } from './embedded-database.js';
import { reuseTestTock } from './test-tock.js';

const DROP_BOUND = 'alter domain tock.count_from_0 drop constraint count_in_0_to_1000000000';

it('createTestDatabase gives an empty database of its own, and drops it while it is in use', {
  tags: 'check',
}, async () => {
  const [one, other] = await Promise.all([createTestDatabase(), createTestDatabase()]);
  expect(one.url).not.toBe(other.url);
  await query(one.url, 'create table mine (id int)');
  expect(await query(other.url, `select to_regclass('mine')`)).toBeNull();
  const client = new Client({ connectionString: one.url });
  const broken = new Promise(resolve => client.on('error', resolve));
  await client.connect();
  await Promise.all([one.drop(), other.drop()]);
  await broken;
  await expect(query(one.url, 'select 1')).rejects.toMatchObject({ code: '3D000' });
});

describe('reuseTestTock', () => {
  it.each([
    ['a setting', `alter database %I set default_transaction_isolation = ''repeatable read''`],
    ['a table', 'create table public.mine_in_%I (id int)'],
    ['a domain', DROP_BOUND],
    [
      'a domain, with as many constraints,',
      `${DROP_BOUND}; alter domain tock.count_from_0 add check (value >= 0)`,
    ],
  ])(
    'gives a used database again, unless %s of it was altered',
    { tags: 'check' },
    async (_what, statement) => {
      const first = await reuseTestTock();
      await first.close();
      const again = await reuseTestTock();
      expect(again.url).toBe(first.url);
      await again.sql(`do $$ begin execute format('${statement}', current_database()); end $$`);
      await again.close();
      const other = await reuseTestTock();
      expect(other.url).not.toBe(again.url);
      await other.close();
    },
  );

  it('gives none again that has had thousands of live runs: their dead rows are still counted', {
    tags: 'check',
  }, async () => {
    const first = await reuseTestTock();
    await first.sql(`select tock.enqueue('plain') from generate_series(1, 6000)`);
    await first.close();
    const other = await reuseTestTock();
    expect(other.url).not.toBe(first.url);
    await other.close();
  });
});
