// `tock next`: when a schedule fires.

import type { Command } from 'commander';
import { TockError } from '../../../model/errors.js';
import { type Chain, chainWords } from '../../../model/planning/chain.js';
import { scheduleWords } from '../../../model/planning/schedule-words.js';
import { compileSchedule } from '../../../model/schedule/compile.js';
import { utcText } from '../../../model/schedule/instant-text.js';
import type { Dst, ScheduleSpec } from '../../../model/schedule/spec.js';
import { count, duration, examples, instant, withJson } from '../../flags/flags.js';
import { action, type CommonOptions, type Shell } from '../../shell.js';
import { cleanLine, paint } from '../../terminal.js';
import { clockChange, listOccurrences, type Window } from '../../views/occurrence-list.js';
import { drawTable } from '../../views/table.js';
import { localTime, relative } from '../../views/time-text.js';

interface NextFlags extends CommonOptions {
  readonly cron?: string;
  readonly every?: string;
  readonly timezone?: string;
  readonly dst?: string;
  readonly from?: Date;
  readonly to?: Date;
  readonly count?: number;
}

const MAX_OCCURRENCES = 10_000;
const DEFAULT_COUNT = 5;

export function addNext(program: Command): Command {
  return withJson(program.command('next'))
    .summary('when a definition, or any schedule, fires')
    .description(
      'Shows when a schedule fires, in its own time zone and in UTC, and where daylight saving time shifts it. With --cron or --every no database is needed. Jitter is not added.',
    )
    .argument('[definition]', 'a job in code, or a definition in the database')
    .option('--cron <expression>', 'a cron expression instead of a definition')
    .option('--every <duration>', 'an interval instead of a definition', duration)
    .option('--timezone <zone>', 'IANA name for --cron and --every (default UTC)')
    .option('--dst <mode>', 'once, skip or literal, for --cron (default once)')
    .option('--from <instant>', 'included (default now)', instant)
    .option('--to <instant>', 'excluded', instant)
    .option('--count <n>', `how many (default ${DEFAULT_COUNT}; with --to, all)`, count(1, MAX_OCCURRENCES))
    .addHelpText(
      'after',
      examples(
        ['tock next weekly-run-report', 'the next five'],
        ["tock next --cron '0 7 * * 1' --timezone Europe/Berlin", 'any schedule'],
        [
          "tock next --cron '@daily' --from 2026-03-01T00:00:00Z --to 2026-04-01T00:00:00Z",
          'all in [from, to)',
        ],
      ),
    )
    .action(action(next));
}

async function next(shell: Shell, flags: NextFlags, name: string | undefined): Promise<number> {
  const named = name === undefined ? readSchedule(flags) : await findNamed(shell, flags, name);
  const { spec, title } = named;
  if (named.after) {
    const [first = ''] = named.after.definitions;
    shell.document({ occurrences: [], after: named.after });
    shell.say(
      cleanLine(
        `${title} runs ${chainWords(named.after)}, for each of their occurrences (tock next ${first})`,
      ),
    );
    return 0;
  }
  if (spec === null) {
    shell.document({ occurrences: [] });
    shell.say(`${title} has no schedule: it runs when it is enqueued (tock run ${cleanLine(name ?? '')})`);
    return 0;
  }
  const schedule = compileSchedule(spec, name);
  const window = windowOf(flags);
  const { found, isCut } = listOccurrences(schedule, window);
  shell.document({ occurrences: found.map(utcText), ...(isCut ? { truncated: true } : {}) });
  if (isCut) shell.note(`only the first ${MAX_OCCURRENCES} are shown; narrow --from and --to`);
  if (shell.json) return 0;
  shell.say(`${paint('bold', title)}: ${cleanLine(scheduleWords(spec))}`);
  for (const remark of named.remarks) shell.say(remark);
  if (found.length === 0) {
    const until = window.to ? ` and before ${utcText(window.to)}` : '';
    shell.say(`no occurrences from ${utcText(window.from)}${until}`);
    return 0;
  }
  const zone = spec.timezone ?? 'UTC';
  const before = schedule.previous(found[0]?.getTime() ?? 0);
  const columns = [
    { title: `local time (${zone})` },
    { title: 'UTC' },
    { title: 'when' },
    { title: 'clocks' },
  ];
  const rows = found.map((at, index) => {
    const previous = index > 0 ? (found[index - 1] ?? null) : before === null ? null : new Date(before);
    const change = previous === null ? '' : clockChange(previous, at, zone);
    return [localTime(at, zone), utcText(at), relative(at), { text: change, colour: 'yellow' as const }];
  });
  shell.say(await drawTable(columns, rows));
  return 0;
}

interface Named {
  readonly title: string;
  readonly spec: ScheduleSpec | null;
  readonly after: Chain | null;
  readonly remarks: readonly string[];
}

function readSchedule({ cron, every, timezone, dst }: NextFlags): Named {
  if (cron === undefined && every === undefined) {
    throw new TockError(
      'TOCK_BAD_OPTION',
      'give a definition, or a schedule with --cron or --every (see tock next --help)',
    );
  }
  const spec: ScheduleSpec = {
    ...(cron === undefined ? {} : { cron }),
    ...(every === undefined ? {} : { every }),
    ...(timezone === undefined ? {} : { timezone }),
    ...(dst === undefined ? {} : { dst: dst as Dst }),
  };
  return { title: 'schedule', spec, after: null, remarks: [] };
}

async function findNamed(
  shell: Shell,
  { cron, every, timezone, dst }: NextFlags,
  name: string,
): Promise<Named> {
  if (cron !== undefined || every !== undefined || timezone !== undefined || dst !== undefined) {
    throw new TockError(
      'TOCK_BAD_OPTION',
      'give a definition, or --cron or --every with --timezone and --dst, not both',
    );
  }
  const { findDefinition } = await import('../../find-definition.js');
  return { ...(await findDefinition(shell, name)), title: cleanLine(name) };
}

function windowOf({ from, to, count }: NextFlags): Window {
  if (from && to && to < from) {
    throw new TockError('TOCK_BAD_TIME', `--to ${utcText(to)} is before --from ${utcText(from)}; swap them`);
  }
  const limit = count ?? (to ? MAX_OCCURRENCES : DEFAULT_COUNT);
  return {
    from: from ?? new Date(),
    to: to ?? null,
    limit,
    isLimitChosen: count !== undefined || to === undefined,
  };
}
