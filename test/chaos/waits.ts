// What runs wait for, and the operator beside it: events that are emitted at once, in transactions that commit late,
// or that roll back; waiting runs and children that are cancelled and retried. And what no snapshot may show.
// In: connections and lots. Out: what was done; lines that say what is wrong.
import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Tock } from '../../src/tock/types.js';

type Query = <Row>(text: string, values?: unknown[]) => Promise<Row[]>;

/** Events have so many keys: each is emitted before, during and after waits for it. */
const NEWS_KEYS = 12;
export const newsKey = (number: number): string => `news-${number % NEWS_KEYS}`;

export const EMISSIONS = ['at once', 'late', 'rolled back'] as const;

const EMIT = `select tock.emit('news', $1)::text as id`;

/** Emits an event. Of one that commits late, it is on record when the commit was sent. */
export async function emitNews(
  client: pg.ClientBase,
  way: (typeof EMISSIONS)[number],
  key: string,
  holdMs: number,
): Promise<void> {
  if (way === 'at once') {
    await client.query(EMIT, [key]);
    return;
  }
  await client.query('begin');
  const { rows } = await client.query<{ id: string }>(EMIT, [key]);
  await sleep(holdMs);
  await client.query(
    `insert into public.history (place, move, app, new) values ('commit', 'insert', 'client', jsonb_build_object('id', $1::bigint))`,
    [rows[0]?.id],
  );
  await client.query(way === 'late' ? 'commit' : 'rollback');
}

const WAITING_JOBS = `('sleeps', 'hears', 'parent', 'kid', 'joins', 'mortal', 'heir')`;
const TO_CANCEL = `select id::text from tock.job_runs_live where job in ${WAITING_JOBS} order by random() limit 1`;
const TO_RETRY = `select id::text from tock.job_runs_finished where job in ${WAITING_JOBS} and status in ('dead', 'cancelled')
  order by random() limit 1`;
const TO_RETRY_GROUP = `select id::text from tock.job_runs_live where job = 'joins' order by random() limit 1`;

/**
 * Cancels or retries one of the runs that wait, or are waited for, or retries the dead members of a group. It may have
 * ended meanwhile.
 */
export async function meddle(
  query: Query,
  tock: Tock,
  move: 'cancel' | 'retry' | 'retry group',
): Promise<void> {
  const [run] = await query<{ id: string }>(
    { cancel: TO_CANCEL, retry: TO_RETRY, 'retry group': TO_RETRY_GROUP }[move],
  );
  if (!run) return;
  const act = move === 'retry group' ? tock.retryGroup(run.id) : tock.runs[move](run.id);
  await act.catch(() => undefined);
}

/** Emits what is still waited for, and was never emitted: otherwise there would never be quiet. */
export async function emitAll(query: Query): Promise<void> {
  await query(`select tock.emit(w.name, w.key) from (
    select distinct w.name, w.key from tock.job_waits w join tock.job_runs_live r on r.id = w.run_id
    where w.kind = 'event' and w.outcome is null and r.status = 'queued' and r.run_at > tock.now()
      and not exists (select from tock.job_events e where e.name = w.name and e.key = w.key and e.created_at >= w.since)) w`);
}

const STUCK_JOINS = `select r.id::text from tock.job_runs_live r join tock.job_waits w on w.run_id = r.id and w.kind = 'group'
  where w.outcome is null and w.needs_success and w.cancels is null and r.status = 'queued' and not tock.has_live_runs(w.id)
    and exists (select from tock.job_awaited_runs a join tock.job_runs_finished f on f.id = a.run_id where a.wait_id = w.id and f.status <> 'succeeded')`;

/** Lets all go on that waits for the success of runs which have ended without. @param continued gets their ids */
export async function continueAll(query: Query, tock: Tock, continued: Set<number>): Promise<void> {
  for (const { id } of await query<{ id: string }>(STUCK_JOINS)) {
    continued.add(Number(id));
    await tock.continueGroup(id);
  }
}

// Holds in every snapshot, not only when all is quiet: a run is suspended after its wait was looked at, and an end or
// an event leaves the outbox with the waits that it ends. Due runs are left out: their handlers look for themselves.
const LOST_WAKE_UPS = `
select 'I18 run ' || r.id || ' of ' || r.job || ' waits on, though ' || why.text as text
from tock.job_runs_live r join lateral (
  select case
    when w.outcome is not null and r.run_at > tock.now() + interval '1 year'
      and not exists (select from tock.job_waits o where o.run_id = r.id and o.outcome is null and o.kind <> 'snooze')
      then 'its wait is over (' || w.outcome || ')'
    when w.outcome is null and w.kind = 'event' and exists (
      select from tock.job_events e where e.name = w.name and e.key = w.key and e.created_at >= w.since
        and not exists (select from tock.job_outbox o where o.event_id = e.id)) then 'there was its event'
    when w.outcome is null and w.kind = 'runs' and not exists (
      select from tock.job_awaited_runs a where a.wait_id = w.id and (exists (select from tock.job_runs_live l where l.id = a.run_id)
        or exists (select from tock.job_outbox o where a.run_id = any(o.run_ids)))) then 'its runs have ended'
    when w.outcome is null and w.kind = 'group' and not exists (
      select from tock.job_awaited_runs a left join tock.job_runs_finished f on f.id = a.run_id
      where a.wait_id = w.id and (f.id is null or w.needs_success and f.status <> 'succeeded'
        or exists (select from tock.job_outbox o where a.run_id = any(o.run_ids)))) then 'its group has ended'
    end as text
  from tock.job_waits w where w.run_id = r.id) why on why.text is not null
where r.status = 'queued' and r.run_at > tock.now()`;

/** I18: no wake-up is lost. At any moment. */
export async function findLostWakeUps(query: Query): Promise<string[]> {
  return (await query<{ text: string }>(LOST_WAKE_UPS)).map(row => row.text);
}

const DOUBLED_CHILDREN = `
select 'I21 run ' || (payload ->> 'parent') || ' has ' || count(*) || ' children ' || (payload ->> 'name') as text
from tock.job_runs where job = 'kid' group by payload ->> 'parent', payload ->> 'name' having count(*) > 1`;

/** I21: a child is there once for each name. */
export async function findDoubledChildren(query: Query): Promise<string[]> {
  return (await query<{ text: string }>(DOUBLED_CHILDREN)).map(row => row.text);
}
