// What a consumer requires of a message before it believes it.
import { isStorable } from '../../model/names.js';
import { PROTOCOL, type RelayMessage } from '../messages.js';

/** The message, or what is wrong with it: names of members, never their values. */
export type ReadMessage = { readonly message: RelayMessage } | { readonly problem: string };

const RUN = /^[1-9]\d{0,18}$/;
/** A longer lease cannot be given. */
const MAX_LEASE_MS = 366 * 86_400_000;

const isText = (value: unknown) => typeof value === 'string' && isStorable(value);
const isTextOrNull = (value: unknown) => value === null || isText(value);
const isTime = (value: unknown) => typeof value === 'string' && !Number.isNaN(Date.parse(value));
const isTimeOrNull = (value: unknown) => value === null || isTime(value);
const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 1;

const CHECKS: { readonly [Member in keyof RelayMessage]: (value: unknown) => boolean } = {
  tock: value => value === PROTOCOL,
  run: value => typeof value === 'string' && RUN.test(value),
  fence: isCount,
  job: value => isText(value) && value !== '',
  queue: isText,
  definition: isTextOrNull,
  attempt: isCount,
  maxAttempts: isCount,
  trigger: isText,
  scheduledFor: isTimeOrNull,
  intervalStart: isTimeOrNull,
  occurrenceCount: isCount,
  idempotencyKey: isTextOrNull,
  payload: value => value !== undefined,
  leaseMs: value => isCount(value) && (value as number) <= MAX_LEASE_MS,
  publishedAt: isTime,
  traceparent: isTextOrNull,
};

/** Reads the body of a broker's message. Members that it does not know are left aside. */
export function readMessage(body: unknown): ReadMessage {
  if (typeof body !== 'object' || body === null || Array.isArray(body))
    return { problem: 'it is no object of JSON' };
  const members = body as Readonly<Record<string, unknown>>;
  const version = members['tock'];
  if (version !== PROTOCOL)
    return {
      problem: Number.isSafeInteger(version)
        ? `it speaks version ${String(version)} of the protocol, and this consumer version ${PROTOCOL}`
        : 'it has no member tock: it is not from a relay',
    };
  const bad = Object.entries(CHECKS)
    .filter(([name, isGood]) => !isGood(members[name]))
    .map(([name]) => name);
  return bad.length === 0
    ? { message: members as unknown as RelayMessage }
    : { problem: `missing or not valid: ${bad.join(', ')}` };
}
