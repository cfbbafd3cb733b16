// Schedules that have a URL in place of a job: what is sent, by whom, and what is not.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';

const noop = defineJob({ name: 'noop', run: () => null });
const test = openForEach(() => reuseTestTock([noop]));
const got: { method: string | undefined; token: string | undefined; body: string }[] = [];
const server = createServer((request, response) => {
  void text(request).then(body => {
    got.push({ method: request.method, token: request.headers.authorization, body });
    if (request.url !== '/hangs') response.end('thanks');
  });
});
let base: string;

beforeEach(async () => {
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  process.env['TOCK_HTTP_ALLOW'] = 'other.internal, 127.0.0.1';
  process.env['TOCK_HTTP_TOKEN'] = 'a-token-of-ours';
  await test.setClock('2026-03-01T12:00:30Z');
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
  got.length = 0;
  delete process.env['TOCK_HTTP_ALLOW'];
  delete process.env['TOCK_HTTP_TOKEN'];
});

/** Lets the schedule's first occurrence come. */
async function executeAt(payload: object) {
  const input = { name: 'ping', job: 'tock:http', cron: '* * * * *', payload, maxAttempts: 1 };
  await test.tock.schedules.upsert(input as never);
  await test.tock.tick();
  await test.advance('1m');
  await test.tock.tick();
  const [run] = await test.tock.runs.list({ definition: 'ping' });
  return run;
}

describe('a schedule with a URL', () => {
  it('requests it at its times, with the secret that the worker’s environment has', async () => {
    const authorization = { env: 'TOCK_HTTP_TOKEN', prefix: 'Bearer ' };
    const run = await executeAt({ url: base, body: { a: 1 }, headers: { authorization } });
    expect(run).toMatchObject({
      status: 'succeeded',
      job: 'tock:http',
      output: { status: 200, body: 'thanks' },
    });
    expect(got).toEqual([{ method: 'POST', token: 'Bearer a-token-of-ours', body: '{"a":1}' }]);
    const rows = await test.sql('select to_jsonb(d)::text as row from tock.job_definitions d');
    expect(JSON.stringify(rows)).not.toContain('a-token-of-ours');
  });

  it('sends nothing by itself: without a body there is none', { tags: 'check' }, async () => {
    await executeAt({ url: base });
    expect(got).toMatchObject([{ method: 'POST', body: '' }]);
  });

  it('has its own timeout', { tags: 'check' }, async () => {
    const run = await executeAt({ url: `${base}/hangs`, method: 'GET', timeout: '200ms' });
    expect(run).toMatchObject({ status: 'dead' });
    expect(run?.errors.at(-1)?.message).toMatch(/did not answer within 200ms/);
  });

  it('reaches no private address that the worker does not list', { tags: 'check' }, async () => {
    delete process.env['TOCK_HTTP_ALLOW'];
    const run = await executeAt({ url: base });
    expect(run).toMatchObject({ status: 'dead' });
    expect(run?.errors.at(-1)?.message).toMatch(/is no public address/);
    expect(got).toEqual([]);
  });

  it('is executed by a worker with jobs of its own, and the doctor knows its job', {
    tags: 'check',
  }, async () => {
    await executeAt({ url: base });
    const { checks } = await test.tock.doctor();
    expect(checks.find(({ code }) => code === 'jobs')).toMatchObject({ level: 'ok' });
  });
});

describe('refused', () => {
  it.each([
    [
      'a variable of another name',
      { url: 'https://a.test/', headers: { a: { env: 'DATABASE_URL' } } },
      /DATABASE_URL.*TOCK_HTTP_/,
    ],
    ['a URL in such a variable', { url: { env: 'HOME' } }, /HOME cannot be sent/],
    ['a secret in such a variable', { url: 'https://a.test/', secret: { env: 'PGPASSWORD' } }, /PGPASSWORD/],
    ['a URL with a password', { url: 'https://me:hunter2@a.test/' }, /a user or a password/],
    ['a list of its own', { url: 'https://a.test/', allow: ['127.0.0.1'] }, /no option "allow"/],
    ['a timeout of a day', { url: 'https://a.test/', timeout: '1d' }, /to 1h/],
    ['no URL', {}, /needs a url/],
  ])('%s, when the schedule is made', async (_, payload, message) => {
    const input = { name: 'ping', job: 'tock:http', cron: '* * * * *', payload };
    await expect(test.tock.schedules.upsert(input as never)).rejects.toThrow(message);
  });

  it('a run that was enqueued: who may only enqueue chooses no URL', async () => {
    await test.sql(`select tock.enqueue('tock:http', $1)`, [{ url: base }]);
    await test.tock.tick();
    const [run] = await test.tock.runs.list({ job: 'tock:http' });
    expect(run).toMatchObject({ status: 'dead', attempts: 1 });
    expect(run?.errors.at(-1)?.message).toMatch(/executes schedules only/);
    expect(got).toEqual([]);
  });
});
