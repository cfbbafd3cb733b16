// What wakes a daemon that sleeps: schedules that are made, edited or resumed beside it. No poll and no beat comes
// meanwhile.
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { startDaemon } from '../../src/daemon/daemon.js';
import { defineJob } from '../../src/index.js';
import { openDatabase } from '../support/database.js';
import { engineOver } from '../support/engine.js';
import { openForEach, stopAfterEach } from '../support/open.js';
import { hearEach } from '../support/sleepers.js';
import { openTestTock, until } from '../support/test-tock.js';

const POLL_MS = 600_000;
/** None during the test. */
const BEAT = { expression: '0 0 1 1 *', maxPauseMs: POLL_MS };
/** A daemon that has begun to sleep polls 50 ms, 200 ms and 1 s later once more, and then needs a notification. */
const LAST_POLL_MS = 1500;
const noted = defineJob({ name: 'noted', run: () => undefined });
const coded = defineJob({ name: 'coded', schedule: { every: '1s' }, run: () => undefined });

const test = openForEach(() => openTestTock([noted]));
const database = openForEach(() => openDatabase({ connectionString: test.url }));
const daemons = stopAfterEach();

const start = async () => {
  const daemon = await startDaemon(engineOver(database, [noted]), {}, POLL_MS, BEAT);
  daemons.push(daemon);
};
const asleep = () => sleep(LAST_POLL_MS);
const hasRun = (definition: string) =>
  until(async () => {
    const [row] = await test.sql<{ count: number }>(
      `select count(*)::integer as count from tock.job_runs_finished r join tock.job_definitions d on d.id = r.definition_id
       where d.name = $1 and r.status = 'succeeded'`,
      [definition],
    );
    return (row?.count ?? 0) > 0;
  }, `a run of ${definition}`);
const forget = async () => {
  await test.sql('truncate tock.job_runs_finished');
};

describe('a daemon that sleeps materializes what is due soon', () => {
  it('of a schedule that is made, edited, made again, or resumed', async () => {
    const { schedules } = test.tock;
    await start();
    const changes: Record<string, () => Promise<unknown>> = {
      made: () => schedules.upsert({ name: 'made', job: noted, every: '1s' }),
      edited: () => schedules.upsert({ name: 'edited', job: noted, every: '1s' }),
      again: () => schedules.upsert({ name: 'again', job: noted, every: '1s' }),
      resumed: () => schedules.resume('resumed'),
      together: () => schedules.resumeMany({ names: ['together'] }),
    };
    await schedules.upsert({ name: 'edited', job: noted, every: '1d' });
    await schedules.upsert({ name: 'again', job: noted, every: '1d' });
    await schedules.pause('again');
    await schedules.remove('again');
    for (const name of ['resumed', 'together']) {
      await schedules.upsert({ name, job: noted, every: '1s' });
      await schedules.pause(name);
    }
    for (const [name, change] of Object.entries(changes)) {
      await asleep();
      await forget();
      await change();
      expect(await hasRun(name)).toBe(true);
      await schedules.pause(name);
    }
  });

  it('of the code that another process registers', async () => {
    await start();
    await asleep();
    await test.another({ jobs: [noted, coded] }).register();
    const made = until(async () => {
      const [row] = await test.sql(`select id from tock.job_runs where job = 'coded'`);
      return row;
    }, 'a run of coded');
    expect(await made).toBeDefined();
  });

  it('of a cursor that is set back', async () => {
    await test.tock.schedules.upsert({ name: 'ahead', job: noted, every: '1s' });
    await test.sql(
      `update tock.job_definitions set cursor = now() + interval '1 hour', next_at = now() + interval '1 hour' where name = 'ahead'`,
    );
    await start();
    await asleep();
    await test.tock.schedules.resetCursors();
    expect(await hasRun('ahead')).toBe(true);
  });
});

describe('no daemon is woken', () => {
  const heard = hearEach(test, database);

  it('by a schedule that the next poll finds in time, nor by a call that changes nothing', async () => {
    const { schedules } = test.tock;
    await schedules.upsert({ name: 'later', job: noted, every: '1d' });
    expect(await heard()).toEqual([]);
    await schedules.upsert({ name: 'later', job: noted, every: '2s' });
    expect(await heard()).toEqual(['soon']);
    await schedules.upsert({ name: 'later', job: noted, every: '2s' });
    await schedules.pause('later');
    await schedules.upsert({ name: 'later', job: noted, every: '3s' });
    expect(await heard()).toEqual([]);
    await schedules.resume('later');
    expect(await heard()).toEqual(['soon']);
    await test.tock.register();
    await test.tock.register();
    expect(await heard()).toEqual([]);
  });

  it('twice by the registration of many', async () => {
    const jobs = ['a', 'b', 'c'].map(name => defineJob({ ...coded, name }));
    await test.another({ jobs: [noted, ...jobs] }).register();
    expect(await heard()).toEqual(['soon']);
  });
});
