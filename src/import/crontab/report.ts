// The report of an import: what was taken, what differs, what was left and what to do about it.
import { findZone } from '../../model/schedule/zone/zone.js';
import type { Translation } from './translate.js';

export interface ReportedSource {
  readonly source: string;
  readonly translation: Translation;
}

const YEAR_SECONDS = 366 * 86_400;

/**
 * The report as lines of text.
 * @param timezone the host's
 * @param now epoch milliseconds: whether clocks change in the year after it
 */
export function importReport(sources: readonly ReportedSource[], timezone: string, now: number): string[] {
  const translations = sources.map(({ translation }) => translation);
  const taken = translations.flatMap(translation => translation.taken);
  const left = translations.reduce((sum, translation) => sum + translation.left.length, 0);
  const lines: string[] = [];
  for (const { source, translation } of sources) {
    const reported = [
      ...translation.taken.map(({ entry, job, differences }) => ({
        line: entry.line,
        text: [
          `line ${entry.line}: ${differences.length === 0 ? 'taken' : 'taken, with a difference'}: ${job.name}`,
          ...differences.map(each => `    ${each}`),
        ],
      })),
      ...translation.left.map(({ line, text, problem, remedy }) => ({
        line,
        text: [`line ${line}: not taken: ${text.trim()}`, `    ${problem}`, `    ${remedy}`],
      })),
    ].sort((a, b) => a.line - b.line);
    if (reported.length === 0) lines.push(`${source}: no line with a command`);
    else lines.push(`${source}:`, ...reported.flatMap(({ text }) => text.map(each => `  ${each}`)));
  }
  const differing = taken.filter(({ differences }) => differences.length > 0).length;
  lines.push(`${taken.length} taken, ${differing} of them with a difference; ${left} not taken`);
  if (taken.length > 0) lines.push('', ...notes(translations, timezone, now));
  return lines;
}

/** What is true of all lines. */
function notes(translations: readonly Translation[], timezone: string, now: number): string[] {
  const mailTo = [...new Set(translations.flatMap(({ mailTo: addresses }) => addresses))];
  return [
    'For all of them:',
    `  The time zone of this host, ${timezone}, is written out.`,
    '  An occurrence runs on one host, whichever ticks first. A line that each host must run (logs, disks) stays in cron.',
    ...(changesClock(timezone, now)
      ? [
          '  When clocks go forward: cron starts the skipped fixed times right after the change, Tock as long after the',
          '  change as they would have been (02:30 at 03:30). tock import crontab --dry-run --days 366 shows each case.',
        ]
      : []),
    "  While a run goes on, cron starts another one; Tock skips it. As under cron: overlap: 'allow_all' in schedule.",
    "  What an outage missed, cron forgets; Tock makes one run for it. As under cron: catchup: 'none' in schedule.",
    '  A command that does not end with 0 is a failed run, and is not repeated. Cron does not look at exit codes.',
    '  Output goes into the log of the run (tock show --log); cron mails it.',
    ...(mailTo.length === 0
      ? []
      : [
          `  Mail to ${mailTo.join(', ')}: for a message when a run fails, export this beside jobs (docs/alerts.md):`,
          `    export const alerts = { channels: [{ mail: '${mailTo.join(', ')}', from: 'Tock <…>', smtp: { env: 'SMTP_URL' } }], rules: [{ when: 'dead' }] };`,
        ]),
  ];
}

function changesClock(timezone: string, now: number): boolean {
  const from = now / 1000;
  return findZone(timezone).segmentAt(from).end < from + YEAR_SECONDS && changes(timezone, from);
}

/** A segment may end where nothing changes. */
function changes(timezone: string, from: number): boolean {
  const zone = findZone(timezone);
  const { end, offset } = zone.segmentAt(from);
  return zone.segmentAt(end).offset !== offset;
}
