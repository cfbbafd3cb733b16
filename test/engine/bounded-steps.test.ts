// Engine: each step that comes before claims ends with the batch in which its bound is over, says so, and goes on the
// next time.
import { describe, expect, it } from 'vitest';
import { fairKeysCome, followUp, resumeForEmitted } from '../../src/engine/materialize/follow-chains.js';
import { materialize } from '../../src/engine/materialize/materialize.js';
import { reap } from '../../src/engine/reap.js';
import { openDatabase } from '../support/database.js';
import { engineOver } from '../support/engine.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';

const test = openForEach(reuseTestTock);
const database = openForEach(() => openDatabase({ connectionString: test.url }));
const engine = () => engineOver(database);
const isOver = () => true;
const rowsOf = async (table: string) =>
  (await test.sql<{ count: number }>(`select count(*)::integer as count from tock.${table}`))[0]?.count;

describe('a step whose bound is over', () => {
  it('materializes a batch, first what is hardly late, then more of what is far behind', async () => {
    await test.setClock('2026-03-02T12:00:30Z');
    await test.sql(`insert into tock.job_definitions (name, job, origin, cron, catchup, cursor, next_at)
      select 'behind-' || n, 'worker', 'runtime', '* * * * *', 'all', tock.now() - interval '990 minutes',
        tock.now() - interval '989 minutes 30 seconds' from generate_series(1, 7) n
      union all select 'fresh', 'worker', 'runtime', '* * * * *', 'all', tock.now() - interval '1 minute',
        tock.now() - interval '30 seconds'`);
    // Regression: what had come due just now waited for all that was far behind.
    expect(await materialize(engine(), { isOver })).toMatchObject({
      definitions: 7,
      runs: 5941,
      isMore: true,
    });
    expect(
      await test.sql(
        `select from tock.job_runs r join tock.job_definitions d on d.id = r.definition_id where d.name = 'fresh'`,
      ),
    ).toHaveLength(1);
    expect(await materialize(engine())).toMatchObject({ definitions: 1, runs: 990, isMore: false });
  });

  it('reaps a batch', async () => {
    await test.sql(`insert into tock.job_runs_live (job, payload, status, attempts, fence, locked_by, locked_until)
      select 'job', '{}', 'running', 1, 1, gen_random_uuid(), tock.now() - interval '1 second' from generate_series(1, 501)`);
    expect(await reap(engine(), isOver)).toMatchObject({ reaped: { failed: 500 }, isMore: true });
    expect(await reap(engine(), isOver)).toMatchObject({ reaped: { failed: 1 }, isMore: false });
  });

  it('takes a batch from the outbox', async () => {
    await test.sql(
      `insert into tock.job_outbox (kind, run_ids) select 'end', array[n] from generate_series(1, 201) n`,
    );
    expect([await followUp(engine(), isOver), await rowsOf('job_outbox')]).toEqual([200, 1]);
  });

  it('takes a batch of fair keys', async () => {
    await test.sql(
      `insert into tock.job_outbox (kind, fair_keys) select 'fair', array['fair:a'] from generate_series(1, 21)`,
    );
    expect(await fairKeysCome(engine(), isOver)).toEqual({ count: 20, isMore: true });
    expect(await fairKeysCome(engine(), isOver)).toEqual({ count: 1, isMore: false });
  });

  it('takes a batch of events', async () => {
    for (let n = 0; n < 201; n++) await test.sql(`select tock.emit('event-' || $1)`, [n]);
    const outbox = await rowsOf('job_outbox');
    const first = await resumeForEmitted(engine(), isOver);
    expect([outbox, first.isMore, await rowsOf('job_outbox')]).toEqual([201, true, 1]);
  });
});
