// Store: prepared statements are planned once for each connection, not for each execution.
import { createHash } from 'node:crypto';
import { beforeAll, expect, it } from 'vitest';
import type { Session } from '../../../src/store/connection/database.js';
import { openOnce } from '../../support/open.js';
import { openMigrated } from '../plans.js';
import { FILL_LARGE, HOT } from './hot-statements.js';

/** PostgreSQL plans a statement for its values five times before it compares. */
const EXECUTIONS = 8;

const home = openOnce(openMigrated);

beforeAll(async () => {
  await home.client.query(FILL_LARGE);
  await home.client.query(`select setval('tock.job_runs_id_seq', 1000000)`);
  await home.client.query('analyze');
});

/** Over the connection of the test, by name where the engine prepares the statement. Says which those are. */
function preparing(): { session: Session; prepared: Set<string> } {
  const prepared = new Set<string>();
  const session: Session = {
    async run(text, values = [], isPrepared) {
      if (isPrepared) prepared.add(text);
      const name = createHash('sha256').update(text).digest('hex').slice(0, 40);
      return (await home.client.query({ text, values: [...values], ...(isPrepared ? { name } : {}) })).rows;
    },
  };
  return { session, prepared };
}

it('plans no prepared statement for its values for ever', async () => {
  const { session, prepared } = preparing();
  for (const [, statement] of HOT)
    for (let execution = 0; execution < EXECUTIONS; execution++) {
      await home.client.query('begin');
      try {
        await statement(session);
      } finally {
        await home.client.query('rollback');
      }
    }
  const { rows } = await home.client.query<{ statement: string; is_kept: boolean }>(
    'select statement, generic_plans > 0 as is_kept from pg_prepared_statements where statement = any($1)',
    [[...prepared]],
  );
  expect(rows.filter(row => !row.is_kept).map(row => row.statement)).toEqual([]);
  expect(rows.length).toBeGreaterThan(10);
});
