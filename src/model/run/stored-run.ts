// Room: model. What a run's row keeps as JSON, as readers can rely on it, whatever somebody has written there by hand.
// In: any JSON. Out: error entries, progress. Pure.
import type { ErrorEntry } from './sanitize.js';

/** An error entry that is on record, with the time of the failure. */
export type DatedError = ErrorEntry & { readonly at: string };

/** How far a run is; `events`: how often its handler has said so in this attempt. */
export interface StoredProgress {
  readonly fraction: number;
  readonly stage: string | null;
  readonly events: number;
}

/** The entries of `errors`. What is none becomes one whose message is the JSON. @param at stands in for a time that is none */
export function readErrors(value: unknown, at: Date): readonly DatedError[] {
  const entries = Array.isArray(value) ? value : [value];
  return entries.every(isEntry) ? entries : entries.map(each => (isEntry(each) ? each : oddEntry(each, at)));
}

function isEntry(value: unknown): value is DatedError {
  if (typeof value !== 'object' || value === null) return false;
  const { at, attempt, name, code, message, stack } = value as Record<string, unknown>;
  return (
    typeof at === 'string' &&
    !Number.isNaN(Date.parse(at)) &&
    typeof attempt === 'number' &&
    typeof name === 'string' &&
    typeof message === 'string' &&
    [code, stack].every(each => each === null || each === undefined || typeof each === 'string')
  );
}

function oddEntry(value: unknown, at: Date): DatedError {
  const message = JSON.stringify(value).slice(0, 1000).toWellFormed();
  return { at: at.toISOString(), attempt: 0, name: 'Error', code: null, message, stack: null };
}

/** The value of `progress`; null for what is none. */
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
