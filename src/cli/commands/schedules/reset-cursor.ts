// `tock reset-cursor`: resumes schedules after the database's clock was ahead and is right again.

import type { Command } from 'commander';
import type { CursorReset } from '../../../engine/definitions/reset-cursors.js';
import { formatSpan } from '../../../model/duration.js';
import { TockError } from '../../../model/errors.js';
import { utcText } from '../../../model/schedule/instant-text.js';
import type { Tock } from '../../../tock/types.js';
import { examples, withJson } from '../../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../../shell.js';
import { cleanLine, paint } from '../../terminal.js';
import { unknownDefinition } from '../../unknown-names.js';

interface ResetFlags extends CommonOptions {
  readonly all?: true;
  readonly dryRun?: true;
}

const MAX_LINES = 50;

export function addResetCursor(program: Command): Command {
  return withJson(program.command('reset-cursor'))
    .summary('resume schedules after the database’s clock was ahead')
    .description(
      'While the database’s clock was ahead, future occurrences became runs. Once the clock is right again, their definitions get no runs until it has caught up; tock status says so. This command sets their cursors back to where they were. Occurrences due since then follow the catch-up policies; an occurrence that already had its run does not run again. Cursors that are not ahead stay as they are.',
    )
    .argument('[definition...]', 'names of definitions')
    .option('--all', 'all definitions whose cursor is ahead')
    .option('--dry-run', 'only show what would be reset')
    .addHelpText(
      'after',
      examples(
        ['tock reset-cursor --all --dry-run', 'which cursors are ahead'],
        ['tock reset-cursor --all', 'set them back'],
        ['tock reset-cursor weekly-run-report', 'only this one'],
      ),
    )
    .action(action(resetCursor));
}

async function resetCursor(shell: Shell, flags: ResetFlags, names: readonly string[]): Promise<number> {
  const { all = false, dryRun = false } = flags;
  if (all === names.length > 0)
    throw new TockError(
      'TOCK_BAD_OPTION',
      all
        ? 'give names or --all, not both'
        : 'give names of definitions, or --all (see tock reset-cursor --help)',
    );
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    for (const name of names) await requireDefinition(tock, name);
    const resets = await tock.schedules.resetCursors({ dryRun, ...(all ? {} : { names }) });
    const ahead = new Set(resets.map(({ definition }) => definition));
    const unchanged = [...new Set(names)].filter(name => !ahead.has(name));
    shell.document({ dryRun, reset: resets, unchanged });
    for (const reset of resets.slice(0, MAX_LINES)) shell.say(resetText(reset, dryRun));
    if (resets.length > MAX_LINES) shell.say(paint('dim', `… and ${resets.length - MAX_LINES} more`));
    for (const name of unchanged) shell.say(`${bold(name)}: the cursor is not ahead; nothing to reset`);
    if (all && resets.length === 0) shell.say('no cursor is ahead of the database’s clock: nothing to reset');
    if (dryRun && resets.length > 0) shell.say('nothing was written');
    return 0;
  });
}

async function requireDefinition(tock: Tock, name: string): Promise<void> {
  if ((await tock.schedules.list({ name })).length > 0) return;
  throw await unknownDefinition(tock, name);
}

function resetText({ definition, from, to, nextAt }: CursorReset, dryRun: boolean): string {
  const next = nextAt === null ? 'no next occurrence' : `next occurrence ${utcText(nextAt)}`;
  const verb = dryRun ? 'would be set' : 'was set';
  return `${bold(definition)}: the cursor ${verb} back by ${formatSpan(from.getTime() - to.getTime())}, to ${utcText(to)}; ${next}`;
}

const bold = (name: string) => paint('bold', cleanLine(name));
