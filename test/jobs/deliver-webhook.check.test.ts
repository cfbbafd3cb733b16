// In the check: it has leases of seconds.
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import deliverWebhook from '../../jobs/deliver-webhook.js';
import type { RunRecord } from '../../src/index.js';
import type { RunOnceOptions } from '../../src/testing.js';
import { openOnce } from '../support/open.js';
import { watchConnections } from './connections.js';
import { openJobKit } from './job-kit.js';

interface Received {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

// Of little patience, so that a cancelled delivery is told at once.
const kit = openOnce(() =>
  openJobKit({ jobs: [deliverWebhook], now: NOON, heartbeat: '50ms', lease: '10s' }),
);
let server: Server;
let received: Received[];
let host: string;
let respond: (response: ServerResponse) => void;

const NOON = new Date('2026-03-09T12:00:00Z');

beforeEach(async () => {
  received = [];
  respond = response => response.end();
  server = createServer((request, response) => {
    text(request).then(
      body => {
        received.push({ method: request.method, path: request.url, headers: request.headers, body });
        respond(response);
      },
      () => undefined,
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  vi.stubEnv('WEBHOOK_SECRET', 'a secret');
});
afterEach(async () => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
  server.closeAllConnections();
  await new Promise(resolve => server.close(resolve));
});

/** One attempt to deliver. */
function deliver(payload: object = {}, options: RunOnceOptions = {}): Promise<RunRecord> {
  const event = {
    url: `http://${host}/hooks/s3cret-path`,
    event: 'invoice.paid',
    body: { id: 812, sum: '1 €' },
  };
  return kit.runOnce('deliver-webhook', { ...event, ...payload }, options);
}

/** How long the run waits for its next attempt, in milliseconds of the standing clock. */
const waitOf = (run: RunRecord) => run.runAt.getTime() - (run.startedAt?.getTime() ?? Number.NaN);
const messageOf = (run: RunRecord) => run.errors.at(-1)?.message;

function answering(
  status: number,
  headers: Record<string, string> = {},
  body = '',
): (response: ServerResponse) => void {
  return response => response.writeHead(status, headers).end(body);
}

/** Writes without end until the other side has had enough. */
function flood(response: ServerResponse): void {
  const chunk = 'x'.repeat(64 * 1024);
  const pour = (): void => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on('drain', pour).on('error', () => undefined);
  pour();
}

function signatureOf(secret: string | Buffer, { headers, body }: Received): string {
  const signed = `${headers['webhook-id'] as string}.${headers['webhook-timestamp'] as string}.${body}`;
  return `v1,${createHmac('sha256', secret).update(signed).digest('base64')}`;
}

describe('deliver-webhook', () => {
  it('posts the signed event', async () => {
    const connections = watchConnections(kit.connectionString);
    const { output } = await deliver({}, { key: 'invoice_paid:812' });
    connections.stop();
    expect(output).toEqual({ status: 200, durationMs: expect.any(Number) });
    const [request] = received;
    if (!request) throw new Error('nothing was received');
    expect(request.method).toBe('POST');
    expect(request.headers['content-type']).toBe('application/json');
    expect(JSON.parse(request.body)).toEqual({ type: 'invoice.paid', data: { id: 812, sum: '1 €' } });
    expect(request.headers['webhook-id']).toBe('invoice_paid:812');
    expect(request.headers['webhook-signature']).toBe(signatureOf('a secret', request));
    expect(connections.addresses).toEqual(['127.0.0.1']);
  });

  it('stamps the attempt with the time of the database', async () => {
    const now = async () => {
      const [row] = await kit.sql<{ s: number }>('select floor(extract(epoch from now()))::int as s');
      return row?.s ?? Number.NaN;
    };
    const before = await now();
    vi.spyOn(Date, 'now').mockReturnValue(0);
    await deliver();
    const after = await now();
    const stamp = Number(received[0]?.headers['webhook-timestamp']);
    expect(stamp).toBeGreaterThanOrEqual(before);
    expect(stamp).toBeLessThanOrEqual(after);
  });

  it('signs with the bytes of a whsec_ secret', async () => {
    const bytes = Buffer.from('0123456789abcdef01234567');
    vi.stubEnv('WEBHOOK_SECRET', `whsec_${bytes.toString('base64')}`);
    await deliver();
    const [request] = received;
    expect(request?.headers['webhook-signature']).toBe(request && signatureOf(bytes, request));
  });

  it.each([
    ['the payload’s id', { id: 'evt_1' }, { key: 'key 1' }, () => 'evt_1'],
    ['the idempotency key', {}, { key: 'key:2' }, () => 'key:2'],
    ['the run’s id', {}, {}, (run: RunRecord) => run.id],
    ['a key that no header could hold', {}, { key: 'a\r\nb: ü' }, () => 'a%0D%0Ab:%20%C3%BC'],
  ])('names each attempt by %s', async (_what, payload, options, expected) => {
    respond = answering(500);
    const run = await deliver(payload, options);
    respond = answering(200);
    await kit.clock.set(run.runAt);
    expect(await kit.drain()).toMatchObject([{ id: run.id, status: 'succeeded', attempts: 2 }]);
    expect(received.map(each => each.headers['webhook-id'])).toEqual([expected(run), expected(run)]);
  });

  it('dies without a secret, before anything is sent', async () => {
    vi.stubEnv('WEBHOOK_SECRET', '');
    const run = await deliver();
    expect(run.status).toBe('dead');
    expect(messageOf(run)).toContain('WEBHOOK_SECRET is not set');
    expect(received).toEqual([]);
  });

  it.each([408, 425, 429, 500, 502, 503, 504])('fails after a %i, to be tried again', async status => {
    respond = answering(status, {}, 'busy');
    const run = await deliver();
    expect([run.status, messageOf(run)]).toEqual(['failed', `${host} answered ${status}: busy`]);
    expect(waitOf(run)).toBeLessThan(13_000);
  });

  it.each([400, 401, 404, 410, 422])('dies of a %i, with what the receiver said', async status => {
    respond = answering(status, {}, 'no such hook');
    const run = await deliver();
    expect([run.status, messageOf(run)]).toEqual(['dead', `${host} answered ${status}: no such hook`]);
  });

  it('does not follow a redirect', async () => {
    respond = answering(307, { location: `http://${host}/elsewhere` });
    expect((await deliver()).status).toBe('dead');
    expect(received.map(each => each.path)).toEqual(['/hooks/s3cret-path']);
  });

  it.each([
    [429, '120', 120_000],
    [503, '120', 120_000],
    [503, '0', 10_000],
    [503, '86400', 3_600_000],
    [503, 'Fri, 31 Dec 9999 23:59:59 GMT', 3_600_000],
    [503, 'Thu, 01 Jan 1970 00:00:00 GMT', 10_000],
  ])('waits as long as a %i with Retry-After %s asks, within reason', async (status, header, delay) => {
    respond = answering(status, { 'retry-after': header });
    const run = await deliver();
    expect([run.status, waitOf(run), run.attempts]).toEqual(['queued', delay, 0]);
  });

  it('does not heed a Retry-After that it cannot read, or that comes with another status', async () => {
    respond = answering(503, { 'retry-after': 'soon' });
    expect(waitOf(await deliver())).toBeLessThan(13_000);
    respond = answering(500, { 'retry-after': '120' });
    expect(waitOf(await deliver())).toBeLessThan(13_000);
  });

  it('keeps the first 500 characters of a response without end, and hangs up', async () => {
    let closed: Promise<unknown> | undefined;
    respond = response => {
      closed = once(response, 'close');
      flood(response.writeHead(400));
    };
    expect(messageOf(await deliver())).toBe(`${host} answered 400: ${'x'.repeat(500)}`);
    await closed;
  });

  it('succeeds by the status alone, and hangs up on a body without end', async () => {
    let closed: Promise<unknown> | undefined;
    respond = response => {
      closed = once(response, 'close');
      flood(response.writeHead(202));
    };
    expect((await deliver()).output).toMatchObject({ status: 202 });
    await closed;
  });

  it('fails after ten seconds without an answer', async () => {
    const timer = new AbortController();
    const timeout = vi.spyOn(AbortSignal, 'timeout').mockReturnValue(timer.signal);
    respond = () => timer.abort(new DOMException('too long', 'TimeoutError'));
    const run = await deliver();
    expect(timeout).toHaveBeenCalledWith(10_000);
    expect(messageOf(run)).toBe(`no answer from ${host}: 10 s have passed`);
  });

  it('stops at once when its run is cancelled', async () => {
    let hungUp: Promise<unknown> | undefined;
    let cancelled: Promise<unknown> | undefined;
    respond = response => {
      hungUp = once(response, 'close');
      cancelled = kit.tock.runs
        .list({ job: 'deliver-webhook', status: 'running' })
        .then(([run]) => run && kit.tock.runs.cancel(run.id));
    };
    expect((await deliver()).status).toBe('cancelled');
    await Promise.all([cancelled, hungUp]);
  });

  it('fails with the cause when nobody listens', async () => {
    await new Promise(resolve => server.close(resolve));
    expect(messageOf(await deliver())).toBe(`no answer from ${host}: ECONNREFUSED`);
  });

  it('keeps the path of the URL out of every error', async () => {
    for (const status of [404, 500]) {
      respond = answering(status);
      expect(JSON.stringify((await deliver()).errors)).not.toContain('s3cret-path');
    }
  });

  it.each(['ftp://127.0.0.1/', 'file:///etc/passwd', 'no url', 'http://user:password@127.0.0.1/'])(
    'takes no payload with the URL %s',
    async url => {
      await expect(deliver({ url })).rejects.toMatchObject({ code: 'TOCK_BAD_PAYLOAD' });
      expect(received).toEqual([]);
    },
  );
});
