import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import PostalMime from 'postal-mime';
import { afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import sendInvoiceReminders from '../../jobs/send-invoice-reminders.js';
import type { RunRecord } from '../../src/index.js';
import type { ChangeContext } from '../../src/testing.js';
import { openForEach } from '../support/open.js';
import { watchConnections } from './connections.js';
import { type Inbox, openInbox } from './inbox.js';
import { openJobKit } from './job-kit.js';

interface Tables {
  invoices: Record<string, unknown>;
}

const kit = openForEach(() =>
  openJobKit({ jobs: [sendInvoiceReminders], now: '2026-03-10T07:00:00Z', drain: '10ms' }),
);
let inbox: Inbox;
let folder: string;
let ddl: string;

beforeAll(async () => {
  ddl = await ddlFromTheMend();
});
beforeEach(async () => {
  await kit.sql(ddl);
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

const MARCH_10 = new Date('2026-03-10T08:00:00Z');

/** What the job says when the table is missing: the DDL is the part after the empty line. */
async function ddlFromTheMend(): Promise<string> {
  const without = await openJobKit({ jobs: [sendInvoiceReminders] });
  const run = await without.runOnce(sendInvoiceReminders);
  await without.close();
  expect(run.status).toBe('dead');
  return (run.errors[0]?.message ?? '').split('\n\n').slice(1).join('\n\n');
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
  await kit.db.withTables<Tables>().insertInto('invoices').values(invoice).execute();
}

/** Five invoices that are one day overdue on 10 March: A1 to A5. */
async function addFive(): Promise<void> {
  for (const number of ['A1', 'A2', 'A3', 'A4', 'A5']) await addInvoice(number, '2026-03-09');
}

/** The morning's run: its first attempt. */
async function remind(): Promise<RunRecord> {
  const ended = await kit.untilNext(sendInvoiceReminders);
  const [live] = await kit.tock.runs.list({ status: 'failed' });
  const run = ended[0] ?? live;
  if (!run) throw new Error('no run came');
  return run;
}

/** Its next attempt, when that is due. */
async function remindAgain(): Promise<RunRecord> {
  const [live] = await kit.tock.runs.list({ status: 'failed' });
  // Stored to the microsecond.
  await kit.clock.set(new Date((live?.runAt.getTime() ?? Number.NaN) + 1));
  const [ended] = await kit.drain();
  const run = ended ?? (await kit.tock.runs.get(live?.id ?? ''));
  if (!run) throw new Error('the run is gone');
  return run;
}

/** Keeps the engine's promises, and has the process die at a moment of each first attempt: nothing of it is written any more. */
function dyingAt(moment: 'before the commit' | 'after the commit', nth: number): ChangeContext {
  let commits = 0;
  const die = async (runId: string): Promise<never> => {
    await kit.loseLease(runId);
    throw new Error('killed');
  };
  return ctx => ({
    once: async (key, work) => {
      const isLast = ctx.attempt === 1 && ++commits === nth;
      const result = await ctx.once(key, async trx => {
        const done = await work(trx);
        if (isLast && moment === 'before the commit') await die(ctx.runId);
        return done;
      });
      if (isLast) await die(ctx.runId);
      return result;
    },
  });
}

const messageOf = (run: RunRecord) => run.errors.at(-1)?.message;

async function ledger(): Promise<string[]> {
  const rows = await kit.sql<{ key: string }>('select key from tock.job_effects order by key collate "C"');
  return rows.map(row => row.key.replace(/^once:/, ''));
}

function recipients(): string[] {
  return inbox.mails.map(mail => mail.to?.[0]?.address ?? '');
}

const FIVE = ['a1', 'a2', 'a3', 'a4', 'a5'].map(name => `${name}@example.com`);

describe('send-invoice-reminders', () => {
  it('dies with the DDL for the table when it is missing', () => {
    expect(ddl).toMatch(/^create table invoices \(/);
  });

  it('reminds of what is 1, 8 or 15 days overdue, and of nothing else', async () => {
    await addInvoice('TODAY', '2026-03-10');
    await addInvoice('PAID', '2026-03-01', { paid_at: MARCH_10 });
    await addInvoice('ONE', '2026-03-09');
    await addInvoice('SEVEN', '2026-03-03');
    await addInvoice('EIGHT', '2026-03-02');
    await addInvoice('LONG', '2025-12-24');
    const stages: [number, string | undefined][] = [];
    kit.changeContext(sendInvoiceReminders, ctx => ({
      progress: (fraction, stage) => {
        stages.push([fraction, stage]);
        ctx.progress(fraction, stage);
      },
    }));
    const { output, progress } = await remind();
    expect(output).toEqual({ sent: ['LONG', 'EIGHT', 'SEVEN', 'ONE'], skipped: [], refused: [] });
    expect(await ledger()).toEqual([
      'invoice-reminder:3:1',
      'invoice-reminder:4:1',
      'invoice-reminder:5:8',
      'invoice-reminder:6:15',
    ]);
    expect(stages).toEqual([
      [0.25, 'LONG'],
      [0.5, 'EIGHT'],
      [0.75, 'SEVEN'],
      [1, 'ONE'],
    ]);
    expect(progress).toMatchObject({ fraction: 1, stage: 'ONE' });
    expect(inbox.mails.at(-1)?.text?.replaceAll('\r', '')).toContain(
      'invoice ONE of €1,234.50 was due on 2026-03-09, yesterday.',
    );
  });

  it('sends each stage once, whatever run comes by', async () => {
    await addInvoice('A1', '2026-03-09');
    const outputs: unknown[] = [];
    for (const day of ['2026-03-10', '2026-03-11', '2026-03-17', '2026-03-18']) {
      await kit.clock.set(`${day}T07:59:00Z`);
      await kit.drain();
      outputs.push((await remind()).output);
    }
    const [sent, skipped] = [
      { sent: ['A1'], skipped: [], refused: [] },
      { sent: [], skipped: ['A1'], refused: [] },
    ];
    expect(outputs).toEqual([sent, skipped, sent, skipped]);
    expect(inbox.mails).toHaveLength(2);
    expect(await kit.sql('select reminder_count from invoices')).toEqual([{ reminder_count: 2 }]);
  });

  it('takes the date in the payload’s zone, and from the scheduler when no schedule planned it', async () => {
    await addInvoice('A1', '2026-03-09');
    await kit.clock.set('2026-03-09T23:30:00Z');
    const inUtc = await kit.runOnce(sendInvoiceReminders, { timezone: 'UTC' });
    expect(inUtc.output).toEqual({ sent: [], skipped: [], refused: [] });
    const inBerlin = await kit.runOnce(sendInvoiceReminders, { timezone: 'Europe/Berlin' });
    expect(inBerlin.output).toEqual({ sent: ['A1'], skipped: [], refused: [] });
    await expect(kit.runOnce(sendInvoiceReminders, { timezone: 'Mars/Olympus' })).rejects.toThrow(
      'is not an IANA time zone',
    );
  });

  it.each([1, 2, 3, 4, 5])(
    'sends every mail exactly once when it is killed after the commit of mail %i',
    async nth => {
      await addFive();
      kit.changeContext(sendInvoiceReminders, dyingAt('after the commit', nth));
      expect(await remind()).toMatchObject({ status: 'failed', attempts: 1, output: null });
      expect(recipients()).toEqual(FIVE.slice(0, nth));
      const { attempts, output } = await remindAgain();
      expect(recipients()).toEqual(FIVE);
      // One run sent them all, in two attempts.
      expect(attempts).toBe(2);
      expect(output).toEqual({ sent: ['A1', 'A2', 'A3', 'A4', 'A5'], skipped: [], refused: [] });
    },
  );

  it('stops between mails when its worker drains, and goes on with the rest in the next attempt', async () => {
    await addFive();
    const stop = new AbortController();
    kit.changeContext(sendInvoiceReminders, ctx => ({
      once: async (key, work) => {
        const result = await ctx.once(key, work);
        if (key === 'invoice-reminder:2:1' && !stop.signal.aborted) {
          stop.abort();
          await once(ctx.signal, 'abort');
        }
        return result;
      },
    }));
    await kit.tock.enqueue(sendInvoiceReminders);
    const { executed } = await kit.tock.tick({ signal: stop.signal });
    expect(executed).toMatchObject({ claimed: 1, released: 1 });
    expect(recipients()).toEqual(FIVE.slice(0, 2));
    // Its attempt was given back.
    expect(await kit.drain()).toMatchObject([{ status: 'succeeded', attempts: 1, releases: 1 }]);
    expect(recipients()).toEqual(FIVE);
  });

  it('repeats a mail under the same Message-ID when it is killed between the mail and the commit', async () => {
    await addInvoice('A1', '2026-03-09');
    kit.changeContext(sendInvoiceReminders, dyingAt('before the commit', 1));
    expect((await remind()).status).toBe('failed');
    expect(await ledger()).toEqual([]);
    expect((await remindAgain()).output).toEqual({ sent: ['A1'], skipped: [], refused: [] });
    expect(inbox.mails).toHaveLength(2);
    expect(new Set(inbox.mails.map(mail => mail.messageId)).size).toBe(1);
    expect(inbox.mails[0]?.messageId).toMatch(/^<[0-9a-f]{32}@example\.com>$/);
  });

  it('sends nothing under a lease that it has lost, but for the mail it is at', async () => {
    await addFive();
    // The worker is only frozen: its handler goes on, and does not know.
    kit.changeContext(sendInvoiceReminders, ctx => ({
      once: async (key, work) => {
        if (ctx.attempt === 1 && key === 'invoice-reminder:3:1') await kit.loseLease(ctx.runId);
        return await ctx.once(key, work);
      },
    }));
    await remind();
    expect(recipients()).toEqual(FIVE.slice(0, 3));
    expect(await ledger()).toHaveLength(2);
    await remindAgain();
    expect(recipients().toSorted()).toEqual([...FIVE, 'a3@example.com'].sort());
    const counts = await kit.sql('select distinct reminder_count from invoices');
    expect(counts).toEqual([{ reminder_count: 1 }]);
  });

  it('lets two runs at once send each mail once', async () => {
    await addFive();
    await kit.tock.enqueueMany([{ job: sendInvoiceReminders }, { job: sendInvoiceReminders }]);
    expect(await kit.drain()).toHaveLength(2);
    expect(recipients().sort()).toEqual(FIVE);
  });

  it('goes on past a refused address, and tries it again when it has been corrected', async () => {
    await addFive();
    inbox.answer('a2@example.com', 550);
    const first = await remind();
    expect(first.output).toEqual({ sent: ['A1', 'A3', 'A4', 'A5'], skipped: [], refused: ['A2'] });
    const warnings = kit.logs.filter(line => line.level === 'warn');
    expect(warnings.map(line => [line.event, line.fields['invoice']])).toEqual([['reminder.refused', 'A2']]);
    await kit.sql(`update invoices set customer_email = 'right@example.com' where number = 'A2'`);
    const second = await kit.runOnce(sendInvoiceReminders);
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
    const first = await remind();
    expect([first.status, messageOf(first)]).toEqual(['failed', 'the mail server put off A1']);
    expect(recipients()).toEqual(FIVE.slice(1));
    inbox.answer('a1@example.com', 0);
    expect((await remindAgain()).status).toBe('succeeded');
    expect(recipients().sort()).toEqual(FIVE);
  });

  it('fails the attempt at once when the sender is refused, whoever the customer is', async () => {
    await addFive();
    inbox.answerSender(553);
    const run = await remind();
    expect([run.status, messageOf(run)]).toEqual(['failed', expect.stringContaining('553')]);
    expect(inbox.asked).toEqual([]);
    expect(await ledger()).toEqual([]);
  });

  it('fails the attempt when there is no server', async () => {
    await addFive();
    await inbox.close();
    expect(await remind()).toMatchObject({ status: 'failed', errors: [{ code: 'ESOCKET' }] });
    expect(await ledger()).toEqual([]);
    inbox = await openInbox();
    vi.stubEnv('SMTP_URL', inbox.url);
    await remindAgain();
    expect(recipients()).toEqual(FIVE);
  });

  it('does not remind of what was paid after the list was read', async () => {
    await addFive();
    let hasPaid = false;
    kit.changeContext(sendInvoiceReminders, ctx => ({
      once: async (key, work) => {
        if (!hasPaid) await kit.sql(`update invoices set paid_at = now() where number = 'A2'`);
        hasPaid = true;
        return await ctx.once(key, work);
      },
    }));
    const { output } = await remind();
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
    const connections = watchConnections(kit.connectionString);
    await remind();
    await kit.sql('truncate tock.job_effects');
    expect((await kit.runOnce(sendInvoiceReminders)).output).toMatchObject({ skipped: [] });
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
    const connections = watchConnections(kit.connectionString);
    await remind();
    connections.stop();
    expect(connections.addresses).toEqual(['127.0.0.1']);
  });
});
