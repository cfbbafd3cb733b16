// A tick by HTTP: who may ask for one, what is answered, and that it ends in time.
import { afterEach, describe, expect, it } from 'vitest';
import { tickHandler } from '../../src/http.js';
import { defineJob } from '../../src/index.js';
import { collectEvents } from '../chaos/collecting-logger.js';
import { openProxy } from '../chaos/tcp-proxy.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';

const SECRET = 'correct-horse-battery-staple';
const URL = 'https://app.test/api/tick';

const test = openForEach(reuseTestTock);
const noop = defineJob({ name: 'noop', run: () => null });
const ask = (init: RequestInit = {}, secret = SECRET) =>
  new Request(URL, { ...init, headers: { authorization: `Bearer ${secret}` } });

describe('a request', () => {
  it.each(['GET', 'POST'])('by %s makes a tick and is answered with its summary', async method => {
    const tock = test.another({ jobs: [noop] });
    const id = await tock.enqueue(noop);
    const response = await tickHandler(tock, { secret: SECRET })(ask({ method }));
    expect(response.status).toBe(200);
    expect(response.headers.get('cache-control')).toBe('no-store');
    expect(await response.json()).toMatchObject({
      executed: { claimed: 1, succeeded: 1 },
      stoppedEarly: false,
    });
    expect(await tock.runs.get(id)).toMatchObject({ status: 'succeeded' });
  });

  it.each(['HEAD', 'OPTIONS', 'PUT', 'DELETE'])('by %s makes none', async method => {
    const tock = test.another({ jobs: [noop] });
    const id = await tock.enqueue(noop);
    const response = await tickHandler(tock, { secret: SECRET })(ask({ method }));
    expect(response.status).toBe(405);
    expect(response.headers.get('allow')).toBe('GET, POST');
    expect(await tock.runs.get(id)).toMatchObject({ status: 'queued' });
  });

  it.each([
    ['no header', undefined],
    ['another secret', `Bearer ${SECRET}x`],
    ['a part of the secret', `Bearer ${SECRET.slice(0, -1)}`],
    ['the secret without its scheme', SECRET],
    ['Basic', `Basic ${btoa(`x:${SECRET}`)}`],
    ['no secret', 'Bearer '],
    ['100 kB', `Bearer ${'x'.repeat(100_000)}`],
  ])('with %s is refused, and learns nothing of the database', async (_, authorization) => {
    const tock = test.another({ connectionString: 'postgres://app:hunter2@127.0.0.1:1/secret' });
    const headers = authorization === undefined ? undefined : { authorization };
    const response = await tickHandler(tock, { secret: SECRET })(new Request(URL, headers && { headers }));
    expect(response.status).toBe(401);
    expect(response.headers.get('www-authenticate')).toBe('Bearer');
    expect(await response.text()).toBe('{"error":"unauthorized"}');
  });

  it('takes the scheme in any case, as HTTP has it', async () => {
    const headers = { authorization: `bearer ${SECRET}` };
    const handler = tickHandler(test.another({ jobs: [noop] }), { secret: SECRET });
    expect((await handler(new Request(URL, { headers }))).status).toBe(200);
  });

  it('has a body that never ends: it is not read', async () => {
    let pulls = 0;
    const body = new ReadableStream({
      pull: controller => {
        pulls++;
        controller.enqueue(new Uint8Array(1024));
      },
    });
    const request = ask({ method: 'POST', body, duplex: 'half' });
    expect((await tickHandler(test.another({ jobs: [noop] }), { secret: SECRET })(request)).status).toBe(200);
    // What the stream itself keeps ready.
    expect(pulls).toBeLessThan(3);
    expect(request.bodyUsed).toBe(false);
  });
});

describe('the database', () => {
  it('is away: 503 with Retry-After, no password, and a line in the log', async () => {
    const { logger, count } = collectEvents();
    const tock = test.another({ connectionString: 'postgres://app:hunter2@127.0.0.1:1/app', logger });
    const response = await tickHandler(tock, { secret: SECRET })(ask());
    expect(response.status).toBe(503);
    expect(response.headers.get('retry-after')).toBe('30');
    const text = await response.text();
    expect(JSON.parse(text)).toMatchObject({ code: 'TOCK_DATABASE_UNREACHABLE' });
    expect(text).not.toContain('hunter2');
    expect(count('tick_request.failed')).toBe(1);
  });

  it('answers no more: 503 within the budget, and the next tick goes on', { tags: 'check' }, async () => {
    const proxy = await openProxy(test.url);
    try {
      const tock = test.another({ jobs: [noop], connectionString: proxy.url, statementTimeout: '3s' });
      const id = await tock.enqueue(noop);
      proxy.swallow();
      const response = await tickHandler(tock, { secret: SECRET, budget: '1s' })(ask());
      expect(response.status).toBe(503);
      expect(await response.json()).toMatchObject({ code: 'TOCK_TIMEOUT' });
      const other = test.another({ jobs: [noop] });
      expect((await tickHandler(other, { secret: SECRET })(ask())).status).toBe(200);
      expect(await other.runs.get(id)).toMatchObject({ status: 'succeeded', attempts: 1 });
    } finally {
      await proxy.close();
    }
  });

  it('has no schema yet: 500 that says what to do', async () => {
    const tock = test.another({ jobs: [noop], schema: 'elsewhere' });
    const response = await tickHandler(tock, { secret: SECRET })(ask());
    expect(response.status).toBe(500);
    expect(await response.json()).toMatchObject({
      code: 'TOCK_NOT_MIGRATED',
      error: expect.stringContaining('tock migrate'),
    });
  });

  it('is reached by one connection', { tags: 'check' }, async () => {
    const tock = test.another({ jobs: [noop], connections: 1 });
    await tock.enqueueMany(Array.from({ length: 30 }, () => ({ job: noop })));
    const response = await tickHandler(tock, { secret: SECRET })(ask());
    expect(await response.json()).toMatchObject({ executed: { succeeded: 30 } });
  });
});

describe('the budget', () => {
  const ends: (() => void)[] = [];
  afterEach(() => ends.splice(0).forEach(end => end()));

  it('is over: a run that ends by its signal is given back, its attempt uncounted, and another tick goes on', {
    tags: 'check',
  }, async () => {
    const seen: unknown[] = [];
    const long = defineJob({
      name: 'long',
      async run(ctx) {
        seen.push(ctx.signal.aborted);
        if (seen.length > 1) return;
        await new Promise((_, reject) =>
          ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason as Error)),
        );
      },
    });
    const tock = test.another({ jobs: [long] });
    const id = await tock.enqueue(long);
    const handler = tickHandler(tock, { secret: SECRET, budget: '10s' });
    const first = await handler(ask());
    expect(first.status).toBe(200);
    expect(await first.json()).toMatchObject({ executed: { claimed: 1, released: 1 }, stoppedEarly: true });
    expect(await tock.runs.get(id)).toMatchObject({ status: 'queued', attempts: 0 });
    expect((await handler(ask())).status).toBe(200);
    expect(await tock.runs.get(id)).toMatchObject({ status: 'succeeded', attempts: 1 });
  });

  it('is over: neither does a handler that heeds no signal hold it up', { tags: 'check' }, async () => {
    const deaf = defineJob({ name: 'deaf', run: () => new Promise<void>(resolve => ends.push(resolve)) });
    const tock = test.another({ jobs: [deaf] });
    const id = await tock.enqueue(deaf);
    const response = await tickHandler(tock, { secret: SECRET, budget: '10s' })(ask());
    expect(await response.json()).toMatchObject({ executed: { claimed: 1, released: 1 } });
    expect(await tock.runs.get(id)).toMatchObject({ status: 'queued', attempts: 0 });
  });
});

describe('tickHandler refuses, when it is made', () => {
  it.each([
    [undefined, /secret is missing/],
    ['', /secret is missing.*openssl rand/],
    ['short', /5 characters/],
    [`${SECRET}\n`, /line break/],
    ['a secret with its spaces', /space/],
  ])('the secret %j', (secret, message) => {
    expect(() => tickHandler(test.tock, { secret: secret as string })).toThrow(message);
  });

  it.each([
    ['budget', { budget: '200ms' }, /1s at least/],
    ['budget', { budget: 'soon' }, /not a duration/],
    ['an unknown option', { secert: SECRET }, /did you mean "secret"/],
  ])('%s of %j', (_, more, message) => {
    expect(() => tickHandler(test.tock, { secret: SECRET, ...more })).toThrow(message);
  });

  it('budget beside within, in tick', async () => {
    await expect(test.tock.tick({ budget: '5s', within: '9s' })).rejects.toThrow(/either budget/);
  });
});
