// Which runs: the conditions by which runs are listed, counted, and retried or cancelled together.
import { TockError } from '../errors.js';
import { isWithinYears } from '../instant-bounds.js';
import { isStorable, quote } from '../names.js';
import type { Operator } from '../operator.js';
import type { ErrorGroup } from './errors/error-group.js';
import { RUN_STATUSES, type RunStatus } from './states.js';

/** A run matches if it meets all conditions that are given. */
export interface RunMatch {
  readonly status?: RunStatus | readonly RunStatus[];
  readonly job?: string;
  readonly definition?: string;
  readonly queue?: string;
  /** Its idempotency key. */
  readonly key?: string;
  /** Part of the name, the code or the message of its last error, in upper or lower case. */
  readonly error?: string;
  /** Its last error is of this group. */
  readonly errorGroup?: ErrorGroup;
  /** JSON text that the payload contains, as `@>` of jsonb: `{"invoice": 7}`. Numbers of any size. */
  readonly payload?: string;
  /** Ended at this time or later; a run that has not ended: due then or later. */
  readonly from?: Date;
  /** Ended before this time; a run that has not ended: due before it. */
  readonly to?: Date;
}

/** A {@link RunMatch} that has been checked. */
export interface ReadRunMatch extends Omit<RunMatch, 'status'> {
  /** Without duplicates; null: all. */
  readonly status: readonly RunStatus[] | null;
}

/** No more runs than this are counted; one more means more than that. */
export const MAX_COUNTED = 10_000;
const MAX_TEXT = 512;
const MAX_PAYLOAD_TEXT = 8192;
const TEXTS = ['job', 'definition', 'queue', 'key', 'error'] as const;

/** @throws TockError TOCK_BAD_OPTION */
export function readRunMatch(match: RunMatch): ReadRunMatch {
  const { status, payload, errorGroup, from, to } = match;
  const statuses = status === undefined ? null : [...new Set([status].flat())];
  for (const each of statuses ?? [])
    if (!RUN_STATUSES.includes(each))
      throw bad(`status ${quote(each)} is not one of ${RUN_STATUSES.join(', ')}`);
  for (const name of TEXTS) checkText(match[name], name);
  if (payload !== undefined) checkPayload(payload);
  if (errorGroup !== undefined) {
    checkText(errorGroup.name, 'errorGroup.name');
    checkText(errorGroup.code ?? '', 'errorGroup.code');
    checkText(errorGroup.message, 'errorGroup.message');
  }
  for (const [name, time] of Object.entries({ from, to }))
    if (time !== undefined && !(time instanceof Date && isWithinYears(time.getTime())))
      throw bad(`${name} ${quote(String(time))} is not a Date between the years 1 and 9999`);
  return { ...match, status: statuses?.length === 0 ? null : statuses };
}

function checkText(text: unknown, name: string): void {
  if (text === undefined) return;
  if (typeof text !== 'string' || !isStorable(text)) throw bad(`${name} ${quote(text)} is not text`);
  if (text.length > MAX_TEXT) throw bad(`${name} has more than ${MAX_TEXT} characters`);
}

function checkPayload(text: unknown): void {
  if (typeof text !== 'string' || text.length > MAX_PAYLOAD_TEXT)
    throw bad(`payload must be JSON text of at most ${MAX_PAYLOAD_TEXT} characters, such as {"invoice": 7}`);
  try {
    // A NUL can be written as an escape, which JSON allows and PostgreSQL does not.
    JSON.parse(text, (key, value: unknown) => {
      if (!isStorable(key) || (typeof value === 'string' && !isStorable(value))) throw bad('NUL');
      return value;
    });
  } catch (error) {
    throw bad(`payload ${quote(text)} is not JSON that PostgreSQL takes; write it as {"invoice": 7}`, error);
  }
}

const bad = (message: string, cause?: unknown) =>
  new TockError('TOCK_BAD_OPTION', message, cause === undefined ? undefined : { cause });

/**
 * What a payload contains could be found out by asking for it.
 * @param operator null: the app itself
 * @throws TockError TOCK_FORBIDDEN for who may not see payloads
 */
export function requireSight(
  operator: Pick<Operator, 'name' | 'seesPayloads'> | null,
  match: RunMatch,
): void {
  if (match.payload === undefined || operator === null || operator.seesPayloads) return;
  throw new TockError(
    'TOCK_FORBIDDEN',
    `${quote(operator.name)} may not see payloads, and so cannot look for what they contain`,
  );
}

/** Conditions that no index answers: runs that have ended are read one by one. */
export function isSlow({ queue, key, error, errorGroup, payload, status }: ReadRunMatch): boolean {
  const isRead = [queue, key, error, errorGroup, payload].some(condition => condition !== undefined);
  return isRead && (status === null || status.includes('succeeded'));
}
