// The real engine, in a database for each test, with a clock that the test sets, and a mail API of its own.
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { openTestTock } from 'pg-tock/testing';
import { jobs } from '../jobs/index.js';
import { TABLES, type Tables } from './database.js';
import { issueInvoice } from './invoices.js';

const ACME = { customer: 'acme', email: 'mia@example.com', cents: 4200 };

interface Received {
  readonly to: string;
  readonly text: string;
  readonly key: string | undefined;
}

/** A mail API that answers with one status after another, and then with 200. */
async function openMailApi(t: TestContext, statuses: number[] = []): Promise<Received[]> {
  const received: Received[] = [];
  const server = createServer((request, response) => {
    const answer = async () => {
      let body = '';
      for await (const chunk of request) body += String(chunk);
      const status = statuses.shift() ?? 200;
      const { to, text } = JSON.parse(body) as { to: string; text: string };
      if (status === 200) received.push({ to, text, key: request.headers['idempotency-key'] as string });
      response.writeHead(status).end(status === 200 ? `mail-${received.length}` : 'no');
    };
    void answer();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => server.close());
  process.env['MAIL_API'] = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return received;
}

async function openKit(t: TestContext, now = '2026-03-28T12:00:00Z') {
  const kit = await openTestTock({ jobs, now });
  t.after(() => kit.close());
  await kit.sql(TABLES);
  return { kit, app: { db: kit.db.withTables<Tables>(), tock: kit.tock } };
}

test('an invoice is mailed once, and noted as sent', async t => {
  const mails = await openMailApi(t);
  const { kit, app } = await openKit(t);
  const id = await issueInvoice(app, ACME);
  const [run] = await kit.drain();
  assert.equal(run?.status, 'succeeded');
  assert.deepEqual(mails, [{ to: 'mia@example.com', text: 'Please pay 42.00 EUR.', key: `invoice:${id}` }]);
  assert.equal((await kit.sql('select from invoices where sent_at is not null')).length, 1);
});

test('without its invoice there is no mail either', async t => {
  const { kit, app } = await openKit(t);
  // A constraint that is checked at the commit, after the run was enqueued.
  await kit.sql('alter table invoices add unique (customer) deferrable initially deferred');
  await issueInvoice(app, ACME);
  await assert.rejects(issueInvoice(app, ACME), /unique/);
  assert.equal((await kit.tock.runs.list()).length, 1);
});

test('a mail that was sent is not sent again when the worker dies right after it', async t => {
  const mails = await openMailApi(t);
  const { kit, app } = await openKit(t);
  await issueInvoice(app, ACME);
  let deaths = 1;
  kit.changeContext('send-invoice', ctx => ({
    transaction: async work => {
      if (deaths-- > 0) await kit.loseLease(ctx.runId);
      return await ctx.transaction(work);
    },
  }));
  await kit.drain();
  await kit.advanceTo('2026-03-28T12:30:00Z');
  const [run] = await kit.tock.runs.list({ job: 'send-invoice' });
  assert.equal(run?.status, 'succeeded');
  assert.equal(run.attempts, 2);
  assert.equal(mails.length, 1);
});

test('while the mail API is down, it is tried again', async t => {
  const mails = await openMailApi(t, [503, 503]);
  const { kit, app } = await openKit(t);
  await issueInvoice(app, ACME);
  assert.deepEqual(await kit.drain(), []);
  const [run] = await kit.advanceTo('2026-03-28T13:00:00Z');
  assert.equal(run?.status, 'succeeded');
  assert.equal(run.attempts, 3);
  assert.equal(mails.length, 1);
});

test('an address that is refused ends the run, and opens a ticket', async t => {
  const mails = await openMailApi(t, [422]);
  const { kit, app } = await openKit(t);
  const id = await issueInvoice(app, ACME);
  const ended = await kit.drain();
  assert.deepEqual(
    ended.map(({ job, status }) => `${job} ${status}`),
    ['send-invoice dead', 'open-ticket succeeded'],
  );
  assert.deepEqual(mails, []);
  const [ticket] = await kit.sql<{ text: string }>('select text from tickets');
  assert.match(ticket?.text ?? '', new RegExp(`^send-invoice .*"${id}".*: .*answered 422`));
});

test('the day of 23 hours has its report, and the report is mailed', async t => {
  const mails = await openMailApi(t);
  const { kit } = await openKit(t);
  await kit.sql(`insert into invoices (customer, email, cents, issued_at) values
    ('acme', 'mia@example.com', 100, '2026-03-28 04:59Z'),
    ('acme', 'mia@example.com', 200, '2026-03-28 05:00Z'),
    ('acme', 'mia@example.com', 300, '2026-03-29 03:59Z'),
    ('acme', 'mia@example.com', 400, '2026-03-29 04:00Z')`);
  const ended = await kit.untilNext('daily-report');
  assert.deepEqual(
    ended.map(({ job, status }) => `${job} ${status}`),
    ['daily-report succeeded', 'mail-report succeeded'],
  );
  // Six in the morning, in winter and then in summer.
  assert.deepEqual(ended[0]?.output, {
    start: '2026-03-28T05:00:00.000Z',
    end: '2026-03-29T04:00:00.000Z',
    invoices: 2,
    cents: 500,
  });
  assert.deepEqual(
    mails.map(({ text }) => text),
    ['2 invoices, 5.00 EUR'],
  );
});
