// Store: which due definitions a batch locks.
import { beforeEach, describe, expect, it } from 'vitest';
import { type DuePosition, lockDueDefinitions } from '../../../src/store/definitions/due.js';
import { storeTest } from '../../support/open.js';
import { whileHeld } from '../../support/runs.js';

const NOW = '2026-03-02T12:00:00Z';
const AT = Date.parse(NOW);

const { test, database } = storeTest(NOW);

const lock = (after?: DuePosition, limit = 10, ids: readonly string[] | null = null) =>
  database.transaction(async session => await lockDueDefinitions(session, limit, ids, after));
const idsOf = async (...given: Parameters<typeof lock>) => (await lock(...given)).map(({ id }) => id);

describe('due definitions', () => {
  // 1 and 2 were never planned; 3, 4 and 5 are due at one instant, 6 a millisecond later, and 7 is not due.
  beforeEach(async () => {
    await test.sql(
      `insert into tock.job_definitions (id, name, job, cron, next_at) overriding system value
       select n, 'd' || n, 'noop', '* * * * *', case when n < 3 then '-infinity'
         when n < 6 then $1::timestamptz - interval '1 ms' when n = 6 then $1 else $1::timestamptz + interval '1 ms' end
       from generate_series(1, 7) n`,
      [NOW],
    );
  });

  it('come in the order in which they are due, those that were never planned first', async () => {
    const due = await lock();
    expect(due.map(({ id, next_ms }) => [id, next_ms])).toEqual([
      ['1', Number.NEGATIVE_INFINITY],
      ['2', Number.NEGATIVE_INFINITY],
      ['3', AT - 1],
      ['4', AT - 1],
      ['5', AT - 1],
      ['6', AT],
    ]);
    expect(due[0]).toMatchObject({ name: 'd1', cron: '* * * * *', exclude: [] });
    expect(await idsOf(undefined, 2)).toEqual(['1', '2']);
    expect(await idsOf(undefined, 10, ['4', '7'])).toEqual(['4']);
  });

  it('begin after a position, whatever it is', async () => {
    const [first, , third, , fifth, sixth] = await lock();
    expect(await idsOf(first)).toEqual(['2', '3', '4', '5', '6']);
    expect(await idsOf(third)).toEqual(['4', '5', '6']);
    expect(await idsOf(fifth)).toEqual(['6']);
    expect(await idsOf(sixth)).toEqual([]);
  });

  it('are left out while another session has them locked', async () => {
    await whileHeld(test, 'select from tock.job_definitions where id in (1, 4) for update', [], async () => {
      expect(await idsOf()).toEqual(['2', '3', '5', '6']);
    });
  });
});
