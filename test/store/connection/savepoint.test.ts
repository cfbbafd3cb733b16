// Store: parts of a transaction that fail without the rest.
import { expect, it } from 'vitest';
import { inSavepoint } from '../../../src/store/connection/savepoint.js';
import { storeTest } from '../../support/open.js';
import { addRuns } from '../../support/runs.js';

const { test, database } = storeTest('2026-03-02T12:00:00Z');

it.each([
  ['failed', true],
  ['succeeded', false],
])('a part is undone as a whole, also if a part of it has %s before', async (_what, fails) => {
  const [id = ''] = await addRuns(test, {});
  const moves = (priority: number) => `update tock.job_runs_live set priority = ${priority} where id = ${id}`;
  await database.transaction(async session => {
    await session.run(moves(1));
    const part = inSavepoint(session, async () => {
      await session.run(moves(2));
      await inSavepoint(
        session,
        async () => {
          await session.run(moves(3));
          if (fails) throw new Error('the inner part');
        },
        { isReleased: true },
      ).catch(() => undefined);
      throw new Error('the outer part');
    });
    await expect(part).rejects.toThrow('the outer part');
  });
  expect(await test.sql('select priority from tock.job_runs_live')).toEqual([{ priority: 1 }]);
});
