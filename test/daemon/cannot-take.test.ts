// What a daemon has room for and cannot take: it looks for that now and then, and not all the time. In virtual time.
import { afterEach, describe, expect, it } from 'vitest';
import { type Daemon, startDaemon } from '../../src/daemon/daemon.js';
import { readSettings } from '../../src/engine/engine.js';
import { defineJob } from '../../src/index.js';
import type { Database } from '../../src/store/connection/database.js';
import { engineOver } from '../support/engine.js';
import { openForEach } from '../support/open.js';
import { addRuns, whileHeld } from '../support/runs.js';
import { reuseTestTock } from '../support/test-tock.js';
import { openVirtualProcess } from '../support/virtual-process.js';

/** When the minute turns is read off the host's clock: never here. */
const BEAT = { expression: '0 0 29 2 *' };
const JOBS = [defineJob({ name: 'known', run: () => 1 })];
const test = openForEach(() => reuseTestTock(JOBS));
const virtual = openForEach(() => openVirtualProcess(test, '2026-03-02T12:00:00Z', JOBS));
let daemon: Daemon | null = null;
afterEach(async () => {
  const stopped = daemon?.stop();
  await virtual.clock.advance(180_000);
  await stopped;
});

/** Else what is sent all the time would be sent in no time. */
const slowly: Database['run'] = async (...statement) => {
  await virtual.clock.sleep(2);
  return await virtual.engine.database.run<never>(...statement);
};

describe('a daemon with room', () => {
  it.each([
    ['whose job it does not know', true, 'default', 'unknown'],
    ['whose job it does not know', false, 'default', 'unknown'],
    ['whose queue is paused', true, 'paused', 'known'],
    ['whose queue is paused', false, 'paused', 'known'],
  ])('sends little while a run waits for code, %s (it listens: %s)', async (_why, listen, queue, job) => {
    await test.tock.queues.pause('paused');
    const engine = engineOver({ ...virtual.engine.database, run: slowly }, JOBS, { clock: virtual.clock });
    const starting = startDaemon(engine, { concurrency: 2, listen }, undefined, BEAT);
    await virtual.clock.advance(500);
    daemon = await starting;
    await addRuns(test, { job, queue, blocked_on: `code:${job}` });
    await virtual.clock.advance(10_000);
    const before = virtual.sent.length;
    await virtual.clock.advance(10_000);
    // It polls each second, and then looks: a daemon that listens does so too while any transaction of the server, also of
    // another database, is older than its going to sleep. Without pauses there were 5,000.
    expect(virtual.sent.length - before).toBeLessThan(80);
  });

  it('leaves the default queue of another service alone, now and later, until that is gone', async () => {
    const settings = readSettings({ service: 'shop' });
    const database = { ...virtual.engine.database, run: slowly };
    const engine = engineOver(database, JOBS, { clock: virtual.clock, settings });
    const starting = startDaemon(engine, { concurrency: 4 }, undefined, BEAT);
    await virtual.clock.advance(500);
    daemon = await starting;
    await test.sql(
      `insert into tock.workers (id, kind, host, pid, capacity, service, heartbeat_ms) values (gen_random_uuid(), 'daemon', 'web', 1, 1, 'billing', 24000)`,
    );
    await virtual.clock.advance(20_000);
    const runs = Array.from({ length: 30 }, (_, n) => ({
      job: 'known',
      queue: 'default:billing',
      run_at: new Date(Date.parse('2026-03-02T12:00:20Z') + 300 * n).toISOString(),
    }));
    await addRuns(test, ...runs);
    const succeeded = async () =>
      (await test.sql(`select from tock.job_runs where status = 'succeeded'`)).length;
    const before = virtual.sent.length;
    await virtual.clock.advance(15_000);
    expect([await succeeded(), virtual.sent.length - before < 80]).toEqual([0, true]);
    // It reports no more, for two and a half of its heartbeats.
    await virtual.clock.advance(60_000);
    expect(await succeeded()).toBe(30);
  });

  it.each([true, false])(
    'sends little while another session holds the only fair key that is ready (it listens: %s)',
    { tags: 'check' },
    async listen => {
      await test.sql(`insert into tock.fair_scopes (queue, path) values ('default', '$.tenant')`);
      await test.tock.enqueueMany([1, 2].map(() => ({ job: 'known', payload: { tenant: 'a' } })));
      await test.tock.tick({ queues: ['none'] });
      const engine = engineOver({ ...virtual.engine.database, run: slowly }, JOBS, { clock: virtual.clock });
      await whileHeld(test, 'select from tock.fair_keys for update', [], async () => {
        const starting = startDaemon(engine, { concurrency: 2, listen }, undefined, BEAT);
        await virtual.clock.advance(500);
        daemon = await starting;
        await virtual.clock.advance(10_000);
        const before = virtual.sent.length;
        await virtual.clock.advance(10_000);
        // Claims are repeated after 5 ms, 10 ms, 20 ms, … and begin anew with a poll.
        expect(virtual.sent.length - before).toBeLessThan(500);
      });
      await virtual.clock.advance(6000);
      expect(await test.sql(`select from tock.job_runs where status = 'succeeded'`)).toHaveLength(2);
    },
  );
});
