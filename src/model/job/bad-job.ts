// The error for an invalid job, TOCK_BAD_JOB.
import { TockError } from '../errors.js';

/** @param message names what is wrong, and how to fix it */
export function badJob(message: string): TockError {
  return new TockError('TOCK_BAD_JOB', message);
}
