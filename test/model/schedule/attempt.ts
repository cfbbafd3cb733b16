// Compiling as a value: a schedule, or the error that refuses it. Any other error is thrown on.
import { TockError } from '../../../src/model/errors.js';
import { type CompiledSchedule, compileSchedule } from '../../../src/model/schedule/compile.js';
import type { ScheduleSpec } from '../../../src/model/schedule/spec.js';

export interface Attempt {
  readonly schedule: CompiledSchedule | null;
  readonly error: TockError | null;
}

export function attempt(spec: unknown, seed?: string): Attempt {
  try {
    return { schedule: compileSchedule(spec as ScheduleSpec, seed), error: null };
  } catch (error) {
    if (error instanceof TockError) return { schedule: null, error };
    throw error;
  }
}

/** The error that refuses a spec; fails where it is accepted. */
export function refusal(spec: unknown, seed?: string): TockError {
  const { error } = attempt(spec, seed);
  if (error === null) throw new Error(`accepted: ${JSON.stringify(spec)}`);
  return error;
}
