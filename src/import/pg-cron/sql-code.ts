// The code by which an imported job executes SQL: in Tock's database, or in another one.
import type { CodeHead } from '../code/job-code.js';
import { literal } from '../code/job-code.js';

/** A text as code; several lines stay several lines. */
export function sqlText(text: string): string {
  const trimmed = text.trim();
  const isPlain = /^[\t\n\u0020-\u007E\u00A1-\u060B]*$/.test(trimmed);
  if (!trimmed.includes('\n') || !isPlain) return literal(trimmed);
  return `\`${trimmed.replaceAll('\\', '\\\\').replaceAll('`', '\\`').replaceAll('${', '\\${')}\``;
}

/** The variable that holds the URL of a database: `REPORTS_DATABASE_URL`. */
export function variableOf(database: string): string {
  const name = database.toUpperCase().replace(/[^A-Z0-9]+/g, '_');
  return `${/^[A-Z]/.test(name) ? '' : 'DB_'}${name}_DATABASE_URL`;
}

const EXECUTE = `/** Executes SQL in Tock's database. When the run is to stop, the statement is cancelled. */
async function execute({ db, signal }: JobContext, text: string): Promise<void> {
  await db.connection().execute(async connection => {
    const { rows } = await sql<{ pid: number }>\`select pg_backend_pid() as pid\`.execute(connection);
    let cancelled: Promise<unknown> = Promise.resolve();
    const cancel = () => {
      cancelled = sql\`select pg_cancel_backend(\${rows[0]?.pid})\`.execute(db).catch(() => undefined);
    };
    signal.addEventListener('abort', cancel);
    try {
      signal.throwIfAborted();
      await sql.raw(text).execute(connection);
    } finally {
      signal.removeEventListener('abort', cancel);
      // Before another statement gets this connection.
      await cancelled;
    }
  });
}`;

const EXECUTE_IN = `/** Executes SQL in the database whose URL the variable holds. When the run is to stop, the statement is cancelled. */
async function executeIn({ signal }: JobContext, variable: string, text: string): Promise<void> {
  const connectionString = env[variable];
  if (!connectionString)
    throw new Dead(\`\${variable} is not set: set it to the URL of the database, then tock retry this run\`);
  const client = new pg.Client({ connectionString, application_name: 'tock' });
  client.on('error', () => undefined);
  await client.connect();
  try {
    const { rows } = await client.query('select pg_backend_pid() as pid');
    const cancel = async () => {
      const other = new pg.Client({ connectionString, application_name: 'tock' });
      other.on('error', () => undefined);
      await other.connect();
      await other.query('select pg_cancel_backend($1)', [rows[0].pid]).finally(() => other.end());
    };
    const stop = () => void cancel().catch(() => undefined);
    signal.addEventListener('abort', stop);
    signal.throwIfAborted();
    await client.query(text).finally(() => signal.removeEventListener('abort', stop));
  } finally {
    await client.end();
  }
}`;

/** What the module needs before its definitions. @param handlers the code of the handlers */
export function sqlHead(handlers: readonly string[]): CodeHead {
  const isOwn = handlers.some(run => run.startsWith('ctx => execute('));
  const isOther = handlers.some(run => run.startsWith('ctx => executeIn('));
  return {
    imports: [
      ...(isOwn ? ["import { sql } from 'kysely';"] : []),
      ...(isOther ? ["import { env } from 'node:process';", "import pg from 'pg';"] : []),
    ],
    names: isOwn || isOther ? ['type JobContext', ...(isOther ? ['Dead'] : [])] : [],
    functions: [...(isOwn ? [EXECUTE] : []), ...(isOther ? [EXECUTE_IN] : [])],
    taken: new Set(['execute', 'executeIn', 'sql', 'pg', 'env']),
  };
}
