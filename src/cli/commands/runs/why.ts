// `tock why`: why a definition did, or did not, run at a time; and what a run waits for.
import type { Command } from 'commander';
import type { Why, WhyVerdict } from '../../../answers/why/why.js';
import { TockError } from '../../../model/errors.js';
import { isRunId } from '../../../model/flow/check-flow.js';
import { isName } from '../../../model/names.js';
import { definitionWords } from '../../../model/planning/schedule-words.js';
import { RUN_STATUSES } from '../../../model/run/states.js';
import { shellWord } from '../../../model/shell-word.js';
import type { Tock } from '../../../tock/types.js';
import { examples, withJson } from '../../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../../shell.js';
import { type Colour, cleanLine, paint, STATUS_COLOURS } from '../../terminal.js';
import { unknownDefinition } from '../../unknown-names.js';
import { findRun, sayRun } from './show.js';

export function addWhy(program: Command): Command {
  return withJson(program.command('why'))
    .summary('why a definition did, or did not, run at a time')
    .description(
      'Shows what the schedule has at a time, daylight saving time included, and what was done: the run and its outcome, the reason for a skip, or why there is nothing. Local times are in the definition’s zone. With the id of a run and no time, it says what tock show says: what the run waits for, and what happens next.',
    )
    .argument('<definition>', 'a definition in the database; or the id of a run')
    .argument(
      '[time...]',
      '2026-03-08T02:30 (local), 2026-03-08T07:30:00Z, 2026-03-08 (the day), 02:30 (today)',
    )
    .option('--service <name>', 'the definition must be of this service')
    .addHelpText(
      'after',
      examples(
        ['tock why close-the-day 2026-03-29T02:30', 'local time in its zone'],
        ['tock why close-the-day 2026-03-29', 'all of that day'],
        ['tock why check-scheduler 2026-03-29T00:35:00Z --json', 'an instant, for a script'],
        ['tock why 812', 'a run: why it does not start yet, what became of it'],
      ),
    )
    .action(action(why));
}

async function why(
  shell: Shell,
  { service }: CommonOptions & { readonly service?: string },
  name: string,
  time: readonly string[],
): Promise<number> {
  if (time.length === 0) return await whyRun(shell, name);
  return await withTock(shell, { needsJobs: false, onlyReads: true }, async ({ tock }) => {
    const [record] = await tock.schedules.list({ name, removed: true });
    // Without a definition, it may be a name of `tock exec`: that is answered below.
    if (!record && !(await isExecuted(tock, name))) throw await unknownDefinition(tock, name);
    if (service !== undefined && record !== undefined && record.service !== service)
      throw new TockError(
        'TOCK_NOT_FOUND',
        `${name} is a definition of ${record.service === '' ? 'no service' : `the service ${record.service}`}, not of ${service}`,
      );
    // Unquoted, `2026-03-08 02:30` is two arguments.
    const answer = await tock.why(name, time.join(' '));
    shell.document(answer);
    if (shell.json) return 0;
    const words = record === undefined ? '' : definitionWords(record);
    shell.say(`${paint('bold', cleanLine(name))}: ${cleanLine(words || 'no schedule')}`);
    sayAnswer(shell, answer);
    return 0;
  });
}

async function whyRun(shell: Shell, id: string): Promise<number> {
  if (!isRunId(id))
    throw new TockError(
      'TOCK_BAD_OPTION',
      `missing required argument 'time': give one, such as tock why ${shellWord(id)} 02:30; or the id of a run, and no time`,
    );
  return await withTock(shell, { needsJobs: false, onlyReads: true }, async ({ tock }) => {
    const run = await findRun(tock, id);
    shell.document({ run });
    if (!shell.json) await sayRun(shell, tock, run);
    return 0;
  });
}

async function isExecuted(tock: Tock, name: string): Promise<boolean> {
  const [newest] = isName(name) ? await tock.runs.list({ job: name, limit: 1 }) : [];
  return newest?.trigger === 'exec';
}

function sayAnswer(shell: Shell, { local, verdict, sentences, occurrences }: Why): void {
  shell.say(`${cleanLine(local)}: ${paint(colourOf(verdict), VERDICT_TEXTS[verdict] ?? verdict)}`);
  for (const sentence of sentences) shell.say(`  ${cleanLine(sentence)}`);
  for (const each of occurrences) sayAnswer(shell, each);
}

const VERDICT_TEXTS: Partial<Record<WhyVerdict, string>> = {
  'no-occurrence': 'not an occurrence',
  nonexistent: 'does not exist on that day',
  repeated: 'the second pass of a repeated time',
  excluded: 'excluded',
  'before-start': 'before the schedule begins',
  'after-end': 'after the schedule has ended',
  'no-schedule': 'no schedule',
  'before-definition': 'before the definition was created',
  'no-record': 'nothing is on record',
  'used-up': 'used up',
  due: 'due, not yet materialized',
  frozen: 'due, and frozen',
  upcoming: 'in the future',
  waiting: 'waits for the runs it follows',
};

function colourOf(verdict: WhyVerdict): Colour | null {
  const status = RUN_STATUSES.find(each => each === verdict);
  if (status) return STATUS_COLOURS[status];
  return verdict === 'broken' ? 'red' : verdict === 'several' || verdict === 'upcoming' ? null : 'yellow';
}
