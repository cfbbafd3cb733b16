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

/** Whether a call comes with the token for what was found, as it is now and was in the period before. */
export function isConfirmed(asked: Omit<Proposal, 'lines'>): boolean {
  const { confirm } = asked.args as { readonly confirm?: string };
  const period = periodNow();
  return confirm === tokenOf(asked, period) || confirm === tokenOf(asked, period - 1);
}

/** The answer to a call without the token, or with one that holds no more; null: go on. */
export function proposed({ lines, ...asked }: Proposal): Answer | null {
  if (isConfirmed(asked)) return null;
  const { tool } = asked;
  const { confirm } = asked.args as { readonly confirm?: string };
  const token = tokenOf(asked, periodNow());
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

const periodNow = () => Math.floor(performance.now() / PERIOD_MS);

function tokenOf({ tool, args, found, upTo }: Omit<Proposal, 'lines'>, period: number): string {
  const { confirm: _, ...others } = args as { readonly confirm?: string };
  const sorted = Object.entries(others).sort(([a], [b]) => (a < b ? -1 : 1));
  const hash = createHmac('sha256', SECRET)
    .update(JSON.stringify([tool, sorted, found, upTo, period]))
    .digest('hex')
    .slice(0, 12);
  return upTo === undefined ? hash : `${hash}-${upTo}`;
}
