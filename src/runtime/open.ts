// Room: runtime. Opens Tock as the environment says: the shells' common beginning and end.
// In: a Config. Out: a Tock on a database that answers and is migrated; a close that stops what was started.
import type pg from 'pg';
import type { ServerReport } from '../embedded/embedded-revival.js';
import type { TickSummary } from '../engine/run-tick.js';
import { checkLogLevel } from '../environment/log-level.js';
import { parseDuration } from '../model/duration.js';
import { TockError } from '../model/errors.js';
import type { AnyJob } from '../model/job/job.js';
import type { Logger } from '../model/logger.js';
import { openPoolTo, requireReachable } from '../store/connection/connection.js';
import { explainDatabaseError } from '../store/connection/errors.js';
import type { MigrateResult } from '../store/schema/migrate.js';
import { assembleTock, type ShellTock, type TickCallOptions, type Tock } from '../tock/create-tock.js';
import type { Config } from './configuration.js';
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
  /** A tick that is about to be made: where it would find nothing to do, nothing more is asked of the database. */
  readonly tick?: TickCallOptions;
  /** Starts the embedded server again whenever it has died, for as long as this is open. */
  readonly keepServer?: boolean;
  /** Told what is being waited for. */
  readonly onStep?: (step: string) => void;
}

export interface OpenTock {
  readonly tock: ShellTock;
  readonly jobs: readonly AnyJob[];
  /** What migrating did; null where it was not asked for. */
  readonly migrated: MigrateResult | null;
  /** The summary of the tick that there was to be, when there was nothing to do; else null. */
  readonly idle: TickSummary | null;
  /** Where the data are, without password. */
  readonly where: string;
  /** The line for a shell that connects psql to the embedded server; null where a database is named. */
  readonly psqlCommand: string | null;
  readonly close: () => Promise<void>;
}

/** Opens Tock. Errors come explained: see exit-codes.ts for what each means to a script. */
export async function openTock(options: OpenOptions): Promise<OpenTock> {
  const { config } = options;
  const level = checkLogLevel(config.logLevel ?? options.defaultLogLevel ?? 'warn');
  const format = config.logFormat ?? (options.pretty ? 'pretty' : 'json');
  const makeLogger = async () => (await import('../environment/logger.js')).createLogger({ level, format });
  if (config.databaseUrl !== null) requireReachable({ connectionString: config.databaseUrl });
  const place = config.databaseUrl === null ? null : placeOf(config.databaseUrl);
  const ahead = options.tick && config.databaseUrl !== null ? connectAhead(config.databaseUrl, config) : null;
  let server: Awaited<ReturnType<typeof startServer>> | null = null;
  let tock: ShellTock | null = null;
  let migrated: MigrateResult | null = null;
  const close = async () => {
    try {
      await tock?.close();
      await ahead?.pool.end();
    } finally {
      await server?.stop();
    }
  };
  try {
    const { jobs, hooks } =
      options.needsJobs === false ? { jobs: [], hooks: {} } : await loadJobModule(config.jobsModule);
    if (config.databaseUrl === null) server = await startServer(config, options.onStep);
    const connectionString = config.databaseUrl ?? server?.connectionString ?? '';
    const { jobsModule, schema } = config;
    tock = assembleTock(
      {
        connectionString,
        jobs,
        hooks,
        jobsModule,
        schema,
        ...settingsOf(config),
        ...(ahead ? { pool: ahead.pool } : {}),
      },
      makeLogger,
    );
    await ahead?.connected;
    if (options.keepServer === true) server?.keepRunning(reportTo(await makeLogger()));
    const idle = options.tick && options.migrate !== true ? await tock.idleTick(options.tick) : null;
    if (idle === null) migrated = await prepare(tock, options);
    return {
      tock,
      jobs,
      migrated,
      idle,
      where: place ?? `the embedded server in ${config.dataFolder}`,
      psqlCommand: server?.psqlCommand ?? null,
      close,
    };
  } catch (error) {
    await close();
    throw explainDatabaseError(error, config.schema);
  }
}

/** A pool that has begun to connect: the server starts its process while the jobs are being loaded. */
function connectAhead(
  connectionString: string,
  { connections = 10, statementTimeout = '60s' }: Config,
): Ahead {
  const deadlineMs = parseDuration(statementTimeout, 'statementTimeout');
  const pool = openPoolTo({ connectionString }, connections, deadlineMs);
  const connected = pool.connect().then(client => client.release());
  // It is waited for once the jobs are loaded. What is wrong with those is told first.
  connected.catch(() => undefined);
  return { pool, connected };
}

interface Ahead {
  readonly pool: pg.Pool;
  /** Rejects with what is wrong with the database. Whoever asks before opens a second connection. */
  readonly connected: Promise<void>;
}

async function startServer(config: Config, onStep: OpenOptions['onStep']) {
  onStep?.('starting the embedded PostgreSQL');
  // Loaded only here: who names a database has no use for it.
  const { startEmbeddedServer } = await import('../embedded/embedded-server.js');
  return await startEmbeddedServer({ folder: config.dataFolder });
}

/** A server that died is a warning: the daemon waits for it. One that does not come back is an error. */
function reportTo(logger: Logger): (report: ServerReport) => void {
  const levels = { 'server.died': 'warn', 'server.back': 'info', 'server.failed': 'error' } as const;
  return ({ event, pid, message }) => logger[levels[event]]({ event, server_pid: pid }, message);
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
    // A URL with a user and no host is none to WHATWG, though PostgreSQL has it for sockets: user@/database?host=/folder
    const { searchParams, hostname, port, pathname } = new URL(connectionString.replace('@/', '@%2F/'));
    const host = searchParams.get('host') ?? decodeURIComponent(hostname);
    if (host === '' || host === '/') return `the local socket${pathname}`;
    return host.startsWith('/')
      ? `${pathname.slice(1)} by the socket in ${host}`
      : `${host}${port ? `:${port}` : ''}${pathname}`;
  } catch (error) {
    throw new TockError(
      'TOCK_BAD_OPTION',
      'DATABASE_URL cannot be read; write it as postgres://user@host:5432/database',
      { cause: error },
    );
  }
}
