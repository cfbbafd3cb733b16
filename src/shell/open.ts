// Room: shell. Opens Tock as the environment says: the shells' common beginning and end.
// In: a Config. Out: a Tock on a database that answers and is migrated; a close that stops what was started.
import { createLogger } from '../environment/logger.js';
import { TockError } from '../model/errors.js';
import type { AnyJob } from '../model/job.js';
import { explainDatabaseError } from '../store/database-errors.js';
import type { MigrateResult } from '../store/migrate.js';
import { createTock, type Tock } from '../tock.js';
import type { Config } from './config.js';
import { loadJobModule } from './job-module.js';

export interface OpenOptions {
  readonly config: Config;
  /** Used where the environment names no level. */
  readonly defaultLogLevel?: string;
  readonly pretty?: boolean;
  /**
   * `true`: migrate first. `'if-needed'`: only where something is missing, so that a role without the right to
   * change the schema can start. Else an unmigrated schema is an error.
   */
  readonly migrate?: boolean | 'if-needed';
  /** Whether the command has a use for the jobs; else they are not loaded. Default true. */
  readonly needsJobs?: boolean;
  /** Told what is being waited for. */
  readonly onStep?: (step: string) => void;
}

export interface OpenTock {
  readonly tock: Tock;
  readonly jobs: readonly AnyJob[];
  /** What migrating did; null where it was not asked for. */
  readonly migrated: MigrateResult | null;
  /** Where the data are, without password. */
  readonly where: string;
  readonly close: () => Promise<void>;
}

/** Opens Tock. Errors come explained: see exit-codes.ts for what each means to a script. */
export async function openTock(options: OpenOptions): Promise<OpenTock> {
  const { config } = options;
  const logger = createLogger({
    level: config.logLevel ?? options.defaultLogLevel ?? 'warn',
    format: config.logFormat ?? (options.pretty ? 'pretty' : 'json'),
  });
  const { jobs, hooks } =
    options.needsJobs === false ? { jobs: [], hooks: {} } : await loadJobModule(config.jobsModule);
  const server = config.databaseUrl === null ? await startServer(config, options.onStep) : null;
  const connectionString = config.databaseUrl ?? server?.connectionString ?? '';
  const where = server ? `the embedded server in ${config.dataFolder}` : placeOf(connectionString);
  let tock: Tock | null = null;
  let migrated: MigrateResult | null = null;
  const close = async () => {
    try {
      await tock?.close();
    } finally {
      await server?.stop();
    }
  };
  try {
    const { jobsModule, schema } = config;
    tock = createTock({ connectionString, jobs, hooks, jobsModule, logger, schema, ...settingsOf(config) });
    migrated = await prepare(tock, options);
  } catch (error) {
    await close();
    throw explainDatabaseError(error, config.schema);
  }
  return { tock, jobs, migrated, where, close };
}

async function startServer(config: Config, onStep: OpenOptions['onStep']) {
  onStep?.('starting the embedded PostgreSQL');
  // Loaded only here: who names a database has no use for it.
  const { startEmbeddedServer } = await import('../embedded/embedded-server.js');
  return await startEmbeddedServer({ folder: config.dataFolder });
}

async function prepare(tock: Tock, { config, migrate, onStep }: OpenOptions): Promise<MigrateResult | null> {
  try {
    if (migrate !== true) {
      await tock.demandMigrated();
      return null;
    }
  } catch (error) {
    const explained = explainDatabaseError(error, config.schema);
    const isMissing = explained instanceof TockError && explained.code === 'TOCK_NOT_MIGRATED';
    if (migrate !== 'if-needed' || !isMissing) throw explained;
  }
  onStep?.('migrating');
  return await tock.migrate();
}

function settingsOf(config: Config) {
  const { lease, heartbeat, grace, drain, connections, statementTimeout } = config;
  return {
    ...(lease === undefined ? {} : { lease }),
    ...(heartbeat === undefined ? {} : { heartbeat }),
    ...(grace === undefined ? {} : { grace }),
    ...(drain === undefined ? {} : { drain }),
    ...(connections === undefined ? {} : { connections }),
    ...(statementTimeout === undefined ? {} : { statementTimeout }),
  };
}

function placeOf(connectionString: string): string {
  try {
    const { hostname, port, pathname } = new URL(connectionString);
    return `${hostname || 'the local socket'}${port ? `:${port}` : ''}${pathname}`;
  } catch (error) {
    throw new TockError(
      'TOCK_BAD_OPTION',
      'DATABASE_URL cannot be read; write it as postgres://user@host:5432/database',
      { cause: error },
    );
  }
}
