import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import weeklyRunReport from '../../jobs/weekly-run-report.js';
import type { AnyJob, RunRecord, RunReport } from '../../src/index.js';
import type { TestTock } from '../../src/testing.js';
import { type Inbox, openInbox } from './inbox.js';
import { openJobKit, withScheduler } from './job-kit.js';

let kit: TestTock | undefined;
let folder: string;
let inbox: Inbox | undefined;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tock-jobs-'));
  vi.stubEnv('REPORT_DIR', path.join(folder, 'reports'));
  vi.stubEnv('REPORT_MAIL_TO', '');
  vi.stubEnv('SMTP_URL', '');
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await kit?.close();
  kit = undefined;
  await inbox?.close();
  inbox = undefined;
  await rm(folder, { recursive: true });
});
const WEEK = { start: new Date('2026-03-02T07:00:00Z'), end: new Date('2026-03-09T07:00:00Z') };

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

/** A scheduler that has this to report, a minute before the week is over. */
async function openWithReport(
  job: AnyJob = weeklyRunReport,
  now = '2026-03-09T06:59:00Z',
): Promise<TestTock> {
  kit = await openJobKit({ jobs: [job], now });
  kit.changeContext(job, withScheduler({ report: () => Promise.resolve(REPORT) }));
  return kit;
}

const filesOf = (run: RunRecord | undefined) => run?.output as { markdown: string; chart: string };

describe('weekly-run-report', () => {
  it('writes a page and its chart, named by the last day of the interval', async () => {
    const { untilNext, sql } = await openWithReport();
    const [run] = await untilNext(weeklyRunReport);
    expect(run).toMatchObject({ intervalStart: WEEK.start, scheduledFor: WEEK.end });
    const reports = path.join(folder, 'reports');
    expect(run?.output).toEqual({
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
    await expect(sql('select xmlparse(document $1::text)', [svg])).resolves.toHaveLength(1);
    expect(svg).toContain('Tue 3 Mar: 1 dead');
    // Also the days on which nothing ended.
    for (const day of ['Mon 2', 'Tue 3', 'Wed 4', 'Thu 5', 'Fri 6', 'Sat 7', 'Sun 8', 'Mon 9'])
      expect(svg).toContain(`>${day} Mar<`);
  });

  it('keeps names and messages from breaking out of their cells', async () => {
    const { untilNext } = await openWithReport();
    const [run] = await untilNext(weeklyRunReport);
    const lines = (await readFile(filesOf(run).markdown, 'utf8')).split('\n');
    expect(lines).toContain(String.raw`| evil\|\`job\` \# \<img onerror=x\> | 0 | - | 0 | 2 | 0 | - | - |`);
    expect(lines).toContain(String.raw`| 12 | deliver-webhook | TypeError | a\|b \[x\]\(y\) \<b\> \\ |`);
  });

  it('replaces the files of an attempt whose worker died', async () => {
    const { untilNext, changeContext, loseLease, advanceTo } = await openWithReport();
    let reports = 0;
    const view = {
      report: async () => {
        if (++reports === 1) await loseLease();
        return REPORT;
      },
    };
    changeContext(weeklyRunReport, withScheduler(view));
    expect(await untilNext(weeklyRunReport)).toEqual([]);
    const written = await readdir(path.join(folder, 'reports'));
    expect(written).toHaveLength(2);
    const [run] = await advanceTo('2026-03-09T08:00:00Z');
    expect(run).toMatchObject({ status: 'succeeded', attempts: 2 });
    expect(await readdir(path.join(folder, 'reports'))).toEqual(written);
    expect(path.basename(filesOf(run).markdown)).toBe(written[0]);
  });

  it('takes the seven days up to the scheduler’s now when no schedule planned it', async () => {
    const { runOnce, clock, changeContext } = await openWithReport(weeklyRunReport, '2020-02-29T23:30:00Z');
    const asked: Date[][] = [];
    changeContext(weeklyRunReport, ({ scheduler }) => ({
      scheduler: {
        ...scheduler,
        report: (from, to) => {
          asked.push([from, to]);
          return scheduler.report(from, to);
        },
      },
    }));
    const run = await runOnce(weeklyRunReport);
    expect(asked).toEqual([[new Date('2020-02-22T23:30:00Z'), await clock.now()]]);
    expect(filesOf(run).markdown).toMatch(/run-report-2020-02-29\.md$/);
    expect(await readFile(filesOf(run).markdown, 'utf8')).toContain('No run ended in this time.');
  });

  it('reports on its own run of the week before', async () => {
    kit = await openJobKit({ jobs: [weeklyRunReport], now: '2026-03-01T00:00:00Z' });
    await kit.untilNext(weeklyRunReport);
    const [second] = await kit.untilNext(weeklyRunReport);
    const markdown = await readFile(filesOf(second).markdown, 'utf8');
    expect(markdown).toContain('| weekly-run-report | 1 | 100.0 % |');
  });

  it('runs at seven, and names its days, in the zone of REPORT_TIMEZONE', async () => {
    vi.stubEnv('REPORT_TIMEZONE', 'Pacific/Auckland');
    vi.resetModules();
    // The test files of one process share their modules, and no other is to see this zone.
    onTestFinished(() => {
      vi.resetModules();
    });
    const { default: job } = await import('../../jobs/weekly-run-report.js');
    const { untilNext } = await openWithReport(job, '2026-03-07T00:00:00Z');
    const [run] = await untilNext(job);
    // Seven on Monday morning there is Sunday evening in UTC.
    expect(run?.scheduledFor).toEqual(new Date('2026-03-08T18:00:00Z'));
    expect(filesOf(run).markdown).toMatch(/run-report-2026-03-09\.md$/);
  });

  it('mails the report once per run, with the chart attached', async () => {
    inbox = await openInbox();
    vi.stubEnv('SMTP_URL', inbox.url);
    vi.stubEnv('REPORT_MAIL_TO', 'ops@example.com');
    const { untilNext, changeContext, advanceTo } = await openWithReport();
    // The first attempt fails after its step.
    changeContext(weeklyRunReport, ctx => ({
      ...withScheduler({ report: () => Promise.resolve(REPORT) })(ctx),
      step: async (name, work) => {
        const result = await ctx.step(name, work);
        if (ctx.attempt === 1) throw new Error('after the step');
        return result;
      },
    }));
    expect(await untilNext(weeklyRunReport)).toEqual([]);
    const [run] = await advanceTo('2026-03-09T08:00:00Z');
    expect(run).toMatchObject({ status: 'succeeded', attempts: 2 });
    expect(inbox.mails).toHaveLength(1);
    const [mail] = inbox.mails;
    expect(mail?.to).toEqual([{ address: 'ops@example.com', name: '' }]);
    expect(mail?.subject).toBe('Runs from 2026-03-02 to 2026-03-09');
    expect(mail?.text).toContain('| deliver-webhook | 2,003 |');
    expect(mail?.attachments.map(each => [each.filename, each.mimeType])).toEqual([
      ['run-report-2026-03-09.svg', 'image/svg+xml'],
    ]);
    expect(run?.output).toEqual({ messageId: mail?.messageId });
    await expect(readdir(path.join(folder, 'reports'))).rejects.toThrow('ENOENT');
  });
});
