// A queue that is relayed to sql: ticks and daemons offer its runs, and workers claim them by tock.claim.
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineJob, findProblems } from '../../../src/index.js';
import { createRelay } from '../../../src/relay.js';
import { MemoryBroker } from '../../support/memory-broker.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock, until } from '../../support/test-tock.js';

const NOW = '2026-03-02T12:00:00Z';
const executed: string[] = [];
const mail = defineJob({
  name: 'mail',
  queue: 'mail',
  payload: z.object({ to: z.string() }),
  retry: { maxAttempts: 3, backoff: 'fixed', base: '10s', jitter: 0 },
  run: ctx => void executed.push(ctx.runId),
});
const single = defineJob({ name: 'single', queue: 'mail', concurrency: { limit: 1 }, run: () => null });
const report = defineJob({
  name: 'report',
  queue: 'mail',
  schedule: { cron: '0 * * * *', payload: ({ scheduledFor }) => ({ hour: scheduledFor.getUTCHours() }) },
  run: () => null,
});

const test = openForEach(() => reuseTestTock([mail, single, report]));
beforeEach(async () => {
  executed.length = 0;
  await test.setClock(NOW);
  await test.tock.queues.set('mail', { relay: 'sql' });
});

interface Claimed {
  readonly run_id: string;
  readonly fence: number;
  readonly job: string;
  readonly payload: unknown;
  readonly attempt: number;
  readonly locked_until: Date;
}
const claim = async (count = 10, lease = '1 minute') =>
  await test.sql<Claimed>('select * from tock.claim($1, $2, $3::interval)', ['mail', count, lease]);
const ids = async (count = 10) => (await claim(count)).map(each => each.run_id);
const answer = async (call: string, { run_id: run, fence }: Pick<Claimed, 'run_id' | 'fence'>) =>
  (await test.sql<{ held: boolean }>(`select tock.${call} as held`, [run, fence]))[0]?.held;
const complete = (of: Pick<Claimed, 'run_id' | 'fence'>) => answer(`complete($1, $2, '{"sent": true}')`, of);
const send = (to = 'a', options = {}) => test.tock.enqueue('mail', { to }, options);
const run = (id: string) => test.tock.runs.get(id);
const offers = async () => (await test.sql('select from tock.job_offers')).length;

describe('a queue that is relayed to sql', () => {
  it('gives nothing out in a copy of the database', async () => {
    await send();
    await test.tock.tick();
    await test.sql('update tock.database_identity set database_oid = 1');
    await expect(claim()).rejects.toThrow(/copy of another/);
  });

  it('does not wait for another one whose runs cannot be offered', async () => {
    await test.tock.queues.set('letters', { relay: 'sql' });
    await test.tock.enqueue('mail', { to: 'a' }, { queue: 'letters' });
    await send();
    await test.sql(
      `alter table tock.job_runs_live add constraint stuck check (queue <> 'letters' or fence = 0)`,
    );
    try {
      await test.tock.tick();
    } finally {
      await test.sql('alter table tock.job_runs_live drop constraint stuck');
    }
    expect(await ids()).toHaveLength(1);
  });

  it('has its runs offered by a tick, claimed, answered, and ended by the next', {
    tags: 'check',
  }, async () => {
    const id = await send();
    const { executed: counts } = await test.tock.tick();
    expect(counts).toMatchObject({ claimed: 1, handedOff: 1 });
    expect(await run(id)).toMatchObject({ status: 'running', attempts: 1 });
    const [first, ...others] = await claim();
    if (!first) throw new Error('nothing was claimed');
    expect([first, ...others]).toEqual([
      {
        run_id: id,
        fence: 1,
        job: 'mail',
        payload: { to: 'a' },
        attempt: 1,
        locked_until: new Date('2026-03-02T12:01:00Z'),
      },
    ]);
    expect(Object.keys(first)).toEqual(['run_id', 'fence', 'job', 'payload', 'attempt', 'locked_until']);
    expect(await claim()).toEqual([]);
    await test.advance('5s');
    expect(await complete(first)).toBe(true);
    expect(await complete(first)).toBe(false);
    await test.tock.tick();
    expect(await run(id)).toMatchObject({ status: 'succeeded', output: { sent: true } });
    expect(executed).toEqual([]);
    const [figures] = (await test.tock.status()).handOffs;
    expect(figures).toMatchObject({ queue: 'mail', handedOff: 1, completed: 1, waiting: 0, refused: 1 });
  });

  it('gives out the most urgent first, and each run once to two who claim at once', {
    tags: 'check',
  }, async () => {
    const late = await send('late', { priority: 5 });
    const urgent = await send('urgent', { priority: -5 });
    const sent: string[] = [];
    for (let n = 0; n < 20; n++) sent.push(await send(`a${n}`));
    await test.tock.tick();
    expect(await ids(1)).toEqual([urgent]);
    const both = await Promise.all([ids(10), ids(10)]);
    expect([...both[0], ...both[1]].sort()).toEqual([...sent].sort());
    expect(await ids(10)).toEqual([late]);
  });

  it('has payloads that code computes', { tags: 'check' }, async () => {
    await test.tock.tick();
    await test.setClock('2026-03-02T13:00:01Z');
    await test.tock.tick();
    expect(await claim()).toMatchObject([{ job: 'report', payload: { hour: 13 } }]);
  });

  it('fails runs whose payload its schema refuses, and offers what this code does not know', {
    tags: 'check',
  }, async () => {
    await test.tock.queues.pause('mail');
    const [bad, other] = await test.sql<{ id: string }>(
      `select tock.enqueue(job, '{}', queue => 'mail')::text as id from unnest('{mail,python-only}'::text[]) job`,
    );
    await test.tock.queues.resume('mail');
    await test.tock.tick();
    expect(await run(bad?.id ?? '')).toMatchObject({
      status: 'failed',
      errors: [{ code: 'TOCK_BAD_PAYLOAD' }],
    });
    expect(await ids()).toEqual([other?.id]);
  });

  it('keeps limits: a run that is offered holds its slot until it is answered', {
    tags: 'check',
  }, async () => {
    const first = await test.tock.enqueue('single', {});
    const second = await test.tock.enqueue('single', {});
    await test.tock.tick();
    const [claimed] = await claim();
    expect(claimed?.run_id).toBe(first);
    await test.tock.tick();
    expect(await claim()).toEqual([]);
    if (claimed) await complete(claimed);
    await test.tock.tick();
    expect(await ids()).toEqual([second]);
  });

  it('keeps an offer that nobody takes: for a year, and no attempt is counted beyond its own', {
    tags: 'check',
  }, async () => {
    const id = await send();
    await test.tock.tick();
    await test.setClock('2027-03-02T12:00:00Z');
    await test.tock.tick();
    expect(await run(id)).toMatchObject({ status: 'running', attempts: 1, errors: [] });
    expect(await claim(1)).toMatchObject([{ run_id: id, fence: 1, attempt: 1 }]);
  });

  it('takes no answer to an offer that nobody has claimed', async () => {
    const id = await send();
    await test.tock.tick();
    const forged = { run_id: id, fence: 1 };
    expect(await complete(forged)).toBe(false);
    expect(await answer(`fail($1, $2, 'no')`, forged)).toBe(false);
    expect(await answer(`extend($1, $2, '1 hour')`, forged)).toBe(false);
    expect(await ids()).toEqual([id]);
  });
});

describe('an offer is not given out, and its run not lost', () => {
  it('after a cancel', { tags: 'check' }, async () => {
    const id = await send();
    await test.tock.tick();
    await test.tock.runs.cancel(id);
    expect(await claim()).toEqual([]);
    await test.tock.tick();
    expect(await run(id)).toMatchObject({ status: 'cancelled' });
    expect(await offers()).toBe(0);
  });

  it('while the queue is paused: a tick takes it back, uncounted', { tags: 'check' }, async () => {
    const id = await send();
    await test.tock.tick();
    await test.tock.queues.pause('mail');
    expect(await claim()).toEqual([]);
    expect(await offers()).toBe(1);
    await test.tock.tick();
    expect(await offers()).toBe(0);
    expect(await run(id)).toMatchObject({ status: 'queued', attempts: 0, runAt: new Date(NOW) });
    await test.tock.queues.resume('mail');
    await test.tock.tick();
    expect(await claim()).toMatchObject([{ run_id: id, attempt: 1, fence: 2 }]);
  });

  it('while everything is frozen', { tags: 'check' }, async () => {
    const id = await send();
    await test.tock.tick();
    await test.tock.freeze({ until: new Date('2026-03-02T12:10:00Z'), note: 'the lake is being moved' });
    expect(await claim()).toEqual([]);
    await test.tock.tick();
    expect(await run(id)).toMatchObject({ status: 'queued', attempts: 0 });
    await test.setClock('2026-03-02T12:10:01Z');
    await test.tock.tick();
    expect(await ids()).toEqual([id]);
  });

  it('outside the hours of its queue', { tags: 'check' }, async () => {
    await test.tock.queues.set('mail', { window: '11:00-12:30' });
    const id = await send();
    await test.tock.tick();
    await test.setClock('2026-03-02T12:31:00Z');
    await test.tock.tick();
    expect(await claim()).toEqual([]);
    expect(await run(id)).toMatchObject({ status: 'queued', attempts: 0 });
  });

  it('when the queue is relayed no more: ticks execute its runs', { tags: 'check' }, async () => {
    const id = await send();
    await test.tock.tick();
    await test.tock.queues.set('mail', { relay: null });
    await expect(claim()).rejects.toMatchObject({
      code: '55000',
      hint: 'Run: tock queue set mail --relay sql',
    });
    await test.tock.tick();
    expect(executed).toEqual([id]);
    expect(await run(id)).toMatchObject({ status: 'succeeded', attempts: 1 });
  });

  it('whose row is under another fence', { tags: 'check' }, async () => {
    const id = await send();
    await test.tock.tick();
    await test.sql('update tock.job_runs_live set fence = 7 where id = $1', [id]);
    expect(await claim()).toEqual([]);
    expect(await offers()).toBe(0);
  });

  it('by a claim that is rolled back', async () => {
    const id = await send();
    await test.tock.tick();
    await expect(
      test.sql(`select c.*, 1 / (c.attempt - 1) as boom from tock.claim('mail') c`),
    ).rejects.toThrow('division by zero');
    expect(await ids()).toEqual([id]);
  });
});

describe('who offers', () => {
  it('a daemon, which fills up as workers claim', { tags: 'check' }, async () => {
    await test.setClock(null);
    const daemon = await test.tock.start();
    try {
      const sent = (await test.tock.enqueueMany(
        Array.from({ length: 2500 }, (_, n) => ({ job: 'mail', payload: { to: `a${n}` } })),
      )) as string[];
      const got = new Set<string>();
      await until(async () => {
        const claimed = await claim(1000);
        for (const each of claimed) got.add(each.run_id);
        await test.sql('select tock.complete(r, f) from unnest($1::bigint[], $2::integer[]) as c(r, f)', [
          claimed.map(each => each.run_id),
          claimed.map(each => each.fence),
        ]);
        expect(await offers()).toBeLessThanOrEqual(1000);
        return got.size === sent.length;
      }, 'all runs to be claimed');
      expect([...got].sort()).toEqual([...sent].sort());
      await until(
        async () => (await test.sql(`select from tock.job_runs where status = 'succeeded'`)).length === 2500,
        'all runs to end',
      );
      expect(executed).toEqual([]);
    } finally {
      await daemon.stop();
    }
  });

  it('not a tick that names the queue: it executes its runs', { tags: 'check' }, async () => {
    const id = await send();
    await test.tock.tick({ queues: ['other'] });
    expect(await offers()).toBe(0);
    await test.tock.tick({ queues: ['mail'] });
    expect(executed).toEqual([id]);
  });

  it('no relay of that name', async () => {
    const broker = Object.assign(new MemoryBroker(), { name: 'sql' });
    await expect(createRelay({ tock: test.tock, queues: ['mail'], broker })).rejects.toMatchObject({
      code: 'TOCK_BAD_OPTION',
    });
    await broker.close();
  });

  it('and no problem is seen in that no relay is at work', async () => {
    await send();
    await test.advance('10s');
    const codes = findProblems(await test.tock.status()).map(({ code }) => code);
    expect(codes).not.toContain('relay-away');
    expect(await test.tock.queues.list()).toMatchObject([{ name: 'mail', relayedTo: 'sql' }]);
  });
});
