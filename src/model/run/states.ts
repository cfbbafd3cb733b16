// The states of a run, and the only moves between them. store/ builds its fenced moves from this table, and
// docs/state-machine.md is generated from it.

/** States of a run that waits or executes. Their rows are in `job_runs_live`. */
export const LIVE_STATUSES = ['queued', 'running', 'failed'] as const;
/** States of a run that has ended. Their rows are in `job_runs_finished`. */
export const FINISHED_STATUSES = ['succeeded', 'dead', 'cancelled', 'skipped'] as const;
export const RUN_STATUSES = [...LIVE_STATUSES, ...FINISHED_STATUSES] as const;

/** A state that a run leaves without an operator. */
export type LiveStatus = (typeof LIVE_STATUSES)[number];
/** A state that only an operator's retry ends. */
export type FinishedStatus = (typeof FINISHED_STATUSES)[number];
/** See docs/state-machine.md. */
export type RunStatus = (typeof RUN_STATUSES)[number];

/** In the words of the documentation. */
export const STATUS_MEANINGS: Readonly<Record<RunStatus, string>> = {
  queued: 'waits for its time, for an event or other runs, or for a worker',
  running: 'a worker executes it, or it is handed off; its lease says until when',
  failed: 'its last attempt failed; it waits for the next one',
  succeeded: 'its handler returned',
  dead: 'its attempts are used up, or its handler gave up',
  cancelled:
    'an operator, its handler or the failure of a parent cancelled it, or another run took its place',
  skipped: 'it was expected but not executed; skip_reason says why',
};

/** Who makes a move. `holder` is the worker whose fence and id the row carries. */
export type Mover = 'worker' | 'holder' | 'reaper' | 'operator' | 'scheduler' | 'caller';

export interface Transition {
  readonly name: string;
  readonly from: readonly RunStatus[];
  readonly to: RunStatus;
  readonly by: Mover;
  readonly when: string;
}

/**
 * Every move of a run. No statement changes a state in any other way; each takes its `from` from here.
 *
 * `claim`, `terminate` and `retry` raise the fence. Moves by the `holder` must match id, fence and locked_by,
 * or they change nothing.
 */
export const TRANSITIONS = {
  claim: {
    name: 'claim',
    from: ['queued', 'failed'],
    to: 'running',
    by: 'worker',
    when: 'it is due; the attempt is counted and the fence raised',
  },
  succeed: {
    name: 'succeed',
    from: ['running'],
    to: 'succeeded',
    by: 'holder',
    when: 'the handler returned; or the run was handed off, and was completed',
  },
  fail: {
    name: 'fail',
    from: ['running'],
    to: 'failed',
    by: 'holder',
    when: 'the attempt failed and others are left, also where tock.fail says so of a run that was handed off',
  },
  exhaust: {
    name: 'exhaust',
    from: ['running'],
    to: 'dead',
    by: 'holder',
    when: 'the last attempt failed, or the handler threw Dead, or tock.fail asks for no retry',
  },
  release: {
    name: 'release',
    from: ['running'],
    to: 'queued',
    by: 'holder',
    when: 'its worker stops before the handler ends, by a drain or a crash of its process; the attempt is given back',
  },
  withdraw: {
    name: 'withdraw',
    from: ['running'],
    to: 'cancelled',
    by: 'holder',
    when: 'the handler threw Cancel, or ended after an operator asked to cancel; or the run has a successor and would wait for another attempt',
  },
  expire: {
    name: 'expire',
    from: ['running'],
    to: 'skipped',
    by: 'holder',
    when: 'it was claimed after its start deadline, or outside its window',
  },
  suspend: {
    name: 'suspend',
    from: ['running'],
    to: 'queued',
    by: 'holder',
    when: 'the handler threw Snooze, or waits by ctx.sleep; the attempt is given back, and the run is due when its wait is over',
  },
  defer: {
    name: 'defer',
    from: ['running'],
    to: 'queued',
    by: 'holder',
    when: 'it was claimed outside its window, or needs a slot under a limit first, or its job is not in the worker’s code, or its message was not confirmed, or its handler could not be called in time; the attempt is given back',
  },
  reapToFailed: {
    name: 'reap',
    from: ['running'],
    to: 'failed',
    by: 'reaper',
    when: 'its lease expired and attempts are left',
  },
  reapToDead: {
    name: 'reap',
    from: ['running'],
    to: 'dead',
    by: 'reaper',
    when: 'its lease expired on the last attempt, or tock exec executed it',
  },
  reapToCancelled: {
    name: 'reap',
    from: ['running'],
    to: 'cancelled',
    by: 'reaper',
    when: 'its lease expired after an operator had asked to cancel it, which ends the lease of a run that is handed off; or attempts are left, and it has a successor',
  },
  setAside: {
    name: 'set aside',
    from: ['queued', 'failed'],
    to: 'dead',
    by: 'worker',
    when: 'its row makes the statement fail that claims it together with others; its error says what is wrong',
  },
  setAsideExpired: {
    name: 'set aside',
    from: ['running'],
    to: 'dead',
    by: 'reaper',
    when: 'its lease expired, and its row makes the statement fail that takes it back together with others',
  },
  setAsideHeld: {
    name: 'set aside',
    from: ['running'],
    to: 'dead',
    by: 'holder',
    when: 'it was claimed, and its row holds an occurrence that no handler can be given',
  },
  cancel: {
    name: 'cancel',
    from: ['queued', 'failed'],
    to: 'cancelled',
    by: 'operator',
    when: 'an operator cancels it before it is claimed',
  },
  supersede: {
    name: 'supersede',
    from: ['queued', 'failed'],
    to: 'skipped',
    by: 'scheduler',
    when: 'its definition was edited or removed before it was due',
  },
  displace: {
    name: 'displace',
    from: ['queued', 'failed'],
    to: 'cancelled',
    by: 'scheduler',
    when: 'a later occurrence takes its place (overlap cancel_other or terminate_other)',
  },
  terminate: {
    name: 'terminate',
    from: ['running'],
    to: 'cancelled',
    by: 'scheduler',
    when: 'a later occurrence takes its place (overlap terminate_other); the fence is raised',
  },
  replace: {
    name: 'replace',
    from: ['queued', 'failed'],
    to: 'cancelled',
    by: 'caller',
    when: 'it has begun and waits for another attempt, and is enqueued anew under its key, to replace it',
  },
  retry: {
    name: 'retry',
    from: ['dead', 'cancelled'],
    to: 'queued',
    by: 'operator',
    when: 'an operator asks for it; a new generation begins, the fence is raised',
  },
} as const satisfies Readonly<Record<string, Transition>>;

export type TransitionName = keyof typeof TRANSITIONS;

/** `locked_by` of a run that is handed off: no worker has this id. */
export const HANDED_OFF = '00000000-0000-0000-0000-000000000000';
/** `locked_until` of a run that is handed off and whose outcome is decided: nothing takes it back. */
export const DECIDED_UNTIL = '9999-12-31T00:00:00Z';
/** `locked_until` of a run that is offered to workers that speak SQL: it has no lease until one claims it. */
export const OFFERED_UNTIL = '9999-12-30T00:00:00Z';

export const SKIP_REASONS = {
  overlap: 'an earlier run of the definition was still live, and the overlap policy has no room for another',
  catchup: 'it was missed, and the catch-up policy or window left it out',
  deadline: 'it could not start before its start deadline',
  window: 'it could not run within the definition’s window',
  chain: 'what it was to run after did not end as it asks',
  paused: 'the definition was paused',
  edited:
    'the definition was removed, or edited to one without this occurrence, before the run was made or due',
  excepted: 'an operator has skipped this occurrence',
} as const;
/** Why an expected occurrence gave no execution. */
export type SkipReason = keyof typeof SKIP_REASONS;

export const TRIGGERS = ['cron', 'manual', 'api', 'chain', 'backfill', 'exec'] as const;
/** What made the run. */
export type Trigger = (typeof TRIGGERS)[number];

export function isFinished(status: RunStatus): status is FinishedStatus {
  return (FINISHED_STATUSES as readonly string[]).includes(status);
}
