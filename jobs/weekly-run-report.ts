// What the scheduler did last week, on one page with a chart: run-report-<last day>.md and .svg in REPORT_DIR
// (default ./reports), or a mail with both (REPORT_MAIL_TO, SMTP_URL). Dates are in REPORT_TIMEZONE.
import path from 'node:path';
import { defineJob, type JobContext } from '../src/index.js';
import { civilDate } from './lib/civil-date.js';
import { sendMail } from './lib/mail.js';
import { drawRunReport, writeRunReport } from './lib/run-report.js';
import { writeAtomically } from './lib/write-atomically.js';

// Part of the schedule: set it the same on every host.
const timezone = process.env['REPORT_TIMEZONE'] || 'UTC';
const WEEK_MS = 7 * 24 * 60 * 60 * 1000;

export default defineJob({
  name: 'weekly-run-report',
  description: 'Writes or mails a report on the runs of the past week, every Monday morning.',
  schedule: {
    cron: '0 7 * * 1',
    timezone,
    // Each week has a report of its own, so those that were missed are caught up.
    catchup: 'all',
    catchupWindow: '28d',
    overlap: 'allow_all',
  },
  retry: { maxAttempts: 5, base: '1m' },
  timeout: '10m',
  async run(ctx) {
    const { start, end } = ctx.dataInterval ?? (await pastWeek(ctx));
    const report = await ctx.scheduler.report(start, end);
    // The interval's end is not part of it.
    const lastDay = civilDate(new Date(end.getTime() - 1), timezone);
    const name = `run-report-${lastDay}`;
    const title = `Runs from ${civilDate(start, timezone)} to ${lastDay}`;
    const markdown = writeRunReport(report, title, `${name}.svg`);
    const chart = drawRunReport(report, title);

    const to = process.env['REPORT_MAIL_TO'];
    if (to && process.env['SMTP_URL']) {
      // A step: if a later attempt is needed, a mail that was sent is not sent again.
      return ctx.step('mail', async () => {
        const attachments = [{ filename: `${name}.svg`, content: chart, contentType: 'image/svg+xml' }];
        const mail = { key: `run-report:${ctx.runId}`, to, subject: title, text: markdown, attachments };
        const { messageId } = await sendMail(mail);
        return { messageId };
      });
    }
    const folder = path.resolve(process.env['REPORT_DIR'] || 'reports');
    const files = { markdown: path.join(folder, `${name}.md`), chart: path.join(folder, `${name}.svg`) };
    // The chart first: the page refers to it.
    await writeAtomically(files.chart, chart);
    await writeAtomically(files.markdown, markdown);
    return files;
  },
});

/** For a run that no schedule planned: the seven days up to now, by the database's clock. */
async function pastWeek(ctx: JobContext): Promise<{ start: Date; end: Date }> {
  const { at } = await ctx.scheduler.status();
  return { start: new Date(at.getTime() - WEEK_MS), end: at };
}
