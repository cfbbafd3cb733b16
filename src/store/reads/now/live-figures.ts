// What waits and runs at this moment, for a page: never more than a part of a long queue is read.
import { readProgress, type StoredProgress } from '../../../model/run/stored-run.js';
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { readable } from '../../connection/values/readable-instant.js';
import { isClaimable, liesIn, QUEUE_LANES } from '../../runs/claim/queue-lanes.js';

/** Counts above this are given as one more than this. */
export const MAX_COUNT = 5000;
/** Runs that are looked at for running ones, which come first; shared among the queue lanes. */
const MAX_HEADS = 6000;
const MIN_HEADS = 20;

export interface LiveFigures {
  /** Due, but not yet claimed; those that wait for a slot included. */
  readonly waiting: number;
  /** Since when the longest-waiting of them is due. */
  readonly oldestDue: Date | null;
  readonly running: number;
  /** How many runs the workers that are alive take at once. */
  readonly capacity: number;
  readonly workers: number;
  /** Failed, and to be tried again. */
  readonly retrying: number;
  readonly nextRetry: Date | null;
  /** Enqueued for a time in the future. */
  readonly scheduled: number;
  /** The longest-running ones first. */
  readonly longest: readonly RunningRun[];
}

export interface RunningRun {
  readonly id: string;
  readonly job: string;
  readonly definition: string | null;
  readonly attempts: number;
  readonly startedAt: Date | null;
  /** Its lease has expired: its worker was killed, or has lost the database. */
  readonly isStuck: boolean;
  readonly worker: string | null;
  readonly progress: StoredProgress | null;
}

type Row = Omit<LiveFigures, 'oldestDue' | 'nextRetry' | 'longest'> & {
  readonly oldestDue: string | null;
  readonly nextRetry: string | null;
  readonly longest: readonly (Omit<RunningRun, 'startedAt' | 'progress'> & {
    readonly startedAt: string | null;
    readonly progress: unknown;
  })[];
};

/** Runs of each queue lane, in the order of the claims. */
const firstOf = (limit: string, condition: string) => `
  select s.* from queue_lanes p cross join lateral (
    select r.id, r.status, r.run_at, r.started_at from tock.job_runs_live r
    where r.blocked_on is null and ${liesIn('r', 'p')} and ${condition}
    order by r.run_at, r.id limit ${limit}) s`;
const MAX_EACH = `(select least(${MAX_COUNT + 1}, greatest(${MIN_HEADS}, ${MAX_HEADS} / greatest(count(*), 1))) from queue_lanes)`;

// An instant that no reader can hold is none.
const READ_LIVE = statement<{ limit: number; shown: number }, { figures: Row }>(
  'read-live-figures',
  `
with ${QUEUE_LANES}, heads as materialized (${firstOf(MAX_EACH, 'r.run_at <= tock.now()')}
), due as materialized (${firstOf(':limit', isClaimable('r'))} limit :limit
), oldest as materialized (${firstOf('1', isClaimable('r'))}
), later as materialized (${firstOf(':limit', 'r.run_at > tock.now()')} limit :limit
), blocked as materialized (
  select r.run_at from tock.job_runs_live r where r.blocked_on is not null limit :limit
), alive as materialized (
  select w.capacity from tock.workers w
  where w.seen_at > tock.now() - coalesce(w.heartbeat_ms, 15000) * interval '2.5 milliseconds'
), longest as materialized (
  select id from heads where status = 'running' order by started_at, id limit :shown
)
select jsonb_build_object(
  'waiting', (select count(*) from due) + (select count(*) from blocked),
  'oldestDue', (select ${readable('min(o.run_at)')} from (
    select run_at from oldest union all select run_at from blocked) o where o.run_at <= tock.now()),
  'running', (select count(*) from heads where status = 'running'),
  'capacity', (select coalesce(sum(capacity), 0) from alive), 'workers', (select count(*) from alive),
  'retrying', (select count(*) from due where status = 'failed') + (select count(*) from later where status = 'failed'),
  'nextRetry', (select ${readable('min(run_at)')} from later where status = 'failed'),
  'scheduled', (select count(*) from later where status = 'queued'),
  'longest', coalesce((select jsonb_agg(jsonb_build_object('id', r.id::text, 'job', r.job, 'definition', d.name, 'attempts', r.attempts,
    'startedAt', ${readable('r.started_at')}, 'isStuck', coalesce(r.locked_until < tock.now(), true),
    'worker', w.host || ' pid ' || w.pid, 'progress', r.progress) order by r.started_at, r.id)
    from longest join tock.job_runs_live r on r.id = longest.id
      left join tock.job_definitions d on d.id = r.definition_id left join tock.workers w on w.id = r.locked_by), '[]')
) as figures`,
);

/** One statement, which reads some ten thousand runs at most, however many there are. */
export async function readLiveFigures(session: Session, shown = 10): Promise<LiveFigures> {
  const row = await READ_LIVE.first(session, { limit: MAX_COUNT + 1, shown });
  if (row === undefined) throw new Error('the live figures gave no row');
  const { figures } = row;
  return {
    ...figures,
    oldestDue: instant(figures.oldestDue),
    nextRetry: instant(figures.nextRetry),
    longest: figures.longest.map(run => ({
      ...run,
      startedAt: instant(run.startedAt),
      progress: readProgress(run.progress),
    })),
  };
}

const instant = (text: string | null) => (text === null ? null : new Date(text));
