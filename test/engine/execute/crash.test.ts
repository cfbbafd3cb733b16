// What a worker writes when an uncaught error ends its process; which runs are suspects, and what that means.
import { beforeEach, describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/engine/engine.js';
import { openWorker } from '../../../src/engine/worker/worker.js';
import { type AnyJob, defineJob } from '../../../src/index.js';
import { SUSPECTS } from '../../../src/model/run/limits.js';
import { openDatabase } from '../../support/database.js';
import { engineOver } from '../../support/engine.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock, until } from '../../support/test-tock.js';

interface Tables {
  pg_class: { oid: number };
}

const test = openForEach(() => reuseTestTock([hold]));
const database = openForEach(() => openDatabase({ connectionString: test.url }));
let begun: number;
const hold = defineJob({
  name: 'hold',
  run: () => {
    begun++;
    return new Promise(() => undefined);
  },
});
beforeEach(() => {
  begun = 0;
});

const engineWith = (jobs: readonly AnyJob[], isolation: Engine['isolation'] = null) =>
  engineOver(database, jobs, { isolation });
const claimHeld = async (count: number, engine = engineWith([hold])) => {
  const worker = openWorker(engine, { kind: 'library', concurrency: 10 });
  await worker.claim();
  await until(async () => begun === count, `${count} handlers to begin`);
  begun = 0;
  return worker;
};
const rows = () =>
  test.sql(
    `select status, attempts, releases, slot_keys, jsonb_array_length(errors) as errors, count(*)::int as count
     from tock.job_runs group by 1, 2, 3, 4, 5 order by status, releases desc`,
  );
const GIVEN_BACK = { status: 'queued', attempts: 0, releases: 1, slot_keys: ['isolated'], errors: 1 };

describe('a crash', () => {
  it('releases prefetched runs as if they had not been claimed, and keeps what has ended', {
    tags: 'check',
  }, async () => {
    const crashed: Promise<void>[] = [];
    let count = 0;
    const quick = defineJob({
      name: 'quick',
      run: () => {
        if (++count < 300) return null;
        crashed.push(worker.crash(new Error('boom')));
        return new Promise(() => undefined);
      },
    });
    const worker = openWorker(engineWith([quick]), { kind: 'library', concurrency: 1 });
    const tock = test.another({ jobs: [quick] });
    await tock.enqueueMany(Array.from({ length: 2000 }, () => ({ job: quick })));
    await worker.claim();
    await until(async () => crashed.length > 0, 'the crash');
    await crashed[0];
    expect(worker.outcomeCounts.deferred).toBeGreaterThan(0);
    expect(await rows()).toEqual([
      // Not alone: what those before it have left behind may have thrown.
      { ...GIVEN_BACK, count: 1 },
      { status: 'queued', attempts: 0, releases: 0, slot_keys: null, errors: 0, count: 1700 },
      { status: 'succeeded', attempts: 1, releases: 0, slot_keys: null, errors: 0, count: 299 },
    ]);
    expect(await test.sql('select * from tock.workers')).toEqual([]);
  });

  it('lets few suspects run at once afterwards, and counts a second crash', async () => {
    await test.tock.enqueueMany(Array.from({ length: 6 }, () => ({ job: hold })));
    await (await claimHeld(6)).crash(new Error('boom'));
    expect(await rows()).toEqual([{ ...GIVEN_BACK, count: 6 }]);
    const next = await claimHeld(SUSPECTS.limit);
    expect(next.running).toBe(SUSPECTS.limit);
    await next.crash(new Error('boom'));
    expect(await rows()).toEqual([
      { ...GIVEN_BACK, status: 'failed', attempts: 1, errors: 2, count: SUSPECTS.limit },
      { ...GIVEN_BACK, count: 2 },
    ]);
  });

  it('leaves alone a run whose transaction has committed its success', async () => {
    const committed = defineJob({
      name: 'committed',
      async run(ctx) {
        await ctx.transaction(
          async trx => await trx.withTables<Tables>().selectFrom('pg_class').select('oid').limit(1).execute(),
        );
        begun++;
        return await new Promise(() => undefined);
      },
    });
    await test.another({ jobs: [committed] }).enqueue(committed);
    const worker = await claimHeld(1, engineWith([committed]));
    await worker.crash(new Error('boom'));
    expect(worker.outcomeCounts).toMatchObject({ succeeded: 1, lost: 0 });
    expect(await rows()).toMatchObject([{ status: 'succeeded', errors: 0 }]);
  });
});

describe('a lease that expires', () => {
  const isolation = { entry: '/nowhere', jobsModule: '/nowhere', connection: {} } as Engine['isolation'];
  const loseLease = async (engine: Engine) => {
    const { reap } = await import('../../../src/engine/reap.js');
    const worker = openWorker(engine, { kind: 'library' });
    await test.sql(
      `update tock.job_runs_live set status = 'running', attempts = attempts + 1, fence = fence + 1,
         locked_by = gen_random_uuid(), locked_until = tock.now() - interval '1 second', run_at = tock.now() - interval '1 second'`,
    );
    await reap(engine);
    await worker.stop();
    return (await rows())[0]?.['slot_keys'];
  };

  it('makes a suspect of a run when it is the second one in a row, where children can be had', async () => {
    await test.tock.enqueue(hold);
    const engine = engineWith([hold], isolation);
    expect(await loseLease(engine)).toBeNull();
    expect(await loseLease(engineWith([hold]))).toBeNull();
    expect(await loseLease(engine)).toEqual(['isolated']);
    expect(await loseLease(engine)).toEqual(['isolated']);
  });

  it('makes none where the attempt before had failed by itself', async () => {
    await test.tock.enqueue(hold);
    const engine = engineWith([hold], isolation);
    await loseLease(engine);
    await test.sql(`update tock.job_runs_live set errors = errors || '{"code": null}'`);
    expect(await loseLease(engine)).toBeNull();
  });
});

it('a library installs nothing in the process of its app', { tags: 'check' }, async () => {
  const listeners = () => process.eventNames().map(name => [name, process.listenerCount(name)]);
  // oxlint-disable-next-line typescript/unbound-method -- compared, not called
  const before = [listeners(), process.exit];
  await test.another({ drain: 0, grace: 0 }).start();
  await test.tock.enqueue(hold);
  await until(async () => begun === 1, 'a handler to start');
  // oxlint-disable-next-line typescript/unbound-method -- compared, not called
  expect([listeners(), process.exit]).toEqual(before);
});
