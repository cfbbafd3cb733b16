// Chaos: the project's reminder job, killed fifty times somewhere between a mail, its ledger row and the outcome.
import { createHash } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { reapRuns } from '../../src/store/runs/reap/reap.js';
import { openInbox } from '../jobs/inbox.js';
import { openDatabase } from '../support/database.js';
import { killAfterEach, openForEach } from '../support/open.js';
import { bundleJobs, startProcess, TICK } from '../support/processes.js';
import { REAPING } from '../support/runs.js';
import { openTestTock, until } from '../support/test-tock.js';

const KILLS = 50;
const INVOICES = 160;

const test = openForEach(openTestTock);
const inbox = openForEach(openInbox);
const running = killAfterEach();

const TABLE = `create table public.invoices (id bigint generated always as identity primary key, number text not null unique,
  customer_name text not null, customer_email text not null, amount_cents bigint not null, currency text not null default 'EUR',
  due_on date not null, paid_at timestamptz, reminder_count integer not null default 0, reminded_at timestamptz)`;
const messageId = (key: string) =>
  `<${createHash('sha256').update(key).digest('hex').slice(0, 32)}@example.com>`;

describe('send-invoice-reminders, killed between sending and finalizing', () => {
  it(`${KILLS} times at random points: every mail is sent, every ledger row is there once, and no mail follows its row`, async () => {
    await test.sql(TABLE);
    await test.sql(
      `insert into public.invoices (number, customer_name, customer_email, amount_cents, due_on)
       select 'N' || n, 'Customer ' || n, 'customer' || n || '@example.com', 100 * n, tock.now()::date - 1
       from generate_series(1, $1::int) n`,
      [INVOICES],
    );
    const url = new URL(test.url);
    url.searchParams.set('application_name', 'reminder');
    const env = {
      DATABASE_URL: url.href,
      TOCK_JOBS: await bundleJobs('test/chaos/reminder-jobs.ts'),
      SMTP_URL: inbox.url,
      MAIL_FROM: 'accounts@example.com',
    };
    const start = () => {
      const tick = startProcess(TICK, env, ['--json']);
      running.push(tick);
      return tick;
    };
    const database = openDatabase({ connectionString: test.url });
    const [row] = await test.sql<{ id: string }>(
      `select tock.enqueue('send-invoice-reminders', max_attempts => 200) as id`,
    );
    /** Message-IDs of what the ledger holds; read when no process is left. */
    const committed = async () => {
      const rows = await test.sql<{ key: string }>(
        `select substring(key from 6) as key from tock.job_effects where key like 'once:%'`,
      );
      return new Set(rows.map(each => messageId(each.key)));
    };
    const before = async () => ({ mails: inbox.mails.length, ledger: await committed() });
    const late: string[] = [];
    const compare = (from: { mails: number; ledger: Set<string> }) => {
      for (const { messageId = '' } of inbox.mails.slice(from.mails))
        if (from.ledger.has(messageId)) late.push(messageId);
    };

    for (let kill = 0; kill < KILLS; kill++) {
      const from = await before();
      const asked = inbox.asked.length;
      const tick = start();
      const wanted = asked + 1 + Math.floor(Math.random() * 3);
      while (inbox.asked.length < wanted && tick.child.exitCode === null)
        await new Promise(resolve => setTimeout(resolve, 1));
      await new Promise(resolve => setTimeout(resolve, Math.random() * 8));
      tick.child.kill('SIGKILL');
      expect((await tick.ended).signal).toBe('SIGKILL');
      const left = `select from pg_stat_activity where application_name = 'reminder' and datname = current_database()`;
      await until(async () => (await test.sql(left)).length === 0, 'its sessions to end');
      compare(from);
      // No need to sit through leases and backoffs.
      await test.sql(`update tock.job_runs_live set locked_until = tock.now() - interval '1 second'`);
      expect(await reapRuns(database, { ...REAPING, backoffMs: 0, maxBackoffMs: 0 })).toMatchObject({
        failed: 1,
      });
    }
    const from = await before();
    expect((await start().ended).code).toBe(0);
    compare(from);
    await database.close();

    expect(late).toEqual([]);
    expect(await test.tock.runs.get(row?.id ?? '')).toMatchObject({
      status: 'succeeded',
      attempts: KILLS + 1,
    });
    const invoices = await test.sql<{ id: string }>(
      'select id from public.invoices where reminder_count = 1',
    );
    expect(invoices).toHaveLength(INVOICES);
    const ledger = await committed();
    expect([...ledger].sort()).toEqual(
      invoices.map(({ id }) => messageId(`invoice-reminder:${id}:1`)).sort(),
    );
    // None is missing. What was sent twice was sent by a process that was killed before its commit: one mail a kill.
    const sent = inbox.mails.map(mail => mail.messageId);
    expect(new Set(sent)).toEqual(ledger);
    console.log(`${sent.length - INVOICES} of ${KILLS} kills came between a mail and its commit`);
    expect(sent.length - INVOICES).toBeLessThanOrEqual(KILLS);
    // It starts 51 processes, one after another.
  }, 900_000);
});
