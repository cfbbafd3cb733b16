// Isolated jobs: a handler in a process of its own cannot harm its worker, and never outlives its lease.
import { describe, expect, it } from 'vitest';
import { until } from '../support/test-tock.js';
import { childOf, ended, gone, isGone, start, test, tick } from './isolate-harness.js';

describe('a process that ends before its handler', () => {
  it.each([
    ['exit 0', /exit code 0 before the handler returned/],
    ['exit 3', /exit code 3 before the handler returned/],
    ['SIGKILL', /killed by SIGKILL/],
    ['SIGSEGV', /ended by SIGSEGV, a crash/],
    ['out of memory', /ran out of memory \(the heap reached 64 MB\)/],
  ])('is an attempt that failed: %s', async (how, message) => {
    const id = await test.tock.enqueue('ending', { how });
    const other = await test.tock.enqueue('plain');
    const worker = tick();
    const { code, stdout } = await worker.ended;
    expect(code).toBe(0);
    expect(stdout).toMatch(/1 succeeded, 1 dead/);
    expect(await test.tock.runs.get(id)).toMatchObject({
      status: 'dead',
      attempts: 1,
      errors: [{ name: 'TockError', code: 'TOCK_CHILD_EXITED', message: expect.stringMatching(message) }],
    });
    expect(await test.tock.runs.get(other)).toMatchObject({
      status: 'succeeded',
      output: worker.child.pid,
    });
    expect(isGone(await childOf(id))).toBe(true);
  });

  it.each(['transaction, then exit', 'transaction, then silence'])(
    'has succeeded if its own transaction had committed that: %s',
    async how => {
      const { outcomeCounts } = await start();
      const id = await test.tock.enqueue('ending', { how });
      expect(await ended(id)).toMatchObject({ status: 'succeeded', output: { committed: true }, errors: [] });
      await until(async () => outcomeCounts.succeeded === 1, 'the counts');
      expect(outcomeCounts).toMatchObject({ claimed: 1, succeeded: 1, lost: 0, dead: 0 });
    },
  );
});

describe('while (true) {}', () => {
  it('is killed after timeout and grace', async () => {
    await start();
    const id = await test.tock.enqueue('compute-with-timeout');
    const child = await childOf(id);
    expect(await ended(id)).toMatchObject({
      status: 'dead',
      errors: [{ name: 'TockError', code: 'TOCK_TIMEOUT', message: expect.stringMatching(/15000ms/) }],
    });
    await gone(child);
  });

  it('keeps no other run from going on', async () => {
    await start();
    const id = await test.tock.enqueue('compute', {});
    const child = await childOf(id);
    const others = await test.tock.enqueueMany(Array.from({ length: 20 }, () => ({ job: 'plain' })));
    for (const each of others) expect(await ended(each)).toMatchObject({ output: process.pid });
    expect(isGone(child)).toBe(false);
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'running', attempts: 1 });
  });

  it('is killed also where its process is frozen and cannot end itself', async () => {
    await start();
    const id = await test.tock.enqueue('frozen');
    const child = await childOf(id);
    expect(await ended(id)).toMatchObject({ status: 'dead', errors: [{ code: 'TOCK_TIMEOUT' }] });
    await gone(child);
  });

  it('keeps its lease while it computes, however long', async () => {
    await test.tock.close();
    // A busy machine may hold up a heartbeat for seconds.
    const short = test.another({ lease: '5s', heartbeat: '100ms' });
    await start(short);
    const id = await short.enqueue('compute', { ms: 11_000 });
    await childOf(id);
    const claimed = await short.runs.get(id);
    const host = test.another({ jobs: [], lease: '5s', heartbeat: '100ms' });
    const renewals = new Set<string>();
    const run = await until(async () => {
      expect((await host.tick({ budget: '0s' })).reaped).toMatchObject({ failed: 0, dead: 0 });
      const [held] = await test.sql<{ until: string }>(
        'select locked_until::text as until from tock.job_runs_live where id = $1',
        [id],
      );
      if (held) renewals.add(held.until);
      const found = await short.runs.get(id);
      return found?.finishedAt && found;
    }, 'the run to end');
    expect(run).toMatchObject({ status: 'succeeded', attempts: 1, output: 'computed', errors: [] });
    expect(renewals.size).toBeGreaterThan(3);
    // By the database's time it took more than two leases.
    expect(
      run.finishedAt && claimed?.startedAt && Number(run.finishedAt) - Number(claimed.startedAt),
    ).toBeGreaterThan(10_000);
  });
});

describe('an abort', () => {
  it.each([
    ['is heard by the handler', false],
    ['is enforced where the handler does not heed it', true],
  ])('on a cancel by another host %s', async (_name, stubborn) => {
    // Long enough for the child to write down the reason.
    await start(test.another({ grace: '5s' }));
    const id = await test.tock.enqueue('wait', { stubborn });
    const child = await childOf(id);
    await test.another({ jobs: [] }).runs.cancel(id);
    expect(await ended(id)).toMatchObject({ status: 'cancelled', attempts: 1 });
    await gone(child);
    expect(await test.sql('select reason from public.children')).toEqual([{ reason: 'Cancel' }]);
  });

  it('on a lost lease kills a handler that computes', async () => {
    const { outcomeCounts } = await start();
    const id = await test.tock.enqueue('compute', {});
    const child = await childOf(id);
    await test.sql('update tock.job_runs_live set fence = fence + 1 where id = $1', [id]);
    await until(async () => outcomeCounts.lost === 1, 'the loss');
    await gone(child);
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'running', fence: 2, errors: [] });
  });

  it.each([
    ['wait', {}, 'TOCK_DRAINING'],
    ['wait', { stubborn: true }, 'TOCK_DRAINING'],
    ['compute', {}, null],
  ])('on a drain releases the run: %s %j', async (job, payload, reason) => {
    const id = await test.tock.enqueue(job, payload);
    // The one that waits has to write down the reason within it.
    const worker = tick({ TOCK_DRAIN: '100ms', TOCK_GRACE: job === 'wait' ? '5s' : '500ms' });
    const child = await childOf(id);
    worker.child.kill('SIGTERM');
    expect(await worker.ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/1 released/) });
    expect(isGone(child)).toBe(true);
    expect(await test.tock.runs.get(id)).toMatchObject({
      status: 'queued',
      attempts: 0,
      releases: 1,
      errors: [],
    });
    expect(await test.sql('select reason from public.children')).toEqual([{ reason }]);
  });

  it('does not come from a signal to all processes, as supervisors send it: the drain decides', async () => {
    const id = await test.tock.enqueue('hold');
    const worker = tick({ TOCK_DRAIN: '30s' });
    const child = await childOf(id);
    process.kill(child, 'SIGTERM');
    process.kill(child, 'SIGINT');
    worker.child.kill('SIGTERM');
    await until(
      async () => (await test.sql('select 1 from tock.workers where draining')).length > 0,
      'the drain to begin',
    );
    await test.sql('insert into public.releases default values');
    expect(await worker.ended).toMatchObject({ code: 0, stdout: expect.stringMatching(/1 succeeded/) });
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', output: { pid: child } });
  });
});

describe('a worker that is killed', () => {
  it.each([
    ['compute', {}],
    ['wait', { withChild: true }],
  ])('takes its children with it, and theirs: %s', async (job, payload) => {
    const id = await test.tock.enqueue(job, payload);
    const worker = tick({ TOCK_LEASE: '2s' });
    const child = await childOf(id);
    const helper = job === 'wait' ? await childOf(id, 0) : null;
    worker.child.kill('SIGKILL');
    await worker.ended;
    await gone(child);
    if (helper !== null) await gone(helper);
    const host = test.another({ jobs: [] });
    const run = await until(async () => {
      await host.tick({ budget: '0s' });
      const found = await test.tock.runs.get(id);
      return found?.status === 'failed' && found;
    }, 'the run to be reaped');
    expect(run.errors).toMatchObject([{ code: 'TOCK_LEASE_LOST' }]);
  });

  it('and one that is frozen: its children end with the lease', async () => {
    const id = await test.tock.enqueue('compute', {});
    const worker = tick({ TOCK_LEASE: '2s' });
    const child = await childOf(id);
    worker.child.kill('SIGSTOP');
    await gone(child);
    worker.child.kill('SIGCONT');
    await worker.ended;
    // Where a heartbeat was under way when it froze, it wakes to a lost lease and writes nothing; the reaper tells it.
    const host = test.another({ jobs: [] });
    const [error, ...others] = await until(async () => {
      await host.tick({ budget: '0s' });
      const found = (await test.tock.runs.get(id))?.errors ?? [];
      return found.length > 0 && found;
    }, 'the end of the attempt');
    expect(others).toEqual([]);
    if (error?.code !== 'TOCK_LEASE_LOST')
      expect(error).toMatchObject({
        code: 'TOCK_CHILD_EXITED',
        message: expect.stringMatching(/when its lease was over.*frozen/),
      });
  });
});
