// Runs on their way through a worker: prefetched, executed once, in order; or released.
// In the check: what is prefetched depends on how quick the machine is.
import { describe, expect, it } from 'vitest';
import { openWorker } from '../../../src/engine/worker/worker.js';
import { defineJob } from '../../../src/index.js';
import type { Database } from '../../../src/store/connection/database.js';
import { openDatabase } from '../../support/database.js';
import { engineOver } from '../../support/engine.js';
import { gate } from '../../support/gate.js';
import { openForEach } from '../../support/open.js';
import { rounds } from '../../support/rounds.js';
import { reuseTestTock, until } from '../../support/test-tock.js';

interface Tables {
  'tock.job_effects': { key: string };
}

describe('a worker', () => {
  const test = openForEach(reuseTestTock);
  const count = async (status: string) =>
    (
      await test.sql<{ count: number }>(
        `select count(*)::int as count from tock.job_runs where status = $1`,
        [status],
      )
    )[0]?.count;

  it('releases prefetched runs that cannot start, without counting the attempt', async () => {
    let starts = 0;
    let isSlow = true;
    const { opened: held, open: release } = gate();
    const job = defineJob({
      name: 'changes',
      // From the two-thousandth on slow, when it works at full speed.
      run: () => (++starts > 2000 && isSlow ? held : undefined),
    });
    const tock = test.another({ jobs: [job] });
    await tock.enqueueMany(Array.from({ length: 6000 }, () => ({ job })));
    const daemon = await tock.start({ concurrency: 2 });
    await until(async () => daemon.outcomeCounts.deferred > 0, 'runs to be given back');
    await until(async () => (await count('running')) === 2, 'only those to be held that are executed');
    const [row] = await test.sql(
      `select max(attempts) as attempts from tock.job_runs_live where status = 'queued'`,
    );
    expect(row).toEqual({ attempts: 0 });
    isSlow = false;
    release();
    await until(async () => (await count('succeeded')) === 6000, 'all to be executed');
    await daemon.stop();
    expect(daemon.outcomeCounts).toMatchObject({ succeeded: 6000, lost: 0, failed: 0 });
  });

  it('passes slots on no more where no run waits for one, and again once one has waited', {
    tags: 'check',
  }, async () => {
    const job = defineJob({
      name: 'keyed',
      concurrency: { limit: 1, key: payload => String((payload as { key: number }).key) },
      run: () => null,
    });
    const tock = test.another({ jobs: [job] });
    const database = openDatabase({ connectionString: test.url });
    let passedOn = 0;
    const watched: Database = {
      ...database,
      run(...given) {
        if (given[0].includes('recipients as (')) passedOn++;
        return database.run(...given);
      },
    };
    const engine = engineOver(watched, [job]);
    const worker = openWorker(engine, { kind: 'library', concurrency: 50 });
    let expected = 0;
    /** Executes runs of these keys. Returns how many statements passed slots on meanwhile. */
    const execute = async (keys: readonly number[]) => {
      const before = passedOn;
      await tock.enqueueMany(keys.map(key => ({ job, payload: { key } })));
      expected += keys.length;
      await until(async () => {
        await worker.claim();
        return (await count('succeeded')) === expected;
      }, `${expected} runs to be executed`);
      return passedOn - before;
    };
    const apart = Array.from({ length: 3000 }, (_, key) => key);
    expect(await execute(apart)).toBeGreaterThan(0);
    expect(await execute(apart)).toBe(0);
    expect(await execute(Array.from({ length: 20 }, () => 7))).toBeGreaterThan(0);
    await worker.stop();
    await database.close();
  });

  it('goes on claiming by itself, also where handlers end before the claim has', {
    tags: 'check',
  }, async () => {
    const job = defineJob({ name: 'instant', run: () => null });
    const tock = test.another({ jobs: [job] });
    await tock.enqueueMany(Array.from({ length: 500 }, () => ({ job })));
    const database = openDatabase({ connectionString: test.url });
    const engine = engineOver(database, [job]);
    const worker = openWorker(engine, { kind: 'library', concurrency: 10 });
    // Once, and nobody else does: as while a daemon waits for the reaper.
    await worker.claim();
    await until(async () => (await count('succeeded')) === 500, 'all to be executed');
    await worker.stop();
    await database.close();
    expect(worker.outcomeCounts).toMatchObject({ claimed: 500, succeeded: 500, lost: 0 });
  });

  it('executes each run once while several work at full speed, and claims an urgent run meanwhile', {
    tags: 'check',
  }, async () => {
    const seen = new Map<string, number>();
    let urgentAfter = Number.POSITIVE_INFINITY;
    const { opened: enqueued, open: release } = gate();
    const job = defineJob({
      name: 'busy',
      run: (ctx, payload: unknown) => {
        seen.set(ctx.runId, (seen.get(ctx.runId) ?? 0) + 1);
        if (payload === 'urgent') urgentAfter = seen.size;
        // Else nothing may be left, on a busy machine, when it is enqueued.
        return seen.size > 10_000 ? enqueued : undefined;
      },
    });
    const hosts = [1, 2, 3].map(() => test.another({ jobs: [job] }));
    const [first] = hosts;
    if (!first) throw new Error('no host');
    const batches = rounds(5, 16);
    const all = batches * 5000 + 1;
    for (let batch = 0; batch < batches; batch++)
      await first.enqueueMany(Array.from({ length: 5000 }, () => ({ job })));
    const daemons = await Promise.all(hosts.map(host => host.start({ concurrency: 50 })));
    await until(async () => seen.size > 2000, 'the work to be under way');
    await first.enqueue(job, 'urgent', { priority: -5 });
    release();
    await until(async () => (await count('succeeded')) === all, 'all to be executed');
    await Promise.all(daemons.map(daemon => daemon.stop()));
    expect(seen.size).toBe(all);
    expect([...seen.values()].every(times => times === 1)).toBe(true);
    expect(urgentAfter).toBeLessThan(all - 1);
  });

  it('gives handlers a context that can be destructured', { tags: 'check' }, async () => {
    const job = defineJob({
      name: 'apart',
      run: async ({ step, once, transaction, enqueue, log, progress, signal, scheduler, db, runId }) => {
        log.info({}, 'begun');
        progress(0.5, 'half');
        await step('one', () => 1);
        await once(`apart-${runId}`, () => 2);
        await enqueue<string>('other');
        const { definitions } = await scheduler.status();
        const rows = await db.withTables<Tables>().selectFrom('tock.job_effects').selectAll().execute();
        return await transaction(() => ({ rows: rows.length, definitions, aborted: signal.aborted }));
      },
    });
    const tock = test.another({ jobs: [job, defineJob({ name: 'other', run: () => null })] });
    const id = await tock.enqueue(job);
    await tock.tick();
    expect(await tock.runs.get(id)).toMatchObject({
      status: 'succeeded',
      output: { rows: 2, aborted: false },
    });
  });
});
