// Store: the table of transitions against what the database allows.
import { expect, it } from 'vitest';
import { FINISHED_STATUSES, LIVE_STATUSES, RUN_STATUSES, TRIGGERS } from '../../../src/model/run/states.js';
import { openOnce } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';

const test = openOnce(reuseTestTock);

const words = (text: string | undefined) =>
  (text?.match(/'([a-z]+)'/g) ?? []).map(word => word.slice(1, -1)).sort();
const domain = async (name: string) =>
  (
    await test.sql<{ definition: string }>(
      `select pg_get_constraintdef(oid) as definition from pg_constraint where contypid = $1::regtype and contype = 'c'`,
      [name],
    )
  )[0]?.definition;
const bound = async (table: string) =>
  (
    await test.sql<{ bound: string }>(
      `select pg_get_expr(relpartbound, oid) as bound from pg_class where oid = $1::regclass`,
      [table],
    )
  )[0]?.bound;

it('the states are those that the database allows, in the table where it keeps them', async () => {
  expect(words(await bound('tock.job_runs_live'))).toEqual([...LIVE_STATUSES].sort());
  expect([...LIVE_STATUSES, ...FINISHED_STATUSES].sort()).toEqual([...RUN_STATUSES].sort());
  expect(words(await bound('tock.job_runs_finished'))).toEqual([...FINISHED_STATUSES].sort());
  expect(words(await domain('tock.run_trigger'))).toEqual([...TRIGGERS].sort());
});
