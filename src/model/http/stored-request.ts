// The request of a schedule that was made with a URL in place of a job: its payload.

import { type Duration, parseDuration } from '../duration.js';
import { badJob } from '../job/bad-job.js';
import type { Json } from '../job/payload/json.js';
import type { StandardSchemaV1 } from '../job/payload/standard-schema.js';
import { checkOptions, optionNames } from '../options.js';
import { type HttpSpec, readHttpSpec } from './job-options.js';
import type { HttpMethod, HttpSecret, HttpValue } from './request-spec.js';

/** Tock's own job, which sends them. No project's job can be called so by accident. */
export const URL_JOB = 'tock:http';
/**
 * Who may make a schedule may send what these variables hold to any public host; so other variables, such as
 * the database's URL, are out of reach.
 */
export const SECRET_PREFIX = 'TOCK_HTTP_';
const MAX_TIMEOUT_MS = 3_600_000;
const DEFAULT_TIMEOUT_MS = 30_000;

/** What is stored: no function, and no secret, only the names of variables. */
export interface StoredRequest {
  readonly url: HttpValue;
  readonly method?: HttpMethod;
  readonly headers?: Readonly<Record<string, HttpValue>>;
  /** Default: none. */
  readonly body?: Json;
  /** Statuses. Default: 200 to 299. */
  readonly success?: readonly number[];
  readonly secret?: HttpSecret;
  /** Of one attempt, at most 1h. Default `30s`. */
  readonly timeout?: Duration;
}

const OPTIONS = optionNames<StoredRequest>({
  url: true,
  method: true,
  headers: true,
  body: true,
  success: true,
  secret: true,
  timeout: true,
});

/**
 * @param allow the worker's own list, as its environment has it
 * @throws TockError TOCK_BAD_JOB, TOCK_BAD_DURATION
 */
export function readStoredRequest(
  payload: unknown,
  allow: readonly string[],
): { readonly spec: HttpSpec; readonly timeoutMs: number } {
  checkOptions(payload, OPTIONS, 'the request', 'TOCK_BAD_JOB');
  const { timeout, body = null, ...given } = payload as StoredRequest;
  const spec = readHttpSpec({ ...given, body, allow });
  const timeoutMs = timeout === undefined ? DEFAULT_TIMEOUT_MS : parseDuration(timeout, 'timeout');
  if (timeoutMs === 0 || timeoutMs > MAX_TIMEOUT_MS) throw badJob('timeout must be from 1ms to 1h');
  for (const value of [spec.url, spec.secret, ...Object.values(spec.headers)])
    if (typeof value === 'object' && value !== null && !value.env.startsWith(SECRET_PREFIX))
      throw badJob(
        `the variable ${value.env} cannot be sent by a schedule: only those can whose names begin with ${SECRET_PREFIX}`,
      );
  return { spec, timeoutMs };
}

/** Refuses a request that could never be sent when its schedule is made. */
export const STORED_REQUEST: StandardSchemaV1 = {
  '~standard': {
    version: 1,
    vendor: 'pg-tock',
    validate: value => {
      try {
        readStoredRequest(value, []);
        return { value };
      } catch (error) {
        return { issues: [{ message: error instanceof Error ? error.message : String(error) }] };
      }
    },
  },
};
