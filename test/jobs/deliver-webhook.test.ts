import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import deliverWebhook from '../../jobs/deliver-webhook.js';
import { Dead, RetryLater } from '../../src/index.js';
import {
  type HandlerOverrides,
  type HandlerResult,
  type JobHarness,
  openJobHarness,
} from '../support/job-harness.js';
import { watchConnections } from './connections.js';

interface Received {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

let harness: JobHarness;
let server: Server;
let received: Received[];
let host: string;
let respond: (response: ServerResponse) => void;

beforeAll(async () => {
  harness = await openJobHarness();
});
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
afterAll(() => harness.close());

function deliver(overrides: HandlerOverrides = {}, payload: object = {}): Promise<HandlerResult> {
  const event = {
    url: `http://${host}/hooks/s3cret-path`,
    event: 'invoice.paid',
    body: { id: 812, sum: '1 €' },
  };
  return harness.runHandler(deliverWebhook, { ...event, ...payload }, overrides);
}

function failure(overrides: HandlerOverrides = {}, payload: object = {}): Promise<Error> {
  return deliver(overrides, payload).then(
    () => expect.unreachable('the delivery succeeded'),
    (error: Error) => error,
  );
}

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
    const connections = watchConnections();
    const { output } = await deliver({ idempotencyKey: 'invoice_paid:812' });
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
    const now = sql<{ s: number }>`select floor(extract(epoch from now()))::int as s`;
    const before = (await now.execute(harness.db)).rows[0]?.s ?? Number.NaN;
    vi.spyOn(Date, 'now').mockReturnValue(0);
    await deliver();
    const after = (await now.execute(harness.db)).rows[0]?.s ?? Number.NaN;
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
    ['the payload’s id', { id: 'evt_1' }, { idempotencyKey: 'key', runId: '9' }, 'evt_1'],
    ['the idempotency key', {}, { idempotencyKey: 'key', runId: '9' }, 'key'],
    ['the run’s id', {}, { runId: '9' }, '9'],
    ['a key that no header could hold', {}, { idempotencyKey: 'a\r\nb: ü' }, 'a%0D%0Ab:%20%C3%BC'],
  ])('names each attempt by %s', async (_what, payload, overrides, expected) => {
    respond = answering(500);
    await failure({ ...overrides, attempt: 1 }, payload);
    respond = answering(200);
    await deliver({ ...overrides, attempt: 2 }, payload);
    expect(received.map(each => each.headers['webhook-id'])).toEqual([expected, expected]);
  });

  it('dies without a secret, before anything is sent', async () => {
    vi.stubEnv('WEBHOOK_SECRET', '');
    const error = await failure();
    expect(error).toBeInstanceOf(Dead);
    expect(error.message).toContain('WEBHOOK_SECRET is not set');
    expect(received).toEqual([]);
  });

  it.each([408, 425, 429, 500, 502, 503, 504])('fails after a %i, to be tried again', async status => {
    respond = answering(status, {}, 'busy');
    const error = await failure();
    expect(error).not.toBeInstanceOf(Dead);
    expect(error).not.toBeInstanceOf(RetryLater);
    expect(error.message).toBe(`${host} answered ${status}: busy`);
  });

  it.each([400, 401, 404, 410, 422])('dies of a %i, with what the receiver said', async status => {
    respond = answering(status, {}, 'no such hook');
    const error = await failure();
    expect(error).toBeInstanceOf(Dead);
    expect(error.message).toBe(`${host} answered ${status}: no such hook`);
  });

  it('does not follow a redirect', async () => {
    respond = answering(307, { location: `http://${host}/elsewhere` });
    expect(await failure()).toBeInstanceOf(Dead);
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
    const error = await failure();
    expect(error).toBeInstanceOf(RetryLater);
    expect((error as RetryLater).delay).toBe(delay);
  });

  it('does not heed a Retry-After that it cannot read, or that comes with another status', async () => {
    respond = answering(503, { 'retry-after': 'soon' });
    expect(await failure()).not.toBeInstanceOf(RetryLater);
    respond = answering(500, { 'retry-after': '120' });
    expect(await failure()).not.toBeInstanceOf(RetryLater);
  });

  it('keeps the first 500 characters of a response without end, and hangs up', async () => {
    let closed: Promise<unknown> | undefined;
    respond = response => {
      closed = once(response, 'close');
      flood(response.writeHead(400));
    };
    const error = await failure();
    expect(error.message).toBe(`${host} answered 400: ${'x'.repeat(500)}`);
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
    const error = await failure();
    expect(timeout).toHaveBeenCalledWith(10_000);
    expect(error.message).toBe(`no answer from ${host}: 10 s have passed`);
  });

  it('ends with the reason of its signal when the run is stopped', async () => {
    const controller = new AbortController();
    const reason = new Error('draining');
    respond = () => controller.abort(reason);
    expect(await failure({ signal: controller.signal })).toBe(reason);
  });

  it('fails with the cause when nobody listens', async () => {
    await new Promise(resolve => server.close(resolve));
    const error = await failure();
    expect(error.message).toBe(`no answer from ${host}: ECONNREFUSED`);
  });

  it('keeps the path of the URL out of every error', async () => {
    for (const status of [404, 500]) {
      respond = answering(status);
      expect((await failure()).message).not.toContain('s3cret-path');
    }
  });

  it.each(['ftp://127.0.0.1/', 'file:///etc/passwd', 'no url', 'http://user:password@127.0.0.1/'])(
    'takes no payload with the URL %s',
    async url => {
      expect(await failure({}, { url })).toBeInstanceOf(TypeError);
      expect(received).toEqual([]);
    },
  );
});
