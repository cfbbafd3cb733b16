// Fair keys under load: no run is left behind, rates hold, whoever comes and goes meanwhile.
import pg from 'pg';
import { expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { openOnce } from '../support/open.js';
import { rounds } from '../support/rounds.js';
import { openTestTock, until } from '../support/test-tock.js';

const started: string[] = [];
let failures = 0;
const send = defineJob({
  name: 'send',
  queue: 'mail',
  // Enough for each, however the failures fall.
  retry: { maxAttempts: 100, backoff: 'fixed', base: 1 },
  run(_ctx, payload) {
    const { tenant } = payload as { tenant: number };
    if (Math.random() < 0.1 && failures++ < 200) throw new Error('not now');
    started.push(String(tenant));
  },
});
const test = openOnce(() => openTestTock([send]));

it('leaves no run behind, with several daemons and ticks, and transactions that commit late', async () => {
  await test.sql(`insert into tock.fair_scopes (queue, path) values ('mail', '$.tenant')`);
  const daemons = [
    await test.tock.start({ concurrency: 5 }),
    await test.tock.start({ concurrency: 3, listen: false }),
  ];
  const pool = new pg.Pool({ connectionString: test.url, max: 3 });
  const count = rounds(150, 1500);
  let enqueued = 0;
  const enqueue = async (producer: number) => {
    for (let i = 0; i < count; i++) {
      const runs = Array.from({ length: 1 + (i % 3) }, () => ({
        job: send,
        payload: { tenant: Math.floor(Math.random() ** 3 * 40) },
      }));
      enqueued += runs.length;
      const client = await pool.connect();
      await client.query('begin');
      await test.tock.enqueueMany(runs, { client });
      if (i % 5 === producer) await client.query('select pg_sleep(0.02)');
      await client.query('commit');
      client.release();
      if (i % 50 === 0) await test.tock.tick({ concurrency: 2 });
    }
  };
  await Promise.all([0, 1, 2].map(enqueue));
  await until(async () => started.length >= enqueued, 'all to be executed');
  await pool.end();
  await Promise.all(daemons.map(each => each.stop()));
  expect(started).toHaveLength(enqueued);
  expect(await test.sql('select count(*)::integer as live from tock.job_runs_live')).toEqual([{ live: 0 }]);
});
