// Engine: an operator gives a run another payload.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type AnyJob, Dead, defineJob } from '../../../src/index.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';

const NOW = '2026-03-02T12:00:00Z';
let begun: unknown[] = [];
const mail = defineJob({
  name: 'mail',
  payload: z.object({ to: z.string(), fails: z.boolean().optional(), dies: z.boolean().optional() }),
  retry: { maxAttempts: 3, backoff: () => '1h' },
  run: (_ctx, { to, fails, dies }) => {
    begun.push(to);
    if (dies) throw new Dead('no such address');
    if (fails) throw new Error('later');
  },
});
const shop = (name: string, more: Partial<Parameters<typeof defineJob>[0]>): AnyJob =>
  defineJob({
    name,
    payload: z.object({ shop: z.string() }),
    run: (_ctx, payload) => void begun.push(payload),
    ...more,
  } as Parameters<typeof defineJob>[0]);
const JOBS = [
  mail,
  shop('limited', {
    concurrency: { limit: 1, key: (payload: unknown) => (payload as { shop: string }).shop },
  }),
  shop('fair', { fair: { key: '$.shop' } }),
  shop('strict', { concurrency: { limit: 1, key: '$.shop', order: 'strict' } as never }),
];
const test = openForEach(
  () => reuseTestTock(JOBS),
  async ({ setClock, tock }) => {
    begun = [];
    await setClock(NOW);
    await tock.register();
  },
);

const edit = async (id: string, to: string, options: { fence?: number; attempts?: number } = {}) =>
  await test.tock.runs.edit(id, { payload: { to }, ...options });
const as = (role: 'operate' | 'admin') =>
  test.tock.as({ name: 'mia', via: 'page', role, seesPayloads: true });
const get = async (id: string) => {
  const run = await test.tock.runs.get(id);
  if (run === null) throw new Error(`there is no run ${id}`);
  return run;
};

describe('a run that gets another payload', () => {
  it('waits on with it, where it waited', async () => {
    const id = await test.tock.enqueue('mail', { to: 'a' }, { key: 'k', priority: 3, delay: '5m' });
    const before = await get(id);
    expect(await edit(id, 'b')).toEqual({ ...before, payload: { to: 'b' }, fence: before.fence + 1 });
    await test.advance('5m');
    await test.tock.tick();
    expect(begun).toEqual(['b']);
  });

  it('keeps its attempts where one has failed', async () => {
    const id = await test.tock.enqueue('mail', { to: 'a', fails: true });
    await test.tock.tick();
    const failed = await get(id);
    expect(await edit(id, 'b')).toMatchObject({ status: 'failed', attempts: 1, runAt: failed.runAt });
    await test.advance('1h');
    await test.tock.tick();
    expect([begun, await get(id)]).toMatchObject([['a', 'b'], { status: 'succeeded', attempts: 2 }]);
  });

  it.each(['dead', 'cancelled'])('is retried with it, where it is %s', async status => {
    const id = await test.tock.enqueue('mail', { to: 'a', dies: true });
    if (status === 'dead') await test.tock.tick();
    else await test.tock.runs.cancel(id);
    const before = await get(id);
    expect(before.status).toBe(status);
    expect(await edit(id, 'b', { attempts: 7 })).toMatchObject({
      status: 'queued',
      generation: before.generation + 1,
      maxAttempts: before.attempts + 7,
      payload: { to: 'b' },
    });
    await test.tock.tick();
    expect([begun.at(-1), (await get(id)).status]).toEqual(['b', 'succeeded']);
  });

  it('is on record, with who did it', async () => {
    const id = await test.tock.enqueue('mail', { to: 'a' });
    const ann = test.tock.as({ name: 'ann', via: 'page', role: 'operate', seesPayloads: true });
    await ann.runs.edit(id, { payload: { to: 'b' } });
    expect((await test.tock.audit.list())[0]).toMatchObject({
      action: 'runs.edit',
      operator: 'ann',
      targets: [id],
      details: { job: 'mail' },
    });
  });
});

describe('an edit is refused, and changes nothing,', () => {
  it('where the payload does not fit the schema of the job', async () => {
    const id = await test.tock.enqueue('mail', { to: 'a' });
    await expect(test.tock.runs.edit(id, { payload: { to: 7 } })).rejects.toMatchObject({
      code: 'TOCK_BAD_PAYLOAD',
    });
    await expect(test.tock.runs.edit(id, { payload: undefined })).rejects.toMatchObject({
      code: 'TOCK_BAD_OPTION',
      message: expect.stringContaining(`runs.retry("${id}")`),
    });
    expect(await get(id)).toMatchObject({ payload: { to: 'a' }, fence: 0 });
  });

  it('where the code does not have the job', async () => {
    const id = await test.tock.enqueue('mail', { to: 'a' });
    await expect(
      test.another({ jobs: [defineJob({ name: 'other', run: () => null })] }).runs.edit(id, { payload: {} }),
    ).rejects.toMatchObject({ code: 'TOCK_UNKNOWN_JOB' });
  });

  it('where the run has succeeded, or is not there', async () => {
    const id = await test.tock.enqueue('mail', { to: 'a' });
    await test.tock.tick();
    await expect(edit(id, 'b')).rejects.toMatchObject({
      code: 'TOCK_BAD_STATE',
      message: expect.stringMatching(
        /is succeeded, and its payload cannot be edited any more: enqueue another/,
      ),
    });
    await expect(edit('999', 'b')).rejects.toMatchObject({ code: 'TOCK_NOT_FOUND' });
  });

  it('where it runs, and where it has been claimed since it was read', async () => {
    const id = await test.tock.enqueue('mail', { to: 'a' });
    const { fence } = await get(id);
    await test.sql(
      `update tock.job_runs_live set status = 'running', fence = 1, locked_by = gen_random_uuid(), locked_until = tock.now() + interval '1 minute'`,
    );
    await expect(edit(id, 'b', { fence })).rejects.toMatchObject({
      code: 'TOCK_VERSION_CONFLICT',
      message: expect.stringMatching(
        /has moved on since it was read, and is running now \(fence 1; it was running, fence 0\)/,
      ),
    });
    await expect(edit(id, 'b')).rejects.toMatchObject({
      code: 'TOCK_BAD_STATE',
      message: expect.stringMatching(/is running, .*: cancel it, and edit it once its handler has stopped/),
    });
    expect((await get(id)).payload).toEqual({ to: 'a' });
  });

  it('where somebody has cancelled it since it was read, which its fence does not tell', async () => {
    const id = await test.tock.enqueue('mail', { to: 'a' });
    const { fence, status } = await get(id);
    await test.tock.runs.cancel(id);
    await expect(test.tock.runs.edit(id, { payload: { to: 'b' }, fence, status })).rejects.toMatchObject({
      code: 'TOCK_VERSION_CONFLICT',
    });
    expect(await get(id)).toMatchObject({ status: 'cancelled', payload: { to: 'a' } });
  });

  it('for the second of two who have read the same', async () => {
    const id = await test.tock.enqueue('mail', { to: 'a' });
    const { fence } = await get(id);
    const both = await Promise.allSettled([edit(id, 'b', { fence }), edit(id, 'c', { fence })]);
    expect(both.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
  });

  it('where another run has its key, which is unique among live runs', async () => {
    const once = { key: 'k', unique: 'live' } as const;
    const id = await test.tock.enqueue('mail', { to: 'a' }, once);
    await test.tock.runs.cancel(id);
    await test.tock.enqueue('mail', { to: 'c' }, once);
    await expect(edit(id, 'b')).rejects.toMatchObject({
      code: 'TOCK_BAD_STATE',
      message: expect.stringContaining('another run with its key "k" is live'),
    });
    expect(await get(id)).toMatchObject({ status: 'cancelled', payload: { to: 'a' } });
  });

  it('for who may not see payloads', async () => {
    const id = await test.tock.enqueue('mail', { to: 'a' });
    const blind = test.tock.as({ name: 'ann', via: 'page', role: 'operate', seesPayloads: false });
    await expect(blind.runs.edit(id, { payload: { to: 'b' } })).rejects.toMatchObject({
      code: 'TOCK_FORBIDDEN',
    });
  });
});

describe('limits that the payload decides', () => {
  const live = async (id: string) =>
    (
      await test.sql<{ slot_keys: string[] | null; blocked_on: string | null }>(
        'select slot_keys, blocked_on from tock.job_runs_live where id = $1',
        [id],
      )
    )[0];

  it.each(['limited', 'fair', 'strict'])('hold for the new one: of a job that is %s', async job => {
    const key = { limited: 'job:limited/', fair: '~default/fair/', strict: '~!default/strict/' }[job] ?? '';
    // Whatever has the first shop's slot keeps the second run waiting.
    const [first, second] = [
      await test.tock.enqueue(job, { shop: 'a' }),
      await test.tock.enqueue(job, { shop: 'a' }),
    ];
    await test.sql(`update tock.job_runs_live set run_at = run_at + interval '1 day' where id = $1`, [first]);
    if (job === 'limited')
      await test.sql(`update tock.job_runs_live set blocked_on = 'job:limited/a' where id = $1`, [second]);
    expect((await live(second))?.slot_keys).toEqual([`${key}a`]);
    await test.tock.runs.edit(second, { payload: { shop: 'b' } });
    expect(await live(second)).toEqual(
      job === 'limited'
        ? { slot_keys: null, blocked_on: null }
        : { slot_keys: [`${key}b`], blocked_on: `${key}b` },
    );
    await test.tock.tick();
    expect([begun, (await get(second)).status]).toEqual([[{ shop: 'b' }], 'succeeded']);
    expect(await test.sql('select from tock.job_slots')).toEqual([]);
  });

  it('that it does not decide stay: those of its schedule, and what it waits for', async () => {
    const id = await test.tock.enqueue('mail', { to: 'a' });
    await test.sql(
      `update tock.job_runs_live set slot_keys = '{definition:7}', slot_limits = '{1}', blocked_on = 'definition:7'`,
    );
    await edit(id, 'b');
    expect(await live(id)).toEqual({ slot_keys: ['definition:7'], blocked_on: 'definition:7' });
    await test.sql(`update tock.job_runs_live set slot_keys = '{job:mail}', blocked_on = 'code:mail'`);
    await edit(id, 'c');
    expect(await live(id)).toEqual({ slot_keys: null, blocked_on: 'code:mail' });
  });

  it('keep it from being edited while it holds a slot under the old one, as a strict key’s is held', async () => {
    const id = await test.tock.enqueue('strict', { shop: 'a' });
    await test.sql(
      `insert into tock.job_slots (concurrency_key, slot, run_id, fence) values ('~!default/strict/a', 1, $1, 1)`,
      [id],
    );
    await expect(test.tock.runs.edit(id, { payload: { shop: 'b' } })).rejects.toMatchObject({
      code: 'TOCK_BAD_STATE',
      message: expect.stringMatching(
        /holds a slot under ~!default\/strict\/a, .*cancel it first, then edit it/,
      ),
    });
    await test.tock.runs.cancel(id);
    await test.tock.runs.edit(id, { payload: { shop: 'b' } });
    await test.tock.tick();
    expect(begun).toEqual([{ shop: 'b' }]);
  });
});

it('of a schedule with a URL is for admins, who say where the worker sends its secrets', async () => {
  const request = { url: 'https://127.0.0.1:1/' };
  await test.tock.schedules.upsert({
    name: 'ping',
    job: 'tock:http',
    cron: '* * * * *',
    payload: request,
    maxAttempts: 1,
  });
  await test.advance('1m');
  await test.tock.tick();
  const [run] = await test.tock.runs.list({ job: 'tock:http' });
  const payload = { url: 'https://example.com/', headers: { authorization: { env: 'TOCK_HTTP_TOKEN' } } };
  const change = async (role: 'operate' | 'admin') => await as(role).runs.edit(run?.id ?? '', { payload });
  await expect(change('operate')).rejects.toMatchObject({ code: 'TOCK_FORBIDDEN' });
  expect((await change('admin')).payload).toMatchObject(payload);
});
