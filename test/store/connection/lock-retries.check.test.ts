// Store: locks on tables in use, held by a process that stands still.
import { expect, it } from 'vitest';
import { withLockRetries } from '../../../src/store/connection/lock-retries.js';
import { openDatabase } from '../../support/database.js';
import { createTestDatabase } from '../../support/embedded-database.js';
import { openForEach } from '../../support/open.js';

const test = openForEach(createTestDatabase);
const frozen = openForEach(() => openDatabase({ connectionString: test.url }));
const other = openForEach(() => openDatabase({ connectionString: test.url }));

it('a process that stands still before it commits holds its locks until the server ends its transaction, and what it did is undone', async () => {
  await other.run('create table busy (id integer)');
  let seen: unknown;
  const work = withLockRetries(frozen, async session => {
    await session.run('alter table busy add column half integer');
    // Its next statement comes after what waits for the lock.
    seen = await other.run('select * from busy');
    await session.run('select 1');
  });
  await expect(work).rejects.toThrow(/connection error/);
  expect(seen).toEqual([]);
  const columns = `select attname from pg_attribute where attrelid = 'busy'::regclass and attnum > 0`;
  expect(await other.run(columns)).toEqual([{ attname: 'id' }]);
});
