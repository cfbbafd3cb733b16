// A run as text: its name, how long it took, its error, the next step.
import { ALERT_QUEUE } from '../../model/alerts/alert-queue.js';
import { formatSpan } from '../../model/duration.js';
import { missingJobRemedy } from '../../model/explain/awaited.js';
import { slotText } from '../../model/explain/slot.js';
import { type Freeze, freezeText } from '../../model/freeze/freeze.js';
import { errorOnOneLine } from '../../model/run/errors/root-cause.js';
import { type HandOffPhase, type HandOffRecord, handOffState } from '../../model/run/hand-off-record.js';
import { jobOfCodeKey } from '../../model/run/limits.js';
import type { RunRecord } from '../../model/run/run-record.js';
import { currentWait, isNever, remedyOf } from '../../model/run/run-wait.js';
import { isFinished, SKIP_REASONS } from '../../model/run/states.js';
import { cleanLine, cut, paint } from '../terminal.js';
import { localTime, relative } from './time-text.js';

/** The job's name, after the definition's if that differs. */
export function nameOf({ job, definition }: Pick<RunRecord, 'job' | 'definition'>): string {
  return cleanLine(definition === null || definition === job ? job : `${definition} (${job})`);
}

/** How long the last attempt took, or has taken so far; empty before the first. */
export function tookText({ startedAt, finishedAt, status }: RunRecord, now = Date.now()): string {
  if (startedAt === null) return '';
  if (finishedAt !== null) return formatSpan(Math.max(finishedAt.getTime() - startedAt.getTime(), 0));
  return status === 'running' ? `${formatSpan(Math.max(now - startedAt.getTime(), 0))} …` : '';
}

/** Why it was skipped or cancelled, or its last error with its cause; otherwise empty. */
export function errorLine(run: RunRecord): string {
  if (run.status === 'succeeded') return '';
  if (run.skipReason !== null)
    return cleanLine(run.status === 'skipped' ? skipText(run.skipReason) : run.skipReason);
  const last = run.errors.at(-1);
  return last === undefined ? '' : cleanLine(errorOnOneLine(last));
}

export function skipText(reason: string): string {
  const words: Readonly<Record<string, string>> = SKIP_REASONS;
  return words[reason] ?? reason;
}

/** A run due for less than this is normal: a tick comes every minute. */
const TICK_MS = 60_000;

/** @param frozen what is frozen now; null: nothing is */
export function nextStep(run: RunRecord, now = Date.now(), frozen: Freeze | null = null): string {
  const due = run.runAt.getTime() - now;
  const attempt = (number: number) => `attempt ${number} of ${run.maxAttempts}`;
  switch (run.status) {
    case 'queued':
    case 'failed':
      if (frozen !== null && due <= 0 && run.queue !== ALERT_QUEUE)
        return `${attempt(run.attempts + 1)} is due, and everything is ${cleanLine(freezeText(frozen, new Date(now), localTime))} (tock thaw)`;
      if (isNever(run.runAt) && run.waits.at(-1)?.kind === 'group')
        return joinStep(run, attempt(run.attempts + 1));
      if (isNever(run.runAt) && run.waits.length === 0)
        return `${attempt(run.attempts + 1)} is due when what its definition waits for has ended in its data interval (tock why ${run.definition ?? ''} ${run.scheduledFor?.toISOString() ?? ''})`;
      if (isNever(run.runAt))
        return `its handler is called again when its wait is over (${attempt(run.attempts + 1)})`;
      if (due > 0)
        return currentWait(run, new Date(now))
          ? `its handler is called again in ${formatSpan(due)} (${attempt(run.attempts + 1)})`
          : `${attempt(run.attempts + 1)} is due in ${formatSpan(due)}`;
      if (run.blockedOn !== null)
        return `${attempt(run.attempts + 1)} ${cleanLine(blockedText(run, run.blockedOn))}`;
      if (-due < TICK_MS) return `${attempt(run.attempts + 1)} is due now`;
      return `${attempt(run.attempts + 1)} has been due for ${formatSpan(-due)} and waits for a worker (tock status)`;
    case 'running':
      return runningStep(run, now);
    case 'dead':
    case 'cancelled':
      if (run.trigger === 'exec')
        return 'nothing; it was executed by tock exec, whose next call is a new run';
      return `nothing, unless you put it back into the queue: ${remedyOf(run.status, run.waits.at(-1), run.id) ?? `tock retry ${run.id}`}`;
    case 'skipped':
      return `nothing; it was not executed: ${cleanLine(skipText(run.skipReason ?? 'the reason is not on record'))}`;
    case 'succeeded':
      return 'nothing: it is done';
  }
}

function joinStep({ id, waits }: RunRecord, attempt: string): string {
  const last = waits.at(-1);
  const remedy = remedyOf('queued', last, id);
  if (remedy !== null) return `it goes on with ${remedy} (tock group ${id})`;
  return `${attempt} begins when all that it waits for have ${last?.needsSuccess ? 'succeeded' : 'ended'} (tock group ${id})`;
}

function blockedText(run: RunRecord, key: string): string {
  const what = `is due and waits for ${slotText(key, run)}`;
  const job = jobOfCodeKey(key);
  return job === null
    ? `${what} (tock runs --status running)`
    : `${what}: the one that claimed it does not. ${missingJobRemedy(job)}`;
}

function runningStep(run: RunRecord, now: number): string {
  const attempt = `attempt ${run.attempts} of ${run.maxAttempts}`;
  if (run.handOff !== null) return handedOffStep(run, run.handOff, now);
  const left = (run.lockedUntil?.getTime() ?? 0) - now;
  if (left <= 0)
    return `its lease has expired: its worker is gone, and the next tick takes the run back (tock tick)`;
  if (run.cancelRequestedAt !== null)
    return `its handler was asked to stop ${relative(run.cancelRequestedAt, now)}; when it stops, the run is cancelled`;
  return `${attempt} is already running; its lease ends in ${formatSpan(left)}`;
}

function handedOffStep(run: RunRecord, handOff: HandOffRecord, now: number): string {
  const { phase, text } = handOffState(handOff, run.cancelRequestedAt !== null, now);
  const next: Readonly<Record<HandOffPhase, string>> = {
    open: `tock complete ${run.id}.${run.fence} completes it, as tock.complete(${run.id}, ${run.fence}) does in SQL or from an app`,
    decided: 'the next tick writes that (tock tick)',
    cancelled: 'the next tick writes that (tock tick)',
    overdue: 'the next tick takes it back (tock tick)',
  };
  return cleanLine(`${text}; ${next[phase]}`);
}

export interface Bar {
  readonly fraction: number;
  readonly stage: string | null;
  /** Undefined if unknown. */
  readonly events?: number;
}

/** `██████░░░░ 60% stage, 3 events`; plain characters in a pipe. */
export function progressBar({ fraction, stage, events = 0 }: Bar, isTerminal: boolean): string {
  const width = 20;
  const full = Math.round(Math.min(Math.max(fraction, 0), 1) * width);
  const bar = isTerminal
    ? paint('cyan', '█'.repeat(full)) + paint('grey', '░'.repeat(width - full))
    : `[${'#'.repeat(full)}${'-'.repeat(width - full)}]`;
  const counted = events === 0 ? '' : `, ${events} ${events === 1 ? 'event' : 'events'}`;
  return `${bar} ${Math.floor(fraction * 100)}%${stage === null ? '' : ` ${cut(cleanLine(stage), 40)}`}${counted}`;
}

/** The slots that a run holds or needs, and the one it waits for. Empty if it needs none. */
export function slotsText(run: RunRecord): string {
  const { concurrencyKeys, blockedOn, status } = run;
  if (concurrencyKeys === null || isFinished(status)) return '';
  const words = concurrencyKeys.map(key => slotText(key, run)).join(' and ');
  const waits = blockedOn === null ? '' : `; waits for ${slotText(blockedOn, run)}`;
  return cleanLine(`${status === 'running' ? 'holds' : 'needs'} ${words}${waits}`);
}
