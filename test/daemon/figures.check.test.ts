// The daemon counts ended runs with its beats.
// In the check: a daemon that beats by the real clock.
import { expect, it } from 'vitest';
import { startDaemon } from '../../src/daemon/daemon.js';
import { openDatabase } from '../support/database.js';
import { engineOver } from '../support/engine.js';
import { reuseTestTock, until } from '../support/test-tock.js';

it('counts what ended in minutes that are over, with each beat', async () => {
  const test = await reuseTestTock();
  const database = openDatabase({ connectionString: test.url });
  const end = () =>
    test.sql(
      `insert into tock.job_runs_finished (job, status, finished_at) values ('quick', 'succeeded', tock.now() - interval '5 min')`,
    );
  await test.sql(
    `update tock.figures_progress set final_until = a.at, counted_until = a.at, hours_until = date_bin('1 hour', a.at, 'epoch')
    from (select date_bin('1 minute', tock.now() - interval '10 min', 'epoch') as at) a`,
  );
  await end();
  const daemon = await startDaemon(engineOver(database), {}, undefined, { maxPauseMs: 100 });
  try {
    const counted = async () =>
      await test.sql(`select from tock.figures_by_minute where job = 'quick' and run_count = 1`);
    expect(await until(async () => (await counted()).length > 0, 'the minute to be counted')).toBe(true);
  } finally {
    await daemon.stop();
    await database.close();
    await test.close();
  }
});
