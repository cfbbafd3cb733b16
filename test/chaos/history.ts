// The history of a scheduler, and the recorder that writes it down.
// In: a migrated database. Out: every change of runs, effects and definitions, in the order in which each row changed.
// Triggers write the events in the transaction of the change, so that the record has exactly what was committed. They
// exist in tests only.

/** A row of one of the tables on record, as jsonb gives it. Times as ISO text. */
export interface HistoryRow {
  readonly id?: number;
  readonly status?: string;
  readonly job?: string;
  readonly attempts?: number;
  readonly max_attempts?: number;
  readonly fence?: number;
  readonly releases?: number;
  readonly generation?: number;
  readonly occurrence_count?: number;
  readonly definition_id?: number | null;
  readonly scheduled_for?: string | null;
  readonly interval_start?: string | null;
  readonly run_at?: string;
  readonly started_at?: string | null;
  readonly locked_by?: string | null;
  readonly locked_until?: string | null;
  readonly idempotency_key?: string | null;
  readonly trigger?: string;
  readonly skip_reason?: string | null;
  readonly errors?: readonly {
    readonly at: string;
    readonly attempt: number;
    readonly code: string | null;
  }[];
  readonly name?: string;
  readonly cursor?: string;
  readonly key?: string;
  readonly run_id?: number;
  readonly queue?: string;
  readonly slot_keys?: readonly string[] | null;
  readonly handed_off_at?: string | null;
  readonly decided_at?: string | null;
  readonly decision?: string | null;
  readonly written_at?: string | null;
  readonly cancel_requested_at?: string | null;
  readonly finished_at?: string;
  readonly has_waiters?: boolean | null;
  readonly kind?: string;
  readonly since?: string | null;
  readonly until?: string | null;
  readonly outcome?: string | null;
  readonly needs_success?: boolean | null;
  readonly result?: { readonly id?: string } | null;
  readonly ended_at?: string | null;
  readonly created_at?: string;
  readonly wait_id?: number;
  readonly position?: number;
  readonly wait?: string;
  readonly saw?: string;
  readonly closed_until?: string | null;
}

/** JSON keeps microseconds, Date.parse does not. */
export const TOLERANCE_MS = 2;
export const ms = (text: string | null | undefined): number => (text ? Date.parse(text) : Number.NaN);

/** The tables; and `commit`: the commit of an event was sent, whose transaction commits late. */
export type HistoryPlace = keyof typeof PLACES | 'commit';

export interface HistoryEvent {
  readonly seq: number;
  readonly place: HistoryPlace;
  readonly move: 'insert' | 'update' | 'delete';
  /** Which process wrote it: the application_name in its URL. */
  readonly app: string;
  readonly old: HistoryRow | null;
  readonly new: HistoryRow | null;
}

/** What is in the tables when all is quiet. */
export interface FinalState {
  readonly live: readonly string[];
  readonly finished: readonly string[];
  /** Rows of the handlers' own tables, by how they were written, with the run that wrote them. */
  readonly onceEffects: readonly { readonly key: string; readonly count: number }[];
  readonly transactionEffects: readonly { readonly runId: string; readonly count: number }[];
}

type Query = <Row>(text: string, values?: unknown[]) => Promise<Row[]>;

const PLACES = {
  live: 'tock.job_runs_live',
  finished: 'tock.job_runs_finished',
  effect: 'tock.job_effects',
  definition: 'tock.job_definitions',
  handOff: 'tock.job_hand_offs',
  event: 'tock.job_events',
  wait: 'tock.job_waits',
  awaited: 'tock.job_awaited_runs',
  fairKey: 'tock.fair_keys',
  // What handlers saw when they came past their waits.
  note: 'public.wait_notes',
} as const;

/** Puts the triggers up. From then on everything is on record. */
export async function recordHistory(query: Query): Promise<void> {
  await query(
    `create table public.history (seq bigserial primary key, place text, move text, app text, old jsonb, new jsonb)`,
  );
  await query('create table public.wait_notes (run_id bigint, wait text, saw text)');
  // Without what nobody checks: a long history is to fit into memory.
  await query(`create function public.kept(entry jsonb) returns jsonb language sql immutable as $$
    select entry - '{payload,output,progress,priority,start_by,live_key,blocked_on,slot_limits}'::text[]
      || case when entry -> 'errors' <> '[]' then jsonb_build_object('errors',
        (select jsonb_agg(e - '{name,message,stack}'::text[]) from jsonb_array_elements(entry -> 'errors') e))
        else '{}' end $$`);
  await query(`create function public.remember() returns trigger language plpgsql as $$
    begin
      insert into public.history (place, move, app, old, new)
      values (tg_argv[0], lower(tg_op), current_setting('application_name'),
        case when tg_op <> 'INSERT' then public.kept(to_jsonb(old)) end,
        case when tg_op <> 'DELETE' then public.kept(to_jsonb(new)) end);
      return null;
    end $$`);
  for (const [place, table] of Object.entries(PLACES)) {
    await query(`create trigger remember after insert or update or delete on ${table}
      for each row execute function public.remember('${place}')`);
  }
}

/** The database's clock is hours away from the host's, and leaps forward when somebody says so. */
export const LATE_CLOCK: readonly string[] = [
  `create table tock.test_shift as select interval '-3 hours' as by`,
  `create or replace function tock.now() returns timestamptz language sql stable
    as $$ select statement_timestamp() + (select by from tock.test_shift) $$`,
  // Its runs are of the three hours before now too, which may be of last month.
  'select tock.create_partitions()',
];

export const leap = (query: Query, seconds: number): Promise<unknown> =>
  query(`update tock.test_shift set by = by + $1 * interval '1 second'`, [seconds]);

const IDS = (table: string) => `select id::text from tock.${table}`;

/** Reads what is in the tables. */
export async function readFinal(query: Query): Promise<FinalState> {
  const ids = async (table: string) => (await query<{ id: string }>(IDS(table))).map(row => row.id);
  return {
    live: await ids('job_runs_live'),
    finished: await ids('job_runs_finished'),
    onceEffects: await query('select key, count(*)::int as count from public.once_effects group by key'),
    transactionEffects: await query(
      'select run_id::text as "runId", count(*)::int as count from public.transaction_effects group by run_id',
    ),
  };
}

const PAGE = 20_000;

/** Reads the events up to now. */
export async function readHistory(query: Query): Promise<HistoryEvent[]> {
  const events: HistoryEvent[] = [];
  for (;;) {
    const page = await query<HistoryEvent>(
      `select seq::int, place, move, app, old, new from public.history where seq > $1 order by seq limit ${PAGE}`,
      [events.at(-1)?.seq ?? 0],
    );
    for (const event of page) events.push(event);
    if (page.length < PAGE) return events;
  }
}
