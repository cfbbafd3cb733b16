// `tock next`: when a schedule fires.

import type { Command } from 'commander';
import { TockError } from '../../../model/errors.js';
import { dayText } from '../../../model/explain/asked-time.js';
import { movedDays, openTimetable, type Timetable } from '../../../model/explain/instant.js';
import { placeOfInstant } from '../../../model/explain/local-clock.js';
import { type Chain, chainWords } from '../../../model/planning/chain.js';
import { scheduleWords } from '../../../model/planning/schedule-words.js';
import { utcText } from '../../../model/schedule/instant-text.js';
import type { Dst, ScheduleSpec } from '../../../model/schedule/spec.js';
import { count, duration, examples, moment, withJson } from '../../flags/flags.js';
import { action, type CommonOptions, type Shell } from '../../shell.js';
import { cleanLine, paint } from '../../terminal.js';
import { clockChange, listOccurrences, type Window } from '../../views/occurrence-list.js';
import { drawTable } from '../../views/table.js';
import { localTime, relative } from '../../views/time-text.js';
import { byOccurrence, insteadText, movedInto, readKnownExceptions } from './exception-text.js';

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
    .summary('when a definition fires, or what starts in the next hour')
    .description(
      'Shows when a schedule fires, in its own time zone and in UTC, and where daylight saving time shifts it. Without a name: what starts over all definitions in a time, an hour unless --to says otherwise, after jitter, windows, and what was skipped or moved; chains are left out. With --cron or --every no database is needed, and no jitter is added.',
    )
    .argument('[definition]', 'a job in code, or a definition in the database')
    .option('--cron <expression>', 'a cron expression instead of a definition')
    .option('--every <duration>', 'an interval instead of a definition', duration)
    .option('--timezone <zone>', 'IANA name for --cron and --every (default UTC)')
    .option('--dst <mode>', 'once, skip or literal, for --cron (default once)')
    .option('--from <time>', 'included (default now)', moment)
    .option('--to <time>', 'excluded: +1h, tomorrow, 14:30, or an instant', moment)
    .option('--count <n>', `how many (default ${DEFAULT_COUNT}; with --to, all)`, count(1, MAX_OCCURRENCES))
    .addHelpText(
      'after',
      examples(
        ['tock next --to +1h', 'what starts in the next hour, over all definitions'],
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
  if (name === undefined && flags.cron === undefined && flags.every === undefined)
    return await comingOf(shell, flags);
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
  const table = openTimetable(spec, name ?? '');
  const schedule = table.compiled;
  const window = windowOf(flags);
  const { found, isCut } = listOccurrences(schedule, window);
  const exceptions = name === undefined ? [] : await readKnownExceptions(shell, name);
  shell.document({
    occurrences: found.map(utcText),
    ...(exceptions.length > 0 ? { exceptions } : {}),
    ...(isCut ? { truncated: true } : {}),
  });
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
    ...(table.shift === null ? [] : [{ title: 'moved' }]),
    ...(exceptions.length > 0 ? [{ title: 'instead' }] : []),
  ];
  const excepted = byOccurrence(exceptions);
  const rows = found.map((at, index) => {
    const previous = index > 0 ? (found[index - 1] ?? null) : before === null ? null : new Date(before);
    const change = previous === null ? '' : clockChange(previous, at, zone);
    const exception = excepted.get(at.getTime());
    const instead = exception === undefined ? '' : insteadText(exception);
    return [
      localTime(at, zone),
      utcText(at),
      relative(at),
      { text: change, colour: 'yellow' as const },
      ...(table.shift === null ? [] : [{ text: movedText(table, at), colour: 'yellow' as const }]),
      ...(exceptions.length > 0 ? [{ text: instead, colour: 'yellow' as const }] : []),
    ];
  });
  shell.say(await drawTable(columns, rows));
  const listed = new Set(found.map(at => at.getTime()));
  const end = window.to?.getTime() ?? (found.at(-1)?.getTime() ?? 0) + 1;
  for (const line of movedInto(exceptions, listed, { from: window.from.getTime(), to: end })) shell.say(line);
  return 0;
}

/** The excluded days that an occurrence stands for. */
function movedText(table: Timetable, at: Date): string {
  const moved = movedDays(table, placeOfInstant(table.zone, at.getTime() / 1000).civil);
  return moved.length === 0 ? '' : `from ${moved.map(dayText).join(', ')}`;
}

const HOUR_MS = 3_600_000;

async function comingOf(shell: Shell, flags: NextFlags): Promise<number> {
  const stated = (['timezone', 'dst'] as const).find(name => flags[name] !== undefined);
  if (stated !== undefined)
    throw new TockError(
      'TOCK_BAD_OPTION',
      `--${stated} is for --cron and --every: give one of them (see tock next --help)`,
    );
  const { from } = windowOf(flags);
  const { sayComing } = await import('../../views/coming-starts.js');
  return await sayComing(shell, {
    from,
    to: flags.to ?? new Date(from.getTime() + HOUR_MS),
    limit: flags.count,
  });
}

interface Named {
  readonly title: string;
  readonly spec: ScheduleSpec | null;
  readonly after: Chain | null;
  readonly remarks: readonly string[];
}

function readSchedule({ cron, every, timezone, dst }: NextFlags): Named {
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
