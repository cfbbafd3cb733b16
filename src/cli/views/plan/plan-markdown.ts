// A plan as Markdown, for a comment on a pull request.
import type { SchedulePlan } from '../../../answers/plan/plan.js';
import { formatSpan } from '../../../model/duration.js';
import type { PlannedChange, PlannedLoad } from '../../../model/plan/plan.js';
import { cleanLine } from '../../terminal.js';
import { countText } from '../load-chart.js';
import { causeText } from './effects.js';
import { localText, namesText } from './load-text.js';
import {
  changeText,
  counted,
  firstText,
  headText,
  lateText,
  othersText,
  withoutDurationsText,
} from './plan-text.js';

const MAX_CHANGES = 50;
const MAX_LEFT_OUT = 20;

/** GitHub's Markdown. Names are code, so that none mentions anybody. */
export function planMarkdown(plan: SchedulePlan): string {
  const { from, to, timezone, changes, broken } = plan;
  const span = `From ${localText(from, timezone)} to ${localText(to, timezone)} (${timezone}), compared with the schedules in the database.`;
  const parts = [
    `### Schedules: ${headText(plan)}`,
    ...(broken.length === 0 ? [] : [broken.map(({ text }) => `> ❌ ${escaped(text)}`).join('\n>\n')]),
    span,
    ...(changes.length === 0 ? [] : [changesTable(changes)]),
    ...(changes.length > MAX_CHANGES ? [`And ${changes.length - MAX_CHANGES} more.`] : []),
    comparison(plan),
    details('The busiest minutes', busiestTable(plan.after, timezone)),
    details('What late runs wait for', lateTable(plan.after)),
    ...(plan.check === null ? [] : [checkTable(plan.check)]),
    remarks(plan),
  ];
  return parts.filter(part => part !== '').join('\n\n');
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  const aligns = head.map(title => (title.startsWith('>') ? '---:' : '---'));
  return [line(head.map(title => title.replace(/^>/, ''))), line(aligns), ...rows.map(line)].join('\n');
}

function changesTable(changes: readonly PlannedChange[]): string {
  const count = (value: number) => (value === 0 ? '' : countText(value));
  return table(
    ['definition', 'change', '>appear', '>vanish', '>move', 'first'],
    changes
      .slice(0, MAX_CHANGES)
      .map(change => [
        code(change.definition),
        `${escaped(changeText(change))}<br>${wordsOf(change)}`.replace(/<br>$/, ''),
        count(change.appear),
        count(change.vanish),
        count(change.move),
        escaped(firstText(change)),
      ]),
  );
}

function wordsOf({ was, is }: PlannedChange): string {
  if (was === is) return was === null ? '' : code(was);
  return [was, is].flatMap(each => (each === null ? [] : [code(each)])).join(' → ');
}

function comparison({ before, after, timezone }: SchedulePlan): string {
  const most = ({ busiest: [first] }: PlannedLoad) =>
    first === undefined ? '0' : `${countText(first.count)} (${localText(first.minute, timezone)})`;
  const rows: [string, (load: PlannedLoad) => string][] = [
    ['runs that start', load => countText(load.starts)],
    ['most of them in one minute', most],
    ['skipped: an earlier run is live', load => countText(load.skips.overlap)],
    ['skipped: not started by the start deadline', load => countText(load.skips.deadline)],
    ['start late, by 10 s or more', load => countText(load.late.runs)],
    ['their wait, p95', load => lateText(load.late)],
    ['not started in the end', load => countText(load.unstarted)],
  ];
  const said = rows.filter(
    ([, read], index) => index < 2 || [before, after].some(load => !['', '0'].includes(read(load))),
  );
  return table(
    ['', '>before', '>with this code'],
    said.map(([what, read]) => [what, read(before), read(after)]),
  );
}

function busiestTable({ busiest }: PlannedLoad, timezone: string): string {
  if (busiest.length === 0) return '';
  return table(
    ['minute', '>runs', 'definitions'],
    busiest.map(({ minute, count, definitions }) => [
      localText(minute, timezone),
      countText(count),
      namesText(definitions, code),
    ]),
  );
}

function lateTable({ lateFor }: PlannedLoad): string {
  if (lateFor.length === 0) return '';
  return table(
    ['for', '>runs', '>p95', '>at most'],
    lateFor.map(each => [
      escaped(causeText(each)),
      countText(each.runs),
      formatSpan(each.p95Ms),
      formatSpan(each.maxMs),
    ]),
  );
}

function checkTable({
  from,
  to,
  definitions,
  leftOut,
  predicted,
  real,
}: NonNullable<SchedulePlan['check']>): string {
  const others = othersText(leftOut);
  const title = `**How good this is**: ${localText(from, 'UTC')} to ${localText(to, 'UTC')} (UTC), predicted from what was known before, and real, of ${counted(definitions, 'definition')}${others}.`;
  if (definitions === 0) return title;
  return `${title}\n\n${table(
    ['', '>predicted', '>real'],
    [
      ['runs that started', countText(predicted.starts), countText(real.starts)],
      ['late, by 10 s or more', countText(predicted.late.runs), countText(real.late.runs)],
      ['their wait, p95', lateText(predicted.late), lateText(real.late)],
      ['skipped for overlap', countText(predicted.overlapSkips), countText(real.overlapSkips)],
    ],
  )}`;
}

function remarks({ leftOut, workers, withoutDurations }: SchedulePlan): string {
  const lines = [
    workers === null
      ? 'No worker is alive: as many runs execute at once as are due.'
      : `The workers that are alive execute ${countText(workers)} at once.`,
    ...(withoutDurations > 0 ? [`${withoutDurationsText(withoutDurations).replace(/^o/, 'O')}.`] : []),
    ...(leftOut.length > 0
      ? [
          `Left out: ${leftOut
            .slice(0, MAX_LEFT_OUT)
            .map(({ name, reason }) => `${code(name)} (${escaped(reason)})`)
            .join(
              ', ',
            )}${leftOut.length > MAX_LEFT_OUT ? `, and ${leftOut.length - MAX_LEFT_OUT} more` : ''}.`,
        ]
      : []),
  ];
  return `<sub>${lines.join(' ')}</sub>`;
}

const details = (title: string, text: string) =>
  text === '' ? '' : `<details><summary>${title}</summary>\n\n${text}\n\n</details>`;

/** In a cell of a table, too. */
function code(text: string): string {
  const clean = cleanLine(text).replaceAll('|', '\\|');
  return clean.includes('`') ? `\`\` ${clean} \`\`` : `\`${clean}\``;
}

const escaped = (text: string) =>
  cleanLine(text).replace(/[\\`*_[\]<>#@|]/g, sign => (sign === '@' ? '&#64;' : `\\${sign}`));
