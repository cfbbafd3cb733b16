// What an error of the driver means: whether to try again, and how to say it to a person.
import { NoHostError } from '../../model/database/hosts.js';
import { tlsTrouble } from '../../model/database/tls.js';
import { TockError } from '../../model/errors.js';
import { redact } from '../../model/run/sanitize.js';

/** The SQLSTATE of an error; null if the server did not answer. */
export function sqlState(error: unknown): string | null {
  const code = typeof error === 'object' && error !== null ? (error as { code?: unknown }).code : undefined;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : null;
}

/** What the server answered, also where a library of the app's has wrapped it. */
export function serverAnswer(error: unknown): { readonly state: string; readonly message: string } | null {
  for (let each = error; typeof each === 'object' && each !== null; each = causeOf(each)) {
    const { originalCode, originalMessage } = each as Readonly<Record<string, unknown>>;
    if (typeof originalCode === 'string') return { state: originalCode, message: String(originalMessage) };
    const state = sqlState(each);
    // Codes of Prisma's own are P2010 and the like.
    if (state !== null && !/^P[1-9]/.test(state))
      return { state, message: withoutStatement(messageOf(each)) };
  }
  return null;
}

/** Knex puts the statement with its parameters before the message: a payload must not be in a message. */
const withoutStatement = (message: string) => message.replace(/^\s*(?:savepoint|select|with)\b[^]* - /i, '');

function causeOf(error: object): unknown {
  const { cause, meta } = error as { cause?: unknown; meta?: { driverAdapterError?: unknown } };
  return cause ?? meta?.driverAdapterError;
}

/** A deadlock or a serialization failure: nothing happened, the same again may succeed. */
export function isSerializationFailure(error: unknown): boolean {
  const state = sqlState(error);
  return state === '40001' || state === '40P01';
}

/** The connection lacks a prepared statement, or has one of this name already: nothing was executed. */
export function isUnknownStatement(error: unknown): boolean {
  const state = sqlState(error);
  return state === '26000' || state === '42P05';
}

/** Among others: column types of a prepared statement, after its table was altered. Nothing happened. */
export function isUnsupported(error: unknown): boolean {
  return sqlState(error) === '0A000';
}

/** A lock was not granted within lock_timeout: nothing happened. */
export function isLockTimeout(error: unknown): boolean {
  return sqlState(error) === '55P03';
}

/**
 * PostgreSQL will never store this: data that no column takes (class 22), a violated constraint (23), more
 * than its limits allow (54). A missing partition is none of these.
 */
export function isUnstorable(error: unknown): boolean {
  const state = sqlState(error);
  return state !== null && /^(22|23|54)/.test(state) && !isPartitionMissing(error);
}

/**
 * The same statement may succeed later: the database is away, a lock is held, a statement was cancelled, the
 * disk or the memory is full, a partition is missing.
 */
export function isTransient(error: unknown): boolean {
  const state = sqlState(error);
  if (state === null) return isConnectionFailure(error);
  return (
    /^(40|53|55P03|55006|57014|58)/.test(state) || isConnectionFailure(error) || isPartitionMissing(error)
  );
}

/** No partition takes the row, or one was attached meanwhile. A real constraint's error has its name. */
export function isPartitionMissing(error: unknown): boolean {
  return sqlState(error) === '23514' && (error as { constraint?: unknown }).constraint === undefined;
}

export function isUniqueViolation(error: unknown): boolean {
  return sqlState(error) === '23505';
}

/**
 * The server cannot be reached, is going away, refuses us, or is a standby: reconnecting later may help. An
 * error without SQLSTATE comes from the network or the driver.
 */
export function isConnectionFailure(error: unknown): boolean {
  if (error instanceof TockError)
    return error.code === 'TOCK_DATABASE_UNREACHABLE' || error.code === 'TOCK_NO_CONNECTION';
  if (error instanceof NoHostError) return true;
  const state = sqlState(error);
  if (state !== null) return /^(08|57P0|53300|25006|28|3D000)/.test(state);
  if (!(error instanceof Error)) return false;
  if (tlsTrouble(error) !== null) return true;
  const code = (error as { code?: unknown }).code;
  if (
    typeof code === 'string' &&
    /^(ECONN|ENOTFOUND|EAI_|EHOSTUN|ENETUN|ETIMEDOUT|EPIPE|ENOENT|EACCES|EISDIR)/.test(code)
  )
    return true;
  return /connection terminated|timeout exceeded when trying to connect|client has encountered a connection error|client was closed and is not queryable/i.test(
    error.message,
  );
}

/** Nothing can be written any more, by whatever retry. */
export const isPoolEnded = (error: unknown): boolean =>
  error instanceof TockError && error.code === 'TOCK_POOL_ENDED';

/**
 * What was connected is not the writer any more, or is going away: it is read-only, it shuts down, it cut the
 * connection. A statement that was not answered in time may only have waited for a lock.
 */
export function isWriterLost(error: unknown): boolean {
  if (error instanceof TockError || !isConnectionFailure(error)) return false;
  const state = sqlState(error);
  return state === null || /^(?:08|57P0[123]|25006)/.test(state);
}

/** A table, a function, a column or the schema is not there. */
const MISSING: readonly string[] = ['42P01', '42883', '42703', '3F000'];

/** Turns a failure to find Tock's tables into one clear line; other errors stay as they are. */
export function explainMissing(error: unknown, schema: string): unknown {
  if (error instanceof TockError) return error;
  const answer = serverAnswer(error);
  if (answer === null || !MISSING.includes(answer.state)) return error;
  return new TockError(
    'TOCK_NOT_MIGRATED',
    `the schema ${schema} lacks what this version needs (${redact(answer.message)}); run: tock migrate`,
    { cause: error },
  );
}

export const isTableMissing = (error: unknown): boolean => sqlState(error) === '42P01';

/** The role lacks a right. */
export const isForbidden = (error: unknown): boolean => sqlState(error) === '42501';

/** Of a migration that the role has no right to; null: something else is wrong. */
export function mayNotMigrate(error: unknown, schema: string): TockError | null {
  const answer = serverAnswer(error);
  if (answer?.state !== '42501') return null;
  return new TockError(
    'TOCK_NOT_MIGRATED',
    `the schema ${schema} is missing, or of an older version, and this role may not change that (${redact(answer.message)}): run tock migrate once as the owner, with DATABASE_URL naming that role`,
    { cause: error },
  );
}

/**
 * What an app gets: {@link explainMissing}, and other errors as they are, with their own code. Where
 * something can be done about one, `remedy` says what.
 * @param inCode the caller made the Tock, and could have it migrate
 */
export function withRemedy(
  thrown: unknown,
  schema: string,
  { inCode }: { readonly inCode: boolean },
): unknown {
  const error = explainMissing(thrown, schema);
  if (error instanceof TockError) return inCode ? namingMigrate(error) : error;
  if (!(error instanceof Error)) return error;
  const remedy = remedyOf(error, schema);
  return remedy === null ? error : Object.assign(error, { remedy });
}

const RUN_MIGRATE = 'run: tock migrate';

function namingMigrate(error: TockError): TockError {
  if (error.code !== 'TOCK_NOT_MIGRATED' || !error.message.endsWith(RUN_MIGRATE)) return error;
  return new TockError(error.code, `${error.message}; or createTock({ migrate: true })`, {
    cause: error.cause,
  });
}

/** A number out of range, a text that is no value or holds a NUL, an argument that is refused. */
const WRONG_VALUE = ['22003', '22021', '22023', '22P02', '22P05'];

/**
 * Turns a failure to reach the database, or to find Tock's tables in it, into one clear line; so too a value
 * that no column takes, such as text with a NUL, which is the fault of who gave it.
 */
export function explainDatabaseError(thrown: unknown, schema: string): unknown {
  const error = explainMissing(thrown, schema);
  if (error instanceof TockError) return error;
  const message = redact(messageOf(error));
  if (error instanceof NoHostError)
    return new TockError('TOCK_DATABASE_UNREACHABLE', message, { cause: error });
  if (WRONG_VALUE.includes(serverAnswer(error)?.state ?? ''))
    return new TockError('TOCK_BAD_OPTION', `PostgreSQL does not take a value: ${message}`, { cause: error });
  const remedy = remedyOf(error, schema);
  if (remedy === null) return error;
  return sqlState(error) === '42501'
    ? new TockError('TOCK_FORBIDDEN', `${message}; ${remedy}`, { cause: error })
    : new TockError('TOCK_DATABASE_UNREACHABLE', `cannot reach the database: ${message}; ${remedy}`, {
        cause: error,
      });
}

/** What to do about an error of the driver; null: nothing is known. That of several hosts says it itself. */
function remedyOf(error: unknown, schema: string): string | null {
  const state = sqlState(error);
  // Which right it is, only the message says, in the server's language.
  if (state === '42501')
    return `docs/database.md, Roles, has what each role needs in schema ${schema}: tock doctor names what this one lacks to tick, and has the grants; tock migrate and tock prune need the owner`;
  return isConnectionFailure(error) && !(error instanceof NoHostError) ? remedyFor(state, error) : null;
}

/** Sockets are connected to, not opened; only what is a folder, as EISDIR says, is opened and not read. */
function isUnreadableFile(error: unknown): boolean {
  const { syscall, code } = error as { syscall?: unknown; code?: unknown };
  return error instanceof Error && (syscall === 'open' || code === 'EISDIR');
}

/** Without the name of the error's class. */
export function messageOf(error: unknown): string {
  // Node joins the failures of several addresses in one AggregateError with an empty message.
  if (error instanceof AggregateError) return error.errors.map(messageOf).join(', ');
  return error instanceof Error ? error.message : String(error);
}

function remedyFor(state: string | null, error: unknown): string {
  const trouble = tlsTrouble(error);
  if (trouble !== null) return trouble.remedy;
  if (isUnreadableFile(error))
    return 'check the files that sslrootcert, sslcert and sslkey in DATABASE_URL name';
  if (state === '28P01') return 'check the user and password in DATABASE_URL';
  // Which line of pg_hba.conf is missing, only the message says, in the server's language.
  if (state === '28000')
    return 'check the user in DATABASE_URL and pg_hba.conf on the server; if that has only hostssl for it, add sslmode=verify-full to DATABASE_URL';
  if (state === '3D000') return 'check the database name in DATABASE_URL, or create it with createdb';
  if (state === '53300')
    return 'the server has no connection free: raise max_connections, or put pgbouncer in front';
  if (state === '25006')
    return 'if this server is a standby, name the primary in DATABASE_URL, or all hosts (docs/fail-over.md); if default_transaction_read_only is on, as tock doctor says, set it to off for this role: alter role … set default_transaction_read_only = off';
  if (state?.startsWith('57P0')) return 'the server is starting or stopping: try again in a moment';
  if (messageOf(error).includes('ENOTFOUND')) return 'check the host name in DATABASE_URL';
  return 'check that the server runs and that DATABASE_URL names its host and port';
}

/** The server stopped a statement: it took longer than statement_timeout, or was cancelled. */
export const isStoppedStatement = (error: unknown): boolean => sqlState(error) === '57014';
