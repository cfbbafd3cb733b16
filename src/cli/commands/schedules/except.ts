// `tock skip` and `tock move`: one occurrence of a definition.

import type { Command } from 'commander';
import { TockError } from '../../../model/errors.js';
import type { ExceptionChange, ExceptionRecord } from '../../../model/planning/exception-record.js';
import { utcText } from '../../../model/schedule/instant-text.js';
import { examples, withJson } from '../../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../../shell.js';
import { cleanLine, paint } from '../../terminal.js';
import { onDefinition } from '../../unknown-names.js';
import { insteadText, timeText } from './exception-text.js';

interface ExceptionFlags extends CommonOptions {
  readonly note?: string;
  readonly undo?: true;
}

const TIMES =
  'A time is local time in the definition’s zone (2026-03-08T02:30, or 02:30 for today) or an instant (2026-03-08T07:30:00Z); a day (2026-03-08) stands for its only occurrence.';

export function addSkip(program: Command): Command {
  return withJson(program.command('skip'))
    .summary('leave out one occurrence of a definition')
    .description(
      `Skips one occurrence that is to come, also of a definition in code: it gets no run, and at its time a skipped row with the reason. Without a time: what is skipped and moved. ${TIMES}`,
    )
    .argument('<definition>', 'name of the definition')
    .argument('[time]', 'the occurrence')
    .option('--note <text>', 'why; shown with the occurrence')
    .option('--undo', 'the occurrence is as the schedule says again')
    .addHelpText(
      'after',
      examples(
        ["tock skip weekly-run-report 2026-12-28 --note 'nobody reads it'", 'a day with one occurrence'],
        ['tock skip weekly-run-report 2026-12-28 --undo', 'before its time'],
        ['tock skip weekly-run-report', 'what is skipped and moved'],
      ),
    )
    .action(action(skip));
}

export function addMove(program: Command): Command {
  return withJson(program.command('move'))
    .summary('run one occurrence of a definition at another time')
    .description(
      `Moves one occurrence that is to come, also of a definition in code, to an earlier or later time. Its run stays that of the occurrence, and is due at the new time, without jitter. It can be moved again until then. ${TIMES}`,
    )
    .argument('<definition>', 'name of the definition')
    .argument('<from>', 'the occurrence')
    .argument('[to]', 'when its run is due')
    .option('--note <text>', 'why; shown with the occurrence')
    .option('--undo', 'the occurrence is as the schedule says again')
    .addHelpText(
      'after',
      examples(
        [
          "tock move weekly-run-report 2026-12-28 2026-12-29T09:00 --note 'office closed'",
          'to the next morning',
        ],
        ['tock move weekly-run-report 2026-12-28 --undo', 'before its time'],
      ),
    )
    .action(action(move));
}

async function skip(
  shell: Shell,
  flags: ExceptionFlags,
  name: string,
  time: string | undefined,
): Promise<number> {
  if (flags.undo) return await restore(shell, flags, name, time);
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    if (time === undefined) {
      if (flags.note !== undefined) throw usage('--note needs a time: which occurrence is to be skipped?');
      return sayExceptions(
        shell,
        name,
        await onDefinition(tock, name, () => tock.schedules.exceptions(name)),
      );
    }
    return sayChange(
      shell,
      await onDefinition(tock, name, () => tock.schedules.skip(name, time, noteOf(flags))),
    );
  });
}

async function move(
  shell: Shell,
  flags: ExceptionFlags,
  name: string,
  from: string,
  to: string | undefined,
): Promise<number> {
  if (flags.undo) {
    if (to !== undefined) throw usage('--undo takes no new time: give the occurrence only');
    return await restore(shell, flags, name, from);
  }
  if (to === undefined) throw usage('give the time to which it is to be moved, or --undo');
  return await withTock(shell, { needsJobs: false }, async ({ tock }) =>
    sayChange(
      shell,
      await onDefinition(tock, name, () => tock.schedules.move(name, from, to, noteOf(flags))),
    ),
  );
}

async function restore(
  shell: Shell,
  { note }: ExceptionFlags,
  name: string,
  time: string | undefined,
): Promise<number> {
  if (time === undefined) throw usage('--undo needs a time: which occurrence?');
  if (note !== undefined) throw usage('--undo takes no --note');
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    // What is neither skipped nor moved has the same code as an unknown name.
    const [known] = await tock.schedules.list({ name });
    const restore = () => tock.schedules.restore(name, time);
    const exception = known ? await restore() : await onDefinition(tock, name, restore);
    shell.document({ exception });
    const was = exception.kind === 'skip' ? 'skipped' : 'moved';
    shell.say(`${subject(exception)} is no longer ${was}: it is as the schedule says`);
    return 0;
  });
}

function sayChange(shell: Shell, change: ExceptionChange): number {
  const { isChanged, replaced, isPaused, ...exception } = change;
  shell.document({ exception, isChanged, replaced, isPaused });
  shell.say(`${subject(exception)} is ${isChanged ? '' : 'already '}${insteadText(exception)}`);
  if (isChanged && replaced !== null) shell.say(paint('dim', `before, it was ${insteadText(replaced)}`));
  if (!exception.hasEffect)
    shell.note('the schedule was edited and no longer has this occurrence, so that has no effect');
  if (isPaused)
    shell.note(
      `${cleanLine(exception.definition)} is paused: it makes no runs until tock resume ${cleanLine(exception.definition)}`,
    );
  const command = exception.kind === 'skip' ? 'skip' : 'move';
  shell.say(
    paint(
      'dim',
      `to undo it: tock ${command} ${cleanLine(exception.definition)} ${utcText(exception.occurrence)} --undo`,
    ),
  );
  return 0;
}

function sayExceptions(shell: Shell, name: string, exceptions: readonly ExceptionRecord[]): number {
  shell.document({ exceptions });
  if (exceptions.length === 0) shell.say(`no occurrence of ${cleanLine(name)} is to be skipped or was moved`);
  for (const exception of exceptions) {
    const effect = exception.hasEffect ? '' : '; without effect: the schedule no longer has it';
    shell.say(`${timeText(exception, exception.occurrence)}: ${insteadText(exception)}${effect}`);
  }
  return 0;
}

const subject = (exception: ExceptionRecord) =>
  `the occurrence ${paint('bold', timeText(exception, exception.occurrence))} of ${cleanLine(exception.definition)}`;

const noteOf = ({ note }: ExceptionFlags) => (note === undefined ? {} : { note });

const usage = (message: string) => new TockError('TOCK_BAD_OPTION', message);
