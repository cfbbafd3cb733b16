// `tock pause` and `tock resume` of a definition.

import type { Command } from 'commander';
import type { ResumedDefinition } from '../../engine/definitions/pause.js';
import { utcText } from '../../model/schedule/instant-text.js';
import { examples, withJson } from '../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../shell.js';
import { cleanLine, paint } from '../terminal.js';
import { onDefinition } from '../unknown-names.js';
import { nextText } from '../views/definition-text.js';

interface PauseFlags extends CommonOptions {
  readonly note?: string;
}

export function addPause(program: Command): Command {
  return withJson(program.command('pause'))
    .summary('make no new runs of a definition until it is resumed')
    .description(
      'Pauses a definition, from code or made at run time: no occurrence becomes a run until it is resumed. Queued runs are still executed, and running ones go on.',
    )
    .argument('<definition>', 'name of the definition')
    .option('--note <text>', 'why; shown by tock jobs')
    .addHelpText(
      'after',
      examples(
        ['tock pause weekly-run-report', 'until tock resume weekly-run-report'],
        ["tock pause weekly-run-report --note 'stocktaking'", 'with a reason'],
      ),
    )
    .action(action(pause));
}

export function addResume(program: Command): Command {
  return withJson(program.command('resume'))
    .summary('end a pause')
    .description(
      'Resumes a paused definition from now on. Occurrences that came due during the pause are not caught up: they become one skipped row, and tock backfill makes runs for them.',
    )
    .argument('<definition>', 'name of the definition')
    .addHelpText('after', examples(['tock resume weekly-run-report', 'and see when it runs next']))
    .action(action(resume));
}

async function pause(shell: Shell, { note }: PauseFlags, name: string): Promise<number> {
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const definition = await onDefinition(tock, name, () =>
      tock.schedules.pause(name, note === undefined ? {} : { note }),
    );
    shell.document({ definition });
    const paused = nextText({ ...definition, vanishedAt: null });
    shell.say(`${paint('bold', cleanLine(definition.name))} is ${paused}`);
    if (definition.vanishedAt !== null) shell.say(vanishedText(definition.name));
    return 0;
  });
}

async function resume(shell: Shell, _flags: CommonOptions, name: string): Promise<number> {
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const { skipped, ...definition } = await onDefinition(tock, name, () => tock.schedules.resume(name));
    shell.document({ definition, skipped });
    shell.say(`${paint('bold', cleanLine(definition.name))} is not paused; ${nextText(definition)}`);
    if (skipped) shell.say(skippedText(definition.name, skipped));
    return 0;
  });
}

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
