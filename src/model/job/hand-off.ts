// What a handler returns to hand its run off to another system, which completes it later.
import { type Duration, parseDuration } from '../duration.js';
import { TockError } from '../errors.js';
import { isStorable, quote } from '../names.js';
import { checkOptions, optionNames } from '../options.js';

/** Options of `ctx.handOff`. */
export interface HandOffOptions {
  /** How long the other side has, from now on: 1 second to 366 days. `tock.extend` prolongs it. */
  readonly lease: Duration;
  /** Who is to complete it, for people who look at the run; at most 200 characters. Default: not said. */
  readonly to?: string;
}

const OPTIONS = optionNames<HandOffOptions>({ lease: true, to: true });
const MIN_LEASE_MS = 1000;
/** The functions of the database have the same bounds. */
const MAX_LEASE_MS = 366 * 86_400_000;
const MAX_TO = 200;
const KIND = 'tock.hand-off';

/** What `ctx.handOff` gives, and a handler must return: it ends the attempt, but not the run. */
export class HandOff {
  readonly kind = KIND;
  readonly leaseMs: number;
  readonly to: string | null;
  /** So that no other object has this type. */
  declare protected readonly brand: true;

  constructor(leaseMs: number, to: string | null) {
    this.leaseMs = leaseMs;
    this.to = to;
  }

  /** A step, a transaction or an object would keep it as data. */
  toJSON(): never {
    throw new TockError(
      'TOCK_BAD_RESULT',
      'what ctx.handOff gives must be returned by the handler itself, not kept: end the handler with return ctx.handOff({ lease: … })',
    );
  }
}

/** By kind, not by class, because jobs may be compiled with another copy of the package. */
export function isHandOff(value: unknown): value is HandOff {
  try {
    return typeof value === 'object' && value !== null && (value as { kind?: unknown }).kind === KIND;
  } catch {
    // A hostile getter or proxy throws here.
    return false;
  }
}

/** @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION */
export function readHandOff(options: HandOffOptions): HandOff {
  checkOptions(options, OPTIONS, 'handOff');
  const { lease, to = null } = options;
  if (to !== null && (typeof to !== 'string' || to === '' || to.length > MAX_TO || !isStorable(to)))
    throw new TockError('TOCK_BAD_OPTION', `to ${quote(to)} is not a text of 1 to ${MAX_TO} characters`);
  return new HandOff(readLease(lease), to);
}

/** @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION */
export function readLease(lease: Duration): number {
  if (lease === undefined)
    throw new TockError('TOCK_BAD_OPTION', "lease is missing: say how long the other side has, as in '2d'");
  const leaseMs = parseDuration(lease, 'lease');
  if (leaseMs >= MIN_LEASE_MS && leaseMs <= MAX_LEASE_MS) return leaseMs;
  throw new TockError('TOCK_BAD_OPTION', `lease ${quote(lease)} is not between 1 second and 366 days`);
}
