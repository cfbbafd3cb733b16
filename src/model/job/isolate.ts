// The `isolate` option of a job: whether its handler gets a process of its own.
import { quote } from '../names.js';
import { checkOptions } from '../options.js';
import { badJob } from './bad-job.js';

/** `true`, or an upper bound for the child's heap. */
export type IsolateOption = boolean | { readonly memoryMb?: number };

export interface Isolate {
  /** Upper bound for the child's heap in MB; null: Node's default. */
  readonly memoryMb: number | null;
}

/** With less, Node itself hardly starts. */
const MIN_MB = 32;
const MAX_MB = 1_048_576;

const OPTIONS: ReadonlySet<string> = new Set(['memoryMb']);

/** Null: the handler runs in the worker's process. @throws TockError TOCK_BAD_JOB */
export function readIsolate(option: IsolateOption | undefined): Isolate | null {
  if (option === undefined || option === false) return null;
  if (option === true) return { memoryMb: null };
  if (typeof option !== 'object' || option === null || Array.isArray(option))
    throw badJob(`isolate ${quote(option)} is neither true, false nor { memoryMb }`);
  checkOptions(option, OPTIONS, 'isolate', 'TOCK_BAD_JOB');
  const { memoryMb } = option;
  if (memoryMb === undefined) return { memoryMb: null };
  if (Number.isInteger(memoryMb) && memoryMb >= MIN_MB && memoryMb <= MAX_MB) return { memoryMb };
  throw badJob(`isolate.memoryMb ${quote(memoryMb)} is not a whole number from ${MIN_MB} to ${MAX_MB}`);
}
