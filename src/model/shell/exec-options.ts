// What `tock exec` is asked to do.
import { TockError } from '../errors.js';
import { checkKey, checkName } from '../names.js';
import type { ExitRules } from './ending.js';

/** While an earlier run of the name is live, as for schedules. */
export const EXEC_OVERLAPS = ['skip', 'cancel_other', 'allow_all'] as const;
export type ExecOverlap = (typeof EXEC_OVERLAPS)[number];

/** Which run it is. */
export interface ExecOptions {
  readonly name: string;
  /** In place of the minute; null: the minute. */
  readonly key: string | null;
  readonly overlap: ExecOverlap;
  /** Attempts in all. */
  readonly maxAttempts: number;
  /** The program and its arguments. */
  readonly command: readonly string[];
}

/** How its command is executed. */
export interface ExecPlan extends ExitRules, Pick<ExecOptions, 'name' | 'maxAttempts' | 'command'> {
  /** Of one attempt; null: none. */
  readonly timeoutMs: number | null;
  /** From the first signal to SIGKILL. */
  readonly graceMs: number;
  /** Before the second attempt; doubles with each. */
  readonly backoffMs: number;
}

/** @throws TockError TOCK_BAD_OPTION, TOCK_BAD_KEY */
export function checkExecName(name: string, key: string | null): void {
  checkName(name, 'job', 'TOCK_BAD_OPTION');
  if (key === null) return;
  checkKey(key);
  // As exec:NAME:KEY.
  if (Buffer.byteLength(name) + Buffer.byteLength(key) + 6 > 512)
    throw new TockError('TOCK_BAD_KEY', 'the name and --key are too long together: at most 500 bytes');
}
