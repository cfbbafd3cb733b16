// Store: a statement that does not come back, and what becomes of its connection.
import { beforeEach, describe, expect, it } from 'vitest';
import { openProxy } from '../../chaos/tcp-proxy.js';
import { openDatabase } from '../../support/database.js';
import { createTestDatabase } from '../../support/embedded-database.js';
import { openForEach } from '../../support/open.js';

const test = openForEach(createTestDatabase);
const proxy = openForEach(() => openProxy(test.url));
// Long enough to connect.
const database = openForEach(() =>
  openDatabase({ connectionString: proxy.url, connections: 1, statementTimeoutMs: 6000 }),
);
beforeEach(async () => {
  await database.run('select 1');
});

describe('the connection of a statement that is not answered', () => {
  it.each([
    ['a lone statement', () => database.run('select 2')],
    ['a transaction', () => database.transaction(session => session.run('select 2'))],
  ])('of %s does not go back to the pool: the next statement has one that works', async (_what, ask) => {
    expect(database.pool.totalCount).toBe(1);
    proxy.swallow();
    await expect(ask()).rejects.toMatchObject({ code: 'TOCK_DATABASE_UNREACHABLE' });
    expect(database.pool.totalCount).toBe(0);
    proxy.heal();
    expect(await database.run('select 3 as answer')).toEqual([{ answer: 3 }]);
  });

  it('goes back where the statement failed for another reason', async () => {
    await expect(database.run('select 1 / 0')).rejects.toMatchObject({ code: '22012' });
    expect([database.pool.totalCount, database.pool.idleCount]).toEqual([1, 1]);
  });
});
