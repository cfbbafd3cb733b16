// The life of a run as a sequence of phases: waits, attempts, sleeps and backoffs, from its creation to its
// end, or to now.
import { isNever, type RunWait } from './run-wait.js';
import type { RunStatus } from './states.js';
import type { DatedError } from './stored-run.js';

/**
 * - `delay`: until it was due for the first time
 * - `wait`: due, but not executed: for a worker, or for a slot under a limit
 * - `backoff`: from a failure until it was due again; after an operator's retry, since the end before it
 * - `asleep`: its handler has ended to wait, by a Snooze or `ctx.sleep`; of earlier snoozes, all as one. Or
 *   it has waited for other runs from the start
 * - `attempt`: a worker executed it
 * - `lost`: attempts that are no longer on record
 */
export type PhaseKind = 'delay' | 'wait' | 'backoff' | 'asleep' | 'attempt' | 'lost';

/**
 * `lost`: its lease expired. `waiting`: its handler ended to wait. `released`: a worker gave it back, at a
 * time that is not on record.
 */
export type AttemptOutcome =
  | 'running'
  | 'succeeded'
  | 'failed'
  | 'lost'
  | 'released'
  | 'waiting'
  | 'cancelled'
  | 'skipped';

/** Instants in epoch milliseconds. */
export interface Phase {
  readonly kind: PhaseKind;
  readonly from: number;
  readonly to: number;
  /** The attempt itself, or the one that is waited for; of `lost`, the last of them. */
  readonly attempt: number;
  /** Of an attempt; else null. */
  readonly outcome: AttemptOutcome | null;
  readonly worker: string | null;
  /** Place among the run's errors; null: none. */
  readonly error: number | null;
  /** Of `asleep`, what it waits for; else null. */
  readonly wait: RunWait | null;
  /** It goes on now. A backoff or delay that is open ends in the future. */
  readonly isOpen: boolean;
}

export interface RunLife {
  readonly phases: readonly Phase[];
  readonly from: number;
  /** The end of the run, or the end of the last phase. */
  readonly to: number;
  readonly now: number;
  readonly workedMs: number;
  /** While it was due. */
  readonly waitedMs: number;
}

/** The columns of a run from which its history is shown. */
export interface LivedRun {
  readonly status: RunStatus;
  readonly attempts: number;
  readonly createdAt: Date;
  readonly runAt: Date;
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly worker: string | null;
  readonly errors: readonly DatedError[];
  readonly beganAt: Date | null;
  readonly waits: readonly RunWait[];
}

/** @param now epoch milliseconds, by the database's clock */
export function lifeOf(run: LivedRun, now: number): RunLife {
  const phases: Phase[] = [];
  const created = run.createdAt.getTime();
  const hasNoTime = isNever(run.runAt);
  const due = hasNoTime ? Math.max(now, created) : run.runAt.getTime();
  const finished = run.finishedAt?.getTime() ?? null;
  const started = run.startedAt?.getTime() ?? null;
  const isWaiting = run.status === 'queued' || run.status === 'failed';
  let at = created;

  const add = (kind: PhaseKind, to: number, attempt: number, more: Partial<Phase> = {}) => {
    const from = at;
    at = Math.max(at, to);
    const isAttempt = kind === 'attempt' || kind === 'lost';
    if (!isAttempt && at === from) return;
    phases.push({
      kind,
      from,
      to: at,
      attempt,
      outcome: null,
      worker: null,
      error: null,
      wait: null,
      isOpen: false,
      ...more,
    });
  };
  /** From the end of a phase until an attempt began. */
  const addWait = (dueAt: number | null, until: number, attempt: number) => {
    const before = phases.length === 0 ? 'delay' : 'backoff';
    if (dueAt !== null) add(before, Math.min(dueAt, until), attempt);
    add('wait', until, attempt);
  };

  const errors = run.errors
    .map((error, index) => ({ error, index, end: Date.parse(error.at) }))
    .filter(({ end }) => !Number.isNaN(end))
    .sort((a, b) => a.end - b.end);
  const sleeps = run.waits.toSorted((a, b) => a.since.getTime() - b.since.getTime());
  /** The waits that began before an instant. */
  const addSleeps = (before: number) => {
    while (sleeps[0] !== undefined && sleeps[0].since.getTime() < before) {
      const wait = sleeps.shift() as RunWait;
      const since = wait.since.getTime();
      // The handler came past it at once.
      if (wait.outcome !== null && started !== null && started <= since) continue;
      const attempt = (phases.findLast(phase => phase.error !== null)?.attempt ?? 0) + 1;
      if (wait.kind === 'group') {
        // From the start, and before any attempt.
        add('asleep', wait.endedAt?.getTime() ?? (isWaiting ? due : (finished ?? since)), attempt, {
          wait,
          isOpen: wait.outcome === null && isWaiting,
        });
        continue;
      }
      // When it began; after a failure, that is on record only of the last attempt.
      const began = run.beganAt?.getTime() ?? since;
      if ((phases.at(-1)?.error ?? null) !== null) add('backoff', Math.min(started ?? since, since), attempt);
      else if (at < began) addWait(null, began, attempt);
      // The snoozes before the last one.
      if (wait.kind === 'snooze' && started !== null && started <= since)
        add('asleep', started, attempt, { wait });
      add('attempt', since, attempt, { outcome: 'waiting' });
      const isOpen = wait.outcome === null && isWaiting && (due > now || hasNoTime);
      const over = wait.endedAt?.getTime() ?? (isWaiting ? due : (started ?? since));
      add('asleep', over, attempt, { wait, isOpen });
    }
  };
  for (const { error, index, end } of errors) {
    addSleeps(end);
    const [dueAt, began] = [instantOf(error.dueAt), instantOf(error.startedAt)];
    const start = Math.min(began ?? end, end);
    if (phases.length === 0 && error.attempt > 1)
      add('lost', Math.min(dueAt ?? start, start), error.attempt - 1);
    addWait(dueAt, start, error.attempt);
    const outcome = error.code === 'TOCK_LEASE_LOST' ? 'lost' : 'failed';
    add('attempt', end, error.attempt, { outcome, worker: error.worker ?? null, error: index });
  }

  addSleeps(Number.POSITIVE_INFINITY);
  const last = errors.at(-1);
  const isOnRecord = last !== undefined && last.error.attempt >= run.attempts && (started ?? 0) <= last.end;
  if (started !== null && started >= at && !isOnRecord) {
    addWait(due, started, isWaiting ? run.attempts + 1 : run.attempts);
    const { worker } = run;
    if (run.status === 'running')
      add('attempt', Math.max(now, started), run.attempts, { outcome: 'running', worker, isOpen: true });
    else if (isWaiting) add('attempt', started, run.attempts + 1, { outcome: 'released' });
    else if (finished !== null)
      add('attempt', finished, run.attempts, { outcome: endOf(run.status), worker });
  }
  if (isWaiting) {
    const next = run.attempts + 1;
    add(phases.length === 0 ? 'delay' : 'backoff', due, next, { isOpen: due > now });
    if (now > at) add('wait', now, next, { isOpen: true });
  } else if (finished !== null) {
    addWait(due, finished, run.attempts + 1);
  }

  const sum = (kind: PhaseKind) =>
    phases.filter(phase => phase.kind === kind).reduce((ms, phase) => ms + phase.to - phase.from, 0);
  const to = Math.max(finished ?? at, at);
  return { phases, from: created, to, now, workedMs: sum('attempt'), waitedMs: sum('wait') };
}

function endOf(status: RunStatus): AttemptOutcome {
  if (status === 'succeeded' || status === 'cancelled' || status === 'skipped') return status;
  return 'failed';
}

function instantOf(text: string | undefined): number | null {
  const at = text === undefined ? Number.NaN : Date.parse(text);
  return Number.isNaN(at) ? null : at;
}

/** Shortens a long life: the first and last phases, and how many lie between. */
export function cutLife(
  phases: readonly Phase[],
  limit: number,
): { readonly first: readonly Phase[]; readonly hidden: number; readonly last: readonly Phase[] } {
  if (phases.length <= limit) return { first: phases, hidden: 0, last: [] };
  const head = Math.ceil(limit / 3);
  const tail = limit - head;
  return { first: phases.slice(0, head), hidden: phases.length - limit, last: phases.slice(-tail) };
}
