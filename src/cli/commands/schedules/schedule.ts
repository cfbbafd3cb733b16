// `tock schedule add`, `set` and `remove`: schedules made at run time.

import type { Command } from 'commander';
import type { DefinitionRecord } from '../../../answers/schedules/lists.js';
import { TockError } from '../../../model/errors.js';
import { URL_JOB } from '../../../model/http/stored-request.js';
import { quote } from '../../../model/names.js';
import { didYouMean } from '../../../model/nearest.js';
import { definitionWords } from '../../../model/planning/schedule-words.js';
import { count, examples, withJson } from '../../flags/flags.js';
import { readPayload } from '../../flags/payload-source.js';
import {
  changedInput,
  checkTiming,
  type ScheduleFlags,
  statedInput,
  withScheduleFlags,
} from '../../flags/schedule-flags.js';
import { requestOf, statesRequest, type UrlFlags, withUrlFlags } from '../../flags/url-flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../../shell.js';
import { cleanLine, paint } from '../../terminal.js';
import { onDefinition, unknownDefinition } from '../../unknown-names.js';
import { nextText } from '../../views/definition-text.js';

interface GuardFlags extends CommonOptions {
  readonly ifVersion?: number;
}

const SUBCOMMANDS = ['add', 'set', 'remove'];

export function addSchedule(program: Command): Command {
  const schedule = program
    .command('schedule')
    .summary('add, set or remove a schedule that is not in code')
    .description(
      'Schedules made at run time. Many may share one job, each with its own payload, such as one per tenant. tock jobs lists them; tock pause and tock resume work for them too. add, set and remove each take --json.',
    )
    .argument('[add|set|remove]', 'what to do; see tock schedule add --help')
    .addHelpText(
      'after',
      examples(
        [`tock schedule add tenant-7 --job send-invoice-reminders --cron '0 7 * * *'`, 'add one'],
        ['tock schedule set tenant-7 --timezone Europe/Berlin', 'change the time zone only'],
        ['tock schedule remove tenant-7', 'no more runs of it'],
      ),
    )
    .action(action(refuse));
  for (const add of [addAdd, addSet, addRemove]) add(schedule).helpOption('-h, --help', 'print this help');
  return schedule;
}

function addAdd(schedule: Command): Command {
  const command = withJson(schedule.command('add'))
    .summary('add a schedule')
    .description(
      'Adds a schedule for a job, or for a URL that is requested. Refuses a name that is already used; tock schedule set changes that schedule.',
    )
    .argument('<name>', 'letters, digits and . _ : @ -')
    .option('--job <job>', 'name of the job');
  return withScheduleFlags(withUrlFlags(command))
    .addHelpText(
      'after',
      examples(
        [`tock schedule add tenant-7 --job invoices --cron '0 7 * * *' --timezone Europe/Berlin`, 'by cron'],
        [`tock schedule add probe --job deliver-webhook --every 5m --payload '{"id": 7}'`, 'with a payload'],
        ['tock schedule add report --job invoices --after load,clean', 'when both have succeeded'],
        ['tock schedule add alarm --job invoices --after load --after-on failure', 'when load ends dead'],
        [`tock schedule add bulk --job invoices --every 1h --window 23:00-06:00`, 'at night only'],
        ['tock schedule add ping --every 5m --url https://example.com/cron', 'request a URL'],
      ),
    )
    .action(action(addOne));
}

function addSet(schedule: Command): Command {
  const command = withJson(schedule.command('set'))
    .summary('change a schedule')
    .description(
      'Changes only what is given, from now on. Queued runs that are not due yet are withdrawn if the edited schedule would not make them. “none” removes --window, --exclude, --shift, --start-at, --end-at, --remaining, --pause-on-failure, --start-deadline and --catchup-window.',
    )
    .argument('<name>', 'name of the schedule')
    .option('--job <job>', 'name of the job');
  return withGuard(withScheduleFlags(withUrlFlags(command)))
    .addHelpText(
      'after',
      examples(
        [`tock schedule set tenant-7 --cron '30 7 * * *'`, 'another time'],
        ['tock schedule set tenant-7 --end-at none --if-version 3', 'only if it is still version 3'],
      ),
    )
    .action(action(setOne));
}

function addRemove(schedule: Command): Command {
  return withGuard(withJson(schedule.command('remove')))
    .summary('remove a schedule')
    .description(
      'Removes a schedule that was made at run time, or a definition that is no longer in code. Queued runs that are not due yet are withdrawn; its history stays. If it is added again under this name, it gets the same id.',
    )
    .argument('<name>', 'name of the schedule')
    .addHelpText('after', examples(['tock schedule remove tenant-7', 'no more runs of it']))
    .action(action(removeOne));
}

function withGuard(command: Command): Command {
  return command.option('--if-version <n>', 'refuse if it has another version', count(1, 2_147_483_647));
}

function refuse(_shell: Shell, _flags: CommonOptions, word: string | undefined): Promise<never> {
  const problem =
    word === undefined
      ? 'give a subcommand'
      : `${quote(word)} is not a command${didYouMean(word, SUBCOMMANDS)}`;
  return Promise.reject(
    new TockError(
      'TOCK_BAD_OPTION',
      `${problem}: tock schedule add, set or remove (see tock schedule --help)`,
    ),
  );
}

async function addOne(
  shell: Shell,
  { job, ...flags }: ScheduleFlags & UrlFlags,
  name: string,
): Promise<number> {
  checkTiming(flags, true);
  const isRequest = statesRequest(flags, job, null);
  const given = await readPayload(flags.payload);
  const payload = isRequest ? requestOf(flags, given, null) : given;
  return await withTock(shell, {}, async ({ tock }) => {
    const input = statedInput(name, { ...flags, job: isRequest ? URL_JOB : (job ?? '') }, payload);
    const definition = await tock.schedules.upsert(input, { ifVersion: 0 }).catch((error: unknown) => {
      if (!(error instanceof TockError && error.code === 'TOCK_VERSION_CONFLICT')) throw error;
      throw new TockError(
        'TOCK_BAD_STATE',
        `there is already a schedule ${quote(name)}; change it with tock schedule set, or use another name`,
        { cause: error },
      );
    });
    return report(shell, definition, 'made');
  });
}

async function setOne(
  shell: Shell,
  flags: ScheduleFlags & GuardFlags & UrlFlags,
  name: string,
): Promise<number> {
  checkTiming(flags, false);
  const given = await readPayload(flags.payload);
  return await withTock(shell, {}, async ({ tock }) => {
    const [before] = await tock.schedules.list({ name });
    if (!before) throw await unknownDefinition(tock, name);
    // Values that are not given are written back as read, so the version must not have changed since.
    const ifVersion = flags.ifVersion ?? before.version;
    const isRequest = statesRequest(flags, flags.job, before.job);
    const kept = before.job === URL_JOB ? before.payload : null;
    const input = isRequest
      ? changedInput(before, { ...flags, job: URL_JOB }, requestOf(flags, given, kept))
      : changedInput(before, flags, given);
    const definition = await tock.schedules.upsert(input, { ifVersion });
    return report(shell, definition, definition.version === before.version ? 'unchanged' : 'changed');
  });
}

async function removeOne(shell: Shell, { ifVersion }: GuardFlags, name: string): Promise<number> {
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const guard = ifVersion === undefined ? {} : { ifVersion };
    const removed = await onDefinition(tock, name, () => tock.schedules.remove(name, guard));
    return report(shell, removed, 'removed');
  });
}

function report(shell: Shell, definition: DefinitionRecord, change: string): number {
  shell.document({ change, definition });
  const { name, job, version } = definition;
  const words = definitionWords(definition);
  shell.say(
    `${paint('bold', cleanLine(name))} ${change}, version ${version}: ${cleanLine(job)}, ${cleanLine(words)}`,
  );
  if (change !== 'removed') shell.say(nextText(definition));
  return 0;
}
