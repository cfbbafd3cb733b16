// Checks what is said of a new run: its key, its time, its priority, its trigger.
import { parseDuration } from '../duration.js';
import { TockError } from '../errors.js';
import { isWithinYears } from '../instant-bounds.js';
import { checkPriority } from '../job/define-job.js';
import type { EnqueueTrigger } from '../job/enqueue-options.js';
import type { NewRun } from '../job/job.js';
import { quote } from '../names.js';

const MAX_DEBOUNCES = 10;

/**
 * What its key means, for the statement that enqueues.
 * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION
 */
export function checkUniqueness({ key, unique, replace, debounce }: NewRun) {
  if (unique !== undefined && unique !== 'ever' && unique !== 'live')
    throw new TockError('TOCK_BAD_OPTION', `unique ${quote(unique)} is none of ever, live`);
  if (debounce !== undefined && unique === 'ever')
    throw new TockError(
      'TOCK_BAD_OPTION',
      "debounce goes with unique: 'live', not with 'ever': a key that is used up for good keeps its run as it was",
    );
  const isLive = unique === 'live' || debounce !== undefined;
  if (isLive && key === undefined)
    throw new TockError(
      'TOCK_BAD_OPTION',
      `${debounce === undefined ? "unique: 'live'" : 'debounce'} needs a key: what must not be there twice`,
    );
  if (replace && !isLive)
    throw new TockError(
      'TOCK_BAD_OPTION',
      "replace needs unique: 'live': a key that is used up for good keeps its run as it was",
    );
  return {
    is_live: isLive,
    replaces: replace === true || debounce !== undefined,
    max_ms: debounce === undefined ? null : MAX_DEBOUNCES * parseDuration(debounce, 'debounce'),
  };
}

/** @throws TockError TOCK_BAD_OPTION */
export function checkedPriority(priority: number | undefined): number | undefined {
  checkPriority(priority);
  return priority;
}

/** The other triggers are those of runs that Tock makes. */
const ENQUEUED_BY: readonly EnqueueTrigger[] = ['api', 'manual'];

/** @throws TockError TOCK_BAD_OPTION */
export function checkTrigger(trigger: string): string {
  if ((ENQUEUED_BY as readonly string[]).includes(trigger)) return trigger;
  throw new TockError('TOCK_BAD_OPTION', `trigger ${quote(trigger)} is none of ${ENQUEUED_BY.join(', ')}`);
}

/** When it is due, for the statement that enqueues. @throws TockError TOCK_BAD_TIME, TOCK_BAD_DURATION */
export function checkTime({ runAt, delay, debounce }: Pick<NewRun, 'runAt' | 'delay' | 'debounce'>) {
  if (debounce !== undefined && (runAt !== undefined || delay !== undefined))
    throw new TockError('TOCK_BAD_TIME', 'debounce says when; leave runAt and delay out');
  if (debounce !== undefined) return { at: null, delay_ms: parseDuration(debounce, 'debounce') };
  if (runAt !== undefined && delay !== undefined)
    throw new TockError('TOCK_BAD_TIME', 'give runAt or delay, not both');
  if (delay !== undefined) return { at: null, delay_ms: parseDuration(delay, 'delay') };
  if (runAt === undefined) return { at: null, delay_ms: null };
  const ms = runAt instanceof Date || typeof runAt === 'string' ? new Date(runAt).getTime() : Number.NaN;
  if (!isWithinYears(ms)) {
    const why = Number.isNaN(ms) ? 'is not a time' : 'is not between the years 0001 and 9999';
    throw new TockError(
      'TOCK_BAD_TIME',
      `runAt ${quote(String(runAt))} ${why}; write it as 2026-03-08T07:30:00Z`,
    );
  }
  return { at: new Date(ms).toISOString(), delay_ms: null };
}
