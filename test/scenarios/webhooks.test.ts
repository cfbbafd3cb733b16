// Changes that are posted to a webhook, to a real receiver: each at least once, in order, whatever happens meanwhile.
import type { ServerResponse } from 'node:http';
import { Webhook } from 'standardwebhooks';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type AnyJob, type ChangesWebhook, defineJob, type Tock } from '../../src/index.js';
import { openReceiver, type Posted } from '../engine/alerts/receiver.js';
import { collectLines } from '../support/lines.js';
import { openForEach } from '../support/open.js';
import { openRecorder } from '../support/recorded-connection.js';
import { reuseTestTock, until } from '../support/test-tock.js';

const NOON = '2026-03-01T12:00:00Z';
const SECRET = `whsec_${Buffer.from('twenty-four bytes, of it').toString('base64')}`;
const run = async (_ctx: unknown, { does = 'pass' }: { does?: 'pass' | 'die' }) => {
  if (does === 'die') throw new Error('a secret');
  return 'a secret';
};
const retry = { maxAttempts: 2, base: '1m', jitter: 0 } as const;
const define = (more: Partial<ChangesWebhook> = {}, name = 'charge', aliases: readonly string[] = []) =>
  defineJob({
    name,
    aliases,
    retry,
    changes: {
      webhook: { url: { env: 'HOOK_URL' }, secret: { env: 'HOOK_SECRET' }, allow: ['127.0.0.1'], ...more },
    },
    run,
  });
const charge = define();
const quiet = defineJob({ name: 'quiet', retry, run });
const kept = defineJob({ name: 'kept', changes: true, retry, run });
/** The same job without its webhook. */
const withoutWebhook = [defineJob({ name: 'charge', changes: true, retry, run }), quiet, kept];

const receiver = openForEach(openReceiver);
const test = openForEach(
  () => reuseTestTock([charge, quiet, kept]),
  ({ setClock }) => setClock(NOON),
);
beforeEach(() => {
  vi.stubEnv('HOOK_URL', receiver.url);
  vi.stubEnv('HOOK_SECRET', SECRET);
});
afterEach(() => vi.unstubAllEnvs());

interface Message {
  readonly type: string;
  readonly timestamp: string;
  readonly data: {
    readonly runId: string;
    readonly kind: string;
    readonly status: string;
    readonly job: string;
    readonly cursor: string;
  };
}
const read = ({ body }: Posted) => JSON.parse(body) as Message;
const idOf = ({ headers }: Posted) => String(headers['webhook-id']);
/** The runs whose ends were posted, in order. */
const posted = () => receiver.posted.map(each => read(each).data.runId);
const enqueue = async (count: number, tock: Tock = test.tock) =>
  [...(await tock.enqueueMany(Array.from({ length: count }, () => ({ job: 'charge' }))))] as string[];
const positionsOf = async () =>
  await test.sql('select job, position::integer from tock.change_webhooks order by job');
const deliveries = async (job = 'tock:webhook:charge') => await test.tock.runs.list({ job });
const status =
  (code: number, headers: Record<string, string> = {}) =>
  (response: ServerResponse) =>
    void response.writeHead(code, headers).end();

describe('a webhook', () => {
  it('gets each change, signed, as a subscription gives it, by the tick in which it came about', async () => {
    // The library that verifies looks at the time too.
    await test.setClock(null);
    const subscription = test.tock.changes.subscribe();
    await subscription.begin();
    const id = await test.tock.enqueue(charge, {});
    await test.tock.tick();
    const [got] = receiver.posted;
    const headers = got?.headers as Record<string, string>;
    const change = (await subscription.next()).value;
    expect(receiver.posted).toHaveLength(1);
    expect(got).toMatchObject({ method: 'POST', headers: { 'content-type': 'application/json' } });
    const verified = new Webhook(SECRET).verify(got?.body ?? '', headers);
    expect(() => new Webhook(SECRET).verify(`${got?.body} `, headers)).toThrow(/signature/);
    expect(verified).toEqual({
      type: 'tock.change',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      data: JSON.parse(JSON.stringify(change)) as object,
    });
    expect(change).toMatchObject({ kind: 'ended', runId: id, job: 'charge', status: 'succeeded' });
    expect(got?.body).not.toContain('a secret');
    expect(await deliveries()).toMatchObject([
      { status: 'succeeded', queue: 'tock:webhooks', output: { delivered: 1 } },
    ]);
    await subscription.return();
  });

  it('gets them in the order of their positions, and each only once', { tags: 'check' }, async () => {
    await test.tock.tick();
    const ids = await enqueue(7);
    await test.tock.tick({ concurrency: 3 });
    expect(posted().toSorted()).toEqual(ids.toSorted());
    const cursors = receiver.posted.map(each => Number(read(each).data.cursor.split('-')[1]));
    expect(cursors).toEqual(cursors.toSorted((a, b) => a - b));
    expect(new Set(receiver.posted.map(idOf)).size).toBe(7);
    await test.tock.tick();
    expect(receiver.posted).toHaveLength(7);
  });

  it('gets only the kinds that it asks for, and nothing of other jobs', { tags: 'check' }, async () => {
    const tock = test.another({ jobs: [define({ kinds: ['ended'] }), quiet, kept] });
    await tock.tick();
    await tock.enqueueMany([{ job: 'charge', payload: { does: 'die' } }, { job: 'kept' }]);
    await tock.tick();
    expect([receiver.posted, await deliveries()]).toEqual([[], []]);
    await test.advance('2m');
    await tock.tick();
    expect(receiver.posted.map(each => [read(each).data.kind, read(each).data.status])).toEqual([
      ['ended', 'dead'],
    ]);
    await tock.tick();
    // Past the changes that are not for it, too: the next look begins there.
    expect(await positionsOf()).toEqual([{ job: 'charge', position: 3 }]);
  });

  it('that is far behind walks past the changes of others by a run, not by a look', {
    tags: 'check',
  }, async () => {
    await test.tock.tick();
    await test.sql(
      `insert into tock.job_changes (kind, run_id, job, status, attempts, generation)
       select 'ended', 1, 'kept', 'succeeded', 1, 1 from generate_series(1, 12000)`,
    );
    await test.tock.tick();
    expect(await positionsOf()).toEqual([{ job: 'charge', position: 12_000 }]);
    expect(await deliveries()).toMatchObject([{ status: 'succeeded', output: { delivered: 0 } }]);
    expect(receiver.posted).toEqual([]);
  });

  it('begins when a process first has it', { tags: 'check' }, async () => {
    const before = test.another({ jobs: withoutWebhook });
    await enqueue(2, before);
    await before.tick();
    const [id] = await enqueue(1);
    await test.tock.tick();
    expect(posted()).toEqual([id]);
  });

  it('goes on under another name though a delivery was to be tried again, which ends', {
    tags: 'check',
  }, async () => {
    await test.tock.tick();
    receiver.answer(status(503));
    const [first] = await enqueue(1);
    await test.tock.tick();
    receiver.answer(response => response.end('ok'));
    receiver.posted.length = 0;
    const tock = test.another({ jobs: [define({}, 'pay', ['charge']), quiet, kept] });
    const second = await tock.enqueue('pay', {});
    await test.advance('1h');
    await tock.tick();
    expect(posted()).toEqual([first, second]);
    expect(await deliveries()).toMatchObject([
      {
        status: 'succeeded',
        output: { delivered: 0, note: 'charge is job pay now: tock:webhook:pay goes on' },
      },
    ]);
  });

  it('posts nothing again when its job is renamed, and back', { tags: 'check' }, async () => {
    const pay = test.another({ jobs: [define({}, 'pay', ['charge']), quiet, kept] });
    const back = test.another({ jobs: [define({}, 'charge', ['pay']), quiet, kept] });
    const ids: string[] = [];
    for (const [tock, name] of [
      [test.tock, 'charge'],
      [pay, 'pay'],
      [back, 'charge'],
    ] as const) {
      await tock.tick();
      ids.push(await tock.enqueue(name, {}));
      await tock.tick();
    }
    expect(posted()).toEqual(ids);
    expect(await positionsOf()).toEqual([{ job: 'charge', position: 3 }]);
  });

  it('of a job that takes the place of two begins at the one that is behind', { tags: 'check' }, async () => {
    const two = test.another({ jobs: [charge, define({ url: `${receiver.url}/2` }, 'refund'), quiet, kept] });
    await two.tick();
    receiver.answer((response, { path }) => void response.writeHead(path?.endsWith('/2') ? 200 : 503).end());
    const late = await two.enqueue('charge', {});
    await two.tick();
    await two.enqueue('refund', {});
    await two.tick();
    receiver.answer(response => response.end('ok'));
    receiver.posted.length = 0;
    const one = test.another({ jobs: [define({}, 'move', ['charge', 'refund']), quiet, kept] });
    await one.tick();
    await one.tick();
    expect(posted()).toContain(late);
    expect(await positionsOf()).toEqual([{ job: 'move', position: 2 }]);
  });
});

describe('a receiver that is down', () => {
  it('misses nothing, and gets it in order once it is up', { tags: 'check' }, async () => {
    await test.tock.tick();
    receiver.answer(status(503));
    const ids: string[] = [];
    for (let round = 0; round < 3; round++) {
      ids.push(...(await enqueue(1)));
      await test.tock.tick();
      await test.advance('1m');
    }
    expect(new Set(posted())).toEqual(new Set([ids[0]]));
    expect(new Set(receiver.posted.map(idOf)).size).toBe(1);
    expect(await deliveries()).toMatchObject([{ status: 'failed', attempts: 3 }]);
    receiver.posted.length = 0;
    receiver.answer(response => response.end('ok'));
    await test.advance('1h');
    // Another process: nothing is kept in this one.
    await test.another().tick();
    expect(posted()).toEqual(ids);
  });

  it.each([
    ['a status that ends an HTTP job', 404, {}, /answered 404/],
    [
      'a redirect, which is not followed',
      302,
      { location: 'http://127.0.0.2/' },
      /redirects are not followed/,
    ],
  ])('or answers %s is tried again', { tags: 'check' }, async (_, code, headers, message) => {
    await test.tock.tick();
    // It gives back what it was sent.
    receiver.answer((response, { path }) => {
      response.writeHead(code, headers).end(`Sorry, no ${SECRET} at ${path}`);
    });
    const [id] = await enqueue(1);
    await test.tock.tick();
    const [failed] = await deliveries();
    expect(failed).toMatchObject({ status: 'failed', attempts: 1 });
    const errors = (await test.tock.runs.get(failed?.id ?? ''))?.errors;
    expect(errors?.at(-1)?.message).toMatch(message);
    expect(errors?.at(-1)?.message).toMatch(/Sorry, no/);
    expect(JSON.stringify(errors)).not.toMatch(/s3cret|whsec/);
    receiver.answer(response => response.end('ok'));
    await test.advance('1h');
    await test.tock.tick();
    expect(posted()).toEqual([id, id]);
  });

  it('is told of by the alert for failures in a row, whatever other webhooks do', {
    tags: 'check',
  }, async () => {
    const alerts = { channels: [{ command: ['true'] }], rules: [{ when: 'failing' }] } as const;
    const tock = test.another({
      alerts,
      jobs: [charge, quiet, kept, define({ url: `${receiver.url}/2` }, 'refund')],
    });
    await tock.tick();
    receiver.answer((response, { path }) => void response.writeHead(path?.endsWith('/2') ? 200 : 503).end());
    await tock.enqueue('charge', {});
    for (let attempt = 1; attempt <= 3; attempt++) {
      await tock.enqueue('refund', {});
      await tock.tick();
      await test.advance('1m');
    }
    expect(await tock.alerts.list()).toMatchObject([
      { rule: 'failing', subject: 'tock:webhook:charge', status: 'down' },
    ]);
  });

  it('asks for its own time by Retry-After', { tags: 'check' }, async () => {
    await test.tock.tick();
    receiver.answer(status(429, { 'retry-after': '1800' }));
    await enqueue(1);
    await test.tock.tick();
    await test.advance('29m');
    await test.tock.tick();
    expect(receiver.posted).toHaveLength(1);
    await test.advance('2m');
    await test.tock.tick();
    expect(receiver.posted).toHaveLength(2);
  });

  it('for longer than changes are kept is told which it has missed; the log and the run say so', {
    tags: 'check',
  }, async () => {
    await test.tock.tick();
    receiver.answer(status(503));
    await enqueue(2);
    await test.tock.tick();
    await test.advance('8d');
    await test.tock.prune();
    receiver.posted.length = 0;
    receiver.answer(response => response.end('ok'));
    const [id] = await enqueue(1);
    const { logger, lines } = collectLines();
    const tock = test.another({ logger });
    await tock.tick();
    await tock.tick();
    const [gone, next] = receiver.posted.map(read);
    expect(gone).toMatchObject({
      type: 'tock.changes.gone',
      data: { job: 'charge', after: expect.stringMatching(/-0$/), until: expect.stringMatching(/-2$/) },
    });
    expect(next).toMatchObject({ type: 'tock.change', data: { runId: id } });
    const run = (await deliveries()).find(({ output }) => JSON.stringify(output ?? null).includes('gone'));
    expect(run?.output).toMatchObject({ gone: { until: expect.stringMatching(/-2$/) } });
    expect(lines.filter(({ event }) => event === 'webhook.gone')).toMatchObject([
      {
        until: expect.stringMatching(/-2$/),
        message: expect.stringMatching(/were deleted before.*may be missing/),
      },
    ]);
  });

  it('for longer, is told by each webhook that it has, with an id of its own', {
    tags: 'check',
  }, async () => {
    const tock = test.another({ jobs: [charge, define({}, 'refund'), quiet, kept] });
    await tock.tick();
    receiver.answer(status(503));
    await tock.enqueueMany([{ job: 'charge' }, { job: 'refund' }]);
    await tock.tick();
    await test.advance('8d');
    await tock.prune();
    receiver.posted.length = 0;
    receiver.answer(response => response.end('ok'));
    await tock.tick();
    expect(receiver.posted.map(each => read(each).data.job).toSorted()).toEqual(['charge', 'refund']);
    expect(receiver.posted.map(each => read(each).type)).toEqual(['tock.changes.gone', 'tock.changes.gone']);
    expect(new Set(receiver.posted.map(idOf)).size).toBe(2);
  });
});

describe('what is wrong with a webhook', () => {
  it.each([
    ['a secret that is not set', {}, 'HOOK_SECRET', /variable HOOK_SECRET is not set for this worker/],
    ['a URL that is not set', {}, 'HOOK_URL', /variable HOOK_URL is not set for this worker/],
    ['a private address', { allow: [] }, null, /is no public address, and was not connected to.*webhook/],
  ])(
    '%s: is said with the run, and what waits comes when it is right',
    { tags: 'check' },
    async (_, more, unset, message) => {
      const tock = test.another({ jobs: [define(more), quiet, kept] });
      await tock.tick();
      if (unset !== null) vi.stubEnv(unset, '');
      const [id] = await enqueue(1);
      await tock.tick();
      const [failed] = await deliveries();
      expect(failed).toMatchObject({ status: 'failed', attempts: 1 });
      expect((await tock.runs.get(failed?.id ?? ''))?.errors.at(-1)?.message).toMatch(message);
      expect(receiver.posted).toEqual([]);
      vi.stubEnv('HOOK_URL', receiver.url);
      vi.stubEnv('HOOK_SECRET', SECRET);
      await test.advance('1h');
      await test.tock.tick();
      expect(posted()).toEqual([id]);
    },
  );

  it('that was removed: its run ends; that comes back goes on where it was', { tags: 'check' }, async () => {
    await test.tock.tick();
    receiver.answer(status(503));
    const [id] = await enqueue(1);
    await test.tock.tick();
    await test.advance('1h');
    await test.another({ jobs: withoutWebhook }).tick();
    expect(await deliveries()).toMatchObject([{ status: 'succeeded', output: { delivered: 0 } }]);
    receiver.answer(response => response.end('ok'));
    receiver.posted.length = 0;
    await test.tock.tick();
    expect(posted()).toEqual([id]);
  });

  it('whose key another job’s run has: the log says so, and names it', { tags: 'check' }, async () => {
    await test.tock.tick();
    const other = await test.tock.enqueue(
      'quiet',
      {},
      { key: 'tock:webhook:charge', unique: 'live', delay: '1d' },
    );
    const [id] = await enqueue(1);
    const { logger, lines } = collectLines();
    const tock = test.another({ logger });
    await tock.tick();
    expect(lines.filter(({ event }) => event === 'webhook.blocked')).toMatchObject([
      { runId: other, job: 'quiet', message: expect.stringMatching(/has the live key tock:webhook:charge/) },
    ]);
    await tock.tick();
    expect(lines.filter(({ event }) => event === 'webhook.blocked').length).toBeGreaterThan(1);
    expect(receiver.posted).toEqual([]);
    await tock.runs.cancel(other);
    await tock.tick();
    expect(posted()).toEqual([id]);
  });

  it('that an operator cancels begins anew', { tags: 'check' }, async () => {
    await test.tock.tick();
    receiver.answer(status(503));
    const [id] = await enqueue(1);
    await test.tock.tick();
    await test.tock.runs.cancel((await deliveries())[0]?.id ?? '');
    receiver.answer(response => response.end('ok'));
    await test.tock.tick();
    expect(posted()).toEqual([id, id]);
    expect(new Set(receiver.posted.map(idOf)).size).toBe(1);
  });
});

describe('several processes', () => {
  it('that tick at once deliver each change once', { tags: 'check' }, async () => {
    await test.tock.tick();
    const ids = await enqueue(40);
    const hosts = [test.tock, test.another(), test.another()];
    await Promise.all(hosts.map(tock => tock.tick({ concurrency: 3 })));
    await Promise.all(hosts.map(tock => tock.tick({ concurrency: 3 })));
    expect(posted().toSorted()).toEqual(ids.toSorted());
  });

  it('of which one stands still while it posts: the other goes on, with the same ids, and the first stops', {
    tags: 'check',
  }, async () => {
    await test.tock.tick();
    const ids = await enqueue(3);
    let answerFirst: () => void = () => undefined;
    receiver.answer(response => {
      answerFirst = () => void response.end('ok');
    });
    const frozen = test.tock.tick();
    await until(async () => receiver.posted.length === 1, 'the first request');
    receiver.answer(response => response.end('ok'));
    // Its lease is over, and another has it.
    await test.sql(
      `update tock.job_runs_live set locked_until = tock.now() - interval '1 s' where job = 'tock:webhook:charge'`,
    );
    const other = test.another();
    await other.tick();
    await test.advance('1m');
    await other.tick();
    answerFirst();
    await frozen;
    expect(posted().slice(1).toSorted()).toEqual(ids.toSorted());
    expect(idOf(receiver.posted[0] as Posted)).toBe(idOf(receiver.posted[1] as Posted));
    expect(receiver.posted).toHaveLength(4);
    expect(await positionsOf()).toEqual([{ job: 'charge', position: 3 }]);
  });

  it('of which one, overtaken, notes what it has posted: the other goes on from there', {
    tags: 'check',
  }, async () => {
    await test.tock.tick();
    const ids = await enqueue(3);
    let answerFirst: () => void = () => undefined;
    receiver.answer(response => {
      answerFirst = () => void response.end('ok');
    });
    const ticking = test.tock.tick();
    await until(async () => receiver.posted.length === 1, 'the first request');
    receiver.answer(response => response.end('ok'));
    await test.sql('update tock.change_webhooks set position = 1');
    answerFirst();
    await ticking;
    expect(posted().toSorted()).toEqual(ids.toSorted());
    expect(await deliveries()).toMatchObject([{ status: 'succeeded', output: { delivered: 3 } }]);
  });

  it('with queues of their own deliver too', { tags: 'check' }, async () => {
    const tock = test.another();
    await tock.tick({ queues: ['mail'] });
    await tock.enqueue('charge', {}, { queue: 'mail' });
    await tock.tick({ queues: ['mail'] });
    expect(receiver.posted).toHaveLength(1);
  });
});

describe('a daemon', () => {
  it.each([true, false])(
    'delivers what comes about while it runs, listening: %j',
    { tags: 'check' },
    async listen => {
      await test.setClock(null);
      const tock = test.another();
      const before = await enqueue(1);
      const daemon = await tock.start({ listen });
      try {
        // What ends from its first claim on is for the webhook, though it is new.
        expect(await positionsOf()).toMatchObject([{ job: 'charge' }]);
        const first = await enqueue(3);
        await until(async () => receiver.posted.length === 4, 'the first changes');
        const second = await enqueue(2);
        await until(async () => receiver.posted.length === 6, 'the next');
        expect(posted().toSorted()).toEqual([...before, ...first, ...second].toSorted());
      } finally {
        await daemon.stop();
      }
    },
  );

  it('delivers what comes about while a delivery ends', { tags: 'check' }, async () => {
    await test.setClock(null);
    let answer: () => void = () => undefined;
    receiver.answer(response => {
      answer = () => void response.end('ok');
    });
    const daemon = await test.another().start();
    try {
      const [first] = await enqueue(1);
      await until(async () => receiver.posted.length === 1, 'the first request');
      // The delivery has read its only page. The daemon has looked, and found it at work.
      const [second] = await enqueue(1);
      await until(async () => {
        const [numbered] = await test.sql('select from tock.job_changes where position = 2');
        return numbered !== undefined;
      }, 'a look');
      receiver.answer(response => response.end('ok'));
      answer();
      await until(async () => receiver.posted.length === 2, 'the second request');
      expect(posted()).toEqual([first, second]);
      // The delivery reads on before it ends.
      expect(await deliveries()).toHaveLength(1);
    } finally {
      await daemon.stop();
    }
  });
});

it('who does not ask has no row, run or statement more', { tags: 'check' }, async () => {
  const recorder = await openRecorder(test.url);
  const asked = () => recorder.statements().filter(each => /webhook|number_changes|changes_head/.test(each));
  const recorded = (jobs: readonly AnyJob[]) => test.another({ connectionString: recorder.url, jobs });
  try {
    const [without, having] = [recorded([quiet, kept]), recorded([charge, quiet, kept])];
    await without.enqueueMany([{ job: 'quiet' }, { job: 'kept' }]);
    await without.tick();
    expect([recorder.statements().length > 0, asked()]).toEqual([true, []]);
    expect([await positionsOf(), await deliveries(), receiver.posted]).toEqual([[], [], []]);
    // Nobody has numbered what nobody reads.
    expect(await test.sql('select position from tock.job_changes')).toEqual([{ position: null }]);
    await having.tick();
    expect(asked()).not.toEqual([]);
    await Promise.all([without.close(), having.close()]);
  } finally {
    await recorder.close();
  }
});
