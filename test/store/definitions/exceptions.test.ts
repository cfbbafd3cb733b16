// Store: exceptions are read for definitions that may have some, and go when they are old.
import { describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/index.js';
import type { Session } from '../../../src/store/connection/database.js';
import { forgetComing, readExceptions } from '../../../src/store/definitions/occurrences/exceptions.js';
import { deleteKeys } from '../../../src/store/partitions/partitions.js';
import { openDatabase } from '../../support/database.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';

const hourly = defineJob({ name: 'hourly', schedule: { cron: '0 * * * *' }, run: () => null });
const test = openForEach(() => reuseTestTock([hourly]));
const at = (time: string) => new Date(`2026-03-01T${time}:00Z`);

describe('exceptions', () => {
  it('cost a definition without any no statement', async () => {
    const session = {
      run: () => {
        throw new Error('a statement was sent');
      },
    } as unknown as Session;
    const plain = { id: '1', is_excepted: false };
    expect((await readExceptions(session, [plain]))(plain)).toEqual([]);
    await forgetComing(session, [plain]);
    await expect(readExceptions(session, [{ ...plain, is_excepted: true }])).rejects.toThrow('was sent');
  });

  it('are deleted by their times, not by when they were made', async () => {
    await test.setClock('2026-03-01T12:00:30Z');
    await test.tock.register();
    await test.tock.schedules.skip('hourly', at('13:00'));
    await test.tock.schedules.move('hourly', at('14:00'), at('23:30'));
    const database = openDatabase({ connectionString: test.url });
    try {
      const all = { from: 0, to: 100 };
      expect(await deleteKeys(database, 'job_exceptions', at('20:00').getTime(), all, 100)).toBe(1);
    } finally {
      await database.close();
    }
    expect(await test.tock.schedules.exceptions('hourly')).toMatchObject([{ occurrence: at('14:00') }]);
  });
});
