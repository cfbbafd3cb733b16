// The options of defineHttpJob, and their checks.

import { badJob } from '../job/bad-job.js';
import type { OnDeadReference } from '../job/dead-run.js';
import { JOB_OPTIONS } from '../job/define-job.js';
import type { JobOptions } from '../job/job.js';
import type { Json } from '../job/payload/json.js';
import type { StandardSchemaV1 } from '../job/payload/standard-schema.js';
import { quote } from '../names.js';
import { checkOptions, optionNames } from '../options.js';
import type { HttpAnswer, HttpOutput } from './ending.js';
import {
  type HttpMethod,
  type HttpSecret,
  type HttpValue,
  readAllowed,
  readHttpHeaders,
  readHttpMethod,
  readHttpSecret,
  readHttpUrl,
  readStatuses,
} from './request-spec.js';

/** The request of an HTTP job, and what its answer means. */
export interface HttpRequestOptions<Payload = unknown> {
  /** https://…, a secret, or a function of the payload. It has no user and no password: see `headers`. */
  readonly url: HttpValue | ((payload: Payload) => string);
  /** Default `POST`. */
  readonly method?: HttpMethod;
  /** A value may be a secret: `{ authorization: { env: 'TOKEN', prefix: 'Bearer ' } }`. */
  readonly headers?: Readonly<Record<string, HttpValue>>;
  /**
   * A text is sent as it is, another value as JSON. Or a function of the payload; null: none. Default: the
   * payload, and with GET, HEAD and DELETE none.
   */
  readonly body?: Json | ((payload: Payload) => Json);
  /** Which answers are successes: statuses, or a function that looks at the answer. Default: 200 to 299. */
  readonly success?: readonly number[] | ((answer: HttpAnswer) => boolean);
  /** Signs the request as Standard Webhooks has it, with this secret: `whsec_` and base64, or any text. */
  readonly secret?: HttpSecret;
  /**
   * Hosts, addresses and networks that may be private or without TLS: `['billing.internal', '10.0.0.0/8']`.
   * Default: none.
   */
  readonly allow?: readonly string[];
}

/** What defineHttpJob takes: a request, and what defineJob takes except `run`. Default `timeout`: 30 s. */
export type HttpJobOptions<
  Schema extends StandardSchemaV1 = StandardSchemaV1,
  Name extends string = string,
  OnDead extends OnDeadReference = OnDeadReference,
> = Omit<JobOptions<Schema, HttpOutput, Name, OnDead>, 'run'> &
  HttpRequestOptions<StandardSchemaV1.InferOutput<Schema>>;

/** A checked request. */
export interface HttpSpec {
  readonly url: HttpValue | ((payload: never) => unknown);
  readonly method: HttpMethod;
  readonly headers: Readonly<Record<string, HttpValue>>;
  /** Undefined: the payload. */
  readonly body: Json | ((payload: never) => unknown) | undefined;
  /** Null: 200 to 299. */
  readonly success: readonly number[] | ((answer: HttpAnswer) => unknown) | null;
  readonly secret: HttpSecret | null;
  readonly allow: readonly string[];
}

const OWN = optionNames<HttpRequestOptions<never>>({
  url: true,
  method: true,
  headers: true,
  body: true,
  success: true,
  secret: true,
  allow: true,
});
/** What defineJob takes, without the handler and what defineJob adds. */
const OF_JOB = [...JOB_OPTIONS].filter(name => !['run', 'batch', 'kind', 'file'].includes(name));
const ALL: ReadonlySet<string> = new Set([...OF_JOB, ...OWN]);
const DEFAULT_TIMEOUT = '30s';

/**
 * The options of defineJob among these, and the request.
 * @throws TockError TOCK_BAD_JOB
 */
export function readHttpOptions<Schema extends StandardSchemaV1, Name extends string>(
  options: HttpJobOptions<Schema, Name>,
): { readonly job: Omit<JobOptions<Schema, HttpOutput, Name>, 'run'>; readonly spec: HttpSpec } {
  if (typeof options === 'object' && options !== null && 'run' in options)
    throw badJob('an HTTP job has a url and no run function; write defineJob for a handler in code');
  checkOptions(options, ALL, 'defineHttpJob', 'TOCK_BAD_JOB');
  const { url, method, headers, body, success, secret, allow, ...job } = options;
  return {
    job: { ...job, timeout: job.timeout ?? DEFAULT_TIMEOUT },
    spec: readHttpSpec({ url, method, headers, body, success, secret, allow }),
  };
}

/** @throws TockError TOCK_BAD_JOB */
export function readHttpSpec(given: { readonly [Name in keyof HttpRequestOptions]?: unknown }): HttpSpec {
  const { url, method = 'POST', headers = {}, body, success, secret, allow = [] } = given;
  return {
    url: readUrl(url),
    method: readHttpMethod(method),
    headers: readHttpHeaders(headers),
    body: body as HttpSpec['body'],
    success: readSuccess(success),
    secret: secret === undefined ? null : readHttpSecret(secret, 'secret'),
    allow: readAllowed(allow),
  };
}

function readUrl(url: unknown): HttpSpec['url'] {
  if (typeof url === 'function') return url as (payload: never) => unknown;
  if (typeof url === 'object' && url !== null) return readHttpSecret(url, 'url');
  if (url === undefined) throw badJob('an HTTP job needs a url: https://…');
  return readHttpUrl(url).href;
}

function readSuccess(success: unknown): HttpSpec['success'] {
  if (success === undefined) return null;
  if (typeof success === 'function') return success as (answer: HttpAnswer) => unknown;
  if (Array.isArray(success)) return readStatuses(success);
  throw badJob(`success ${quote(success)} is neither a list of statuses nor a function of the answer`);
}
