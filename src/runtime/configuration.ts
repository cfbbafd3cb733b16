// Configuration from environment variables, checked; durations are still text.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { checkLogLevel } from '../environment/log-level.js';
import type { LogFormat } from '../environment/logger.js';
import { isClone, projectFolder } from '../environment/paths.js';
import { followSecretFile } from '../environment/secret-file.js';
import { dataFolderOf } from '../environment/wake-file.js';
import { readHeartbeat } from '../model/alerts/read-alerts.js';
import type { CurrentUrl } from '../model/database/current-url.js';
import { parseDuration } from '../model/duration.js';
import { TockError } from '../model/errors.js';
import { type LogsOption, readLogsOption } from '../model/job/logs-option.js';
import { isStorable, quote } from '../model/names.js';
import { editDistance } from '../model/nearest.js';
import { checkService } from '../model/planning/services.js';
import { readIdle } from '../model/sleep/sleep.js';
import { findJobModule } from './job-module-path.js';

export interface Config {
  /** Null: none is named. */
  readonly databaseUrl: CurrentUrl | null;
  /** A replica for what only reads; null: none is named. */
  readonly readUrl: CurrentUrl | null;
  /** The message broker of `tock relay`; null: none is named. */
  readonly brokerUrl: CurrentUrl | null;
  /** Whether the embedded server is used where no database is named. */
  readonly isEmbedded: boolean;
  readonly schema: string;
  /** Path of the module that exports `jobs`; null: none is named, and the project has none. */
  readonly jobsModule: string | null;
  /** Whether a registration may let most definitions vanish. */
  readonly allowVanishing: boolean;
  /** Empty: the service without a name. */
  readonly service: string;
  /** Folder of the embedded server's data. */
  readonly dataFolder: string;
  readonly lease: string | undefined;
  readonly heartbeat: string | undefined;
  readonly grace: string | undefined;
  readonly drain: string | undefined;
  readonly budget: string | undefined;
  /** How long a process without work may sleep; undefined: not at all. */
  readonly idle: string | undefined;
  readonly concurrency: number | undefined;
  readonly queues: readonly string[] | undefined;
  readonly connections: number | undefined;
  readonly statementTimeout: string | undefined;
  readonly logs: LogsOption | undefined;
  readonly tracing: boolean;
  /** Requested after each healthy tick or beat, instead of that of the job module. */
  readonly heartbeatUrl: string | undefined;
  readonly heartbeatFailUrl: string | undefined;
  /** The dashboard's address, for links in alerts, instead of that of the job module. */
  readonly dashboardUrl: string | undefined;
  /** The operator's name in the audit. */
  readonly operator: string | undefined;
  readonly logLevel: string | undefined;
  readonly logFormat: LogFormat | undefined;
}

/** For the help. */
export const VARIABLES: Readonly<Record<string, string>> = {
  DATABASE_URL:
    'postgres://user:password@host:port/database, or h1:port,h2:port; unset: PGHOST, PGDATABASE and so on',
  DATABASE_URL_FILE: 'a file that contains the URL, for secrets',
  TOCK_READ_URL: 'a replica from which commands that only read, and the dashboard, read',
  TOCK_READ_URL_FILE: 'a file that contains its URL',
  TOCK_BROKER_URL: 'the message broker of tock relay: amqp://… or nats://…',
  TOCK_BROKER_URL_FILE: 'a file that contains its URL',
  TOCK_DATABASE: 'embedded: without DATABASE_URL, use the embedded PostgreSQL in .tock/',
  TOCK_DATABASES: 'for --all: several databases, as name=postgres://… separated by blanks',
  TOCK_DATABASES_FILE: 'a file that contains them, for secrets',
  TOCK_SCHEMA: 'schema of the tables (default tock)',
  TOCK_JOBS:
    'module that exports the array `jobs` (default dist/jobs/index.js or jobs/index.js; see docs/jobs.md)',
  TOCK_SERVICE:
    'the application whose jobs these are, where several share the schema: each registers its own (default: the one without a name)',
  TOCK_ALLOW_VANISHING: 'on: register the jobs even if most definitions vanish (default off: refuse)',
  TOCK_LEASE: 'how long a claimed run is held without a heartbeat (default 60s)',
  TOCK_HEARTBEAT: 'how often leases are renewed (default 15s)',
  TOCK_GRACE: 'how long a handler may go on after its signal is aborted (default 10s)',
  TOCK_DRAIN: 'how long a stopping process waits for its runs to end (default 20s)',
  TOCK_BUDGET: 'how long a tick keeps claiming new runs (default 50s)',
  TOCK_IDLE:
    'how long a tick or daemon without work leaves the database alone, such as 15m (default: never; see docs/sleep.md)',
  TOCK_CONCURRENCY: 'maximum number of runs that a process executes at once (default 10)',
  TOCK_QUEUES: 'the queues from which runs are claimed, separated by commas (default all)',
  TOCK_CONNECTIONS: 'maximum number of database connections per process (default 10)',
  TOCK_STATEMENT_TIMEOUT: 'how long one of Tock’s own statements may take (default 60s)',
  TOCK_DATA: 'data folder of the embedded server (default .tock in the project)',
  TOCK_LOGS: 'maximum number of bytes kept of an attempt’s log, or off (default 65536)',
  TOCK_TRACING: 'on: make spans with OpenTelemetry; needs the package @opentelemetry/api (default off)',
  TOCK_HEARTBEAT_URL: 'a URL to request (GET) after each healthy tick or beat, for an external monitor',
  TOCK_HEARTBEAT_FAIL_URL: 'a URL to request after a tick that failed',
  TOCK_DASHBOARD_URL:
    'the address of the dashboard, to which alerts link, such as https://ops.example.com/tock',
  TOCK_DEPLOY:
    'the version of the app, kept with each attempt (default: the commit of the platform; off: none)',
  TOCK_HTTP_ALLOW:
    'private hosts and networks that requests of schedules (--url) may reach, separated by commas (default none)',
  TOCK_OPERATOR: 'the operator’s name in the audit (default: the user of the operating system)',
  TOCK_LOG_LEVEL: 'debug, info, warn, error, silent (default: info for start, otherwise warn)',
  TOCK_LOG_FORMAT: 'json or pretty (default json)',
};

/** Tock sets it for commands of shell jobs. */
const OF_A_RUN = 'TOCK_JOB';
/** From here on, two letters make a misspelling. */
const LONG = 'TOCK_LONGNAME'.length;

/**
 * One line on variables that nothing reads, and that look like misspelt ones of Tock's; null: there are none.
 * An app may have variables of its own that begin with TOCK_, so a name must be near to one of Tock's.
 * @param more further variables that are read
 */
export function misspeltVariables(
  env: Readonly<Record<string, string | undefined>>,
  more: readonly string[] = [],
): string | null {
  const known = [...Object.keys(VARIABLES), ...more, OF_A_RUN];
  const found = Object.keys(env).flatMap(name => {
    if (!name.startsWith('TOCK_') || known.includes(name)) return [];
    const limit = name.length < LONG ? 1 : 2;
    const near = known.find(each => editDistance(name, each) <= limit);
    return near === undefined ? [] : [`${name} (did you mean ${near}?)`];
  });
  return found.length === 0 ? null : `Tock does not read ${found.join(', ')}`;
}

/** Flags that stand for variables. */
export interface ConfigFlags {
  readonly envFile?: string | undefined;
  readonly jobs?: string | undefined;
  readonly embedded?: boolean | undefined;
  readonly allowVanishing?: boolean | undefined;
  readonly service?: string | undefined;
}

/**
 * The configuration of this process. Loads the file of variables that is named, or `.env` in the project's
 * folder, if there is one; variables that are set already stay.
 * @throws TockError TOCK_BAD_OPTION
 */
export function configOfProcess(flags: ConfigFlags): Config {
  const { envFile, jobs, embedded, allowVanishing, service } = flags;
  const ownFile = path.join(projectFolder(), '.env');
  if (envFile !== undefined) loadVariables(envFile, '--env-file names ');
  else if (existsSync(ownFile)) loadVariables(ownFile);
  const stated = {
    ...(jobs === undefined ? {} : { TOCK_JOBS: jobs }),
    ...(embedded ? { TOCK_DATABASE: 'embedded' } : {}),
    ...(allowVanishing ? { TOCK_ALLOW_VANISHING: 'on' } : {}),
    ...(service === undefined ? {} : { TOCK_SERVICE: service }),
  };
  // Reading all variables takes longer than reading those that Tock has.
  return readConfig(Object.keys(stated).length === 0 ? process.env : { ...process.env, ...stated });
}

function loadVariables(file: string, named = ''): void {
  try {
    process.loadEnvFile(file);
  } catch (error) {
    const what = named === '' ? quote(file) : `${named}${quote(file)}, which`;
    throw new TockError('TOCK_BAD_OPTION', `${what} cannot be read`, { cause: error });
  }
}

/** @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION that names the variable */
export function readConfig(env: NodeJS.ProcessEnv): Config {
  const read = (name: string) => {
    const value = env[name]?.trim();
    return value === undefined || value === '' ? undefined : value;
  };
  const checked = (name: string, check: (text: string) => unknown) => {
    const text = read(name);
    if (text !== undefined) check(text);
    return text;
  };
  const duration = (name: string) => checked(name, text => parseDuration(text, name));
  const dataFolder = dataFolderOf(env);
  return {
    ...readDatabase(read, dataFolder),
    brokerUrl: readUrl(read, 'TOCK_BROKER_URL'),
    readUrl: readUrl(read, 'TOCK_READ_URL'),
    dataFolder,
    schema: read('TOCK_SCHEMA') ?? 'tock',
    jobsModule: findJobModule(read('TOCK_JOBS')),
    allowVanishing: readSwitch('TOCK_ALLOW_VANISHING', read('TOCK_ALLOW_VANISHING')),
    service: checked('TOCK_SERVICE', service => naming('TOCK_SERVICE', () => checkService(service))) ?? '',
    lease: duration('TOCK_LEASE'),
    heartbeat: duration('TOCK_HEARTBEAT'),
    grace: duration('TOCK_GRACE'),
    drain: duration('TOCK_DRAIN'),
    budget: duration('TOCK_BUDGET'),
    idle: checked('TOCK_IDLE', idle => readIdle(idle, 'TOCK_IDLE')),
    concurrency: readCount('TOCK_CONCURRENCY', read('TOCK_CONCURRENCY')),
    queues: read('TOCK_QUEUES')
      ?.split(',')
      .map(queue => queue.trim())
      .filter(queue => queue !== ''),
    connections: readCount('TOCK_CONNECTIONS', read('TOCK_CONNECTIONS')),
    statementTimeout: duration('TOCK_STATEMENT_TIMEOUT'),
    logs: readLogs(read('TOCK_LOGS')),
    tracing: readSwitch('TOCK_TRACING', read('TOCK_TRACING')),
    heartbeatUrl: checked('TOCK_HEARTBEAT_URL', url =>
      naming('TOCK_HEARTBEAT_URL', () => readHeartbeat({ url })),
    ),
    heartbeatFailUrl: read('TOCK_HEARTBEAT_FAIL_URL'),
    dashboardUrl: read('TOCK_DASHBOARD_URL'),
    operator: readOperator(read('TOCK_OPERATOR')),
    logLevel: checked('TOCK_LOG_LEVEL', level => naming('TOCK_LOG_LEVEL', () => checkLogLevel(level))),
    logFormat: readFormat(read('TOCK_LOG_FORMAT')),
  };
}

/** An error names the variable, not the option that it stands for. */
function naming(name: string, check: () => unknown): void {
  try {
    check();
  } catch (error) {
    if (!(error instanceof TockError)) throw error;
    throw new TockError(error.code, `${name}: ${error.message}`, { cause: error });
  }
}

type Read = (name: string) => string | undefined;

/**
 * A URL goes first. The embedded server is used only if that was asked for, or, in a clone of the repository,
 * once `npm start` has made its data.
 */
function readDatabase(read: Read, dataFolder: string): Pick<Config, 'databaseUrl' | 'isEmbedded'> {
  const named = read('TOCK_DATABASE');
  if (named !== undefined && named !== 'embedded')
    throw new TockError(
      'TOCK_BAD_OPTION',
      'TOCK_DATABASE must be embedded or unset; the address of a database belongs in DATABASE_URL',
    );
  const url = readUrl(read, 'DATABASE_URL');
  const isAskedFor = named === 'embedded' || read('TOCK_DATA') !== undefined;
  const isEmbedded = isAskedFor || (url === null && isClone() && hasData(dataFolder));
  return { databaseUrl: url ?? (isEmbedded ? null : urlOfVariables(read)), isEmbedded };
}

/** Whether an embedded server was started there: its data, or a note of where they are (embedded-home.ts). */
const hasData = (folder: string) =>
  ['data', 'data-is-elsewhere.txt'].some(name => existsSync(path.join(folder, name)));

/** What pg makes of PGHOST, PGPORT and PGDATABASE; it reads the user and the password itself. */
function urlOfVariables(read: Read): string | null {
  const [host, port, database = ''] = [read('PGHOST'), read('PGPORT'), read('PGDATABASE')];
  if (host === undefined && database === '') return null;
  const name = encodeURIComponent(database);
  const target = read('PGTARGETSESSIONATTRS');
  if (host?.includes(',') || target !== undefined) {
    const stated = { host: host ?? 'localhost', port, target_session_attrs: target };
    const given = Object.entries(stated).filter((entry): entry is [string, string] => entry[1] !== undefined);
    return `postgres:///${name}?${String(new URLSearchParams(given))}`;
  }
  if (host?.startsWith('/'))
    return `postgres:///${name}?host=${encodeURIComponent(host)}${port === undefined ? '' : `&port=${port}`}`;
  const place = host?.includes(':') ? `[${host}]` : (host ?? 'localhost');
  return `postgres://${place}${port === undefined ? '' : `:${port}`}/${name}`;
}

/** The variable, or the file that its twin names, which is read whenever it is needed. */
function readUrl(read: Read, name: string): CurrentUrl | null {
  const file = read(`${name}_FILE`);
  return read(name) ?? (file === undefined ? null : followSecretFile(`${name}_FILE`, file));
}

function readCount(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const count = Number(text);
  if (Number.isInteger(count) && count >= 1 && count <= 10_000) return count;
  throw new TockError(
    'TOCK_BAD_OPTION',
    `${name} is ${quote(text)}; it must be a whole number from 1 to 10000`,
  );
}

function readLogs(text: string | undefined): LogsOption | undefined {
  if (text === undefined) return undefined;
  if (text === 'off') return false;
  const logs = { maxBytes: Number(text) };
  try {
    readLogsOption(logs);
    return logs;
  } catch (error) {
    throw new TockError(
      'TOCK_BAD_OPTION',
      `TOCK_LOGS is ${quote(text)}; it must be off, or a whole number of bytes from 1024 to 1048576`,
      { cause: error },
    );
  }
}

function readSwitch(name: string, text: string | undefined): boolean {
  if (text === undefined || text === 'on' || text === 'off') return text === 'on';
  throw new TockError('TOCK_BAD_OPTION', `${name} is ${quote(text)}; it must be on or off`);
}

function readOperator(name: string | undefined): string | undefined {
  if (name === undefined || (name.length <= 200 && isStorable(name))) return name;
  throw new TockError('TOCK_BAD_OPTION', 'TOCK_OPERATOR must have at most 200 characters');
}

function readFormat(text: string | undefined): LogFormat | undefined {
  if (text === undefined || text === 'json' || text === 'pretty') return text;
  throw new TockError('TOCK_BAD_OPTION', `TOCK_LOG_FORMAT is ${quote(text)}; it must be json or pretty`);
}
