// An app gets the errors of the database with their own code, and beside it what to do, as the command line says it.
import { expect, it } from 'vitest';
import { createTock } from '../../src/index.js';
import { createTestDatabase } from '../support/embedded-database.js';
import { openForEach } from '../support/open.js';

const test = openForEach(createTestDatabase);
const urlWith = (parts: Partial<URL>) => Object.assign(new URL(test.url), parts).href;

it.each([
  ['refused', 'ECONNREFUSED', 'check that the server runs', { port: '1' }],
  ['a wrong password', '28P01', 'check the user and password', { password: 'no' }],
  ['no such database', '3D000', 'check the database name', { pathname: '/nowhere' }],
] as const)('an error has its own code and a remedy: %s', async (_, code, remedy, change) => {
  const tock = createTock({ connectionString: urlWith(change), logger: false });
  try {
    await expect(tock.enqueueMany([])).resolves.toEqual([]);
    await expect(tock.runs.list()).rejects.toMatchObject({
      code,
      remedy: expect.stringContaining(remedy),
    });
  } finally {
    await tock.close();
  }
});
