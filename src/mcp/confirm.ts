// Dry run first: what changes many is answered with what it would change, and done when the same call
// comes with the token of that answer. The token is a keyed hash of the call, of what was found and of
// the time, so that nothing has to be remembered, and nobody can guess it without having been answered.
import { createHmac, randomBytes } from 'node:crypto';
import type { Answer } from './tool.js';

/** Of this process: a token is worth nothing after it. */
const SECRET = randomBytes(32);
/** A token holds in the period in which it was answered, and in the next one. */
const PERIOD_MS = 600_000;

export interface Proposal {
  /** The name of the tool. */
  readonly tool: string;
  /** Its arguments; `confirm` is left out. */
  readonly args: object;
  /** What the token stands for besides the arguments, such as how many runs match. */
  readonly found: unknown;
  /** The newest run that the token is about, which it names. */
  readonly upTo?: string;
  /** What would be changed. */
  readonly lines: readonly string[];
}

/** The newest run that a token is about; undefined: it names none. */
export const upToOf = (token: string | undefined): string | undefined =>
  /^[0-9a-f]+-(\d{1,18})$/.exec(token ?? '')?.[1];

/** The answer to a call without the token, or with one that holds no more; null: go on. */
export function proposed({ tool, args, found, upTo, lines }: Proposal): Answer | null {
  const { confirm, ...others } = args as { readonly confirm?: string };
  const period = Math.floor(performance.now() / PERIOD_MS);
  const tokenAt = (time: number) =>
    tokenOf(tool, others, [found, upTo], time) + (upTo === undefined ? '' : `-${upTo}`);
  const token = tokenAt(period);
  if (confirm === token || confirm === tokenAt(period - 1)) return null;
  const why =
    confirm === undefined
      ? 'Nothing has been changed: this was a dry run.'
      : 'Nothing has been changed: the token belongs to other arguments, is too old, or what it stood for has changed since.';
  return {
    lines,
    next: `${why} If that is what is wanted, call ${tool} again with the same arguments and confirm: "${token}".`,
  };
}

/** How many wait, so that one more makes no difference, and twice as many do. */
export const magnitude = (count: number): number => Math.ceil(Math.log2(count + 1));

function tokenOf(tool: string, args: object, found: unknown, period: number): string {
  const sorted = Object.entries(args).sort(([a], [b]) => (a < b ? -1 : 1));
  return createHmac('sha256', SECRET)
    .update(JSON.stringify([tool, sorted, found, period]))
    .digest('hex')
    .slice(0, 12);
}
