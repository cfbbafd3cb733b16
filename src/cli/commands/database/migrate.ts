// `tock migrate`: brings the schema to the version of this code, or prints the SQL that does.
import type { Command } from 'commander';
import { packageVersion } from '../../../environment/paths.js';
import { TockError } from '../../../model/errors.js';
import { checkSchemaName } from '../../../model/names.js';
import { databaseOf } from '../../../tock/database-of.js';
import { examples, withJson } from '../../flags/flags.js';
import { action, type CommonOptions, type Shell, withTock } from '../../shell.js';
import { cleanLine } from '../../terminal.js';

interface MigrateFlags extends CommonOptions {
  readonly sql?: true;
  readonly all?: true;
  /** False with --no-transaction. */
  readonly transaction: boolean;
}

export function addMigrate(program: Command): Command {
  return withJson(program.command('migrate'))
    .summary('bring the schema to this version')
    .description(
      'Applies the missing migrations in one transaction, then creates the coming partitions. Safe to repeat, and to run on several hosts at once. With --sql it changes nothing, and prints the SQL for teams that apply it with tools of their own.',
    )
    .option('--sql', 'print the SQL of the missing migrations instead of applying them')
    .option('--all', 'with --sql: of all migrations, for an empty database; connects to none')
    .option('--no-transaction', 'with --sql: without begin and commit, for a tool that adds them')
    .addHelpText(
      'after',
      examples(
        ['tock migrate', 'the schema named by TOCK_SCHEMA'],
        ['TOCK_SCHEMA=jobs tock migrate', 'another schema'],
        ['tock migrate --sql > tock.sql', 'what is missing, to be reviewed and applied by psql'],
        ['tock migrate --sql --all --no-transaction', 'everything, for a migration tool'],
      ),
    )
    .action(action(migrate));
}

async function migrate(shell: Shell, flags: MigrateFlags): Promise<number> {
  if (flags.sql) return await printSql(shell, flags);
  if (flags.all || !flags.transaction)
    throw new TockError(
      'TOCK_BAD_OPTION',
      `${flags.all ? '--all' : '--no-transaction'} needs --sql (see tock migrate --help)`,
    );
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

async function printSql(shell: Shell, { all, transaction }: MigrateFlags): Promise<number> {
  const schema = checkSchemaName(shell.config.schema);
  const { missingSql } = await import('../../../store/schema/migration-sql.js');
  const done = all ? new Map<string, string>() : await readApplied(shell);
  const options = { schema, version: packageVersion(), hasTransaction: transaction };
  const { migrations, sql } = await missingSql(done, options);
  shell.document({ schema, migrations, sql });
  // A comment, so that it may be piped to psql.
  shell.print(sql?.trimEnd() ?? `-- the schema ${schema} is up to date: there is nothing to apply`);
  return 0;
}

async function readApplied(shell: Shell): Promise<ReadonlyMap<string, string>> {
  return await withTock(shell, { migrate: 'unchecked', needsJobs: false }, async ({ tock }) => {
    const { readAppliedChecksums } = await import('../../../store/schema/describe-schema.js');
    return await readAppliedChecksums(await databaseOf(tock));
  });
}
