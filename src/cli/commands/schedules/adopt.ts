// `tock adopt`: allows ticks on a copied database.
import type { Command } from 'commander';
import type { Adoption } from '../../../store/schema/database-identity.js';
import { isConfirmed } from '../../confirm.js';
import { examples, withJson } from '../../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../../shell.js';
import { localTime } from '../../views/time-text.js';

interface AdoptFlags extends CommonOptions {
  readonly dryRun?: true;
  readonly yes?: true;
}

export function addAdopt(program: Command): Command {
  return withJson(program.command('adopt'))
    .summary('allow ticks on a database that was copied from another one')
    .description(
      'A restored dump holds the schedules and the waiting runs of its original. It refuses to tick, so that nothing runs twice, until this command adopts it: after a move to another server, when the original is gone, or for a test whose handlers do no harm. Also raises the sequences of ids if they lag behind the rows, as after logical replication. Needs the owner’s rights.',
    )
    .option('--dry-run', 'show what the copy holds, and change nothing')
    .option('-y, --yes', 'do not ask')
    .addHelpText(
      'after',
      examples(
        ['tock adopt --dry-run', 'what would run here'],
        ['tock adopt --yes', 'the original no longer ticks'],
        ['tock cancel --status queued,failed', 'first, for a copy that must start empty'],
      ),
    )
    .action(action(adopt));
}

async function adopt(shell: Shell, flags: AdoptFlags): Promise<number> {
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const before = await tock.adopt({ dryRun: true });
    if (!before.isCopy || flags.dryRun) {
      shell.document({ ...before, adopted: false });
      for (const line of describe(before)) shell.say(line);
      return 0;
    }
    for (const line of describe(before)) shell.say(line);
    if (!(await isConfirmed(shell, flags.yes, 'adopt this database'))) {
      shell.note('nothing was changed');
      return 1;
    }
    shell.document({ ...(await tock.adopt()), adopted: true });
    shell.say('adopted: the next tick executes runs here');
    return 0;
  });
}

function describe({ isCopy, queued, failed, running, scheduled, nextAt, notedAt }: Adoption): string[] {
  if (!isCopy) return ['this database is not a copy: there is nothing to adopt'];
  const next = nextAt === null ? '' : `; the first occurrence is at ${localTime(nextAt)}`;
  return [
    `this database is a copy of another one, recorded ${localTime(notedAt)}`,
    `it holds ${queued + failed} waiting ${queued + failed === 1 ? 'run' : 'runs'}, ${running} that ${running === 1 ? 'was' : 'were'} running, and ${scheduled} ${scheduled === 1 ? 'schedule' : 'schedules'}${next}`,
    'once adopted, it executes them. If the original still ticks, everything runs twice',
  ];
}
