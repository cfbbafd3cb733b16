// Engine: the jobs of a named service that state no queue have one of their own, which others leave alone.
import { beforeEach, describe, expect, it } from 'vitest';
import { type AnyJob, declareJob, defineJob, defineQueue, type TockOptions } from '../../../src/index.js';
import { openForEach } from '../../support/open.js';
import { addRuns } from '../../support/runs.js';
import { reuseTestTock } from '../../support/test-tock.js';

const test = openForEach(reuseTestTock, ({ setClock }) => setClock('2026-03-01T12:00:30Z'));
const of = (service: string, own: readonly AnyJob[], more: Partial<TockOptions> = {}) =>
  test.another({ service, jobs: own, ...more });

let begun: string[];
beforeEach(() => {
  begun = [];
});
const job = (name: string, more: Partial<Parameters<typeof defineJob>[0]> = {}) =>
  defineJob({ name, run: ({ runId }) => void begun.push(`${name} ${runId}`), ...more });

const queueOf = async (id: string) => (await test.tock.runs.get(id))?.queue;

describe('a job of a named service that states no queue', () => {
  it('has the service’s own: its occurrences, runs, schedules and aliases', async () => {
    const billing = of('billing', [job('invoice', { aliases: ['bill'], schedule: { cron: '* * * * *' } })]);
    await billing.register();
    await billing.schedules.upsert({ name: 'monthly', job: 'invoice', cron: '0 7 1 * *' });
    const defined = await test.sql<{ name: string; queue: string }>(
      'select name, queue from tock.job_definitions order by name',
    );
    expect(defined).toEqual(['bill', 'invoice', 'monthly'].map(name => ({ name, queue: 'default:billing' })));
    await test.advance('1m');
    await billing.tick();
    const [byId] = await test.sql<{ id: string }>(`select tock.enqueue('invoice') as id`);
    const ids = [await billing.enqueue('invoice'), byId?.id ?? ''];
    expect(await Promise.all(ids.map(queueOf))).toEqual(['default:billing', 'default:billing']);
    const runs = await billing.runs.list({ job: 'invoice', status: 'succeeded' });
    expect(runs.map(run => run.queue)).toEqual(['default:billing']);
  });

  it('has it also where another service enqueues it, which declares it', async () => {
    await of('billing', [job('invoice')]).register();
    const id = await of('shop', [declareJob({ name: 'invoice' })]).enqueue('invoice');
    expect(await queueOf(id)).toBe('default:billing');
  });

  it.each([
    ['it states one', 'billing', { queue: 'bills' }, 'bills'],
    ['it states default', 'billing', { queue: 'default' }, 'default'],
    ['the service has no name', '', {}, 'default'],
  ])('has not where %s', async (_what, service, more, queue) => {
    const id = await of(service, [job('invoice', more)]).enqueue('invoice');
    expect(await queueOf(id)).toBe(queue);
  });

  it('gets it, and loses it, with the name of its service; its version stays, and what it has made is not withdrawn', async () => {
    const own = [
      job('invoice', { schedule: { cron: '* * * * *', jitter: '10m' } }),
      job('dun', { queue: 'mails' }),
    ];
    await of('', own).register();
    await test.advance('1m');
    await of('', own).tick();
    const stored = async () =>
      await test.sql(
        `select d.name, d.queue, d.version, (select count(*)::integer from tock.job_runs r where r.definition_id = d.id and r.status = 'skipped') as skipped
         from tock.job_definitions d order by d.name`,
      );
    const named = (queue: string) => [
      { name: 'dun', queue: 'mails', version: 1, skipped: 0 },
      { name: 'invoice', queue, version: 1, skipped: 0 },
    ];
    expect(await stored()).toEqual(named('default'));
    expect(await of('billing', own).register()).toMatchObject({ status: 'registered', changed: [] });
    expect(await stored()).toEqual(named('default:billing'));
    const stated = own.map(each => (each.name === 'invoice' ? { ...each, queue: 'default' } : each));
    await of('billing', stated).register();
    expect(await stored()).toEqual(named('default'));
    await of('billing', own).register();
    await test.advance('6m');
    expect(await of('', own).register()).toMatchObject({ status: 'registered', changed: [] });
    expect((await stored()).map(({ queue }) => queue)).toEqual(['mails', 'default']);
  });

  it('may not be taken from limits that the code states of the queue default', () => {
    const queues = [defineQueue({ name: 'default', concurrency: 2 })];
    expect(() => of('billing', [job('invoice')], { queues })).toThrow(
      expect.objectContaining({
        code: 'TOCK_BAD_OPTION',
        message: expect.stringContaining("write defineQueue({ name: 'default:billing'"),
      }),
    );
    for (const allowed of [
      () => of('billing', [job('invoice', { queue: 'default' })], { queues }),
      () => of('', [job('invoice')], { queues }),
    ])
      expect(allowed).not.toThrow();
  });
});

const alive = async (service: string) =>
  await test.sql(
    `insert into tock.workers (id, kind, host, pid, capacity, service, seen_at) values (gen_random_uuid(), 'daemon', 'web', 1, 1, $1, tock.now())`,
    [service],
  );

describe('a worker', () => {
  it('that names the queue default serves its service’s own, and what is left in those of others', async () => {
    const [billing, shop] = [of('billing', [job('invoice')]), of('shop', [job('invoice')])];
    const ids = [await billing.enqueue('invoice'), await shop.enqueue('invoice')];
    await billing.tick({ queues: ['default'] });
    expect(begun.toSorted()).toEqual(ids.map(id => `invoice ${id}`).toSorted());
  });

  it('without queues executes what waits in the queue default, as from before the service had a name', async () => {
    const id = await of('', [job('invoice')]).enqueue('invoice');
    await of('billing', [job('invoice')]).tick();
    expect(begun).toEqual([`invoice ${id}`]);
  });

  it('leaves another service’s queue to that while it is alive', async () => {
    await of('billing', [job('invoice')]).register();
    await addRuns(test, ...Array.from({ length: 30 }, () => ({ job: 'invoice', queue: 'default:billing' })));
    await alive('billing');
    const shop = of('shop', [job('restock')]);
    const id = await shop.enqueue('restock');
    await shop.tick({ concurrency: 4 });
    expect(begun).toEqual([`restock ${id}`]);
    expect(await test.sql('select from tock.job_runs_live where blocked_on is not null')).toEqual([]);
    // An idle tick is one.
    expect(await shop.tick()).toMatchObject({ executed: { claimed: 0 } });
  });

  it('executes what waits in the queue of a service that is gone, if it has got the job, however many they are', async () => {
    const billing = of('billing', [job('invoice'), job('dun')]);
    await billing.enqueueMany(Array.from({ length: 25 }, () => ({ job: 'invoice' })));
    await billing.register();
    await test.advance('6m');
    const shop = of('shop', [
      job('restock', { schedule: { cron: '* * * * *' }, queue: 'alpha' }),
      job('invoice'),
    ]);
    await shop.tick({ concurrency: 1 });
    expect(begun.filter(each => each.startsWith('invoice'))).toHaveLength(25);
  });

  it('of code without the name executes what is rolled back to it', async () => {
    const ids = await Promise.all([1, 2, 3, 4].map(() => of('billing', [job('invoice')]).enqueue('invoice')));
    await of('', [job('invoice')]).tick({ concurrency: 1, queues: ['default'] });
    expect(begun.toSorted()).toEqual(ids.map(id => `invoice ${id}`).toSorted());
  });
});
