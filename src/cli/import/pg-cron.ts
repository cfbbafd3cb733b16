// `tock import pg_cron`: definitions from the jobs of the extension pg_cron.
import type { Command } from 'commander';
import { apart, type Found } from '../../import/elsewhere/taken.js';
import {
  labelOf,
  type PgCronJob,
  pgCronNotes,
  translatePgCronJob,
} from '../../import/pg-cron/pg-cron-job.js';
import type { PgCronRow, PgCronTable } from '../../import/pg-cron/read-pg-cron.js';
import { sqlHead } from '../../import/pg-cron/sql-code.js';
import { TockError } from '../../model/errors.js';
import { examples, withJson } from '../flags/flags.js';
import { action, type Shell } from '../shell.js';
import { checkFoundFlags, type FoundFlags, finishImport } from './finish-import.js';
import { withDatabaseFlags, withFoundFlags } from './found-flags.js';
import { isSameServer, namesIn, ownUrl, type SourceFlags, sourceUrl } from './source-url.js';
import { switchFound, takenInCode } from './switch-found.js';

interface PgCronFlags extends FoundFlags, SourceFlags {}

const WORDS = { command: 'pg_cron', system: 'pg_cron' };

export function addPgCron(command: Command): Command {
  return withDatabaseFlags(withFoundFlags(withJson(command.command('pg_cron'))))
    .summary('definitions from the jobs of pg_cron')
    .description(
      'Reads the jobs of the extension pg_cron and writes a job for each that executes its SQL, in TypeScript to be reviewed, with a report of what differs. Changes nothing without --switch, which sets the jobs inactive that are in the job module.',
    )
    .option('--switch', 'set the jobs inactive whose definitions are in the job module')
    .addHelpText(
      'after',
      examples(
        ['tock import pg_cron', 'look at code and report'],
        [
          'tock import pg_cron --database postgres://admin@db-1/postgres --out jobs/pg-cron.ts',
          'of another database',
        ],
        ['tock import pg_cron --switch', 'set them inactive'],
      ),
    )
    .action(action(importPgCron));
}

async function importPgCron(shell: Shell, flags: PgCronFlags): Promise<number> {
  checkFoundFlags(flags);
  const url = sourceUrl(shell, flags);
  const [{ withSource }, { readPgCron, setPgCronActive }] = await Promise.all([
    import('../../import/open-source.js'),
    import('../../import/pg-cron/read-pg-cron.js'),
  ]);
  return await withSource(url, async database => {
    const table = await readPgCron(database);
    if (table.seesOwnOnly)
      shell.note(`${table.role} sees its own jobs only: connect as a superuser to import those of all users`);
    if (!table.seesSettings)
      shell.note(
        `${table.role} may not read cron.timezone, so its schedules are taken as GMT: connect as a member of pg_read_all_settings`,
      );
    const found = foundIn(shell, table, url);
    if (!flags.switch) return await finishImport(shell, flags, WORDS, found);
    const inactive = new Set(
      table.rows
        .map(readRow)
        .filter(({ isActive }) => !isActive)
        .map(labelOf),
    );
    const active = found.taken.filter(({ from }) => !inactive.has(from));
    if (active.length === 0)
      throw new TockError(
        'TOCK_NOT_FOUND',
        'no job of pg_cron that can be taken is active: there is nothing to switch',
      );
    const taken = await takenInCode(shell, { taken: active }, WORDS.command);
    const chosen = new Set(taken.map(({ from }) => from));
    const rows = table.rows.filter(row => chosen.has(labelOf(readRow(row))));
    const jobs = `${rows.length} job${rows.length === 1 ? '' : 's'} of pg_cron`;
    const words = { action: `set ${jobs} inactive`, done: 'set inactive:' };
    return await switchFound(shell, flags.yes, taken, words, async keep => {
      const changed = await setPgCronActive(database, rows, false, async ids => {
        const kept = rows.filter(({ jobid }) => ids.includes(jobid)).map(row => JSON.stringify(row));
        await keep({ system: 'pg_cron', database: table.database, schema: null, rows: kept });
      });
      return changed.length;
    });
  });
}

function foundIn(shell: Shell, table: PgCronTable, url: string): Found {
  const databaseUrl = ownUrl(shell);
  const isHere = databaseUrl !== null && isSameServer(url, databaseUrl);
  const own = isHere ? namesIn(databaseUrl) : { database: null, user: null };
  const isSameUrl = databaseUrl === url;
  const context = {
    timezone: table.timezone,
    ownDatabase: isSameUrl ? table.database : own.database,
    ownUser: isSameUrl ? table.role : own.user,
  };
  if (table.rows.length === 0)
    throw new TockError(
      'TOCK_NOT_FOUND',
      `pg_cron has no job in ${table.database}: there is nothing to import`,
    );
  const names = new Set<string>();
  const { taken, left } = apart(table.rows.map(row => translatePgCronJob(readRow(row), context, names)));
  const head = sqlHead(taken.map(({ job }) => job.run ?? ''));
  return { source: `pg_cron in ${table.database}`, taken, left, notes: pgCronNotes(table.timezone), head };
}

function readRow(row: PgCronRow): PgCronJob {
  const text = (name: string): string => (typeof row[name] === 'string' ? row[name] : '');
  return {
    id: String(row.jobid),
    name: text('jobname') || null,
    schedule: text('schedule'),
    command: text('command'),
    database: text('database'),
    user: text('username'),
    host: text('nodename'),
    isActive: row['active'] !== false,
  };
}
