// The handler of an HTTP job: one attempt of its request.
import { webhookHeaders, withoutSecrets } from '../../../model/alerts/payloads.js';
import { formatDuration } from '../../../model/duration.js';
import { TockError } from '../../../model/errors.js';
import {
  answerFailure,
  type HttpAnswer,
  type HttpOutput,
  httpError,
  outputOf,
} from '../../../model/http/ending.js';
import type { HttpSpec } from '../../../model/http/job-options.js';
import { checkHeader, type HttpValue, readHttpUrl } from '../../../model/http/request-spec.js';
import type { JobContext } from '../../../model/job/job.js';
import { redact, storable } from '../../../model/run/sanitize.js';
import { instantOf } from '../context.js';
import { type RawAnswer, sendRequest } from './request.js';

/** No default body: their meaning is in the URL. */
const WITHOUT_BODY: readonly string[] = ['GET', 'HEAD', 'DELETE'];

/**
 * Sends the request and judges its answer. What the environment holds is in no output, no error and no log.
 * @param timeoutMs beside the job's own timeout; includes reading the answer
 * @param id by which the receiver knows the request again. Default: the run's
 * @throws TockError TOCK_HTTP_FAILED, TOCK_HTTP_REFUSED, TOCK_BAD_OPTION for a variable that is not set,
 * TOCK_BAD_JOB for what a function gave; RetryLater where the answer names a time; the signal's reason
 */
export async function runHttpJob(
  spec: HttpSpec,
  ctx: JobContext,
  payload: unknown,
  { timeoutMs, id = ctx.runId }: { readonly timeoutMs?: number; readonly id?: string } = {},
): Promise<HttpOutput> {
  const secrets: string[] = [];
  const read = (value: HttpValue) => readValue(value, secrets);
  const hide = (text: string) => withoutSecrets(text, secrets);
  const clean = (text: string) => redact(hide(storable(text)));
  const url = readHttpUrl(typeof spec.url === 'function' ? spec.url(payload as never) : read(spec.url));
  if (typeof spec.url === 'object') secrets.push(`${url.pathname}${url.search}`, url.pathname);
  const body = bodyOf(spec, payload);
  const headers: Record<string, string> = {
    'user-agent': 'tock',
    accept: '*/*',
    'accept-encoding': 'identity',
    ...(body === null ? {} : { 'content-type': body.type }),
  };
  for (const [name, value] of Object.entries(spec.headers)) headers[name] = checkHeader(read(value), name);
  headers['idempotency-key'] = id;
  if (spec.secret !== null) {
    const seconds = Math.floor((await instantOf(ctx)) / 1000);
    Object.assign(headers, webhookHeaders(id, body?.text ?? '', read(spec.secret), seconds));
  }
  const request = { url, method: spec.method, headers, body: body?.text ?? null, hide, allow: spec.allow };
  const tooLong = timeoutMs === undefined ? null : AbortSignal.timeout(timeoutMs);
  const signal = tooLong === null ? ctx.signal : AbortSignal.any([ctx.signal, tooLong]);
  const raw = await sendRequest({ ...request, signal }).catch((error: unknown) => {
    ctx.signal.throwIfAborted();
    if (tooLong?.aborted)
      throw httpError(
        'TOCK_HTTP_FAILED',
        `${url.host} did not answer within ${formatDuration(timeoutMs ?? 0)}`,
        false,
      );
    throw error instanceof TockError
      ? error
      : httpError('TOCK_HTTP_FAILED', clean(`no answer from ${url.host}: ${reasonOf(error)}`), false);
  });
  const answer = withJson(raw);
  ctx.log.info(
    { host: url.host, status: answer.status },
    `${spec.method} ${url.host} answered ${answer.status}`,
  );
  if (isSuccess(spec, answer)) return outputOf(answer, clean);
  throw answerFailure(answer, url.host, clean);
}

function readValue(value: HttpValue, secrets: string[]): string {
  if (typeof value === 'string') return value;
  const found = process.env[value.env]?.trim();
  if (!found)
    throw new TockError(
      'TOCK_BAD_OPTION',
      `the environment variable ${value.env} is not set for this worker; the request needs it`,
    );
  secrets.push(found);
  return `${value.prefix ?? ''}${found}`;
}

function bodyOf({ body, method }: HttpSpec, payload: unknown) {
  const given: unknown =
    typeof body === 'function'
      ? body(payload as never)
      : (body ?? (body === undefined && !WITHOUT_BODY.includes(method) ? payload : null));
  if (given === null || given === undefined) return null;
  if (typeof given === 'string') return { text: given, type: 'text/plain; charset=utf-8' };
  return { text: JSON.stringify(given), type: 'application/json' };
}

function withJson(raw: RawAnswer): HttpAnswer {
  const json = (): unknown => {
    const problem = (what: string) =>
      httpError('TOCK_HTTP_FAILED', `the answer ${raw.status} ${what}`, false);
    if (raw.isCut) throw problem('is too long to be read as JSON');
    try {
      return JSON.parse(raw.text);
    } catch {
      throw problem('is no JSON');
    }
  };
  return { ...raw, json };
}

function isSuccess({ success }: HttpSpec, answer: HttpAnswer): boolean {
  if (typeof success === 'function') return success(answer) === true;
  if (success !== null) return success.includes(answer.status);
  return answer.status >= 200 && answer.status < 300;
}

/** Several addresses fail with one error each, in an error that says nothing. */
function reasonOf(error: unknown): string {
  const { code, message, errors } = error as { code?: string; message?: string; errors?: unknown[] };
  if (Array.isArray(errors) && errors.length > 0) return [...new Set(errors.map(reasonOf))].join(', ');
  return message ? message : (code ?? String(error));
}
