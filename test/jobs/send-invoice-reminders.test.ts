import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { sql } from 'kysely';
import PostalMime from 'postal-mime';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import sendInvoiceReminders from '../../jobs/send-invoice-reminders.js';
import { Dead } from '../../src/index.js';
import {
  type HandlerOverrides,
  type HandlerResult,
  type JobHarness,
  openJobHarness,
} from '../support/job-harness.js';
import { watchConnections } from './connections.js';
import { type Inbox, openInbox } from './inbox.js';

let harness: JobHarness;
let inbox: Inbox;
let folder: string;
let ddl: string;

beforeAll(async () => {
  harness = await openJobHarness();
  ddl = await ddlFromTheMend();
  await sql.raw(ddl).execute(harness.db);
});
beforeEach(async () => {
  await sql`truncate invoices, ledger restart identity`.execute(harness.db);
  inbox = await openInbox();
  folder = await mkdtemp(path.join(tmpdir(), 'tock-jobs-'));
  vi.stubEnv('SMTP_URL', inbox.url);
  vi.stubEnv('MAIL_FROM', 'Accounts <accounts@example.com>');
  vi.stubEnv('OUTBOX_DIR', path.join(folder, 'outbox'));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await inbox.close();
  await rm(folder, { recursive: true });
});
afterAll(() => harness.close());

const MARCH_10 = new Date('2026-03-10T08:00:00Z');

/** What the job says when the table is missing: the DDL is the part after the empty line. */
async function ddlFromTheMend(): Promise<string> {
  const error: unknown = await harness.runHandler(sendInvoiceReminders).catch((error: unknown) => error);
  expect(error).toBeInstanceOf(Dead);
  return (error as Dead).message.split('\n\n').slice(1).join('\n\n');
}

async function addInvoice(
  number: string,
  dueOn: string,
  columns: Record<string, unknown> = {},
): Promise<void> {
  const invoice = {
    number,
    customer_name: `Customer of ${number}`,
    customer_email: `${number.toLowerCase()}@example.com`,
    amount_cents: 123_450,
    due_on: dueOn,
    ...columns,
  };
  await harness.db.insertInto('invoices').values(invoice).execute();
}

/** Five invoices that are one day overdue on 10 March: A1 to A5. */
async function addFive(): Promise<void> {
  for (const number of ['A1', 'A2', 'A3', 'A4', 'A5']) await addInvoice(number, '2026-03-09');
}

function remind(overrides: HandlerOverrides = {}, payload?: object): Promise<HandlerResult> {
  return harness.runHandler(sendInvoiceReminders, payload, { scheduledFor: MARCH_10, ...overrides });
}

function recipients(): string[] {
  return inbox.mails.map(mail => mail.to?.[0]?.address ?? '');
}

const FIVE = ['a1', 'a2', 'a3', 'a4', 'a5'].map(name => `${name}@example.com`);

describe('send-invoice-reminders', () => {
  it('dies with the DDL that mends it when the table is missing', () => {
    expect(ddl).toMatch(/^create table invoices \(/);
  });

  it('reminds of what is 1, 8 or 15 days overdue, and of nothing else', async () => {
    await addInvoice('TODAY', '2026-03-10');
    await addInvoice('PAID', '2026-03-01', { paid_at: MARCH_10 });
    await addInvoice('ONE', '2026-03-09');
    await addInvoice('SEVEN', '2026-03-03');
    await addInvoice('EIGHT', '2026-03-02');
    await addInvoice('LONG', '2025-12-24');
    const { output, progress } = await remind();
    expect(output).toEqual({ sent: ['LONG', 'EIGHT', 'SEVEN', 'ONE'], skipped: [], refused: [] });
    expect(await harness.ledger()).toEqual([
      'invoice-reminder:3:1',
      'invoice-reminder:4:1',
      'invoice-reminder:5:8',
      'invoice-reminder:6:15',
    ]);
    expect(progress).toEqual([
      { fraction: 0.25, stage: 'LONG' },
      { fraction: 0.5, stage: 'EIGHT' },
      { fraction: 0.75, stage: 'SEVEN' },
      { fraction: 1, stage: 'ONE' },
    ]);
    expect(inbox.mails.at(-1)?.text?.replaceAll('\r', '')).toContain(
      'invoice ONE of €1,234.50 was due on 2026-03-09, yesterday.',
    );
  });

  it('sends each stage once, whatever run comes by', async () => {
    await addInvoice('A1', '2026-03-09');
    const runs = ['2026-03-10', '2026-03-11', '2026-03-17', '2026-03-18'];
    const outputs: unknown[] = [];
    for (const [index, day] of runs.entries()) {
      const { output } = await remind({ runId: String(index), scheduledFor: new Date(`${day}T08:00:00Z`) });
      outputs.push(output);
    }
    const [sent, skipped] = [
      { sent: ['A1'], skipped: [], refused: [] },
      { sent: [], skipped: ['A1'], refused: [] },
    ];
    expect(outputs).toEqual([sent, skipped, sent, skipped]);
    expect(inbox.mails).toHaveLength(2);
    const { rows } = await sql`select reminder_count from invoices`.execute(harness.db);
    expect(rows).toEqual([{ reminder_count: 2 }]);
  });

  it('takes the date in the payload’s zone, and from the scheduler when no schedule planned it', async () => {
    await addInvoice('A1', '2026-03-09');
    const at = new Date('2026-03-09T23:30:00Z');
    const status = () => Promise.resolve({ at } as never);
    const inUtc = await remind({ scheduledFor: null, scheduler: { status } }, { timezone: 'UTC' });
    expect(inUtc.output).toEqual({ sent: [], skipped: [], refused: [] });
    const inBerlin = await remind(
      { scheduledFor: null, scheduler: { status } },
      { timezone: 'Europe/Berlin' },
    );
    expect(inBerlin.output).toEqual({ sent: ['A1'], skipped: [], refused: [] });
    await expect(remind({}, { timezone: 'Mars/Olympus' })).rejects.toThrow('is not an IANA time zone');
  });

  it.each([1, 2, 3, 4, 5])(
    'sends every mail exactly once when it is killed after the commit of mail %i',
    async nth => {
      await addFive();
      let commits = 0;
      const afterCommit = (): void => {
        if (++commits === nth) throw new Error('killed');
      };
      await expect(remind({ afterCommit })).rejects.toThrow('killed');
      expect(recipients()).toEqual(FIVE.slice(0, nth));
      const { output } = await remind({ attempt: 2 });
      expect(recipients()).toEqual(FIVE);
      // One run sent them all, in two attempts.
      expect(output).toEqual({ sent: ['A1', 'A2', 'A3', 'A4', 'A5'], skipped: [], refused: [] });
    },
  );

  it('stops between mails when its signal aborts, and goes on with the rest in the next attempt', async () => {
    await addFive();
    const controller = new AbortController();
    const afterCommit = (key: string): void => {
      if (key === 'invoice-reminder:2:1') controller.abort(new Error('draining'));
    };
    await expect(remind({ afterCommit, signal: controller.signal })).rejects.toThrow('draining');
    expect(recipients()).toEqual(FIVE.slice(0, 2));
    await remind({ attempt: 2 });
    expect(recipients()).toEqual(FIVE);
  });

  it('repeats a mail under the same Message-ID when it is killed between the mail and the commit', async () => {
    await addInvoice('A1', '2026-03-09');
    const beforeCommit = (): void => {
      throw new Error('killed');
    };
    await expect(remind({ beforeCommit })).rejects.toThrow('killed');
    await remind({ attempt: 2 });
    expect(inbox.mails).toHaveLength(2);
    expect(new Set(inbox.mails.map(mail => mail.messageId)).size).toBe(1);
    expect(inbox.mails[0]?.messageId).toMatch(/^<[0-9a-f]{32}@example\.com>$/);
  });

  it('lets two runs at once send each mail once', async () => {
    await addFive();
    await Promise.all([remind({ runId: '1' }), remind({ runId: '2' })]);
    expect(recipients().sort()).toEqual(FIVE);
  });

  it('goes on past a refused address, and tries it again when it has been corrected', async () => {
    await addFive();
    inbox.answer('a2@example.com', 550);
    const first = await remind();
    expect(first.output).toEqual({ sent: ['A1', 'A3', 'A4', 'A5'], skipped: [], refused: ['A2'] });
    expect(first.logged.map(line => [line.level, line.fields['event'], line.fields['invoice']])).toEqual([
      ['warn', 'reminder.refused', 'A2'],
    ]);
    await sql`update invoices set customer_email = 'right@example.com' where number = 'A2'`.execute(
      harness.db,
    );
    const second = await remind({ runId: '2' });
    expect(second.output).toEqual({ sent: ['A2'], skipped: ['A1', 'A3', 'A4', 'A5'], refused: [] });
  });

  it('counts an address that is none as refused', async () => {
    await addInvoice('NONE', '2026-03-09', { customer_email: '' });
    await addInvoice('SOME', '2026-03-09');
    expect((await remind()).output).toEqual({ sent: ['SOME'], skipped: [], refused: ['NONE'] });
  });

  it('fails the attempt for an address that is put off, after all the others', async () => {
    await addFive();
    inbox.answer('a1@example.com', 451);
    await expect(remind()).rejects.toThrow('put off A1');
    expect(recipients()).toEqual(FIVE.slice(1));
    inbox.answer('a1@example.com', 0);
    await remind({ attempt: 2 });
    expect(recipients().sort()).toEqual(FIVE);
  });

  it('fails the attempt at once when the sender is refused, whoever the customer is', async () => {
    await addFive();
    inbox.answerSender(553);
    await expect(remind()).rejects.toMatchObject({ command: 'MAIL FROM' });
    expect(inbox.asked).toEqual([]);
    expect(await harness.ledger()).toEqual([]);
  });

  it('fails the attempt when there is no server', async () => {
    await addFive();
    await inbox.close();
    await expect(remind()).rejects.toMatchObject({ code: 'ESOCKET' });
    expect(await harness.ledger()).toEqual([]);
    inbox = await openInbox();
    vi.stubEnv('SMTP_URL', inbox.url);
    await remind({ attempt: 2 });
    expect(recipients()).toEqual(FIVE);
  });

  it('does not remind of what was paid after the list was read', async () => {
    await addFive();
    const pay = sql`update invoices set paid_at = now() where number = 'A2'`;
    let paying: Promise<unknown> | undefined;
    const once: HandlerOverrides['once'] = async (_key, work) => {
      paying ??= pay.execute(harness.db);
      await paying;
      return harness.db.transaction().execute(async trx => work(trx));
    };
    const { output } = await remind({ once });
    expect(output).toEqual({ sent: ['A1', 'A3', 'A4', 'A5'], skipped: ['A2'], refused: [] });
    expect(recipients()).not.toContain('a2@example.com');
  });

  it('keeps a customer’s name from adding headers', async () => {
    await addInvoice('A1', '2026-03-09', { customer_name: 'Eve\r\nBcc: all@example.com\r\n\r\n<b>' });
    await remind();
    expect(inbox.asked).toEqual(['a1@example.com']);
    expect(inbox.mails[0]?.bcc).toBeUndefined();
  });

  it('writes whole .eml files, one per key, when no server is set', async () => {
    vi.stubEnv('SMTP_URL', '');
    await addFive();
    const connections = watchConnections();
    await remind();
    await sql`truncate ledger`.execute(harness.db);
    await remind({ attempt: 2 });
    connections.stop();
    expect(connections.addresses).toEqual([]);
    const outbox = path.join(folder, 'outbox');
    const files = (await readdir(outbox)).sort();
    expect(files.map(file => file.replace(/\.[0-9a-f]{8}\./, '.'))).toEqual(
      [1, 2, 3, 4, 5].map(id => `invoice-reminder-${id}-1.eml`),
    );
    const mail = await PostalMime.parse(await readFile(path.join(outbox, files[0] ?? '')));
    expect(mail.to).toEqual([{ address: 'a1@example.com', name: 'Customer of A1' }]);
    expect(mail.from).toEqual({ address: 'accounts@example.com', name: 'Accounts' });
  });

  it('talks to the server it was given and to nobody else', async () => {
    await addInvoice('A1', '2026-03-09');
    const connections = watchConnections();
    await remind();
    connections.stop();
    expect(connections.addresses).toEqual(['127.0.0.1']);
  });
});
