// Logs a line for each attempt that has ended, with the word for how it ended.
import { formatDuration } from '../../model/duration.js';
import { isEnabled } from '../../model/logger.js';
import type { Outcome } from '../../model/run/decide.js';
import { messageOnOneLine } from '../../model/run/errors/root-cause.js';
import type { OutcomeCounts } from '../../model/run/outcome-counts.js';
import { withoutStacks } from '../../model/run/sanitize.js';
import type { Wait } from '../../model/run/snooze.js';
import { TRANSITIONS } from '../../model/run/states.js';
import type { ClaimedRun } from '../../store/runs/claim/claimed-run.js';
import type { Engine } from '../engine.js';
import type { ActiveRun } from '../execute/active-run.js';

export type LoggedRun = Pick<ClaimedRun, 'id' | 'job' | 'attempts' | 'max_attempts' | 'scheduled_for'>;
export type OutcomeWord = keyof OutcomeCounts;

/** The fields of a log line about a run; never its payload. */
function logFields(run: LoggedRun) {
  return {
    run_id: run.id,
    job: run.job,
    attempt: run.attempts,
    ...(run.scheduled_for === null ? {} : { scheduled_for: new Date(run.scheduled_for).toISOString() }),
  };
}

export function logClaimed({ logger }: Engine, run: LoggedRun): void {
  if (isEnabled(logger, 'debug'))
    logger.debug({ event: 'run.claimed', ...logFields(run) }, `claimed run ${run.id} of ${run.job}`);
}

const LEVELS: Readonly<Record<OutcomeWord, 'debug' | 'info' | 'warn' | 'error'>> = {
  claimed: 'debug',
  succeeded: 'info',
  failed: 'warn',
  dead: 'error',
  cancelled: 'warn',
  skipped: 'warn',
  deferred: 'debug',
  released: 'info',
  waiting: 'info',
  handedOff: 'info',
  lost: 'error',
};

/** @param outcome null: the lease was lost before there was one */
export function logOutcome(
  engine: Engine,
  run: LoggedRun,
  word: OutcomeWord,
  outcome: Outcome | null,
  durationMs: number,
): void {
  if (outcome?.deferral?.needsJob !== undefined) logUnknownJob(engine, outcome.deferral.needsJob);
  if (!isEnabled(engine.logger, LEVELS[word])) return;
  const error = outcome?.error;
  const why = error ? `: ${messageOnOneLine(error)}` : '';
  const ended = word === 'handedOff' ? 'handed off' : word === 'waiting' ? 'began to wait' : word;
  engine.logger[LEVELS[word]](
    {
      event: `run.${word === 'handedOff' ? 'handed_off' : word}`,
      ...logFields(run),
      duration_ms: Math.round(durationMs),
      ...(error ? { error: withoutStacks(error) } : {}),
    },
    `run ${run.id} of ${run.job} ${ended} after ${formatDuration(durationMs)} (attempt ${run.attempts} of ${run.max_attempts})${why}${nextText(outcome)}`,
  );
}

/** The jobs that were logged as unknown, by process. */
const unknownJobs = new WeakMap<Engine, Set<string>>();
const MAX_UNKNOWN_JOBS = 1000;

/** Logs once for each job: otherwise each claim of such a run would log the same. */
function logUnknownJob(engine: Engine, job: string): void {
  const logged = unknownJobs.get(engine) ?? new Set();
  if (logged.has(job) || logged.size >= MAX_UNKNOWN_JOBS) return;
  unknownJobs.set(engine, logged.add(job));
  engine.logger.warn(
    { event: 'job.unknown', job },
    `this code has no job ${job}: its runs wait for a worker that has it, and no attempt is counted`,
  );
}

function nextText(outcome: Outcome | null): string {
  if (outcome?.wait) return waitText(outcome.wait);
  if (outcome?.transition === 'fail') return `; next attempt in ${formatDuration(outcome.delayMs)}`;
  if (outcome?.handOff === undefined) return '';
  const { leaseMs, to, offer } = outcome.handOff;
  if (offer !== undefined) return ', offered to workers that speak SQL';
  return `${to === null ? '' : `, to ${to}`}; its lease ends in ${formatDuration(leaseMs)}`;
}

function waitText({ delayMs, until, snoozed }: Wait): string {
  const when =
    until === null ? `for ${formatDuration(delayMs ?? 0)}` : `until ${new Date(until).toISOString()}`;
  return ` ${when}${snoozed ? `: ${snoozed}` : ''}`;
}

export function wordFor(transition: Outcome['transition']): OutcomeWord {
  if (transition === 'handOff') return 'handedOff';
  if (transition === 'release') return 'released';
  if (transition === 'suspend') return 'waiting';
  return transition === 'defer' ? 'deferred' : TRANSITIONS[transition].to;
}

/** Counts how an attempt ended, and logs a line for it. */
export function countOutcome(
  engine: Engine,
  counts: OutcomeCounts,
  { run, isCommitted }: ActiveRun,
  outcome: Outcome | null,
  isWritten: boolean,
  durationMs: number,
): void {
  const word = isWritten ? wordFor(isCommitted ? 'succeed' : (outcome?.transition ?? 'succeed')) : 'lost';
  counts[word]++;
  logOutcome(engine, run, word, outcome, durationMs);
}
