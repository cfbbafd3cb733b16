// The jobs of pg_cron, in another database or this one: reads them, sets them inactive and active again.
import { sql } from 'kysely';
import { TockError } from '../../model/errors.js';
import type { Database, Session } from '../../store/connection/database.js';
import { sqlState } from '../../store/connection/errors.js';
import { firstRow, runQuery } from '../../store/connection/query.js';

/** A row of cron.job as JSON: older versions lack some columns. */
export type PgCronRow = Readonly<Record<string, unknown>> & { readonly jobid: number };

export interface PgCronTable {
  readonly rows: readonly PgCronRow[];
  /** cron.timezone; GMT before version 1.5. */
  readonly timezone: string;
  readonly database: string;
  readonly role: string;
  /** Whether rows of other users are hidden from this role. */
  readonly seesOwnOnly: boolean;
  /** Whether this role may read pg_cron's settings; else the zone is a guess. */
  readonly seesSettings: boolean;
}

interface Facts {
  readonly database: string;
  readonly role: string;
  readonly timezone: string;
  readonly home: string | null;
  readonly is_there: boolean;
  readonly sees_own_only: boolean;
  readonly sees_settings: boolean;
}

/** @throws TockError TOCK_NOT_FOUND if pg_cron keeps its jobs elsewhere */
export async function readPgCron(session: Session): Promise<PgCronTable> {
  const facts = await firstRow(
    session,
    sql<Facts>`
      select current_database() as database, current_user as role,
        coalesce((select nullif(s.setting, '') from pg_settings s where s.name = 'cron.timezone'), 'GMT') as timezone,
        (select nullif(s.setting, '') from pg_settings s where s.name = 'cron.database_name') as home,
        pg_has_role(current_user, 'pg_read_all_settings', 'usage') as sees_settings,
        to_regclass('cron.job') is not null as is_there,
        not (r.rolsuper or r.rolbypassrls) as sees_own_only
      from pg_roles r where r.rolname = current_user`,
  );
  if (!facts?.is_there) {
    const home = facts?.home ?? null;
    throw new TockError(
      'TOCK_NOT_FOUND',
      home === null
        ? `the server of the database ${facts?.database ?? ''} does not load pg_cron: name the database in which it keeps its jobs with --database URL`
        : home === facts?.database
          ? `the database ${home} has no table cron.job: create extension pg_cron was not run, so there is nothing to import`
          : `the database ${facts?.database ?? ''} has no table cron.job: pg_cron keeps its jobs in the database ${home}; name it with --database URL`,
    );
  }
  const rows = await runQuery(
    session,
    sql<{ row: PgCronRow }>`select to_jsonb(j) as row from cron.job j order by j.jobid`,
  );
  const { timezone, database, role, sees_own_only: seesOwnOnly, sees_settings: seesSettings } = facts;
  return { rows: rows.map(({ row }) => row), timezone, database, role, seesOwnOnly, seesSettings };
}

/**
 * Sets jobs active or inactive, in one transaction, each only if it is still there as it was read. Resolves
 * to the ids that were changed.
 * @param keep called before the commit, with these ids
 */
export async function setPgCronActive(
  database: Database,
  rows: readonly PgCronRow[],
  active: boolean,
  keep: (ids: readonly number[]) => Promise<void>,
): Promise<number[]> {
  const work = async (session: Session): Promise<number[]> => {
    const changed: number[] = [];
    for (const { jobid, schedule, command } of rows) {
      const found = await firstRow(
        session,
        sql<{ jobid: string }>`
          select j.jobid from cron.job j
          where j.jobid = ${jobid} and j.active <> ${active}
            and j.schedule = ${schedule} and j.command = ${command}`,
      );
      if (found === undefined) continue;
      await runQuery(session, sql`select cron.alter_job(job_id => ${jobid}, active => ${active})`);
      changed.push(jobid);
    }
    await keep(changed);
    return changed;
  };
  try {
    // Never repeated: `keep` writes a file.
    return await database.transaction(work, { retries: 0 });
  } catch (error) {
    if (sqlState(error) !== '42501') throw error;
    throw new TockError(
      'TOCK_FORBIDDEN',
      'this role may not change jobs of pg_cron, so nothing was changed: connect as their owner, or let a superuser run: grant execute on function cron.alter_job to ROLE',
      { cause: error },
    );
  }
}
