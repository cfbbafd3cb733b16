// What the answer to an HTTP job means: success, a failure that may be retried, or one that is final.
import { TockError, type TockErrorCode } from '../errors.js';
import { RetryLater } from '../run/retry.js';
import { retryAfter } from '../run/snooze.js';

/** What was answered, as much of it as is kept. */
export interface HttpAnswer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The first 16 KiB of the body. */
  readonly text: string;
  /** There was more of it, which was not read. */
  readonly isCut: boolean;
  /** The body's value. @throws TockError TOCK_HTTP_FAILED if it is no JSON, or cut */
  readonly json: () => unknown;
}

/** What a run of an HTTP job returns. */
export interface HttpOutput {
  readonly status: number;
  /** Some of the answer's: those that say what the body is, and where to look further. */
  readonly headers: Readonly<Record<string, string>>;
  /** The first 16 KiB. */
  readonly body: string;
  readonly isCut: boolean;
}

const KEPT = ['content-type', 'content-length', 'date', 'location', 'etag', 'retry-after', 'x-request-id'];
const MAX_KEPT = 500;
const EXCERPT = 300;
/** A receiver that asks for more than this has no idea, or means harm. */
const MAX_RETRY_AFTER_MS = 86_400_000;

/** @param text as it is kept. @param clean takes secrets out of a text */
export function outputOf(
  { status, headers, text, isCut }: HttpAnswer,
  clean: (text: string) => string,
): HttpOutput {
  const kept = KEPT.flatMap(name => {
    const value = headers[name];
    return value === undefined ? [] : [[name, clean(value).slice(0, MAX_KEPT)] as const];
  });
  return { status, headers: Object.fromEntries(kept), body: clean(text), isCut };
}

/**
 * A failure. 408, 425, 429, 5xx and a success that the job's own `success` refuses are retried, at the time
 * that Retry-After names if there is one; any other status ends the run, as the same request gets it again.
 */
export function answerFailure(answer: HttpAnswer, host: string, clean: (text: string) => string): Error {
  const { status, text, headers } = answer;
  const line = clean(text).slice(0, EXCERPT).replaceAll(/\s+/g, ' ').trim();
  const said = `${host} answered ${status}${line === '' ? '' : `: ${line}`}`;
  if (status >= 300 && status < 400)
    return httpError('TOCK_HTTP_FAILED', `${said}; redirects are not followed: write the final URL`, true);
  const isSuccess = status < 300;
  const isFinal = !isSuccess && status < 500 && ![408, 425, 429].includes(status);
  const message = isSuccess ? `${said}, which success of the job refuses` : said;
  const asked = isFinal ? null : retryAfter({ headers: { get: name => headers[name] ?? null } });
  if (asked === null) return httpError('TOCK_HTTP_FAILED', message, isFinal);
  return withoutStack(new RetryLater(Math.min(asked, MAX_RETRY_AFTER_MS), message));
}

/** An error without a stack, which would name nothing but Tock's own code. */
export function httpError(code: TockErrorCode, message: string, isFinal: boolean): TockError {
  const error = withoutStack(new TockError(code, message));
  // What makes an error of a handler final, whatever its class.
  if (isFinal) Object.defineProperty(error, 'kind', { value: 'tock.dead' });
  return error;
}

function withoutStack<Thrown extends Error>(error: Thrown): Thrown {
  Object.defineProperty(error, 'stack', { value: undefined, configurable: true, writable: true });
  return error;
}
