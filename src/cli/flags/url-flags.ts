// The flags of a schedule that requests a URL, as the payload that Tock's own job takes.
import { type Command, InvalidArgumentError, Option } from 'commander';
import { TockError } from '../../model/errors.js';
import type { HttpMethod, HttpValue } from '../../model/http/request-spec.js';
import { readStoredRequest, type StoredRequest, URL_JOB } from '../../model/http/stored-request.js';
import type { Json } from '../../model/job/payload/json.js';
import { duration } from './flags.js';

export interface UrlFlags {
  readonly url?: string;
  readonly method?: string;
  readonly header?: Readonly<Record<string, HttpValue>>;
  readonly success?: number[];
  readonly sign?: string;
  readonly timeout?: string;
}

export function withUrlFlags(command: Command): Command {
  return command
    .option('--url <url>', 'in place of --job: request this URL, https://…; --payload is the body')
    .option('--method <method>', 'with --url: GET, POST … (default POST with --payload, else GET)')
    .addOption(
      new Option(
        '--header <name: value>',
        'with --url: a header; $TOCK_HTTP_… at its end names a variable of the worker; may be repeated',
      ).argParser(header),
    )
    .option('--success <codes>', 'with --url: which statuses are successes (default 200 to 299)', statuses)
    .option('--sign <variable>', 'with --url: sign with the secret in this variable, TOCK_HTTP_…')
    .option('--timeout <duration>', 'with --url: of one attempt (default 30s)', duration);
}

/** `authorization: Bearer $TOCK_HTTP_TOKEN` names a variable, which the shell must not replace. */
function header(
  text: string,
  before: Readonly<Record<string, HttpValue>> = {},
): Readonly<Record<string, HttpValue>> {
  const [, name, value] = /^([^\s:]+):\s*(.*)$/s.exec(text) ?? [];
  if (name === undefined || value === undefined) throw new InvalidArgumentError("write it as 'name: value'");
  const [, prefix = '', env] = /^(.*)\$(\w+)$/s.exec(value) ?? [];
  if (/^(?:authorization|cookie|x-api-key)$/i.test(name) && env === undefined)
    throw new InvalidArgumentError(
      `it would be stored as it is: name a variable of the worker, in single quotes: '${name}: $TOCK_HTTP_…'`,
    );
  return { ...before, [name]: env === undefined ? value : { env, ...(prefix === '' ? {} : { prefix }) } };
}

function statuses(text: string): number[] {
  const codes = text.split(',').map(code => Number(code.trim()));
  if (codes.every(Number.isInteger)) return codes;
  throw new InvalidArgumentError('write statuses, such as 200,202');
}

/** Whether the flags state a request. @throws TockError TOCK_BAD_OPTION for flags that exclude each other */
export function statesRequest(
  { url, method, header: headers, success, sign, timeout }: UrlFlags,
  job: string | undefined,
  before: string | null,
): boolean {
  const others = {
    '--method': method,
    '--header': headers,
    '--success': success,
    '--sign': sign,
    '--timeout': timeout,
  };
  const [other] = Object.entries(others).flatMap(([name, value]) => (value === undefined ? [] : [name]));
  if (job !== undefined && (url !== undefined || other !== undefined))
    throw usage(
      `--job and ${url === undefined ? other : '--url'} exclude each other: a schedule has one of them`,
    );
  if (before === null && job === undefined && url === undefined)
    throw usage(
      `a schedule needs --job, or --url${other === undefined ? '' : `, to which ${other} belongs`}`,
    );
  if (before !== null && before !== URL_JOB && url === undefined && other !== undefined)
    throw usage(`${other} belongs to a schedule with a URL; this one has the job ${before}: give --url too`);
  return url !== undefined || (before === URL_JOB && job === undefined);
}

/**
 * The request that the flags state; what is not given stays as it is.
 * @throws TockError TOCK_BAD_JOB, TOCK_BAD_DURATION
 */
export function requestOf(flags: UrlFlags, body: unknown, before: unknown): Json {
  const kept = (typeof before === 'object' && before !== null ? before : {}) as Partial<StoredRequest>;
  const { url = kept.url, method, success, sign, timeout } = flags;
  const stated = method?.toUpperCase() ?? kept.method ?? (body === undefined ? 'GET' : 'POST');
  const request = {
    ...kept,
    url: url as HttpValue,
    method: stated as HttpMethod,
    headers: flags.header ?? kept.headers,
    body: body === undefined ? kept.body : (body as Json),
    success: success ?? kept.success,
    secret: sign === undefined ? kept.secret : { env: sign },
    timeout: timeout ?? kept.timeout,
  };
  const stored = JSON.parse(JSON.stringify(request)) as Json;
  readStoredRequest(stored, []);
  return stored;
}

function usage(message: string): TockError {
  return new TockError('TOCK_BAD_OPTION', message);
}
