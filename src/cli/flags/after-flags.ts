// The flags of a schedule that say what it runs after.
import type { After, Chain, ChainOn, IntervalWait } from '../../model/planning/chain.js';
import type { NONE } from './flags.js';

export interface AfterFlags {
  readonly after?: string[];
  readonly afterAny?: string[];
  readonly afterOn?: ChainOn;
  readonly within?: string | typeof NONE;
}

/** The chain that the flags describe; parts that are not given stay as they are. */
export function afterOf({ after, afterAny, afterOn }: AfterFlags, before: Chain | null): After | null {
  const definitions = after ?? afterAny ?? before?.definitions;
  if (definitions === undefined) return null;
  const isAny = afterAny !== undefined || (after === undefined && before?.require === 'any');
  const on = afterOn ?? before?.on ?? 'success';
  return isAny ? { any: definitions, on } : { all: definitions, on };
}

/** Whose occurrences it waits for, by the flags; parts that are not given stay as they are. */
export function waitOf(
  { after, afterAny, afterOn, within }: AfterFlags,
  before: Pick<IntervalWait | Chain, 'definitions' | 'on'> | null,
): After {
  const on = afterOn ?? before?.on ?? 'success';
  const parts = { on, within: typeof within === 'string' ? within : 'dataInterval' };
  const definitions = after ?? before?.definitions ?? [];
  // What is wrong with them, the library says.
  return afterAny === undefined ? { all: definitions, ...parts } : { any: afterAny, ...parts };
}
