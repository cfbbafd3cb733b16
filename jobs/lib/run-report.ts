// A report on runs for people: a page of Markdown, and its chart.
import { formatDuration, type RunReport } from '../../src/index.js';
import { drawStackedBars } from './bar-chart.js';

type Day = RunReport['days'][number];

const DAY_MS = 24 * 60 * 60 * 1000;

/** Draws the runs of each day, by outcome. Days are those of UTC. */
export function drawRunReport(report: RunReport, title: string): string {
  const days = everyDay(report);
  const dead = days.reduce((sum, each) => sum + each.dead, 0);
  const succeeded = days.reduce((sum, each) => sum + each.succeeded, 0);
  return drawStackedBars({
    title,
    description: `Runs that ended on each of ${days.length} days: ${succeeded} succeeded, ${dead} ended dead.`,
    categories: days.map(each => shortDay(each.day)),
    // Blue and red, not green and red: one man in twelve cannot distinguish those.
    series: [
      { name: 'succeeded', color: '#2563ab', values: days.map(each => each.succeeded) },
      { name: 'skipped', color: '#6b7280', values: days.map(each => each.skipped) },
      { name: 'dead', color: '#c2323f', values: days.map(each => each.dead), callOut: true },
    ],
  });
}

/** Writes the report as Markdown. `chart` is the name of the chart's file beside it. */
export function writeRunReport(report: RunReport, title: string, chart: string): string {
  const jobs = report.jobs.map(each => {
    const share = each.succeeded + each.dead;
    return [
      escapeMarkdown(each.job),
      count(each.succeeded + each.dead + each.cancelled),
      share === 0 ? '-' : percent(each.succeeded / share),
      count(each.dead),
      count(each.skipped),
      count(each.retries),
      each.meanMs === null ? '-' : formatDuration(each.meanMs),
      each.p95Ms === null ? '-' : formatDuration(each.p95Ms),
    ];
  });
  const errors = report.errors.map(each => [
    count(each.count),
    escapeMarkdown(each.job),
    escapeMarkdown(each.name),
    escapeMarkdown(shorten(each.message)),
  ]);
  return [
    `# ${escapeMarkdown(title)}`,
    `What ended from ${report.from.toISOString()} to ${report.to.toISOString()}; the chart's days are those of UTC.`,
    `![Runs per day: succeeded, skipped, dead](${chart})`,
    '## Jobs',
    jobs.length === 0
      ? 'No run ended in this time.'
      : table(['Job', 'Runs', 'Succeeded', 'Dead', 'Skipped', 'Retries', 'Mean', 'p95'], jobs, 1),
    '## Most frequent errors',
    errors.length === 0 ? 'None.' : table(['Count', 'Job', 'Error', 'Message'], errors, 4),
    '',
  ]
    .join('\n\n')
    .trimEnd()
    .concat('\n');
}

/** A table whose columns from `numbersFrom` on are aligned to the right. */
function table(head: readonly string[], rows: readonly (readonly string[])[], numbersFrom: number): string {
  const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
  return [
    line(head),
    line(head.map((_, index) => (index < numbersFrom ? '---' : '--:'))),
    ...rows.map(line),
  ].join('\n');
}

/** Keeps a text inside its cell, and whatever it says from being read as markup. */
function escapeMarkdown(value: string): string {
  return value
    .replace(/[\p{Cc}\s]+/gu, ' ')
    .replace(/[\\`*_{}[\]<>()#+!|~&]/g, '\\$&')
    .trim();
}

function shorten(value: string): string {
  return value.length <= 160 ? value : `${value.slice(0, 159)}…`;
}

/** The days from the report's beginning to its end, those without a run included. */
function everyDay({ from, to, days }: RunReport): Day[] {
  const first = Date.parse(from.toISOString().slice(0, 10));
  return Array.from({ length: Math.ceil((to.getTime() - first) / DAY_MS) }, (_, index) => {
    const day = new Date(first + index * DAY_MS).toISOString().slice(0, 10);
    return days.find(each => each.day === day) ?? { day, succeeded: 0, dead: 0, skipped: 0 };
  });
}

/** `2026-01-05` as `Mon 5 Jan`. */
function shortDay(day: string): string {
  const at = new Date(day);
  const part = (options: Intl.DateTimeFormatOptions): string =>
    new Intl.DateTimeFormat('en-GB', { ...options, timeZone: 'UTC' }).format(at);
  return `${part({ weekday: 'short' })} ${part({ day: 'numeric' })} ${part({ month: 'short' })}`;
}

/** Never rounds up to 100 %: that is for a job without a single failure. */
function percent(share: number): string {
  return `${(Math.floor(share * 1000) / 10).toFixed(1)} %`;
}

function count(value: number): string {
  return value.toLocaleString('en-US');
}
