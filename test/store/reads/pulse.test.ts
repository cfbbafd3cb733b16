// Whether anything has happened that pages show, by one small statement.
import { describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/index.js';
import { readFrame } from '../../../src/store/reads/now/frame.js';
import { readPulse } from '../../../src/store/reads/now/pulse.js';
import { openDatabase } from '../../support/database.js';
import { openForEach } from '../../support/open.js';
import { openTestTock, until } from '../../support/test-tock.js';

const plain = defineJob({ name: 'plain', run: () => null });
const test = openForEach(() => openTestTock([plain]));
const database = openForEach(() => openDatabase({ connectionString: test.url }));
/** The fingerprint, whatever was committed meanwhile. */
const pulse = async () => (await readPulse(database, '')).pulse;

describe('the pulse', () => {
  it('is not read while nothing was committed on the server, and what a page has seen is the same text', async () => {
    const readTwice = async () => {
      const { seen } = await readFrame(database);
      const pulse = await readPulse(database, seen);
      return pulse.seen === seen ? { pulse } : null;
    };
    // Other databases of the server are written to as well.
    expect(await until(readTwice, 'a moment in which nothing is written')).toMatchObject({
      pulse: { pulse: null },
    });
    const { seen } = await readPulse(database, '');
    await test.tock.enqueue(plain);
    const after = await readPulse(database, seen);
    expect([after.seen === seen, after.pulse]).toEqual([false, expect.any(String)]);
  });

  it('is the same after what an app writes beside Tock, and after heartbeats', async () => {
    await test.sql('create table app_rows (n integer)');
    await test.sql(
      `insert into tock.workers (id, kind, host, pid, capacity, seen_at) values (gen_random_uuid(), 'daemon', 'host', 1, 10, now())`,
    );
    await test.tock.enqueue(plain, {}, { delay: '1h' });
    const before = await pulse();
    await test.sql('insert into app_rows select generate_series(1, 10)');
    await test.sql('update tock.workers set seen_at = clock_timestamp()');
    expect(await pulse()).toBe(before);
  });

  it('is another one after each thing that a run, an operator, a queue or a worker does', {
    tags: 'check',
  }, async () => {
    const seen: (string | null)[] = [await pulse()];
    const acts: (() => Promise<unknown>)[] = [
      () => test.tock.enqueue(plain),
      () => test.sql(`update tock.job_runs_live set progress = '{"fraction": 0.5}'`),
      () => test.tock.tick(),
      () => test.tock.enqueue(plain, {}, { delay: '1h' }),
      () => test.tock.queues.pause('default'),
      () => test.tock.queues.resume('default'),
      () =>
        test.sql(
          `insert into tock.job_runs (job, status, skip_reason, finished_at) values ('plain', 'skipped', 'overlap', now())`,
        ),
      () =>
        test.sql(
          `insert into tock.workers (id, kind, host, pid, capacity, seen_at) values (gen_random_uuid(), 'daemon', 'host', 1, 10, now())`,
        ),
      () => test.sql('update tock.workers set draining = true'),
      () =>
        test.sql(
          `insert into tock.alert_flips (rule, condition, subject, kind, at, since, detail) values ('r', 'c', 's', 'down', now(), now(), '')`,
        ),
      // A row of the audit each.
      () => test.tock.deploys.mark('v40'),
      () => test.tock.freeze({ until: '1h', note: 'maintenance' }),
      () => test.tock.schedules.upsert({ name: 'made', job: plain, cron: '0 7 * * *' }),
    ];
    for (const act of acts) {
      await act();
      seen.push(await pulse());
    }
    expect(new Set(seen).size).toBe(acts.length + 1);
  });

  it('is the same after a lock of a row, and whatever ended more than an hour ago', async () => {
    await test.tock.enqueue(plain, {}, { delay: '1h' });
    const before = await pulse();
    await test.sql('select from tock.job_runs_live for update');
    await test.sql(
      `insert into tock.job_runs (job, status, skip_reason, finished_at) values ('plain', 'skipped', 'overlap', now() - interval '2 hours')`,
    );
    expect(await pulse()).toBe(before);
  });

  it('is another one after whatever is committed while a run is running, or a thousand are live', {
    tags: 'check',
  }, async () => {
    await test.sql('create table app_rows (n integer)');
    const write = async () => await test.sql('insert into app_rows values (1)');
    await test.sql(
      `insert into tock.job_runs (job, status, attempts, locked_until, run_at, started_at)
        values ('plain', 'running', 1, now() + interval '1 minute', now(), now())`,
    );
    const running = await pulse();
    await write();
    expect(await pulse()).not.toBe(running);
    await test.sql(`delete from tock.job_runs_live`);
    await test.tock.enqueueMany(Array.from({ length: 1001 }, () => ({ job: plain })));
    const many = await pulse();
    await write();
    expect(await pulse()).not.toBe(many);
  });
});
