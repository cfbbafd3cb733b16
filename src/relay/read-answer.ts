// Reads what a consumer has sent: an answer, or why it is none. Pure.

import type { Json } from '../model/job/job.js';
import { isDeeperThan, MAX_DEPTH } from '../model/json-depth.js';
import { quote } from '../model/names.js';
import { PROTOCOL, type RelayAnswer } from './messages.js';

/** How many answers one message may hold. */
const MAX_ANSWERS = 1000;
const MAX_FENCE = 2 ** 31 - 1;
const MIN_LEASE_MS = 1000;
const MAX_LEASE_MS = 366 * 86_400_000;

type Body = Readonly<Record<string, unknown>>;

const isOptionalText = (value: unknown) => value === undefined || value === null || typeof value === 'string';

/** What PostgreSQL cannot keep in a text. */
const UNSTORABLE = /[\0\ud800-\udfff]/gu;
const storable = (value: unknown) =>
  typeof value === 'string' ? value.replace(UNSTORABLE, '\ufffd') : undefined;
/** Members that are there and are texts. */
function textsOf({ name, code, stack }: Body): { name?: string; code?: string; stack?: string } {
  const [first, second, third] = [storable(name), storable(code), storable(stack)];
  return {
    ...(first === undefined ? {} : { name: first }),
    ...(second === undefined ? {} : { code: second }),
    ...(third === undefined ? {} : { stack: third }),
  };
}

const TOO_DEEP = {
  kind: 'failed',
  message: `the result is nested deeper than ${MAX_DEPTH} levels`,
  retry: false,
  name: 'TockError',
  code: 'TOCK_BAD_RESULT',
} as const;

/** The answers in the body of a message: one, or an array of several. They are still to be read. */
export function answersIn(body: unknown): readonly unknown[] {
  return Array.isArray(body) && body.length > 0 && body.length <= MAX_ANSWERS ? body : [body];
}

/** A text says why it is no answer. Members that the protocol does not name are left out. */
export function readAnswer(value: unknown): RelayAnswer | string {
  if (Array.isArray(value) && value.length > MAX_ANSWERS)
    return `it holds ${value.length} answers, over the limit of ${MAX_ANSWERS}`;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return 'it is not an object';
  const body = value as Body;
  const { tock, run, fence, kind } = body;
  if (tock !== PROTOCOL) return `tock is ${quote(tock)}, not ${PROTOCOL}: another version of the protocol`;
  if (typeof run !== 'string' || !/^\d{1,18}$/.test(run)) return `run ${quote(run)} is not the id of a run`;
  if (typeof fence !== 'number' || !Number.isInteger(fence) || fence < 1 || fence > MAX_FENCE)
    return `fence ${quote(fence)} is not a whole number from 1 on`;
  // Leading zeros would make two ids of one.
  const named = { tock: PROTOCOL, run: BigInt(run).toString(), fence } as const;
  switch (kind) {
    case 'succeeded': {
      const { result } = body;
      // Before it is written as text, which would fail for thousands of levels, and with it for its batch.
      if (isDeeperThan(result, MAX_DEPTH)) return { ...named, ...TOO_DEEP };
      return { ...named, kind, result: (result ?? null) as Json };
    }
    case 'failed': {
      const wrong = wrongFailure(body);
      if (wrong !== null) return wrong;
      const { message, retry, retryAt } = body;
      return {
        ...named,
        kind,
        message: storable(message) ?? '',
        ...(typeof retry === 'boolean' ? { retry } : {}),
        ...(typeof retryAt === 'string' ? { retryAt: new Date(retryAt).toISOString() } : {}),
        ...textsOf(body),
      };
    }
    case 'extend': {
      const { leaseMs } = body;
      if (typeof leaseMs !== 'number' || !(leaseMs >= MIN_LEASE_MS && leaseMs <= MAX_LEASE_MS))
        return `leaseMs ${quote(leaseMs)} is not a number from ${MIN_LEASE_MS} to ${MAX_LEASE_MS}`;
      return { ...named, kind, leaseMs };
    }
    case 'progress': {
      const { fraction, stage } = body;
      if (typeof fraction !== 'number' || !Number.isFinite(fraction))
        return `fraction ${quote(fraction)} is not a number from 0 to 1`;
      if (!isOptionalText(stage)) return `stage ${quote(stage)} is not a text`;
      const text = storable(stage);
      return { ...named, kind, fraction, ...(text === undefined ? {} : { stage: text }) };
    }
    default:
      return `kind ${quote(kind)} is none of succeeded, failed, extend and progress`;
  }
}

function wrongFailure({ message, retry, retryAt, name, code, stack }: Body): string | null {
  if (typeof message !== 'string' || message.trim() === '')
    return 'message is missing: why the run has failed';
  if (retry !== undefined && retry !== null && typeof retry !== 'boolean')
    return `retry ${quote(retry)} is neither true nor false`;
  if (retryAt !== undefined && retryAt !== null) {
    if (typeof retryAt !== 'string' || Number.isNaN(new Date(retryAt).getTime()))
      return `retryAt ${quote(retryAt)} is not a time in ISO 8601`;
    if (retry === false) return 'retryAt is for a run that is tried again, and retry is false';
  }
  for (const [member, text] of Object.entries({ name, code, stack }))
    if (!isOptionalText(text)) return `${member} ${quote(text)} is not a text`;
  return null;
}
