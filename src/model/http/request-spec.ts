// What an HTTP request is made of, and its checks. Secrets are named here, and read when the request is sent.
import { badJob } from '../job/bad-job.js';
import { quote } from '../names.js';
import { checkOptions, optionNames } from '../options.js';

export const HTTP_METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
/** The methods that a request may have. */
export type HttpMethod = (typeof HTTP_METHODS)[number];

/** A value that is read from the worker's environment when it is sent: it is neither stored nor logged. */
export interface HttpSecret {
  /** Name of the environment variable. */
  readonly env: string;
  /** What stands before it, such as `'Bearer '`. Default: nothing. */
  readonly prefix?: string;
}

/** The value of a header, or of a URL: a text, or a secret. */
export type HttpValue = string | HttpSecret;

const MAX_URL = 8192;
const TOKEN = /^[\w!#$%&'*+.^`|~-]{1,200}$/;
/** What the connection needs, or what Tock states itself. */
const RESERVED: ReadonlySet<string> = new Set([
  'host',
  'content-length',
  'transfer-encoding',
  'connection',
  'keep-alive',
  'upgrade',
  'te',
  'trailer',
  'expect',
  'accept-encoding',
  'idempotency-key',
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
]);
const SECRET = optionNames<HttpSecret>({ env: true, prefix: true });

/**
 * Reads a URL, of which nothing but the host is ever in a message: the rest of it is often a secret.
 * @throws TockError TOCK_BAD_JOB
 */
export function readHttpUrl(given: unknown, what = 'url'): URL {
  if (typeof given !== 'string' || given.length > MAX_URL || !URL.canParse(given))
    throw badJob(`${what} is no URL of at most ${MAX_URL} characters; write it as https://host/path`);
  const url = new URL(given);
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw badJob(`${what} begins with ${quote(url.protocol)}; write https://`);
  if (url.username !== '' || url.password !== '')
    throw badJob(
      `${what} for ${url.host} holds a user or a password, which would be stored and logged; send them as a header: headers: { authorization: { env: 'NAME', prefix: 'Basic ' } }`,
    );
  url.hash = '';
  return url;
}

/** @throws TockError TOCK_BAD_JOB */
export function readHttpMethod(given: unknown): HttpMethod {
  const method = HTTP_METHODS.find(each => each === given);
  if (method === undefined) throw badJob(`method ${quote(given)} is none of ${HTTP_METHODS.join(', ')}`);
  return method;
}

/** @throws TockError TOCK_BAD_JOB. Values are in no message: they may be secrets */
export function readHttpHeaders(given: unknown): Readonly<Record<string, HttpValue>> {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw badJob(`headers ${quote(given)} is not an object of texts and { env: 'NAME' }`);
  const headers: Record<string, HttpValue> = {};
  for (const [name, value] of Object.entries(given as Readonly<Record<string, unknown>>)) {
    const lower = name.toLowerCase();
    if (!TOKEN.test(name)) throw badJob(`headers has ${quote(name)}, which cannot be the name of a header`);
    if (RESERVED.has(lower)) throw badJob(`headers has ${quote(name)}, which Tock sets itself; leave it out`);
    if (Object.hasOwn(headers, lower)) throw badJob(`headers has ${quote(lower)} twice`);
    headers[lower] =
      typeof value === 'string' ? checkHeader(value, lower) : readHttpSecret(value, `headers.${name}`);
  }
  return headers;
}

/** @throws TockError TOCK_BAD_JOB, without the value */
export function checkHeader(value: string, name: string): string {
  if (/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) return value;
  throw badJob(
    `the value of header ${name} has a line break or another character that a header cannot carry`,
  );
}

/** @throws TockError TOCK_BAD_JOB */
export function readHttpSecret(given: unknown, what: string): HttpSecret {
  if (typeof given === 'string')
    throw badJob(`${what} is a text, which may be the secret itself; name its variable: { env: 'NAME' }`);
  checkOptions(given, SECRET, what, 'TOCK_BAD_JOB');
  const { env, prefix } = given as HttpSecret;
  if (typeof env !== 'string' || !/^[A-Za-z_]\w*$/.test(env))
    throw badJob(`${what}.env ${quote(env)} is not the name of an environment variable`);
  if (prefix === undefined) return { env };
  if (typeof prefix !== 'string') throw badJob(`${what}.prefix ${quote(prefix)} is not a text`);
  return { env, prefix: checkHeader(prefix, what) };
}

/** Which statuses are successes. @throws TockError TOCK_BAD_JOB */
export function readStatuses(given: readonly unknown[]): readonly number[] {
  if (given.length === 0) throw badJob('success is empty: no run could ever succeed');
  for (const status of given)
    if (!Number.isInteger(status) || (status as number) < 200 || (status as number) > 599)
      throw badJob(`success has ${quote(status)}; a status is a whole number from 200 to 599`);
  return given as readonly number[];
}

/** Hosts and addresses, such as `billing.internal` and `10.0.0.0/8`. @throws TockError TOCK_BAD_JOB */
export function readAllowed(given: unknown): readonly string[] {
  if (!Array.isArray(given)) throw badJob(`allow ${quote(given)} is not a list of hosts and addresses`);
  for (const each of given as readonly unknown[])
    if (typeof each !== 'string' || !/^[\w.:-]{1,253}(?:\/\d{1,3})?$/.test(each))
      throw badJob(
        `allow has ${quote(each)}; write a host, an address or a network, such as billing.internal or 10.0.0.0/8`,
      );
  return (given as readonly string[]).map(each => each.toLowerCase());
}
