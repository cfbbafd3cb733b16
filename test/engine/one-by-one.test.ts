// Engine: rows that can be neither moved nor set aside do not hold up those behind them.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Engine } from '../../src/engine/engine.js';
import { reap } from '../../src/engine/reap.js';
import { claimDespiteBadRows } from '../../src/engine/set-aside.js';
import { claimFreeRuns } from '../../src/store/runs/claim/claim.js';
import { openDatabase } from '../support/database.js';
import { engineOver } from '../support/engine.js';
import { collectLines } from '../support/lines.js';
import { openForEach } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const WORKER = '00000000-0000-4000-8000-000000000001';
const NOW = '2026-03-02T12:00:00Z';
const test = openForEach(() => openTestTock());
let engine: Engine;
beforeEach(async () => {
  await test.setClock(NOW);
  engine = engineOver(openDatabase({ connectionString: test.url }));
});
afterEach(async () => {
  await engine.database.close();
});

/** So many of a job, due one after another. */
const add = async (job: string, count: number, columns = '', values = '') =>
  await test.sql(
    `insert into tock.job_runs_live (job, status, run_at${columns})
     select $1, ${columns === '' ? `'queued'` : `'running'`}, tock.now() - interval '1 hour' + n * interval '1 second'${values}
     from generate_series(1, $2::int) n`,
    [job, count],
  );
const statuses = async (job: string) =>
  (await test.sql<{ status: string }>('select status from tock.job_runs where job = $1', [job])).map(
    row => row.status,
  );

describe('runs whose rows nothing can change', () => {
  it('do not hold up a claim of those behind them', async () => {
    await add('cursed', 15);
    await test.sql(`insert into tock.job_runs_live (job, status) values ('plain', 'queued')`);
    await test.sql(
      `alter table tock.job_runs_live add constraint cursed check (job <> 'cursed' or fence = 0)`,
    );
    await test.sql(`alter table tock.job_runs_finished add constraint cursed check (job <> 'cursed')`);
    const options = { limit: 10, workerId: WORKER, leaseMs: 60_000, queues: null };
    const { runs } = await claimDespiteBadRows(engine, options, () =>
      claimFreeRuns(engine.database, options),
    );
    expect(runs.map(({ job }) => job)).toEqual(['plain']);
    expect(await statuses('cursed')).toEqual(Array.from({ length: 15 }, () => 'queued'));
  });

  it('do not hold up a reaping of those behind them', { tags: 'check' }, async () => {
    const columns = ', fence, locked_by, locked_until, started_at, attempts';
    const values = `, 1, '${WORKER}', tock.now() - interval '1 minute', tock.now() - interval '1 hour', 1`;
    await add('cursed', 505, columns, values);
    await add('plain', 1, columns, values.replace('1 hour', '1 minute'));
    await test.sql(`update tock.job_runs_live set run_at = tock.now() where job = 'plain'`);
    await test.sql(
      `alter table tock.job_runs_live add constraint cursed check (job <> 'cursed' or status = 'running')`,
    );
    await test.sql(`alter table tock.job_runs_finished add constraint cursed check (job <> 'cursed')`);
    await reap(engine);
    expect(await statuses('plain')).toEqual(['failed']);
  });

  it('do not hold up what a reaping looks after besides', async () => {
    const columns = ', fence, locked_by, locked_until, started_at, attempts';
    await add(
      'cursed',
      1,
      columns,
      `, 1, '${WORKER}', tock.now() - interval '1 minute', tock.now() - interval '1 hour', 1`,
    );
    await test.sql(
      `alter table tock.job_runs_live add constraint cursed check (job <> 'cursed' or status = 'running')`,
    );
    await test.sql(`alter table tock.job_runs_finished add constraint cursed check (job <> 'cursed')`);
    await test.sql(`insert into tock.job_queues (name, paused_at, paused_until)
      values ('mail', tock.now() - interval '1 hour', tock.now() - interval '1 minute')`);
    await test.sql(`insert into tock.job_slots values ('job:x', 1, 99, 1)`);
    await reap(engine);
    expect(await statuses('cursed')).toEqual(['running']);
    expect(await test.sql('select paused_at from tock.job_queues')).toEqual([{ paused_at: null }]);
    expect(await test.sql('select from tock.job_slots')).toEqual([]);
  });

  it('do not hold up those that wait for other slots', async () => {
    const columns = ', slot_keys, slot_limits, blocked_on';
    for (const job of ['cursed', 'plain'])
      await test.sql(
        `insert into tock.job_runs_live (job, status${columns}) values ($1::text, 'queued', array['job:' || $1::text], '{1}', 'job:' || $1::text)`,
        [job],
      );
    await test.sql(
      `alter table tock.job_runs_live add constraint cursed check (job <> 'cursed' or blocked_on is not null)`,
    );
    const lines = collectLines();
    await reap({ ...engine, logger: lines.logger });
    expect(await test.sql('select job from tock.job_runs_live where blocked_on is null')).toEqual([
      { job: 'plain' },
    ]);
    expect(lines.lines).toMatchObject([{ event: 'unblock.refused', key: 'job:cursed' }]);
  });
});

it('a definition whose pause cannot be ended holds up no other end, and no tick', async () => {
  const paused = `tock.now() - interval '1 hour', tock.now() - interval '1 minute'`;
  await test.sql(`insert into tock.job_definitions (name, job, origin, cron, cursor, paused_at, paused_until)
    values ('cursed', 'cursed', 'runtime', '* * * * *', tock.now(), ${paused})`);
  await test.sql(
    `alter table tock.job_definitions add constraint cursed check (name <> 'cursed' or paused_at is not null)`,
  );
  await test.sql(`insert into tock.job_queues (name, paused_at, paused_until) values ('mail', ${paused})`);
  const lines = collectLines();
  await reap({ ...engine, logger: lines.logger });
  expect(await test.sql('select paused_at from tock.job_queues')).toEqual([{ paused_at: null }]);
  expect(lines.lines.map(line => line['event'])).toEqual(['queue.resumed', 'end.refused']);
});
