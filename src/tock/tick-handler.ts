// A tick by HTTP, for platforms that call a function and kill it at a limit.
//
//   GET or POST, Authorization: Bearer SECRET  ->  200 and the summary of a tick
//   405 another method, 401 another secret, 503 the database is away or slow, 500 the tick failed

import { createHash, timingSafeEqual } from 'node:crypto';
import { readWithin } from '../engine/run-tick.js';
import { inTime } from '../environment/in-time.js';
import type { Duration } from '../model/duration.js';
import { TockError } from '../model/errors.js';
import { checkOptions, optionNames } from '../model/options.js';
import { redact } from '../model/run/sanitize.js';
import {
  explainDatabaseError,
  isConnectionFailure,
  isTransient,
  messageOf,
} from '../store/connection/errors.js';
import type { TickCallOptions } from './options.js';
import type { ShellTock, Tock } from './types.js';

/** What {@link tickHandler} takes. */
export interface TickHandlerOptions extends Pick<TickCallOptions, 'concurrency' | 'queues' | 'signal'> {
  /** What callers send as `Authorization: Bearer …`; 16 characters at least, without spaces. */
  readonly secret: string;
  /**
   * Within how long it answers, 1 s at least: some seconds less than the platform's limit. Runs that have not
   * ended by then are given back, and the attempt is not counted. Default `50s`.
   */
  readonly budget?: Duration;
}

/** Answers a request of fetch's kind. It never rejects, and neither reads the body nor heeds its end. */
export type TickHandler = (request: Request) => Promise<Response>;

const OPTIONS = optionNames<TickHandlerOptions>({
  secret: true,
  budget: true,
  concurrency: true,
  queues: true,
  signal: true,
});
const MIN_SECRET = 16;
const METHODS: readonly string[] = ['GET', 'POST'];
/** By then the platform's schedule has mostly called again. */
const RETRY_AFTER_S = 30;

/**
 * Makes a function that makes one tick for each request, and answers with its summary as JSON. Any number of
 * them may run at once.
 * @throws TockError TOCK_BAD_OPTION for a secret that is missing, short or no header's; TOCK_BAD_DURATION
 */
export function tickHandler(tock: Pick<Tock, 'tick'>, options: TickHandlerOptions): TickHandler {
  checkOptions(options, OPTIONS, 'tickHandler');
  const { secret, budget = '50s', ...rest } = options;
  const expected = digest(checkSecret(secret));
  const withinMs = readWithin(budget, 'budget');
  // That of a Tock once it has been used: platforms show the status of an answer, and seldom its text.
  const logger = () => (tock as Partial<Pick<ShellTock, 'logger'>>).logger;
  return async request => {
    if (!METHODS.includes(request.method))
      return answer(405, { error: 'a tick is made by GET or POST' }, { allow: METHODS.join(', ') });
    const [, given] = /^bearer +(\S+) *$/i.exec(request.headers.get('authorization') ?? '') ?? [];
    if (given === undefined || !timingSafeEqual(digest(given), expected))
      return answer(401, { error: 'unauthorized' }, { 'www-authenticate': 'Bearer' });
    try {
      const summary = await inTime(tock.tick({ ...rest, within: withinMs }), withinMs);
      if (summary !== null) return answer(200, summary);
      const message = `the tick did not end within ${withinMs / 1000} s: the database is slow or away`;
      logger()?.error({ event: 'tick_request.late', within_ms: withinMs }, message);
      return away('TOCK_TIMEOUT', message);
    } catch (thrown) {
      const error = explainDatabaseError(thrown, 'tock');
      const code = error instanceof TockError ? error.code : 'UNEXPECTED';
      const message = redact(messageOf(error));
      logger()?.error({ event: 'tick_request.failed', code, error: message }, `the tick failed: ${message}`);
      return isConnectionFailure(error) || isTransient(thrown)
        ? away(code, message)
        : answer(500, { error: message, code });
    }
  };
}

const digest = (text: string) => createHash('sha256').update(text).digest();

function checkSecret(secret: unknown): string {
  const remedy = 'make one with: openssl rand -base64 32, and pass it from the environment';
  if (typeof secret !== 'string' || secret === '')
    throw new TockError('TOCK_BAD_OPTION', `secret is missing, and anybody could tick; ${remedy}`);
  // What a header cannot carry could never be sent; a line break at its end is a common slip.
  if (!/^[\x21-\x7e]+$/.test(secret))
    throw new TockError(
      'TOCK_BAD_OPTION',
      `secret has a space, a line break or another character that a header cannot carry; ${remedy}`,
    );
  if (secret.length >= MIN_SECRET) return secret;
  throw new TockError(
    'TOCK_BAD_OPTION',
    `secret has ${secret.length} characters, and ${MIN_SECRET} are the least; ${remedy}`,
  );
}

const away = (code: string, message: string) =>
  answer(503, { error: message, code }, { 'retry-after': String(RETRY_AFTER_S) });

function answer(status: number, body: object, headers: Readonly<Record<string, string>> = {}): Response {
  return Response.json(body, { status, headers: { 'cache-control': 'no-store', ...headers } });
}
