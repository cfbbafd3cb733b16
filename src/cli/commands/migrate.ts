// Shell: cli. `tock migrate`: brings the schema to the version of this code.
// In: the environment. Out: what was applied.
import type { Command } from 'commander';
import { examples, withJson } from '../flags.js';
import { action, type CommonOptions, type Shell, slowSteps } from '../shell.js';

export function addMigrate(program: Command): Command {
  return withJson(program.command('migrate'))
    .summary('bring the schema to this version')
    .description(
      'Applies the migrations that the schema lacks, all in one transaction, and makes the coming months’ partitions. Safe to repeat, and from several hosts at once.',
    )
    .addHelpText(
      'after',
      examples(
        ['tock migrate', 'the schema named by TOCK_SCHEMA'],
        ['TOCK_SCHEMA=jobs tock migrate', 'another one'],
      ),
    )
    .action(action(migrate));
}

async function migrate(shell: Shell, _flags: CommonOptions): Promise<number> {
  const { config } = shell;
  // Not through openTock: it migrates as well, but does not tell what was applied.
  const { createTock } = await import('../../tock.js');
  const { createLogger } = await import('../../environment/logger.js');
  const logger = createLogger({ level: config.logLevel ?? 'warn', format: config.logFormat ?? 'json' });
  const steps = slowSteps(shell);
  const server = config.databaseUrl === null ? await startServer(config.dataFolder, steps) : null;
  try {
    const connectionString = config.databaseUrl ?? server?.connectionString ?? '';
    steps.begin('migrating');
    const tock = createTock({ connectionString, schema: config.schema, logger });
    try {
      const result = await tock.migrate();
      shell.document(result);
      const { applied, alreadyThere } = result;
      shell.say(
        applied.length === 0
          ? `nothing was missing: the schema ${config.schema} is up to date (${alreadyThere} applied before)`
          : `applied to the schema ${config.schema}: ${applied.join(', ')}`,
      );
      if (result.madePartitions > 0)
        shell.say(`made ${result.madePartitions} partitions for the coming months`);
      return 0;
    } finally {
      await tock.close();
    }
  } finally {
    steps.end();
    await server?.stop();
  }
}

async function startServer(folder: string, steps: ReturnType<typeof slowSteps>) {
  steps.begin('starting the embedded PostgreSQL');
  try {
    const { startEmbeddedServer } = await import('../../environment/embedded-server.js');
    return await startEmbeddedServer({ folder });
  } finally {
    steps.end();
  }
}
