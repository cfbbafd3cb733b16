// HTTP jobs, against servers that behave and servers that do not.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';
import { afterEach, describe, expect, it } from 'vitest';
import { type Resolve, sendRequest } from '../../../../src/engine/execute/http/request.js';
import { defineHttpJob, type HttpJobOptions } from '../../../../src/index.js';
import { openForEach } from '../../../support/open.js';
import { reuseTestTock } from '../../../support/test-tock.js';

const test = openForEach(reuseTestTock);
const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
  for (const name of ['HTTP_TEST_TOKEN', 'HTTP_TEST_URL', 'HTTP_TEST_SECRET']) delete process.env[name];
});

interface Got {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

type Answer = (response: ServerResponse, request: IncomingMessage) => void;

async function openServer(answer: Answer, host = '127.0.0.1') {
  const got: Got[] = [];
  const server = createServer((request, response) => {
    void text(request).then(body => {
      const { method, url, headers } = request;
      got.push({ method, url, headers, body });
      answer(response, request);
    });
  });
  await new Promise<void>(resolve => void server.listen(0, host, resolve));
  closing.push(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://${host}:${port}/hooks/a-secret-path?key=1`, port, got };
}

const ok: Answer = response => void response.end('thanks');
const status =
  (code: number, headers: Record<string, string> = {}, body = ''): Answer =>
  response =>
    void response.writeHead(code, headers).end(body);

const NO_WAIT = { base: 0, jitter: 0, maxAttempts: 3 } as const;
type Given = Partial<Omit<HttpJobOptions, 'name'>> & Pick<HttpJobOptions, 'url'>;
const define = (options: Given) =>
  defineHttpJob({ name: 'call', allow: ['127.0.0.1'], retry: NO_WAIT, ...options });

/** Executes one run until nothing is due, and gives what has become of it. */
async function execute(options: Given, payload: object = { n: 1 }) {
  const job = define(options);
  const tock = test.another({ jobs: [job] });
  const id = await tock.enqueue(job, payload);
  await tock.tick();
  const run = await tock.runs.get(id);
  if (run === null) throw new Error('the run is gone');
  return { id, run, tock, message: run.errors.at(-1)?.message ?? '' };
}

describe('an HTTP job', () => {
  it('posts its payload, with its run as the idempotency key, and keeps what was answered', async () => {
    const { url, got } = await openServer(
      status(201, { 'content-type': 'text/plain', 'set-cookie': 'a=b' }, 'made'),
    );
    const { id, run } = await execute({ url });
    expect(got).toMatchObject([
      {
        method: 'POST',
        url: '/hooks/a-secret-path?key=1',
        body: '{"n":1}',
        headers: { 'content-type': 'application/json', 'idempotency-key': id, 'user-agent': 'tock' },
      },
    ]);
    expect(run).toMatchObject({
      status: 'succeeded',
      attempts: 1,
      output: { status: 201, body: 'made', isCut: false, headers: { 'content-type': 'text/plain' } },
    });
    expect(JSON.stringify(run.output)).not.toContain('set-cookie');
  });

  it('computes its URL and its body from the payload, and sends a text as it is', async () => {
    const { url, got } = await openServer(ok);
    await execute({
      url: payload => `${url}&n=${(payload as { n: number }).n}`,
      method: 'PUT',
      body: payload => `n is ${(payload as { n: number }).n}`,
    });
    expect(got).toMatchObject([
      {
        method: 'PUT',
        url: expect.stringMatching(/&n=1$/),
        body: 'n is 1',
        headers: { 'content-type': 'text/plain; charset=utf-8' },
      },
    ]);
  });

  it('sends no body with GET', async () => {
    const { url, got } = await openServer(ok);
    await execute({ url, method: 'GET' });
    expect(got[0]).toMatchObject({ method: 'GET', body: '' });
    expect(got[0]?.headers).not.toHaveProperty('content-length');
  });

  it('takes secrets from the environment; none is stored, even if the server repeats them', async () => {
    process.env['HTTP_TEST_TOKEN'] = 'tok-5eb63bbbe01eeed0';
    const { url, got } = await openServer((response, { headers }) => {
      response.writeHead(200, { etag: headers.authorization });
      response.end(`you said ${headers.authorization}`);
    });
    process.env['HTTP_TEST_URL'] = url;
    const { run } = await execute({
      url: { env: 'HTTP_TEST_URL' },
      headers: { authorization: { env: 'HTTP_TEST_TOKEN', prefix: 'Bearer ' } },
    });
    expect(got[0]?.headers.authorization).toBe('Bearer tok-5eb63bbbe01eeed0');
    expect(run).toMatchObject({ output: { body: 'you said Bearer ***', headers: { etag: 'Bearer ***' } } });
    const [row] = await test.sql(`select json_agg(r)::text as runs from tock.job_runs r`);
    expect(JSON.stringify(row)).not.toMatch(/5eb63|secret-path/);
  });

  const SECRET = 'sk"live\\0123456789abcdefghijklmnop/?';
  it.each<[string, Answer, Partial<Given>]>([
    [
      'of the text with which success throws',
      (response, { headers }) => void response.end(headers.authorization),
      {
        success: ({ text: answered }) => {
          throw new Error(`what is ${answered}`);
        },
      },
    ],
    [
      'of a text that is cut within it',
      (response, { headers }) =>
        void response.end(`${'x'.repeat(16 * 1024 - 20)}${headers.authorization} and more`),
      {},
    ],
    ['of JSON', (response, { headers }) => void response.end(JSON.stringify(headers)), {}],
    [
      'of a URL',
      (response, { headers }) => void response.end(`/?k=${encodeURIComponent(headers.authorization ?? '')}`),
      {},
    ],
  ])('keeps nothing of a secret %s', async (_, answer, options) => {
    process.env['HTTP_TEST_TOKEN'] = SECRET;
    const { url } = await openServer(answer);
    await execute({ url, headers: { authorization: { env: 'HTTP_TEST_TOKEN' } }, ...options });
    const [row] = await test.sql(`select json_agg(r)::text as runs from tock.job_runs r`);
    expect(JSON.stringify(row)).toContain('***');
    expect(JSON.stringify(row)).not.toMatch(/sk"|0123456|abcdefgh/);
  });

  it('says which variable is missing, and tries again', async () => {
    const { url } = await openServer(ok);
    const { run, message } = await execute({ url, headers: { authorization: { env: 'HTTP_TEST_TOKEN' } } });
    expect(message).toMatch(/environment variable HTTP_TEST_TOKEN is not set/);
    expect(run).toMatchObject({ status: 'dead', attempts: 3 });
  });

  it('is signed so that the library of Standard Webhooks accepts it', async () => {
    const secret = `whsec_${Buffer.from('a secret of 24 bytes, ok').toString('base64')}`;
    process.env['HTTP_TEST_SECRET'] = secret;
    const { url, got } = await openServer(ok);
    await test.setClock(null);
    const { id } = await execute({ url, secret: { env: 'HTTP_TEST_SECRET' } });
    const [{ body, headers }] = got as [Got];
    expect(headers['webhook-id']).toBe(id);
    expect(new Webhook(secret).verify(body, headers as Record<string, string>)).toEqual({ n: 1 });
    expect(() => new Webhook(secret).verify(`${body} `, headers as Record<string, string>)).toThrow(/match/);
  });

  it('is not signed by whsec_ without a key', async () => {
    process.env['HTTP_TEST_SECRET'] = 'whsec_';
    const { url, got } = await openServer(ok);
    const { message } = await execute({ url, secret: { env: 'HTTP_TEST_SECRET' } });
    expect([message, got]).toEqual([expect.stringContaining('whsec_ without a key'), []]);
  });

  it('is signed with the database’s time', async () => {
    process.env['HTTP_TEST_SECRET'] = 'any text';
    const { url, got } = await openServer(ok);
    await test.setClock('2026-03-01T12:00:30.9Z');
    await execute({ url, secret: { env: 'HTTP_TEST_SECRET' } });
    expect(got[0]?.headers['webhook-timestamp']).toBe(String(Date.parse('2026-03-01T12:00:30Z') / 1000));
  });
});

describe('an answer', () => {
  it.each([408, 425, 429, 500, 503])('%i is retried as the job says', { tags: 'check' }, async code => {
    const { url, got } = await openServer(status(code, {}, 'not now'));
    const { run, message } = await execute({ url });
    expect(run).toMatchObject({ status: 'dead', attempts: 3 });
    expect(message).toMatch(new RegExp(`^127\\.0\\.0\\.1:\\d+ answered ${code}: not now$`));
    expect(got).toHaveLength(3);
  });

  it.each([400, 401, 404, 410, 422])('%i ends the run', { tags: 'check' }, async code => {
    const { url, got } = await openServer(status(code));
    expect((await execute({ url })).run).toMatchObject({ status: 'dead', attempts: 1 });
    expect(got).toHaveLength(1);
  });

  it.each([
    ['seconds', { 'retry-after': '120' }],
    ['a date', { date: 'Sun, 01 Mar 2026 12:00:00 GMT', 'retry-after': 'Sun, 01 Mar 2026 12:02:00 GMT' }],
  ])('with Retry-After in %s sets the time of the next attempt', { tags: 'check' }, async (_, headers) => {
    const { url } = await openServer(status(503, headers));
    await test.setClock('2026-07-01T00:00:00Z');
    const { run } = await execute({ url });
    expect(run).toMatchObject({
      status: 'failed',
      attempts: 1,
      runAt: new Date('2026-07-01T00:02:00Z'),
    });
  });

  it('that asks for thirty years gets a day', async () => {
    const { url } = await openServer(status(429, { 'retry-after': '946080000' }));
    await test.setClock('2026-07-01T00:00:00Z');
    expect((await execute({ url })).run).toMatchObject({ runAt: new Date('2026-07-02T00:00:00Z') });
  });

  it('is a success by the statuses of the job', async () => {
    const { url } = await openServer(status(409));
    expect((await execute({ url, success: [200, 409] })).run).toMatchObject({ status: 'succeeded' });
  });

  it('is a success by its content', async () => {
    let count = 0;
    const { url } = await openServer(status(200, {}, '{"ok":false}'));
    const success: NonNullable<Given['success']> = answer => {
      count++;
      return (answer.json() as { ok: boolean }).ok;
    };
    const { run, message } = await execute({ url, success });
    expect(run).toMatchObject({ status: 'dead', attempts: 3 });
    expect(message).toMatch(/answered 200: \{"ok":false\}, which success of the job refuses/);
    expect(count).toBe(3);
  });

  it('200 with a malformed body fails where it is read, and is retried', async () => {
    const { url } = await openServer(status(200, {}, '{"ok":'));
    const { run, message } = await execute({ url, success: answer => answer.json() !== null });
    expect(run).toMatchObject({ status: 'dead', attempts: 3 });
    expect(message).toBe('the answer 200 is no JSON');
  });

  it('holds what PostgreSQL cannot store: it is replaced', async () => {
    const { url } = await openServer(response => void response.end(Buffer.from([65, 0, 0xff, 66])));
    expect((await execute({ url })).run).toMatchObject({
      status: 'succeeded',
      output: { body: 'A\uFFFD\uFFFDB' },
    });
  });
});

describe('a hostile server', () => {
  it('answers without an end: 16 KiB are kept, and the connection is closed', async () => {
    let closed: (() => void) | undefined;
    const isClosed = new Promise<void>(resolve => {
      closed = resolve;
    });
    const { url } = await openServer(response => {
      const more = () => {
        while (response.write('x'.repeat(1000)));
      };
      response.on('drain', more).on('close', () => closed?.());
      more();
    });
    const { run } = await execute({ url });
    expect(run).toMatchObject({ status: 'succeeded', output: { isCut: true } });
    expect((run.output as { body: string }).body).toHaveLength(16 * 1024);
    await isClosed;
  });

  it('trickles: the timeout covers the body', { tags: 'check' }, async () => {
    const { url } = await openServer(response => {
      const timer = setInterval(() => response.write('.'), 20);
      response.on('close', () => clearInterval(timer));
    });
    const { run, message } = await execute({ url, timeout: '300ms', retry: { maxAttempts: 1 } });
    expect(run).toMatchObject({ status: 'dead', attempts: 1 });
    expect(message).toMatch(/300ms/);
  });

  it('cuts its answer short: that is no success', async () => {
    const { url } = await openServer(response => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('half', () => response.destroy());
    });
    const { run, message } = await execute({ url });
    expect(run).toMatchObject({ status: 'dead', attempts: 3 });
    expect(message).toMatch(/no answer from 127\.0\.0\.1/);
  });

  it.each([
    ['to the address of a cloud’s metadata', 'http://169.254.169.254/latest/meta-data/'],
    ['to itself', '/elsewhere'],
  ])('redirects %s: that is not followed, and the run ends', { tags: 'check' }, async (_, location) => {
    const { url, got } = await openServer(status(302, { location }));
    const { run, message } = await execute({ url });
    expect(run).toMatchObject({ status: 'dead', attempts: 1 });
    expect(message).toMatch(/answered 302; redirects are not followed/);
    expect(got).toHaveLength(1);
  });

  it('answers with headers of a megabyte, or with no HTTP at all', { tags: 'check' }, async () => {
    const { url } = await openServer(status(200, { 'x-large': 'x'.repeat(1_000_000) }));
    expect((await execute({ url })).message).toMatch(/no answer from .*overflow/i);
    const raw = await openServer(response => void response.socket?.end('SSH-2.0-OpenSSH\r\n\r\n'));
    expect((await execute({ url: raw.url })).message).toMatch(/no answer from .*Parse Error/);
  });

  it('switches protocols: the attempt fails at once', async () => {
    const { url } = await openServer(
      response =>
        void response.socket?.write(
          'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
        ),
    );
    const { run, message } = await execute({ url, timeout: '1h' });
    expect(run).toMatchObject({
      status: 'dead',
      attempts: 3,
      errors: [{ code: 'TOCK_HTTP_FAILED' }, {}, {}],
    });
    expect(message).toMatch(/no answer from .*: the answer switches protocols/);
  });
});

describe('an address', () => {
  const forms = (port: number) => [
    [`http://127.0.0.1:${port}/`],
    [`http://localhost:${port}/`],
    [`http://2130706433:${port}/`],
    [`http://0x7f.1:${port}/`],
    [`http://0177.0.0.01:${port}/`],
    [`http://127.1:${port}/`],
    [`http://0.0.0.0:${port}/`],
    [`http://[::1]:${port}/`],
    [`http://[::ffff:127.0.0.1]:${port}/`],
    [`http://①②⑦.⓪.⓪.①:${port}/`],
  ];

  it('that is private is refused in each of its forms, at once, and nothing is connected to', {
    tags: 'check',
  }, async () => {
    const { port, got } = await openServer(ok);
    for (const [url = ''] of forms(port)) {
      const { run, message } = await execute({ url, allow: [] });
      expect([url, run.status, run.attempts]).toEqual([url, 'dead', 1]);
      expect(message).toMatch(/is no public address, and was not connected to.*list .* in allow/);
    }
    expect(got).toEqual([]);
  });

  it('is resolved once: a name whose next answer is another address leads to the first', async () => {
    const public_ = await openServer(ok);
    const inside = await openServer(ok, '127.0.0.2');
    const answers = ['127.0.0.1', '127.0.0.2'];
    const asked: string[] = [];
    const resolve: Resolve = (host, _, done) => {
      asked.push(host);
      done(null, [{ address: answers[asked.length - 1] ?? '', family: 4 }]);
    };
    const ask = (port: number) =>
      sendRequest({
        url: new URL(`http://rebinding.test:${port}/`),
        method: 'GET',
        headers: {},
        body: null,
        hide: text => text,
        signal: AbortSignal.timeout(60_000),
        allow: ['127.0.0.1'],
        resolve,
      });
    expect(await ask(public_.port)).toMatchObject({ status: 200 });
    expect(asked).toEqual(['rebinding.test']);
    expect(public_.got).toHaveLength(1);
    // The second answer is refused before anything is connected to.
    await expect(ask(inside.port)).rejects.toMatchObject({ code: 'TOCK_HTTP_REFUSED' });
    expect(inside.got).toEqual([]);
  });

  it('is refused where one of several is private', async () => {
    const { port, got } = await openServer(ok);
    const resolve: Resolve = (_host, _options, done) =>
      done(
        null,
        ['127.0.0.1', '10.0.0.1'].map(address => ({ address, family: 4 })),
      );
    const signal = AbortSignal.timeout(60_000);
    const url = new URL(`http://two.test:${port}/`);
    const more = { hide: (answered: string) => answered, signal, allow: ['127.0.0.1'], resolve };
    const request = { url, method: 'GET', headers: {}, body: null, ...more };
    await expect(sendRequest(request)).rejects.toThrow(/two\.test \(10\.0\.0\.1\) is no public address/);
    expect(got).toEqual([]);
  });

  it('where nothing listens is retried, and no path is in the error', async () => {
    const { port } = await openServer(ok);
    for (const close of closing.splice(0)) await close();
    expect(
      await new Promise(resolve => connect(port, '127.0.0.1').on('error', () => resolve('closed'))),
    ).toBe('closed');
    const { run, message } = await execute({ url: `http://127.0.0.1:${port}/a-secret-path` });
    expect(run).toMatchObject({ status: 'dead', attempts: 3 });
    expect(message).toMatch(/no answer from 127\.0\.0\.1:\d+: .*ECONNREFUSED/);
    expect(message).not.toContain('path');
  });
});

it.each([
  ['with a password', 'https://user:hunter2@example.test/', /holds a user or a password/],
  ['of a file', 'file:///etc/passwd', /begins with "file:"/],
  ['that is none', 'example.test/path', /is no URL/],
])(
  'a URL that is computed %s is refused, without what it holds',
  { tags: 'check' },
  async (_, url, expected) => {
    const { run, message } = await execute({ url: () => url });
    expect(run.status).toBe('dead');
    expect(message).toMatch(expected);
    expect(message).not.toMatch(/hunter2|passwd/);
  },
);
