// `tock calendar list`, `show`, `add` and `remove`.
import { readFile } from 'node:fs/promises';
import { type Command, InvalidArgumentError } from 'commander';
import type { CalendarEdit, CalendarRecord } from '../../../model/calendar/calendar.js';
import { TockError } from '../../../model/errors.js';
import { quote } from '../../../model/names.js';
import { didYouMean } from '../../../model/nearest.js';
import { readDate } from '../../../model/schedule/calendar.js';
import { examples, withJson } from '../../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../../shell.js';
import { cleanLine, paint } from '../../terminal.js';
import { type Cell, drawTable } from '../../views/table.js';

interface AddFlags extends CommonOptions {
  readonly dates?: readonly string[];
  readonly ics?: string;
  readonly until?: string;
  readonly dryRun?: true;
}

const SUBCOMMANDS = ['list', 'show', 'add', 'remove'];

export function addCalendar(program: Command): Command {
  const calendar = withJson(program.command('calendar'))
    .summary('named sets of dates that schedules leave out, such as public holidays')
    .description(
      'Calendars: dates under a name, which schedules leave out by exclude: [{ calendar }] or --exclude. Without a subcommand, lists them.',
    )
    .argument('[list|show|add|remove]', 'what to do (default list); see tock calendar add --help')
    .enablePositionalOptions()
    .addHelpText(
      'after',
      examples(
        ['tock calendar add de-holidays --dates 2027-01-01,2027-03-26', 'make it, or give it other dates'],
        ['tock schedule set report --exclude de-holidays', 'no occurrence on these dates'],
        ['tock calendar show de-holidays', 'its dates, and what names it'],
      ),
    )
    .action(action(listOrRefuse));
  withJson(calendar.command('list'))
    .summary('list the calendars')
    .description('Lists the calendars: how many dates each has, and how many definitions name it.')
    .addHelpText('after', examples(["tock calendar list --json | jq '.calendars[].name'", 'for a script']))
    .action(action(list));
  withJson(calendar.command('show'))
    .summary('show one calendar')
    .description('Shows the dates of a calendar, and the definitions that name it.')
    .argument('<calendar>', 'its name')
    .addHelpText('after', examples(['tock calendar show de-holidays', 'for people']))
    .action(action(show));
  withJson(calendar.command('add'))
    .summary('make a calendar, or give it other dates')
    .description(
      'Makes a calendar, or gives it other dates: those that are left out are no longer in it. It changes the future only: what came due keeps the old dates, and no run is withdrawn. Says which definitions get or lose how many occurrences in the next year.',
    )
    .argument('<calendar>', 'its name, beginning with a letter')
    .option('--dates <a,b>', 'its dates, such as 2027-01-01,2027-03-26; may be repeated', dates)
    .option('--ics <file>', 'its dates from an iCalendar file: events of whole days')
    .option(
      '--until <date>',
      'with --ics: the last date to which events are repeated (default: the end of the fifth year from now)',
      lastDate,
    )
    .option('--dry-run', 'only say what would change')
    .addHelpText(
      'after',
      examples(
        ['tock calendar add de-holidays --dates 2027-01-01,2027-03-26', 'all of its dates'],
        ['tock calendar add de-holidays --ics holidays.ics --until 2030-12-31', 'from a file'],
        ['tock calendar add de-holidays --dates 2027-01-01 --dry-run', 'what would change'],
      ),
    )
    .action(action(add));
  withJson(calendar.command('remove'))
    .summary('remove a calendar')
    .description('Removes a calendar. Refused while definitions name it.')
    .argument('<calendar>', 'its name')
    .addHelpText('after', examples(['tock calendar remove de-holidays', 'when no definition names it']))
    .action(action(remove));
  for (const each of calendar.commands) each.helpOption('-h, --help', 'print this help');
  return calendar;
}

function dates(text: string, before: readonly string[] = []): readonly string[] {
  const given = text.split(/[\s,]+/).filter(Boolean);
  for (const date of given)
    if (readDate(date) === null)
      throw new InvalidArgumentError(`${quote(date)} is not a date; write it as 2027-01-01`);
  return [...before, ...given];
}

function lastDate(text: string): string {
  if (readDate(text) !== null) return text;
  throw new InvalidArgumentError('write a date such as 2030-12-31');
}

async function listOrRefuse(shell: Shell, flags: CommonOptions, word: string | undefined): Promise<number> {
  if (word === undefined) return await list(shell, flags);
  throw new TockError(
    'TOCK_BAD_OPTION',
    `${quote(word)} is not a command${didYouMean(word, SUBCOMMANDS)}: tock calendar list, show, add or remove (see tock calendar --help)`,
  );
}

async function list(shell: Shell, _flags: CommonOptions): Promise<number> {
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const calendars = await tock.calendars.list();
    shell.document({ calendars });
    if (shell.json) return 0;
    if (calendars.length === 0) shell.say('there is no calendar (tock calendar add makes one)');
    else
      shell.say(
        await drawTable(
          [
            { title: 'calendar', flexible: true },
            { title: 'dates', align: 'right' },
            { title: 'first' },
            { title: 'last' },
            { title: 'definitions', align: 'right' },
          ],
          calendars.map((each): Cell[] => [
            cleanLine(each.name),
            `${each.dates.length}`,
            each.dates[0] ?? '',
            each.dates.at(-1) ?? '',
            `${each.definitions.length}`,
          ]),
        ),
      );
    return 0;
  });
}

async function show(shell: Shell, _flags: CommonOptions, name: string): Promise<number> {
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const calendar = await tock.calendars.get(name);
    shell.document({ calendar });
    if (shell.json) return 0;
    shell.say(titleOf(calendar));
    for (const date of calendar.dates) shell.say(`  ${date}`);
    const { definitions } = calendar;
    shell.say(
      definitions.length === 0 ? 'no definition names it' : cleanLine(`named by ${definitions.join(', ')}`),
    );
    return 0;
  });
}

async function add(shell: Shell, flags: AddFlags, name: string): Promise<number> {
  const { given, remarks } = await datesOf(flags);
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const options = { dates: given, dryRun: flags.dryRun === true };
    const edit = await tock.calendars.set(name, options);
    shell.document({ calendar: edit, dryRun: options.dryRun });
    if (shell.json) return 0;
    for (const line of [...remarks, ...editLines(edit, options.dryRun)]) shell.say(line);
    return 0;
  });
}

interface Given {
  readonly given: readonly string[];
  /** What was left out of a file, and how far its events were repeated. */
  readonly remarks: readonly string[];
}

async function datesOf({ dates: given, ics, until }: AddFlags): Promise<Given> {
  if ((given === undefined) === (ics === undefined))
    throw new TockError(
      'TOCK_BAD_OPTION',
      'a calendar needs its dates: give --dates 2027-01-01,2027-03-26, or --ics with a file, and not both',
    );
  if (until !== undefined && ics === undefined)
    throw new TockError('TOCK_BAD_OPTION', '--until belongs to --ics: give both, or leave it out');
  if (ics === undefined) return { given: given ?? [], remarks: [] };
  const { readIcs } = await import('../../../import/ics/read-ics.js');
  const last = until ?? `${new Date().getUTCFullYear() + 5}-12-31`;
  const read = readIcs(await textOf(ics), last);
  const left = [
    read.timedCount === 0 ? null : `${counted(read.timedCount, 'event')} with a time`,
    read.cancelledCount === 0 ? null : counted(read.cancelledCount, 'cancelled event'),
  ].filter(each => each !== null);
  return {
    given: read.dates,
    remarks: [
      ...(read.isCut ? [`events without an end are repeated up to ${last} (--until)`] : []),
      ...(left.length === 0 ? [] : [`left out: ${left.join(', ')}`]),
    ],
  };
}

async function textOf(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw new TockError(
      'TOCK_BAD_OPTION',
      `--ics ${quote(file)} cannot be read: ${(error as Error).message}`,
      {
        cause: error,
      },
    );
  }
}

async function remove(shell: Shell, _flags: CommonOptions, name: string): Promise<number> {
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    await tock.calendars.remove(name);
    shell.document({ calendar: name, removed: true });
    shell.say(`the calendar ${paint('bold', cleanLine(name))} is removed`);
    return 0;
  });
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`;

const titleOf = ({ name, dates, version }: Pick<CalendarRecord, 'name' | 'dates' | 'version'>): string =>
  `${paint('bold', cleanLine(name))}: ${counted(dates.length, 'date')}, version ${version}`;

function editLines(edit: CalendarEdit, isDry: boolean): string[] {
  if (edit.change === 'unchanged') return [`${titleOf(edit)}: nothing changes`];
  const { addedDates, removedDates, definitions } = edit;
  const wouldBe = isDry ? ' (a dry run: nothing is written)' : '';
  const words = [
    addedDates.length === 0 ? null : `${counted(addedDates.length, 'date')} added`,
    removedDates.length === 0 ? null : `${counted(removedDates.length, 'date')} removed`,
  ].filter(each => each !== null);
  return [
    [titleOf(edit), ...words].join(', ') + wouldBe,
    definitions.length === 0
      ? 'no occurrence of the next year changes'
      : `in the next year, of ${counted(definitions.length, 'definition')}:`,
    ...definitions.map(({ definition, removed, added, isComplete }) => {
      const counts = [
        removed === 0 ? null : `${counted(removed, 'occurrence')} fewer`,
        added === 0 ? null : `${counted(added, 'occurrence')} more`,
      ].filter(each => each !== null);
      const least = isComplete ? '' : ' at least: it has too many to count';
      return `  ${cleanLine(definition)}: ${counts.join(', ') || 'none known'}${least}`;
    }),
  ];
}
