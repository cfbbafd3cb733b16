// Which runs: the conditions by which runs are listed, counted, and retried or cancelled together.
import { TockError } from '../../errors.js';
import { readAskedInstant } from '../../explain/asked-instant.js';
import { isWithinYears } from '../../instant-bounds.js';
import { isStorable, quote } from '../../names.js';
import type { Operator } from '../../operator.js';
import { findZone } from '../../schedule/zone/zone.js';
import type { ErrorGroup } from '../errors/error-group.js';
import { RUN_STATUSES, type RunStatus } from '../states.js';
import { checkTag } from '../tags.js';
import { type PayloadCondition, readPayloadMatch } from './payload-match.js';

/** A run matches if it meets all conditions that are given. */
export interface RunMatch {
  readonly status?: RunStatus | readonly RunStatus[];
  readonly job?: string;
  readonly definition?: string;
  readonly queue?: string;
  /** It is a member of the group with this id, that of its join. */
  readonly group?: string;
  /** Its idempotency key. */
  readonly key?: string;
  /** One or several tags, all of which it has. */
  readonly tag?: string | readonly string[];
  /** The deploy in which its last attempt was executed, or one that failed. */
  readonly deploy?: string;
  /** Part of the name, the code or the message of its last error, in upper or lower case. */
  readonly error?: string;
  /** Its last error is of this group. */
  readonly errorGroup?: ErrorGroup;
  /**
   * What the payload contains: paths and their values, as `customer=812 order.state=open`, all of which must
   * hold; or JSON text, as `@>` of jsonb: `{"invoice": 7}`. Numbers of any size.
   */
  readonly payload?: string;
  /**
   * Ended at this time or later; a run that has not ended: due then or later. Text: `-2h`, `yesterday`,
   * `2026-03-08`, `2026-03-08 02:30` or an instant, against the database's time. A day is its beginning.
   */
  readonly from?: Date | string;
  /** Ended before this time; a run that has not ended: due before it. */
  readonly to?: Date | string;
  /** IANA name of the zone for days and local times in `from` and `to`. Default UTC. */
  readonly zone?: string;
}

/** A {@link RunMatch} that has been checked. */
export interface ReadRunMatch extends Omit<RunMatch, 'status' | 'tag' | 'payload' | 'from' | 'to' | 'zone'> {
  /** Without duplicates; null: all. */
  readonly status: readonly RunStatus[] | null;
  readonly tag?: readonly string[];
  readonly payload?: readonly PayloadCondition[];
  readonly from?: Date;
  readonly to?: Date;
}

/** For `from`: since ever, as if it were not given. */
export const SINCE_EVER = 'all';
/** No more runs than this are counted; one more means more than that. */
export const MAX_COUNTED = 10_000;

/** A count of runs as text; one that is higher is not told from the next: `10000+`. */
export const cappedText = (count: number): string => (count > MAX_COUNTED ? `${MAX_COUNTED}+` : `${count}`);
const MAX_TEXT = 512;
const TEXTS = ['job', 'definition', 'queue', 'key', 'deploy', 'error'] as const;

/** Whether the database's time is needed to read it. */
export function hasTimeText({ from, to }: RunMatch): boolean {
  return [from, to].some(time => typeof time === 'string');
}

/**
 * @param now the database's time; needed where {@link hasTimeText}
 * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_TIME; TOCK_BAD_SCHEDULE for a zone that there is not
 */
export function readRunMatch(match: RunMatch, now?: Date): ReadRunMatch {
  const { status, tag, payload, from, to, zone, ...others } = match;
  const { errorGroup } = others;
  const statuses = status === undefined ? null : [...new Set([status].flat())];
  for (const each of statuses ?? [])
    if (!RUN_STATUSES.includes(each))
      throw bad(`status ${quote(each)} is not one of ${RUN_STATUSES.join(', ')}`);
  for (const name of TEXTS) checkText(match[name], name);
  if (match.group !== undefined && !/^\d{1,18}$/.test(match.group))
    throw bad(`group ${quote(match.group)} is not the id of a run`);
  if (errorGroup !== undefined) {
    checkText(errorGroup.name, 'errorGroup.name');
    checkText(errorGroup.code ?? '', 'errorGroup.code');
    checkText(errorGroup.message, 'errorGroup.message');
  }
  const begin = from === SINCE_EVER ? undefined : readTime(from, 'from', zone, now);
  const end = readTime(to, 'to', zone, now);
  if (hasTimeText(match) && begin !== undefined && end !== undefined && begin >= end)
    throw new TockError(
      'TOCK_BAD_TIME',
      `from ${quote(from)} is not before to ${quote(to)}; a day stands for its beginning, so yesterday is from yesterday to today`,
    );
  return {
    ...others,
    status: statuses?.length === 0 ? null : statuses,
    ...(tag === undefined ? {} : { tag: [tag].flat().map(checkTag) }),
    ...(payload === undefined ? {} : { payload: readPayloadMatch(payload) }),
    ...(begin === undefined ? {} : { from: begin }),
    ...(end === undefined ? {} : { to: end }),
  };
}

/** The same runs, with instants: words such as `-2h` would mean another time when they are read again. */
export function withInstants(match: RunMatch, now: Date): RunMatch {
  const { from: _from, to: _to, zone: _zone, ...others } = match;
  const { from, to } = readRunMatch(match, now);
  return { ...others, ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
}

function readTime(time: unknown, name: string, zone = 'UTC', now?: Date): Date | undefined {
  if (time === undefined) return undefined;
  if (typeof time === 'string') {
    if (now === undefined) throw new Error('a time in words needs the time that it is now');
    return readAskedInstant(time, findZone(zone), now, name);
  }
  if (time instanceof Date && isWithinYears(time.getTime())) return time;
  throw bad(`${name} ${quote(time)} is neither a Date between the years 1 and 9999 nor text`);
}

function checkText(text: unknown, name: string): void {
  if (text === undefined) return;
  if (typeof text !== 'string' || !isStorable(text)) throw bad(`${name} ${quote(text)} is not text`);
  if (text.length > MAX_TEXT) throw bad(`${name} has more than ${MAX_TEXT} characters`);
}

const bad = (message: string) => new TockError('TOCK_BAD_OPTION', message);

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
export function isSlow({ queue, key, deploy, error, errorGroup, payload, status }: ReadRunMatch): boolean {
  const isRead = [queue, key, deploy, error, errorGroup, payload].some(condition => condition !== undefined);
  return isRead && (status === null || status.includes('succeeded'));
}
