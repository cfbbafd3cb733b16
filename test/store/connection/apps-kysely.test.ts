// Store: handlers get the app's own kysely.
import { Kysely, Transaction } from 'kysely';
import { afterEach, describe, expect, it, vi } from 'vitest';
import loader from '../../../src/store/connection/apps-kysely/load-kysely.cjs';
import type { Database } from '../../../src/store/connection/database.js';
import { openDatabase } from '../../support/database.js';
import { openTestTock, type TestTock } from '../../support/test-tock.js';

let test: TestTock;
let database: Database;
afterEach(async () => {
  vi.restoreAllMocks();
  await database.close();
  await test.close();
});

describe('what handlers get', () => {
  it('is of the classes that the app imports', async () => {
    test = await openTestTock();
    database = openDatabase({ connectionString: test.url });
    expect(database.handlers.db).toBeInstanceOf(Kysely);
    await database.handlers.transaction(async trx => {
      expect(trx).toBeInstanceOf(Transaction);
      expect(await database.sessionOf(trx).run('select 1 as one')).toEqual([{ one: 1 }]);
    });
  });

  it('is not loaded before a handler asks for it, and then once', async () => {
    const load = vi.spyOn(loader, 'load');
    test = await openTestTock();
    database = openDatabase({ connectionString: test.url });
    await database.transaction(async session => await session.run('select 1'));
    expect(load).not.toHaveBeenCalled();
    expect(database.handlers.db).toBe(database.handlers.db);
    expect(load).toHaveBeenCalledTimes(1);
  });

  it('is missed by an error that says what to install', async () => {
    const cause = Object.assign(new Error("Cannot find package 'kysely'"), { code: 'ERR_MODULE_NOT_FOUND' });
    vi.spyOn(loader, 'load').mockImplementation(() => {
      throw cause;
    });
    test = await openTestTock();
    database = openDatabase({ connectionString: test.url });
    expect(() => database.handlers.db).toThrow(
      expect.objectContaining({
        code: 'TOCK_BAD_OPTION',
        message: expect.stringMatching(/npm install kysely/),
        cause,
      }),
    );
    await expect(database.handlers.transaction(async () => 1)).rejects.toMatchObject({
      code: 'TOCK_BAD_OPTION',
    });
    expect(await database.run('select 1 as one')).toEqual([{ one: 1 }]);
  });
});
