// Makes the JSON of a run's row reliable for readers, even if it was written by hand.
import type { ErrorEntry } from './sanitize.js';

/** A stored error entry, with the time of the failure. */
export type DatedError = ErrorEntry & {
  readonly at: string;
  /** When the attempt was due, and when it began: ISO text in UTC. Absent if not on record. */
  readonly dueAt?: string;
  readonly startedAt?: string;
};

/** `events`: how often the handler has reported progress in this attempt. */
export interface StoredProgress {
  readonly fraction: number;
  readonly stage: string | null;
  readonly events: number;
}

/**
 * The entries of `errors`. An invalid one becomes an entry whose message is its JSON.
 * @param at the time of such an entry
 */
export function readErrors(value: unknown, at: Date): readonly DatedError[] {
  const entries = Array.isArray(value) ? value : [value];
  return entries.every(isEntry)
    ? entries
    : entries.map(entry => (isEntry(entry) ? entry : oddEntry(entry, at)));
}

function isEntry(value: unknown): value is DatedError {
  if (typeof value !== 'object' || value === null) return false;
  const { at, attempt } = value as Record<string, unknown>;
  return (
    typeof at === 'string' &&
    !Number.isNaN(Date.parse(at)) &&
    typeof attempt === 'number' &&
    ['dueAt', 'startedAt', 'worker', 'deploy'].every(name => isTextOrAbsent(value, name)) &&
    isDescription(value, 0)
  );
}

function isTextOrAbsent(value: object, name: string): boolean {
  const text = (value as Record<string, unknown>)[name];
  return text === undefined || typeof text === 'string';
}

/** More than is ever written, so that entries nested by hand cannot exhaust the stack. */
const MAX_DEPTH = 20;

function isDescription(value: unknown, depth: number): boolean {
  if (typeof value !== 'object' || value === null || depth > MAX_DEPTH) return false;
  const { name, code, message, stack, cause, errors = [] } = value as Record<string, unknown>;
  return (
    typeof name === 'string' &&
    typeof message === 'string' &&
    [code, stack].every(text => text === null || text === undefined || typeof text === 'string') &&
    (cause === undefined || isDescription(cause, depth + 1)) &&
    Array.isArray(errors) &&
    errors.every(member => isDescription(member, depth + 1))
  );
}

function oddEntry(value: unknown, at: Date): DatedError {
  return { at: at.toISOString(), attempt: 0, name: 'Error', code: null, message: textOf(value), stack: null };
}

function textOf(value: unknown): string {
  try {
    return JSON.stringify(value).slice(0, 1000).toWellFormed();
  } catch {
    return 'an entry that is nested too deep to show';
  }
}

/** The value of `progress`; null if it is invalid. */
export function readProgress(value: unknown): StoredProgress | null {
  if (typeof value !== 'object' || value === null) return null;
  const { fraction, stage, events } = value as Record<string, unknown>;
  if (typeof fraction !== 'number') return null;
  return {
    fraction,
    stage: typeof stage === 'string' ? stage : null,
    events: typeof events === 'number' ? events : 0,
  };
}
