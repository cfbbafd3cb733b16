// A daemon whose claims start at watermarks, and runs that become claimable below them.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Daemon, startDaemon } from '../../src/daemon/daemon.js';
import type { Worker } from '../../src/engine/worker/worker-interface.js';
import { defineJob } from '../../src/index.js';
import type { Session } from '../../src/store/connection/database.js';
import { openDatabase } from '../support/database.js';
import { engineOver } from '../support/engine.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock, until } from '../support/test-tock.js';

const noop = defineJob({ name: 'noop', run: () => null });
const HOUR_AGO = () => new Date(Date.now() - 3_600_000);

const test = openForEach(() => reuseTestTock([noop]));
const database = openForEach(() => openDatabase({ connectionString: test.url }));
let daemon: Daemon;
/** Which statements were sent, by what only they have. */
let sent: string[];
let workers: Set<Worker>;
beforeEach(() => {
  sent = [];
  workers = new Set();
});
afterEach(async () => {
  await daemon.stop();
});

/** A daemon that has executed some runs, one after the other, and sleeps. */
const start = async (listen: boolean) => {
  const noting =
    (session: Session): Session['run'] =>
    (text, ...rest) => {
      if (text.includes('locked_by = $')) sent.push('claim');
      return session.run(text, ...rest);
    };
  const engine = engineOver({ ...database, run: noting(database) }, [noop], { workers });
  daemon = await startDaemon(engine, { listen });
  for (let n = 0; n < 4; n++) {
    await test.tock.enqueue(noop);
    await ended();
  }
  await until(
    () => Promise.resolve([...workers].some(worker => worker.watermarks.known.length > 0)),
    'claims to start at watermarks',
  );
};
const ended = () =>
  until(
    async () =>
      (await test.sql<{ live: boolean }>(`select exists (select from tock.job_runs_live) as live`))[0]
        ?.live === false,
    'all runs to end',
  );

describe.each([
  ['that listens', true],
  ['that polls', false],
])('a daemon %s', (_what, listens) => {
  it('executes a run that was enqueued for the past, though it sleeps and all else lies above', async () => {
    await start(listens);
    await test.tock.enqueue(noop, null, { runAt: HOUR_AGO() });
    await ended();
    expect(daemon.outcomeCounts).toMatchObject({ lost: 0, failed: 0 });
  });

  it('executes what is enqueued while complete claims find old runs, and then comes to rest', async () => {
    await start(listens);
    for (let burst = 0; burst < 10; burst++) {
      for (let n = 0; n < 20; n++) await test.tock.enqueue(noop, null, n === 7 ? { runAt: HOUR_AGO() } : {});
      await new Promise(resolve => setTimeout(resolve, 150));
    }
    await ended();
    await until(() => Promise.resolve([...workers].every(worker => !worker.hasMore)), 'nothing more');
    await new Promise(resolve => setTimeout(resolve, 300));
    sent = [];
    await new Promise(resolve => setTimeout(resolve, 1000));
    expect(sent.filter(each => each === 'claim').length).toBeLessThan(10);
  });
});
