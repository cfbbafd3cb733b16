import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { sql } from 'kysely';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import weeklyRunReport from '../../jobs/weekly-run-report.js';
import type { RunReport, SchedulerView } from '../../src/index.js';
import { CALM_STATUS, EMPTY_REPORT, type JobHarness, NOW, openJobHarness } from '../support/job-harness.js';
import { type Inbox, openInbox } from './inbox.js';

let harness: JobHarness;
let folder: string;
let inbox: Inbox | undefined;
beforeAll(async () => {
  harness = await openJobHarness();
});
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tock-jobs-'));
  vi.stubEnv('REPORT_DIR', path.join(folder, 'reports'));
  vi.stubEnv('REPORT_MAIL_TO', '');
  vi.stubEnv('SMTP_URL', '');
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await inbox?.close();
  inbox = undefined;
  await rm(folder, { recursive: true });
});
afterAll(() => harness.close());

const WEEK = { start: new Date('2026-03-02T07:00:00Z'), end: NOW };

const REPORT: RunReport = {
  from: WEEK.start,
  to: WEEK.end,
  jobs: [
    {
      job: 'deliver-webhook',
      succeeded: 1999,
      dead: 1,
      cancelled: 3,
      skipped: 0,
      retries: 57,
      meanMs: 120,
      p95Ms: 4200,
    },
    {
      job: 'evil|`job`\n# <img onerror=x>',
      succeeded: 0,
      dead: 0,
      cancelled: 0,
      skipped: 2,
      retries: 0,
      meanMs: null,
      p95Ms: null,
    },
  ],
  days: [
    { day: '2026-03-02', succeeded: 999, dead: 0, skipped: 2 },
    { day: '2026-03-03', succeeded: 1000, dead: 1, skipped: 0 },
  ],
  errors: [{ job: 'deliver-webhook', name: 'TypeError', message: 'a|b\n[x](y) <b> \\', count: 12 }],
};

const reporting = { report: () => Promise.resolve(REPORT) };

describe('weekly-run-report', () => {
  it('writes a page and its chart, named by the last day of the interval', async () => {
    const { output } = await harness.runHandler(weeklyRunReport, undefined, {
      dataInterval: WEEK,
      scheduler: reporting,
    });
    const reports = path.join(folder, 'reports');
    expect(output).toEqual({
      markdown: path.join(reports, 'run-report-2026-03-09.md'),
      chart: path.join(reports, 'run-report-2026-03-09.svg'),
    });
    expect((await readdir(reports)).sort()).toEqual([
      'run-report-2026-03-09.md',
      'run-report-2026-03-09.svg',
    ]);
    const markdown = await readFile(path.join(reports, 'run-report-2026-03-09.md'), 'utf8');
    expect(markdown).toContain('](run-report-2026-03-09.svg)');
    expect(markdown).toContain('| deliver-webhook | 2,003 | 99.9 % | 1 | 0 | 57 | 120ms | 4.2s |');
    const svg = await readFile(path.join(reports, 'run-report-2026-03-09.svg'), 'utf8');
    await expect(sql`select xmlparse(document ${svg}::text)`.execute(harness.db)).resolves.toBeDefined();
    expect(svg).toContain('Tue 3 Mar: 1 dead');
    // Also the days on which nothing ended.
    for (const day of ['Mon 2', 'Tue 3', 'Wed 4', 'Thu 5', 'Fri 6', 'Sat 7', 'Sun 8', 'Mon 9'])
      expect(svg).toContain(`>${day} Mar<`);
  });

  it('keeps names and messages from breaking out of their cells', async () => {
    const { output } = await harness.runHandler(weeklyRunReport, undefined, {
      dataInterval: WEEK,
      scheduler: reporting,
    });
    const lines = (await readFile((output as { markdown: string }).markdown, 'utf8')).split('\n');
    expect(lines).toContain(String.raw`| evil\|\`job\` \# \<img onerror=x\> | 0 | - | 0 | 2 | 0 | - | - |`);
    expect(lines).toContain(String.raw`| 12 | deliver-webhook | TypeError | a\|b \[x\]\(y\) \<b\> \\ |`);
  });

  it('replaces the files of an earlier attempt', async () => {
    const overrides = { dataInterval: WEEK, scheduler: reporting };
    const first = await harness.runHandler(weeklyRunReport, undefined, overrides);
    const second = await harness.runHandler(weeklyRunReport, undefined, { ...overrides, attempt: 2 });
    expect(second.output).toEqual(first.output);
    expect(await readdir(path.join(folder, 'reports'))).toHaveLength(2);
  });

  it('takes the seven days up to the scheduler’s now when no schedule planned it', async () => {
    const asked: Date[][] = [];
    const at = new Date('2020-02-29T23:30:00Z');
    const report: SchedulerView['report'] = (from, to) => {
      asked.push([from, to]);
      return Promise.resolve(EMPTY_REPORT);
    };
    const { output } = await harness.runHandler(weeklyRunReport, undefined, {
      scheduler: { report, status: () => Promise.resolve({ ...CALM_STATUS, at }) },
    });
    expect(asked).toEqual([[new Date('2020-02-22T23:30:00Z'), at]]);
    expect((output as { markdown: string }).markdown).toMatch(/run-report-2020-02-29\.md$/);
    const markdown = await readFile((output as { markdown: string }).markdown, 'utf8');
    expect(markdown).toContain('No run ended in this time.');
  });

  it('runs at seven, and names its days, in the zone of REPORT_TIMEZONE', async () => {
    vi.stubEnv('REPORT_TIMEZONE', 'Pacific/Auckland');
    vi.resetModules();
    const { default: job } = await import('../../jobs/weekly-run-report.js');
    expect(job.schedule?.timezone).toBe('Pacific/Auckland');
    // 11:00 UTC is midnight there: the interval ends with the 8th.
    const dataInterval = {
      start: new Date('2026-03-01T11:00:00Z'),
      end: new Date('2026-03-08T11:00:00Z'),
    };
    const { output } = await harness.runHandler(job, undefined, { dataInterval, scheduler: reporting });
    expect((output as { markdown: string }).markdown).toMatch(/run-report-2026-03-08\.md$/);
  });

  it('mails the report once per run, with the chart attached', async () => {
    inbox = await openInbox();
    vi.stubEnv('SMTP_URL', inbox.url);
    vi.stubEnv('REPORT_MAIL_TO', 'ops@example.com');
    const overrides = { runId: '77', dataInterval: WEEK, scheduler: reporting };
    const first = await harness.runHandler(weeklyRunReport, undefined, overrides);
    const second = await harness.runHandler(weeklyRunReport, undefined, { ...overrides, attempt: 2 });
    expect(inbox.mails).toHaveLength(1);
    const [mail] = inbox.mails;
    expect(mail?.to).toEqual([{ address: 'ops@example.com', name: '' }]);
    expect(mail?.subject).toBe('Runs from 2026-03-02 to 2026-03-09');
    expect(mail?.text).toContain('| deliver-webhook | 2,003 |');
    expect(mail?.attachments.map(each => [each.filename, each.mimeType])).toEqual([
      ['run-report-2026-03-09.svg', 'image/svg+xml'],
    ]);
    expect(first.output).toEqual({ messageId: mail?.messageId });
    expect(second.output).toEqual(first.output);
    await expect(readdir(path.join(folder, 'reports'))).rejects.toThrow('ENOENT');
  });
});
