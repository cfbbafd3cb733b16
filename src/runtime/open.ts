// Opens Tock from a Config, on a migrated database: what all programs do first and last.
import type * as pg from 'pg';
import type { ServerReport } from '../embedded/embedded-revival.js';
import { asleepTick, hasWorked } from '../engine/idle-tick.js';
import type { TickSummary } from '../engine/run-tick.js';
import { checkLogLevel } from '../environment/log-level.js';
import { systemClock } from '../environment/system-clock.js';
import type { AlertOptions } from '../model/alerts/options.js';
import { type CurrentUrl, urlNow } from '../model/database/current-url.js';
import { hostList } from '../model/database/hosts.js';
import { parseDuration } from '../model/duration.js';
import { TockError } from '../model/errors.js';
import type { AnyJob } from '../model/job/job.js';
import type { Logger } from '../model/logger.js';
import type { Operator } from '../model/operator.js';
import {
  DEFAULT_CONNECTIONS,
  endPool,
  openPoolTo,
  requireReachable,
} from '../store/connection/connection.js';
import { explainDatabaseError } from '../store/connection/errors.js';
import type { MigrateResult } from '../store/schema/migrate.js';
import { assembleTock } from '../tock/create-tock.js';
import type { TickCallOptions } from '../tock/options.js';
import type { ShellTock, Tock } from '../tock/types.js';
import type { Config } from './configuration.js';
import { type JobModule, loadJobModule } from './job-module.js';
import { beforeForcedExit } from './stop-signal.js';
import type { TickSleep } from './tick-sleep.js';

export interface OpenOptions {
  readonly config: Config;
  /** The log level, unless the environment sets one. */
  readonly defaultLogLevel?: string;
  readonly pretty?: boolean;
  /**
   * `true`: migrate first. `'if-needed'`: only if a migration is missing, so that a role without the right to
   * change the schema can start. `'unchecked'`: leave the schema to the caller. Otherwise an unmigrated
   * schema is an error.
   */
  readonly migrate?: boolean | 'if-needed' | 'unchecked';
  /** Whether to load the jobs. Default true. */
  readonly needsJobs?: boolean;
  /** Reads from the replica, if one is named. Default false. */
  readonly onlyReads?: boolean;
  /** For whom it acts. Default: no operator; the audit names TOCK_OPERATOR or the database role. */
  readonly operator?: Operator;
  /** Asks whether this tick would find anything to do; if not, `idle` has its summary. */
  readonly tick?: TickCallOptions;
  /** With `tick`: for how long it may sleep, in milliseconds, once nothing has been due for five minutes. */
  readonly idleMs?: number | undefined;
  /** Restarts the embedded server whenever it has died, until `close`. */
  readonly keepServer?: boolean;
  /** Called with the name of each step that may take long. */
  readonly onStep?: (step: string) => void;
}

export interface OpenTock {
  readonly tock: ShellTock;
  readonly jobs: readonly AnyJob[];
  /** Null if nothing was migrated. */
  readonly migrated: MigrateResult | null;
  /** Null if there is something to do. */
  readonly idle: TickSummary | null;
  /** Nothing was asked: an earlier tick knew that nothing would be due. */
  readonly isAsleep: boolean;
  /** After the tick: until when the next ones need not ask; null: the next one asks. */
  readonly settle: (summary: TickSummary) => Promise<Date | null>;
  /** Without the password. */
  readonly where: string;
  /** Connects psql to the embedded server; null with a database of one's own. */
  readonly psqlCommand: string | null;
  readonly close: () => Promise<void>;
}

const NO_JOBS: JobModule = {
  jobs: [],
  queues: undefined,
  hooks: {},
  alerts: undefined,
  retention: undefined,
  misspelt: null,
};

/** Opens Tock. Errors are explained for people; exit-codes.ts maps them to exit codes. */
export async function openTock(options: OpenOptions): Promise<OpenTock> {
  const config = configFor(options);
  requireDatabase(config);
  const level = checkLogLevel(config.logLevel ?? options.defaultLogLevel ?? 'warn');
  const format = config.logFormat ?? (options.pretty ? 'pretty' : 'json');
  const makeLogger = async () => (await import('../environment/logger.js')).createLogger({ level, format });
  if (config.databaseUrl !== null) requireReachable({ connectionString: config.databaseUrl });
  const address = config.databaseUrl === null ? null : addressOf(urlNow(config.databaseUrl));
  const sleep = await openSleep(options, address);
  const early =
    options.tick && config.databaseUrl !== null
      ? connectEarly(config.databaseUrl, config, sleep?.mayBeAsleep === true)
      : null;
  let server: Awaited<ReturnType<typeof startServer>> | null = null;
  let tock: ShellTock | null = null;
  let migrated: MigrateResult | null = null;
  let endOfServer = () => {};
  const close = async () => {
    try {
      await tock?.close();
      if (early) await endPool(early.pool, systemClock);
    } finally {
      await server?.stop();
      endOfServer();
    }
  };
  try {
    const { jobs, queues, hooks, alerts, retention, misspelt } =
      options.needsJobs === false ? NO_JOBS : await loadJobModule(config.jobsModule);
    if (misspelt !== null) (await makeLogger()).warn({ event: 'jobs.misspelt' }, misspelt);
    if (config.databaseUrl === null) {
      const starting = startServer(config, options.onStep);
      endOfServer = beforeForcedExit(async () => await (await starting).stop());
      server = await starting;
    }
    const connectionString = config.databaseUrl ?? server?.connectionString ?? '';
    const { jobsModule, schema } = config;
    tock = assembleTock(
      {
        connectionString,
        jobs,
        ...(queues === undefined ? {} : { queues }),
        hooks,
        ...alertsOf(alerts, config),
        ...(retention === undefined ? {} : { retention }),
        ...(jobsModule === null ? {} : { jobsModule }),
        schema,
        ...settingsOf(config),
        ...(early ? { pool: early.pool } : {}),
      },
      makeLogger,
    );
    if (options.operator) tock = tock.as(options.operator);
    const where = address ?? `the embedded server in ${config.dataFolder}`;
    if (options.keepServer === true) {
      const logger = await makeLogger();
      logger.info({ event: 'database.used', database: where }, `the database is ${where}`);
      server?.keepRunning(reportTo(logger));
    }
    if (options.keepServer === true && options.needsJobs !== false)
      await reportModule(makeLogger, jobsModule);
    const asleepUntil = sleep?.asleepUntil(tock.fingerprint) ?? null;
    if (asleepUntil === null) await early?.connected;
    const opened = tock;
    const askIdle = async () =>
      options.tick && options.migrate !== true ? await opened.idleTick(options.tick) : null;
    const idle = asleepUntil === null ? await askIdle() : asleepTick(asleepUntil);
    if (idle === null) migrated = await prepare(tock, options);
    return {
      tock,
      jobs: jobs.filter(job => !job.isDeclared),
      migrated,
      idle,
      isAsleep: asleepUntil !== null,
      settle: async summary =>
        sleep === null || asleepUntil !== null ? null : await settle(opened, options, sleep, summary),
      where,
      psqlCommand: server?.psqlCommand ?? null,
      close,
    };
  } catch (error) {
    await close();
    throw explainDatabaseError(error, config.schema);
  }
}

function configFor({ config, onlyReads }: OpenOptions): Config {
  return onlyReads === true && config.readUrl !== null ? { ...config, databaseUrl: config.readUrl } : config;
}

/** @throws TockError TOCK_NO_DATABASE that names the remedies */
function requireDatabase({ databaseUrl, isEmbedded, dataFolder }: Config): void {
  if (databaseUrl !== null || isEmbedded) return;
  throw new TockError(
    'TOCK_NO_DATABASE',
    `no database is named: set DATABASE_URL to postgres://user@host:5432/database (or DATABASE_URL_FILE, PGHOST, --env-file FILE), or use the embedded server in ${dataFolder}: TOCK_DATABASE=embedded, or tock start --embedded`,
  );
}

/**
 * Starts connecting early: the server prepares its process while the jobs are loaded.
 * @param waits whether to connect only when that is asked for
 */
function connectEarly(
  connectionString: CurrentUrl,
  { connections = DEFAULT_CONNECTIONS, statementTimeout = '60s' }: Config,
  waits: boolean,
): EarlyConnection {
  const deadlineMs = parseDuration(statementTimeout, 'statementTimeout');
  const pool = openPoolTo({ connectionString }, connections, { deadlineMs });
  if (waits) return { pool, connected: Promise.resolve() };
  const connected = pool.connect().then(client => client.release());
  // Awaited after the jobs are loaded, because their errors are reported first.
  connected.catch(() => undefined);
  return { pool, connected };
}

interface EarlyConnection {
  readonly pool: pg.Pool;
  /** Rejects if the database cannot be reached. A query before it resolves would open a second connection. */
  readonly connected: Promise<void>;
}

/** Null: this process never sleeps. */
async function openSleep(
  { tick, idleMs, config, migrate }: OpenOptions,
  address: string | null,
): Promise<TickSleep | null> {
  if (migrate === true || tick === undefined || idleMs === undefined) return null;
  if (config.databaseUrl === null) {
    process.stderr.write('tick: the embedded server does not suspend, so --idle has no effect\n');
    return null;
  }
  // Loaded late: few ticks sleep.
  const { openTickSleep } = await import('./tick-sleep.js');
  const whose = [address, config.schema, config.service, tick.queues ?? null, idleMs];
  try {
    return openTickSleep(config.dataFolder, whose);
  } catch (error) {
    process.stderr.write(`tick: it does not sleep, since nobody could wake it: ${String(error)}\n`);
    return null;
  }
}

/**
 * After a tick: falls asleep if there has been nothing to do for long enough. Returns until when, or null.
 */
async function settle(
  tock: ShellTock,
  { tick, idleMs = 0 }: OpenOptions,
  sleep: TickSleep,
  summary: TickSummary,
): Promise<Date | null> {
  try {
    if (hasWorked(summary)) sleep.hasWorked();
    else return await sleep.wasIdle(tock.fingerprint, () => tock.fallAsleep(idleMs, tick));
  } catch (error) {
    process.stderr.write(`tick: it does not sleep: ${String(error)}\n`);
  }
  return null;
}

async function startServer(config: Config, onStep: OpenOptions['onStep']) {
  onStep?.('connecting to the embedded PostgreSQL');
  const { startEmbeddedServer } = await import('../embedded/embedded-server.js');
  // Logs only if the server is not up.
  const log = () => onStep?.('starting the embedded PostgreSQL');
  return await startEmbeddedServer({ folder: config.dataFolder, log });
}

/** Says which job module was loaded, where a process stays for long. */
async function reportModule(makeLogger: () => Promise<Logger>, module: string | null): Promise<void> {
  const { newerSource, staleWords } = await import('./job-module-age.js');
  const logger = await makeLogger();
  logger.info({ event: 'jobs.loaded', module }, `the jobs come from ${module}`);
  const source = newerSource(module);
  if (module !== null && source !== null)
    logger.warn({ event: 'jobs.stale', module, source }, staleWords(module, source));
}

/** A dead server is a warning, because the daemon waits for it. A failed restart is an error. */
function reportTo(logger: Logger): (report: ServerReport) => void {
  const levels = { 'server.died': 'warn', 'server.back': 'info', 'server.failed': 'error' } as const;
  return ({ event, pid, message }) => logger[levels[event]]({ event, server_pid: pid }, message);
}

async function prepare(tock: Tock, { config, migrate, onStep }: OpenOptions): Promise<MigrateResult | null> {
  if (migrate === 'unchecked') return null;
  try {
    if (migrate !== true) {
      await tock.requireMigrated();
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

/** The environment's heartbeat, and its address of the dashboard, take the place of the module's. */
function alertsOf(alerts: AlertOptions | undefined, config: Config): { alerts?: AlertOptions } {
  const { heartbeatUrl: url, heartbeatFailUrl: failUrl, dashboardUrl: dashboard } = config;
  const stated = {
    ...(url === undefined ? {} : { heartbeat: { url, ...(failUrl === undefined ? {} : { failUrl }) } }),
    // Alone it asks for no alerts.
    ...(dashboard === undefined || alerts === undefined ? {} : { dashboard }),
  };
  if (alerts === undefined && Object.keys(stated).length === 0) return {};
  return { alerts: { ...alerts, ...stated } };
}

function settingsOf(config: Config) {
  const { lease, heartbeat, grace, drain, connections, statementTimeout, logs, tracing, operator } = config;
  return {
    allowVanishing: config.allowVanishing,
    service: config.service,
    ...(lease === undefined ? {} : { lease }),
    ...(heartbeat === undefined ? {} : { heartbeat }),
    ...(grace === undefined ? {} : { grace }),
    ...(drain === undefined ? {} : { drain }),
    ...(connections === undefined ? {} : { connections }),
    ...(statementTimeout === undefined ? {} : { statementTimeout }),
    ...(logs === undefined ? {} : { logs }),
    ...(tracing ? { tracing } : {}),
    ...(operator === undefined ? {} : { operator }),
  };
}

function addressOf(connectionString: string): string {
  const list = hostList(connectionString);
  if (list !== null) return list;
  try {
    // PostgreSQL allows a user without a host, for sockets, but URL does not: user@/database?host=/folder
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
