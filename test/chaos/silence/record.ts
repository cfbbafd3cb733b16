// Records every change of runs, queues and slots, with its transaction and time; and reads it back.
// In: a migrated database. Out: the changes that were committed, as the judge wants them.
import type { Change } from './check.js';

type Query = <Row>(text: string, values?: unknown[]) => Promise<Row[]>;

const ms = (instant: string) => `(extract(epoch from ${instant}) * 1000)::float8`;

/** A place: its table, the key of a row, and the row as the judge wants it. Else a heartbeat would be a change. */
const PLACES = {
  run: {
    table: 'tock.job_runs_live',
    id: (row: string) => `${row}.id`,
    row: (
      row: string,
    ) => `jsonb_build_object('job', ${row}.job, 'queue', ${row}.queue, 'status', ${row}.status,
      'blockedOn', ${row}.blocked_on, 'runAt', ${ms(`${row}.run_at`)}, 'lockedBy', ${row}.locked_by)`,
  },
  queue: {
    table: 'tock.job_queues',
    id: (row: string) => `${row}.name`,
    row: (row: string) =>
      `jsonb_build_object('isPaused', ${row}.paused_at is not null, 'concurrency', ${row}.concurrency)`,
  },
  slot: {
    table: 'tock.job_slots',
    id: (row: string) => `${row}.concurrency_key || ' ' || ${row}.slot`,
    row: (row: string) => `jsonb_build_object('key', ${row}.concurrency_key)`,
  },
} as const;

/** Puts the triggers up. From then on everything is on record. */
export async function recordChanges(query: Query): Promise<void> {
  await query(`create table public.changes (seq bigserial primary key, xid xid8 default pg_current_xact_id(),
    at timestamptz default transaction_timestamp(), app text default current_setting('application_name'), place text, id text, "row" jsonb)`);
  for (const [place, { table, id, row }] of Object.entries(PLACES)) {
    await query(`create function public.remember_${place}() returns trigger language plpgsql security definer as $$
      declare written jsonb;
      begin
        if tg_op = 'DELETE' then
          insert into public.changes (place, id) values ('${place}', ${id('old')});
          return null;
        end if;
        written := ${row('new')};
        if tg_op = 'INSERT' or written is distinct from ${row('old')} then
          insert into public.changes (place, id, "row") values ('${place}', ${id('new')}, written);
        end if;
        return null;
      end $$`);
    await query(`create trigger remember after insert or update or delete on ${table}
      for each row execute function public.remember_${place}()`);
  }
}

/** Reads what was committed up to now. */
export async function readChanges(query: Query): Promise<Change[]> {
  const rows = await query<Omit<Change, 'xid'> & { readonly xid: string }>(
    `select xid::text, ${ms('at')} as at, app, place, id, "row" from public.changes order by seq`,
  );
  return rows.map(row => ({ ...row, xid: BigInt(row.xid) }) as Change);
}
