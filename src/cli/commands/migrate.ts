// `tock migrate`: brings the schema to the version of this code.
import type { Command } from 'commander';
import { examples, withJson } from '../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../shell.js';
import { cleanLine } from '../terminal.js';

export function addMigrate(program: Command): Command {
  return withJson(program.command('migrate'))
    .summary('bring the schema to this version')
    .description(
      'Applies the missing migrations in one transaction, then creates the coming partitions. Safe to repeat, and to run on several hosts at once.',
    )
    .addHelpText(
      'after',
      examples(
        ['tock migrate', 'the schema named by TOCK_SCHEMA'],
        ['TOCK_SCHEMA=jobs tock migrate', 'another schema'],
      ),
    )
    .action(action(migrate));
}

async function migrate(shell: Shell, _flags: CommonOptions): Promise<number> {
  return await withTock(shell, { migrate: true, needsJobs: false }, async ({ migrated }) => {
    if (migrated === null) return 1;
    shell.document(migrated);
    const { applied, alreadyThere, madePartitions, partitionsLeft } = migrated;
    shell.say(
      applied.length === 0
        ? `the schema ${shell.config.schema} is up to date (${alreadyThere} migrations applied before)`
        : `applied to the schema ${shell.config.schema}: ${applied.join(', ')}`,
    );
    if (madePartitions > 0) shell.say(`created ${madePartitions} coming partitions`);
    if (partitionsLeft !== null)
      shell.note(
        `warning: not all of the coming partitions could be created: ${cleanLine(partitionsLeft)}. The schema is up to date. A tick or daemon with the owner’s role tries again within the hour; so do tock migrate and tock prune`,
      );
    return 0;
  });
}
