// Engine: limits over all hosts: places under a job's keys, a queue's concurrency, rate and window; and fairness.
import { beforeEach, describe, expect, it } from 'vitest';
import { type AnyJob, defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock, until } from '../support/test-tock.js';

const test = openForEach(reuseTestTock);
let now: Map<string, number>;
let most: Map<string, number>;
let order: string[];
beforeEach(() => {
  now = new Map();
  most = new Map();
  order = [];
});

/** Counts how many of each name are at work at once, over all Tocks of this process. */
const counted = async (name: string) => {
  const count = (now.get(name) ?? 0) + 1;
  now.set(name, count);
  most.set(name, Math.max(most.get(name) ?? 0, count));
  order.push(name);
  await test.sql('select 1');
  now.set(name, (now.get(name) ?? 0) - 1);
};
type Tenant = { readonly tenant: string };
const perTenant = (limit: number, more: object = {}): AnyJob =>
  defineJob({
    name: 'sync',
    concurrency: { limit, key: (payload: unknown) => (payload as Tenant).tenant },
    ...more,
    run: (_ctx, payload: unknown) => counted((payload as Tenant).tenant),
  });
const left = () => test.sql('select concurrency_key, slot from tock.job_slots');
const succeeded = async () =>
  (
    await test.sql<{ count: number }>(
      `select count(*)::int as count from tock.job_runs where status = 'succeeded'`,
    )
  )[0]?.count;

describe('a job’s concurrency', () => {
  it('passes a slot on to the next run of the key, one at a time and in their order', async () => {
    await test.sql(`
      create table public.passed_on (run_id bigint);
      create function public.pass_on() returns trigger language plpgsql as $$ begin
        insert into public.passed_on values (new.id); return null; end $$;
      create trigger pass_on after update on tock.job_runs_live for each row
        when (old.blocked_on is not null and new.status = 'running') execute function public.pass_on();`);
    const ran: number[] = [];
    const job = defineJob({
      name: 'numbered',
      concurrency: { limit: 1 },
      run: async (_ctx, payload: unknown) => {
        ran.push((payload as { n: number }).n);
        await counted('numbered');
      },
    });
    const tock = test.another({ jobs: [job] });
    await tock.enqueueMany(Array.from({ length: 40 }, (_, n) => ({ job, payload: { n } })));
    expect((await tock.tick()).executed).toMatchObject({ claimed: 40, succeeded: 40 });
    expect(ran).toEqual(Array.from({ length: 40 }, (_, n) => n));
    expect(most.get('numbered')).toBe(1);
    expect(await test.sql('select from public.passed_on')).not.toEqual([]);
    expect(await left()).toEqual([]);
  });

  it('does not let a flood of one key starve the others', async () => {
    const job = perTenant(1);
    const tock = test.another({ jobs: [job] });
    await tock.enqueueMany(Array.from({ length: 300 }, () => ({ job, payload: { tenant: 'flood' } })));
    await tock.enqueueMany(['x', 'y', 'z'].map(tenant => ({ job, payload: { tenant } })));
    await tock.tick({ concurrency: 4 });
    // With one place for the flood, the three that came last are among the first.
    expect(order.slice(0, 12)).toEqual(expect.arrayContaining(['x', 'y', 'z']));
    expect(most.get('flood')).toBe(1);
    expect(order).toHaveLength(303);
  });

  it('holds for runs that were enqueued in SQL: they come back with their place, and no attempt is counted', async () => {
    const job = perTenant(1);
    const tock = test.another({ jobs: [job] });
    const ids: string[] = [];
    for (let count = 0; count < 4; count++) {
      const [row] = await test.sql<{ id: string }>(`select tock.enqueue('sync', '{"tenant": "sql"}') as id`);
      ids.push(row?.id ?? '');
    }
    const { executed } = await tock.tick();
    expect(executed).toMatchObject({ deferred: 4, succeeded: 4, failed: 0 });
    expect(most.get('sql')).toBe(1);
    for (const id of ids) expect(await tock.runs.get(id)).toMatchObject({ status: 'succeeded', attempts: 1 });
  });

  it('refuses what is no limit, and a key that is none', async () => {
    const make = (concurrency: object) =>
      defineJob({ name: 'sync', concurrency: concurrency as { limit: number }, run: () => null });
    expect(() => make({ limit: 0 })).toThrow('concurrency.limit 0 is not a whole number from 1');
    expect(() => make({ limit: 1, key: 'tenant' })).toThrow('concurrency.key "tenant" is not a function');
    const tock = test.another({ jobs: [make({ limit: 1, key: () => null })] });
    await expect(tock.enqueue('sync')).rejects.toMatchObject({ code: 'TOCK_BAD_KEY' });
  });
});

describe('a queue', () => {
  const job = defineJob({ name: 'work', run: (_ctx, name: unknown) => counted(String(name)) });
  const open = () => test.another({ jobs: [job] });

  it('runs at most as many at once as the limit, over all hosts', async () => {
    const hosts = [open(), open(), open()];
    await hosts[0]?.queues.set('narrow', { concurrency: 2 });
    await hosts[0]?.enqueueMany(
      Array.from({ length: 60 }, () => ({ job, payload: 'narrow', queue: 'narrow' })),
    );
    const daemons = await Promise.all(hosts.map(host => host.start({ concurrency: 5 })));
    await until(async () => (await succeeded()) === 60, 'all to have run');
    await Promise.all(daemons.map(daemon => daemon.stop()));
    expect(most.get('narrow')).toBe(2);
    expect(await left()).toEqual([]);
  });

  it('with a high rate gives a second’s worth at once, and over hosts no more', async () => {
    await test.setClock('2026-03-01T12:00:00Z');
    const hosts = [open(), open(), open()];
    await hosts[0]?.queues.set('fast', { rate: { count: 10, per: '1s' } });
    await hosts[0]?.enqueueMany(Array.from({ length: 50 }, () => ({ job, payload: 'fast', queue: 'fast' })));
    await Promise.all(hosts.map(host => host.tick()));
    await hosts[0]?.tick();
    expect(order).toHaveLength(10);
    await test.advance('200ms');
    await Promise.all(hosts.map(host => host.tick()));
    await hosts[0]?.tick();
    expect(order).toHaveLength(12);
  });

  it('that is paused starts nothing, not even by hand, and costs the others nothing', async () => {
    const tock = open();
    await tock.queues.pause('stopped', { note: 'paper jam' });
    const id = await tock.enqueue(job, 'stopped', { queue: 'stopped' });
    await tock.enqueue(job, 'other');
    await tock.tick();
    expect(order).toEqual(['other']);
    expect(await tock.queues.list()).toMatchObject([
      { name: 'stopped', pauseReason: 'paper jam', waiting: 1, running: 0 },
    ]);
    const waiting = tock.runs.wait(id, { execute: true });
    await tock.tick();
    expect(order).toEqual(['other']);
    await tock.queues.resume('stopped');
    expect(await waiting).toMatchObject({ status: 'succeeded' });
  });

  it('keeps limits that are not named, and takes back what is null', async () => {
    const tock = open();
    await tock.queues.set('q', { concurrency: 3, rate: { count: 5, per: '1m' }, window: '01:00-02:00' });
    expect(await tock.queues.set('q', { concurrency: null })).toMatchObject({
      concurrency: null,
      rate: { count: 5, perMs: 60_000 },
      window: '01:00-02:00',
    });
    expect(await tock.queues.set('q', { rate: null, window: null })).toMatchObject({
      rate: null,
      window: null,
    });
    expect([await tock.queues.remove('q'), await tock.queues.remove('q')]).toEqual([true, false]);
    for (const limits of [
      { concurrency: -1 },
      { concurrency: 1.5 },
      { rate: { count: 0, per: '1m' } },
      { rate: { count: 1, per: 'soon' } },
      { window: '25:00-26:00' },
      { window: '06:00-06:00' },
      { timezone: 'Mars/Phobos' },
    ])
      await expect(tock.queues.set('q', limits)).rejects.toThrow(
        /not a|not two|is empty|no time zone|unknown|zone/,
      );
    expect(await tock.queues.list()).toEqual([]);
  });
});
