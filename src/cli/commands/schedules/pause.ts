// `tock pause` and `tock resume`, of one definition or of many together.

import type { Command } from 'commander';
import type { ResumedDefinition } from '../../../engine/definitions/pause.js';
import { TockError } from '../../../model/errors.js';
import { utcText } from '../../../model/schedule/instant-text.js';
import { end, examples, withJson } from '../../flags/flags.js';
import { type ManyPauseFlags, pauseMany, resumeMany, sharedPausesText } from '../../pause-many.js';
import { action, type Shell, withTock } from '../../shell.js';
import { cleanLine, paint } from '../../terminal.js';
import { onDefinition } from '../../unknown-names.js';
import { nextText } from '../../views/definition-text.js';

interface PauseFlags extends ManyPauseFlags {
  readonly all?: true;
}

interface ResumeFlags extends ManyPauseFlags {
  readonly pause?: string;
}

export function addPause(program: Command): Command {
  return withJson(program.command('pause'))
    .summary('make no new runs of a definition until it is resumed')
    .description(
      'Pauses a definition, from code or made at run time: no occurrence becomes a run until it is resumed, or until --until. Queued runs are still executed, and running ones go on. --all and --job pause many together, by one act with an id; those that are paused already are left as they are.',
    )
    .argument('[definition]', 'name of the definition')
    .option('--all', 'all definitions that have a schedule')
    .option('--job <job>', 'all schedules of a job')
    .option('--until <time>', 'when it ends by itself, such as +2h, 14:30 or 2026-03-09T08:00:00Z', end)
    .option('--note <text>', 'why; shown by tock jobs')
    .option('--yes', 'with --all or --job: do not ask')
    .addHelpText(
      'after',
      examples(
        ['tock pause weekly-run-report', 'until tock resume weekly-run-report'],
        ["tock pause weekly-run-report --note 'stocktaking'", 'with a reason'],
        ['tock pause weekly-run-report --until 10:20', 'it resumes by itself'],
        ["tock pause --all --note 'the database moves'", 'many together; prints how to resume just these'],
      ),
    )
    .action(action(pause));
}

export function addResume(program: Command): Command {
  return withJson(program.command('resume'))
    .summary('end a pause')
    .description(
      'Resumes a paused definition from now on. Occurrences that came due during the pause are not caught up: they become one skipped row, and tock backfill makes runs for them. --pause resumes what one act has paused together, except those that somebody has resumed or paused since.',
    )
    .argument('[definition]', 'name of the definition')
    .option('--pause <id>', 'what was paused together, by the id that tock pause printed')
    .option('--yes', 'with --pause: do not ask')
    .addHelpText(
      'after',
      examples(
        ['tock resume weekly-run-report', 'and see when it runs next'],
        ['tock resume --pause 812', 'what tock pause --all has paused'],
      ),
    )
    .action(action(resume));
}

async function pause(shell: Shell, flags: PauseFlags, name: string | undefined): Promise<number> {
  const { all, job, note, until, yes } = flags;
  if (all || job !== undefined) {
    if (name !== undefined) throw usage('give a definition, or --all or --job, not both');
    return await pauseMany(shell, flags);
  }
  if (name === undefined) throw usage('give a definition, or --all or --job (see tock pause --help)');
  if (yes) throw usage('--yes needs --all or --job');
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const definition = await onDefinition(tock, name, () =>
      tock.schedules.pause(name, {
        ...(note === undefined ? {} : { note }),
        ...(until === undefined ? {} : { until }),
      }),
    );
    shell.document({ definition });
    const paused = nextText({ ...definition, vanishedAt: null });
    shell.say(`${paint('bold', cleanLine(definition.name))} is ${paused}`);
    if (definition.vanishedAt !== null) shell.say(vanishedText(definition.name));
    return 0;
  });
}

async function resume(shell: Shell, flags: ResumeFlags, name: string | undefined): Promise<number> {
  if (flags.pause !== undefined) {
    if (name !== undefined) throw usage('give a definition or --pause, not both');
    return await resumeMany(shell, flags, flags.pause);
  }
  if (flags.yes) throw usage('--yes needs --pause');
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    if (name === undefined) throw usage(`give a definition, or ${await sharedPausesText(tock)}`);
    const { skipped, ...definition } = await onDefinition(tock, name, () => tock.schedules.resume(name));
    shell.document({ definition, skipped });
    shell.say(`${paint('bold', cleanLine(definition.name))} is not paused; ${nextText(definition)}`);
    if (skipped) shell.say(skippedText(definition.name, skipped));
    return 0;
  });
}

const usage = (message: string) => new TockError('TOCK_BAD_OPTION', message);

function vanishedText(name: string): string {
  return `it is no longer in code, so it gets no runs anyway; to remove it: tock schedule remove ${cleanLine(name)}`;
}

function skippedText(
  name: string,
  { count, first, last }: NonNullable<ResumedDefinition['skipped']>,
): string {
  const what =
    count === 1
      ? `1 occurrence came due during the pause and was skipped: ${utcText(first)}`
      : `${count} occurrences came due during the pause and were skipped: ${utcText(first)} to ${utcText(last)}`;
  const end = utcText(new Date(last.getTime() + 1000));
  const fix = `tock backfill ${cleanLine(name)} --from ${utcText(first)} --to ${end}`;
  return `${what}\n${paint('dim', `to run them: ${fix}`)}`;
}
