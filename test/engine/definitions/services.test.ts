// Engine: two services in one database. Each registers, changes and drops the definitions of its own only.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type AnyJob,
  declareJob,
  defineJob,
  defineQueue,
  type JobSchedule,
  type TockOptions,
} from '../../../src/index.js';
import { openForEach } from '../../support/open.js';
import { proveAll } from '../../support/prove-all.js';
import { reuseTestTock } from '../../support/test-tock.js';

const HOURLY: JobSchedule = { cron: '0 * * * *' };
const job = (name: string, schedule: JobSchedule | null = HOURLY) =>
  defineJob({ name, ...(schedule ? { schedule } : {}), run: () => null });
const jobs = (...names: readonly string[]) => names.map(name => job(name));
const test = openForEach(reuseTestTock, ({ setClock }) => setClock('2026-03-01T12:00:30Z'));
const of = (service: string, own: readonly AnyJob[], more: Partial<TockOptions> = {}) =>
  test.another({ service, jobs: own, allowVanishing: false, ...more });

/** Whose each definition is; `-` before what has vanished. */
const owners = async () =>
  (await test.tock.schedules.list())
    .map(({ name, service, vanishedAt }) => `${vanishedAt === null ? '' : '-'}${service}/${name}`)
    .sort();
const inForce = async () =>
  (
    await test.sql<{ service: string }>(
      'select service from tock.registrations where is_current order by service',
    )
  ).map(({ service }) => service);

describe('two services', () => {
  it('let nothing of each other vanish, whatever they register, in whatever order', async () => {
    const billing = of('billing', jobs('invoice', 'dun', 'close'));
    const shop = of('shop', jobs('restock'));
    expect(await billing.register()).toMatchObject({ status: 'registered', vanished: [] });
    expect(await shop.register()).toMatchObject({ status: 'registered', vanished: [] });
    expect(await of('billing', jobs('invoice', 'dun')).register()).toMatchObject({ vanished: ['close'] });
    expect(await of('shop', jobs('restock', 'count')).register()).toMatchObject({ added: ['count'] });
    expect(await owners()).toEqual([
      '-billing/close',
      'billing/dun',
      'billing/invoice',
      'shop/count',
      'shop/restock',
    ]);
    expect(await inForce()).toEqual(['billing', 'shop']);
  });

  it('roll back each by itself', async () => {
    const old = of('billing', jobs('invoice', 'dun'));
    await old.register();
    await of('shop', jobs('restock')).register();
    await test.advance('1m');
    await of('billing', jobs('invoice')).register();
    expect(await old.register()).toMatchObject({ status: 'superseded' });
    await test.advance('6m');
    await of('shop', jobs('restock')).register();
    expect(await old.register()).toMatchObject({ status: 'registered', changed: ['dun'], vanished: [] });
    expect(await owners()).toEqual(['billing/dun', 'billing/invoice', 'shop/restock']);
  });

  it('ask for each other’s leave: most of one’s own may not vanish, whatever the other has', async () => {
    await of('shop', jobs('a', 'b', 'c', 'd', 'e')).register();
    await of('billing', jobs('invoice', 'dun')).register();
    await expect(of('billing', jobs('other')).register()).rejects.toMatchObject({
      code: 'TOCK_WOULD_VANISH',
      message: expect.stringMatching(/^all 2 definitions of the service billing in the schema /),
    });
    expect(await of('billing', jobs('invoice')).register()).toMatchObject({ vanished: ['dun'] });
  });

  it('keep a name that one of them has, until it has dropped it or is gone for five minutes', async () => {
    const billing = of('billing', jobs('report'));
    await billing.register();
    const shop = of('shop', jobs('report', 'restock'));
    await expect(shop.register()).rejects.toMatchObject({
      code: 'TOCK_NAME_TAKEN',
      message: expect.stringContaining('report by billing'),
    });
    expect(await owners()).toEqual(['billing/report']);
    await test.advance('6m');
    expect(await shop.register()).toMatchObject({ status: 'registered', added: ['restock'], changed: [] });
    expect(await owners()).toEqual(['shop/report', 'shop/restock']);
    // What comes back late does not take the name again. It executes runs, and registers nothing.
    expect(await billing.register()).toMatchObject({ status: 'superseded' });
    expect((await billing.tick()).registered.status).toBe('superseded');
    await of('shop', jobs('restock')).register();
    expect(await billing.register()).toMatchObject({ status: 'registered' });
    expect(await owners()).toEqual(['billing/report', 'shop/restock']);
  });

  it('are in no one’s way with schedules that were made at run time', async () => {
    const billing = of('billing', [job('invoice', null)]);
    await billing.register();
    await billing.schedules.upsert({ name: 'monthly', job: 'invoice', cron: '0 7 1 * *' });
    await of('shop', jobs('restock')).register();
    expect(await of('billing', [job('invoice', null), job('dun')]).register()).toMatchObject({
      vanished: [],
    });
    expect(await owners()).toEqual(['/monthly', 'billing/dun', 'billing/invoice', 'shop/restock']);
    await billing.schedules.remove('monthly');
    expect(await of('shop', jobs('restock', 'monthly')).register()).toMatchObject({ changed: ['monthly'] });
    expect(await owners()).toEqual(['billing/dun', 'billing/invoice', 'shop/monthly', 'shop/restock']);
  });

  it('are retired one by one: a definition of one that is gone can be removed, and of no other', async () => {
    await of('billing', jobs('invoice')).register();
    const shop = of('shop', jobs('restock'));
    await shop.register();
    await expect(shop.schedules.remove('invoice')).rejects.toMatchObject({ code: 'TOCK_BAD_STATE' });
    await test.advance('6m');
    await shop.register();
    await expect(shop.schedules.remove('restock')).rejects.toMatchObject({ code: 'TOCK_BAD_STATE' });
    expect(await shop.schedules.remove('invoice')).toMatchObject({ name: 'invoice', service: '' });
    expect(await owners()).toEqual(['shop/restock']);
    // Should it come back, it has its definitions again.
    expect(await of('billing', jobs('invoice')).register()).toMatchObject({ status: 'registered' });
    expect(await owners()).toEqual(['billing/invoice', 'shop/restock']);
  });

  it('state a queue together: it is in code as long as one of them does', async () => {
    const mails = defineQueue({ name: 'mails', concurrency: 3 });
    const limit = async () =>
      (await test.tock.queues.list()).find(({ name }) => name === 'mails')?.concurrency;
    await of('billing', jobs('invoice'), { queues: [mails] }).register();
    await of('shop', jobs('restock'), { queues: [mails] }).register();
    await of('billing', jobs('invoice', 'dun')).register();
    expect(await limit()).toBe(3);
    await of('shop', jobs('restock', 'count')).register();
    expect(await limit()).toBeUndefined();
  });

  it('keep what their jobs say of fair keys', async () => {
    const fair = (name: string) =>
      defineJob({ name, fair: { key: '$.tenant' }, run: (_ctx, _payload: { tenant?: string }) => null });
    const scopes = async () =>
      (await test.sql<{ job: string }>('select job from tock.fair_scopes order by job')).map(
        each => each.job,
      );
    await of('billing', [fair('invoice')]).register();
    await of('shop', [fair('restock'), job('count')]).register();
    expect(await scopes()).toEqual(['invoice', 'restock']);
    await of('shop', [job('restock'), job('count')]).register();
    expect(await scopes()).toEqual(['invoice']);
  });
});

describe('a service that gets a name', () => {
  it('takes its definitions along: id, cursor and version stay, and nothing is withdrawn', async () => {
    const unnamed = of('', jobs('invoice', 'dun'));
    await unnamed.register();
    const before = await unnamed.schedules.list();
    await test.advance('10m');
    const named = of('billing', jobs('invoice', 'dun'));
    expect(await named.register()).toEqual({ status: 'registered', added: [], changed: [], vanished: [] });
    const queue = 'default:billing';
    expect(await named.schedules.list()).toEqual(
      before.map(each => ({ ...each, service: 'billing', queue })),
    );
    expect(await inForce()).toEqual(['billing']);
    await test.advance('2h');
    await named.tick();
    expect(await proveAll(test.tock)).toEqual([]);
    // Processes from before the deploy go on, and register nothing.
    expect(await unnamed.register()).toMatchObject({ status: 'superseded' });
    expect(await inForce()).toEqual(['billing']);
  });

  it('gives them back where that is rolled back', async () => {
    const unnamed = of('', jobs('invoice', 'dun'));
    await unnamed.register();
    const named = of('billing', [job('invoice'), job('dun', { cron: '30 * * * *' })]);
    expect(await named.register()).toMatchObject({ changed: ['dun'] });
    await test.advance('6m');
    expect(await unnamed.register()).toMatchObject({ status: 'registered', changed: ['dun'] });
    // As of when the service was last seen: what came due since then is caught up.
    const [dun] = await test.tock.schedules.list({ name: 'dun' });
    expect(dun?.cursor).toEqual(new Date('2026-03-01T12:00:30Z'));
    expect(await owners()).toEqual(['/dun', '/invoice']);
    expect(await inForce()).toEqual(['']);
    // A process that was left behind undoes no roll-back; a new set, or one that comes once that is gone, does.
    expect(await named.register()).toMatchObject({ status: 'superseded' });
    await test.advance('6m');
    expect(await named.register()).toMatchObject({ status: 'registered', changed: ['dun'] });
    expect(await owners()).toEqual(['billing/dun', 'billing/invoice']);
  });

  it('lets what it has no more be removed, and what it states no more be dropped', async () => {
    const mails = defineQueue({ name: 'mails', concurrency: 1 });
    await of('', jobs('invoice', 'dun'), { queues: [mails] }).register();
    await of('billing', jobs('invoice', 'dun')).register();
    expect((await test.tock.queues.list()).find(({ name }) => name === 'mails')).toBeUndefined();

    await of('', jobs('invoice', 'old'))
      .register()
      .catch(() => undefined);
    await test.advance('6m');
    await of('', jobs('invoice', 'old')).register();
    const named = of('billing', [job('invoice'), job('new')]);
    await named.register();
    expect(await owners()).toEqual(['/old', 'billing/invoice', 'billing/new', '-billing/dun'].sort());
    await test.advance('6m');
    await named.register();
    await named.schedules.remove('old');
    expect(await owners()).toEqual(['-billing/dun', 'billing/invoice', 'billing/new']);
  });

  it('leaves what another application has without a name', async () => {
    await of('', jobs('invoice', 'restock')).register();
    await of('billing', jobs('invoice')).register();
    expect(await owners()).toEqual(['/restock', 'billing/invoice']);
    const other = of('', jobs('restock'));
    expect(await other.register()).toMatchObject({ status: 'registered', vanished: [] });
    expect(await inForce()).toEqual(['', 'billing']);
  });

  it('renames a job by its alias on the way', async () => {
    await of('', jobs('bill')).register();
    const [before] = await test.tock.schedules.list();
    const renamed = defineJob({ name: 'invoice', aliases: ['bill'], schedule: HOURLY, run: () => null });
    await of('billing', [renamed]).register();
    const after = await test.tock.schedules.list({ name: 'invoice' });
    expect(after).toMatchObject([{ id: before?.id, service: 'billing', cursor: before?.cursor }]);
  });

  it('is told where it takes the name of a job that another application without a name still registers', async () => {
    const other = of('', jobs('invoice', 'restock'));
    await other.register();
    await of('billing', jobs('invoice')).register();
    await expect(of('', jobs('invoice', 'restock', 'new')).register()).rejects.toMatchObject({
      code: 'TOCK_NAME_TAKEN',
    });
  });
});

describe('a declared job', () => {
  const begun: unknown[] = [];
  const mail = defineJob({
    name: 'mail',
    queue: 'mails',
    priority: 7,
    tags: ['outgoing'],
    retry: { maxAttempts: 3, backoff: () => '1s' },
    concurrency: { limit: 1 },
    payload: z.object({ to: z.string() }),
    run: (_ctx, payload) => {
      begun.push(payload);
      return { sent: payload.to };
    },
  });
  const declared = declareJob({ name: 'mail', payload: z.object({ to: z.string() }) });
  const shop = (own: readonly AnyJob[] = [job('restock'), declared]) => of('shop', own);

  it('is in no definition, and changes no set', async () => {
    expect(await shop([job('restock')]).register()).toMatchObject({ status: 'registered' });
    expect(await shop().register()).toMatchObject({ status: 'unchanged' });
    expect(await owners()).toEqual(['shop/restock']);
    expect([...shop().jobs.keys()]).toEqual(['restock']);
  });

  it('cannot be enqueued before a service has registered it, and no longer than that', async () => {
    const tock = shop();
    await tock.register();
    const refusal = {
      code: 'TOCK_UNKNOWN_JOB',
      message: expect.stringMatching(
        /^job mail is declared here \(declareJob\), but no service has registered it/,
      ),
    };
    await expect(tock.enqueue('mail', { to: 'a' })).rejects.toMatchObject(refusal);
    await of('billing', [mail, job('dun')]).register();
    await tock.enqueue('mail', { to: 'a' });
    await of('billing', [job('dun')]).register();
    await expect(tock.enqueueMany([{ job: 'mail', payload: { to: 'a' } }])).rejects.toMatchObject(refusal);
  });

  it('is enqueued as the other service defines it, unless the call says otherwise', async () => {
    await of('billing', [mail]).register();
    const tock = shop();
    const [first, second] = await tock
      .enqueueMany([
        { job: declared, payload: { to: 'a' } },
        { job: 'restock' },
        { job: declared, payload: { to: 'b' }, priority: 1, queue: 'urgent', tags: ['now'], maxAttempts: 9 },
      ])
      .then(([a, , b]) => [a ?? '', b ?? '']);
    expect(await tock.runs.get(first ?? '')).toMatchObject({
      queue: 'mails',
      priority: 7,
      maxAttempts: 3,
      tags: ['outgoing'],
    });
    expect(await tock.runs.get(second ?? '')).toMatchObject({
      queue: 'urgent',
      priority: 1,
      maxAttempts: 9,
      tags: ['outgoing', 'now'],
    });
    await expect(tock.enqueue('mail', { to: 1 })).rejects.toMatchObject({ code: 'TOCK_BAD_PAYLOAD' });
  });

  it('is executed by the service that defines it, and not here', async () => {
    const billing = of('billing', [mail]);
    await billing.register();
    const tock = shop();
    const id = await tock.enqueue(declared, { to: 'me' });
    await tock.tick();
    expect((await tock.runs.get(id))?.status).not.toBe('succeeded');
    await billing.tick();
    expect(await tock.runs.get(id)).toMatchObject({ status: 'succeeded', output: { sent: 'me' } });
    expect(begun).toEqual([{ to: 'me' }]);
  });

  it('may be what dead runs are redirected to, and what a schedule made at run time executes', async () => {
    const rescue = defineJob({
      name: 'rescue',
      queue: 'help',
      run: (_ctx, { job: of }: { job?: string }) => of,
    });
    const fails = defineJob({
      name: 'fails',
      retry: { maxAttempts: 1 },
      onDead: 'rescue',
      run: () => {
        throw new Error('broken');
      },
    });
    await of('billing', [rescue, job('dun')]).register();
    const tock = of('shop', [fails, declareJob({ name: 'rescue' })]);
    await tock.enqueue('fails');
    await tock.tick();
    await of('billing', [rescue, job('dun')]).tick();
    expect(await tock.runs.list({ job: 'rescue' })).toMatchObject([
      { status: 'succeeded', queue: 'help', output: 'fails' },
    ]);
    expect(await tock.schedules.upsert({ name: 'nightly', job: 'rescue', cron: '0 3 * * *' })).toMatchObject({
      queue: 'help',
      service: '',
    });
  });

  it('cannot be defined here too, nor declared twice, nor be an alias', () => {
    const both = (own: readonly AnyJob[]) => () => of('shop', own);
    const refusal = expect.objectContaining({ code: 'TOCK_DUPLICATE_JOB' });
    expect(both([declared, mail])).toThrow(refusal);
    expect(both([declared, declareJob({ name: 'mail' })])).toThrow(refusal);
    expect(both([declared, defineJob({ name: 'post', aliases: ['mail'], run: () => null })])).toThrow(
      refusal,
    );
  });

  it('names what is wrong where it is declared', () => {
    for (const [wrong, message] of [
      [{ name: '' }, /services\.test\.ts.*cannot be the name of a job/],
      [{ name: 'a', payload: {} }, /not a Standard Schema/],
      [{ name: 'a', queue: 'b' }, /queue/],
      [null, /declareJob takes an object/],
    ] as const)
      expect(() => declareJob(wrong as never)).toThrow(message);
    expect(() => declared.run({} as never, { to: '' })).toThrow(/another service executes it/);
  });
});

it('an idle tick is idle for its own set only', async () => {
  const [billing, shop] = [of('billing', [job('invoice', null)]), of('shop', [job('invoice', null)])];
  await billing.register();
  const { rows } = { rows: await test.sql('select service, fingerprint from tock.registrations') };
  expect(rows).toHaveLength(1);
  await expect(shop.tick()).rejects.toMatchObject({ code: 'TOCK_NAME_TAKEN' });
  await billing.tick();
  const [tick] = await test.sql('select service, fingerprint from tock.ticks');
  expect(tick).toEqual(rows[0]);
});
