// Gives runs back to the queue: to be tried again after a failure, by another worker, or later, or to wait.
//
//   worker A, holds run 1 under fence 1             operator
//                                                   asks to cancel run 1: cancel_requested_at is set
//   lock run 1, where fence 1 and locked by A
//   it was asked to end, or has a successor: it is cancelled, its slots are free; else: it is queued again,
//   and keeps a definition's turn
//   commit
import { codeKey } from '../../model/run/limits.js';
import { LEAST_SNOOZE_MS } from '../../model/run/snooze.js';
import { TRANSITIONS } from '../../model/run/states.js';
import { statement } from '../connection/statement.js';
import { noteFailures } from './alert-events.js';
import { noteChanges } from './changes.js';
import { returnQueueStarts } from './claim/queue-tokens.js';
import { returnStarts } from './fair/turn.js';
import { type CarryOut, MOVED_IDS, type Moved } from './finish.js';
import {
  AFTER_MOVE,
  appendOutcomeError,
  type FencedBatch,
  fencedBatch,
  freeSlots,
  IS_LEFT,
  json,
  KEEP_BEGUN,
  lockHeld,
  setSuspect,
  withdrawReplaced,
  writeOutbox,
} from './transition.js';

const WITH_ERROR = {
  from: 'asked join outcome o using (id)',
  errors: appendOutcomeError('asked', 'o.error'),
};

/**
 * Moves held runs to a status in which they wait.
 * @param outcome arrays, the ids first, and the names of their columns
 * @param assignments to the run `r`, from its outcome `o`
 * @param more columns of the result, over the sets `outcome` and `given_back`
 * @param ctes CTEs over the same sets
 */
const giveBack = (
  move: 'fail' | 'release' | 'suspend' | 'defer',
  outcome: string,
  assignments: string,
  { more = '', ctes = '' } = {},
) => `
with outcome as materialized (
  select * from unnest(:ids::bigint[], ${outcome}
), ${lockHeld(move)}, ${withdrawReplaced('held', move === 'defer' || move === 'suspend' ? {} : WITH_ERROR)}, given_back as (
  update tock.job_runs_live r set ${assignments}
  from held join outcome o using (id) where r.id = held.id and ${IS_LEFT}
  returning r.id, r.definition_id, r.job, r.run_at${move === 'defer' ? ', r.queue, r.slot_keys' : ''}${move === 'fail' || move === 'suspend' ? ', r.attempts, r.generation, r.keeps_changes' : ''}
)${move === 'fail' ? `, ${noteFailures('given_back')}, ${noteChanges('given_back', 'failed')}` : ''}, ${freeSlots('held', 'm.id in (select id from asked)')}, ${writeOutbox('asked', `'${TRANSITIONS.withdraw.to}'`)}${ctes}
select ${MOVED_IDS}, ${AFTER_MOVE}${more} from (select id from given_back union all select id from withdrawn) moved`;

interface Failures extends FencedBatch {
  readonly errors: readonly (string | null)[];
  readonly delays: readonly number[];
  readonly areSuspect: readonly boolean[];
}

const FAIL = statement<Failures, Moved>(
  'fail',
  giveBack(
    'fail',
    ':errors::jsonb[], :delays::float8[], :areSuspect::boolean[]) as o(id, error, delay_ms, is_suspect)',
    `status = '${TRANSITIONS.fail.to}', run_at = tock.now() + o.delay_ms * interval '1 millisecond',
      locked_by = null, locked_until = null, ${KEEP_BEGUN}, errors = ${appendOutcomeError('r', 'o.error')},
      ${setSuspect('o.is_suspect')}`,
  ),
);

/** Failed attempts, to be tried again after their delays. */
export const fail: CarryOut = async (session, sorted, workerId) =>
  await FAIL.first(session, {
    ...fencedBatch(sorted, workerId),
    errors: sorted.map(({ outcome }) => json(outcome.error)),
    delays: sorted.map(({ outcome }) => outcome.delayMs),
    areSuspect: sorted.map(({ outcome }) => outcome.isSuspect === true),
  });

// The attempt is not counted, but only a hundred times: a run that every drain interrupts must end some day.
const RELEASE = statement<Omit<Failures, 'delays'>, Moved>(
  'release',
  giveBack(
    'release',
    ':errors::jsonb[], :areSuspect::boolean[]) as o(id, error, is_suspect)',
    `status = '${TRANSITIONS.release.to}', locked_by = null, locked_until = null, releases = r.releases + 1, ${KEEP_BEGUN},
      attempts = case when r.releases < 100 then r.attempts - 1 else least(r.attempts, r.max_attempts - 1) end,
      errors = ${appendOutcomeError('r', 'o.error')}, ${setSuspect('o.is_suspect')}`,
  ),
);

/** Attempts that a shutdown interrupted. */
export const release: CarryOut = async (session, sorted, workerId) =>
  await RELEASE.first(session, {
    ...fencedBatch(sorted, workerId),
    errors: sorted.map(({ outcome }) => json(outcome.error)),
    areSuspect: sorted.map(({ outcome }) => outcome.isSuspect === true),
  });

interface Suspensions extends FencedBatch {
  readonly times: readonly (string | null)[];
  readonly delays: readonly (number | null)[];
  /** Of each Snooze, what it waits for; null: the wait has a row of its own. */
  readonly snoozed: readonly (string | null)[];
  /** The ids of these rows. */
  readonly waits: readonly (string | null)[];
}

const SUSPEND = statement<Suspensions, Moved>(
  'suspend',
  giveBack(
    'suspend',
    ':times::timestamptz[], :delays::float8[], :snoozed::text[], :waits::bigint[]) as o(id, until, delay_ms, snoozed, wait_id)',
    `status = '${TRANSITIONS.suspend.to}', locked_by = null, locked_until = null, attempts = r.attempts - 1, ${KEEP_BEGUN},
      snoozes = case when o.snoozed is null then r.snoozes else coalesce(r.snoozes, 0) + 1 end,
      run_at = case when o.wait_id is not null and tock.wait_is_over(o.wait_id) then tock.now()
        else greatest(least(o.until, tock.now() + o.delay_ms * interval '1 millisecond'), tock.now() + interval '${LEAST_SNOOZE_MS} milliseconds') end`,
    {
      ctes: `, snoozing as (
  insert into tock.job_waits as w (run_id, kind, name, until, reason)
  select g.id, 'snooze', '', g.run_at, o.snoozed from given_back g join outcome o using (id) where o.snoozed is not null order by g.id
  on conflict (run_id, kind, name, key) do update set created_at = excluded.created_at, until = excluded.until, reason = excluded.reason
), ${noteChanges('given_back', 'waiting')}`,
    },
  ),
);

/** Runs whose handlers have ended to wait. No attempt is counted. */
export const suspend: CarryOut = async (session, sorted, workerId) =>
  await SUSPEND.first(session, {
    ...fencedBatch(sorted, workerId),
    times: sorted.map(({ outcome }) => {
      const until = outcome.wait?.until ?? null;
      return until === null ? null : new Date(until).toISOString();
    }),
    delays: sorted.map(({ outcome }) => outcome.wait?.delayMs ?? null),
    snoozed: sorted.map(({ outcome }) => outcome.wait?.snoozed ?? null),
    waits: sorted.map(({ outcome }) => outcome.wait?.id ?? null),
  });

interface Deferrals extends FencedBatch {
  readonly times: readonly (string | null)[];
  /** The slots that each needs, as JSON. */
  readonly limits: readonly string[];
  readonly blockedOn: readonly (string | null)[];
}

const DEFER = statement<Deferrals, Moved>(
  'defer',
  giveBack(
    'defer',
    ':times::timestamptz[], :limits::jsonb[], :blockedOn::text[]) as o(id, run_at, limits, blocked_on)',
    `status = '${TRANSITIONS.defer.to}', locked_by = null, locked_until = null, attempts = r.attempts - 1,
      run_at = coalesce(o.run_at, r.run_at), blocked_on = o.blocked_on,
      slot_keys = nullif(coalesce(r.slot_keys, '{}') || array(select l.value ->> 'key' from jsonb_array_elements(o.limits) l), '{}'),
      slot_limits = nullif(coalesce(r.slot_limits, '{}') || array(select (l.value ->> 'limit')::integer from jsonb_array_elements(o.limits) l), '{}')`,
    {
      // Once for the batch: a worker that is there already, and knows the job, claims them at once.
      more: `, (select tock.notify('code') from given_back join outcome o using (id) where o.blocked_on is not null limit 1) as notified`,
      ctes: `, ${returnStarts('given_back')}, ${returnQueueStarts('given_back')}`,
    },
  ),
);

/**
 * Runs whose handler was not called: they wait for a time, slots, or other code. No attempt is counted, and
 * no start of a rate.
 */
export const defer: CarryOut = async (session, sorted, workerId) =>
  await DEFER.first(session, {
    ...fencedBatch(sorted, workerId),
    times: sorted.map(({ outcome }) => {
      const runAt = outcome.deferral?.runAt ?? null;
      return runAt === null ? null : new Date(runAt).toISOString();
    }),
    limits: sorted.map(({ outcome }) => JSON.stringify(outcome.deferral?.limits ?? [])),
    blockedOn: sorted.map(({ outcome }) => {
      const job = outcome.deferral?.needsJob;
      return job === undefined ? null : codeKey(job);
    }),
  });
