// The `changes` option of a job: whether what becomes of its runs is kept for those who follow it, and which
// URL it is posted to.
import { type Duration, parseDuration } from '../duration.js';
import {
  type HttpSecret,
  type HttpValue,
  readAllowed,
  readHttpHeaders,
  readHttpSecret,
  readHttpUrl,
} from '../http/request-spec.js';
import { badJob } from '../job/bad-job.js';
import { quote } from '../names.js';
import { checkOptions, optionNames } from '../options.js';
import type { ChangeKind } from './change.js';

/** Where the changes of a job's runs are posted to: one request for each, signed, in their order. */
export interface ChangesWebhook {
  /** https://… or a secret, `{ env: 'NAME' }`. It has no user and no password: see `headers`. */
  readonly url: HttpValue;
  /**
   * Signs each request as Standard Webhooks has it: `{ env: 'NAME' }`, whose value is `whsec_` and base64, or
   * any text.
   */
  readonly secret: HttpSecret;
  /** Only these. Default: `ended`, `failed` and `waiting`. */
  readonly kinds?: readonly ChangeKind[];
  /** A value may be a secret: `{ authorization: { env: 'TOKEN', prefix: 'Bearer ' } }`. Default: none. */
  readonly headers?: Readonly<Record<string, HttpValue>>;
  /** Hosts, addresses and networks that may be private or without TLS; see `defineHttpJob`. Default: none. */
  readonly allow?: readonly string[];
  /** Of one request, with the reading of its answer; at most 5m. Default `30s`. */
  readonly timeout?: Duration;
}

/** `true`: changes are kept for those who follow them; with `webhook` they are also posted to a URL. */
export type ChangesOption = boolean | { readonly webhook: ChangesWebhook };

/** A checked webhook. */
export interface Webhook extends Required<Pick<ChangesWebhook, 'url' | 'secret' | 'headers' | 'allow'>> {
  /** Null: all. */
  readonly kinds: readonly ChangeKind[] | null;
  readonly timeoutMs: number;
}

/** Before a job's name: the name of the job of Tock's own that delivers its changes. */
export const WEBHOOK_PREFIX = 'tock:webhook:';
const MAX_NAME = 200 - WEBHOOK_PREFIX.length;
const KINDS = Object.keys({ ended: 0, failed: 0, waiting: 0 } satisfies Record<ChangeKind, 0>);
const OPTIONS = optionNames<Exclude<ChangesOption, boolean>>({ webhook: true });
const WEBHOOK_OPTIONS = optionNames<ChangesWebhook>({
  url: true,
  secret: true,
  kinds: true,
  headers: true,
  allow: true,
  timeout: true,
});
const DEFAULT_TIMEOUT = '30s';
const MAX_TIMEOUT_MS = 300_000;

/**
 * Null: no change is kept; a `webhook` of null: none is posted.
 * @param job the name of the job
 * @throws TockError TOCK_BAD_JOB, TOCK_BAD_DURATION
 */
export function readChangesOption(
  option: ChangesOption | undefined,
  job: string,
): { readonly webhook: Webhook | null } | null {
  if (option === undefined || option === false) return null;
  if (option === true) return { webhook: null };
  if (typeof option !== 'object' || option === null || option.webhook === undefined)
    throw badJob('changes cannot be read; write true, or { webhook: { url, secret } }, or leave it out');
  checkOptions(option, OPTIONS, 'changes', 'TOCK_BAD_JOB');
  if (job.length > MAX_NAME)
    throw badJob(`job ${job} has a webhook, so its name may have at most ${MAX_NAME} bytes; shorten it`);
  return { webhook: readWebhook(option.webhook) };
}

function readWebhook(webhook: ChangesWebhook): Webhook {
  // It is not repeated in the message: a URL often holds a secret.
  if (typeof webhook === 'string') throw badJob('changes.webhook is a text; write an object of options');
  checkOptions(webhook, WEBHOOK_OPTIONS, 'changes.webhook', 'TOCK_BAD_JOB');
  const { url, secret, kinds, headers = {}, allow = [], timeout = DEFAULT_TIMEOUT } = webhook;
  if (url === undefined) throw badJob('changes.webhook needs a url: https://…');
  if (secret === undefined)
    throw badJob("changes.webhook needs a secret, by which its receiver knows it: { env: 'NAME' }");
  const timeoutMs = parseDuration(timeout, 'changes.webhook.timeout');
  if (timeoutMs === 0 || timeoutMs > MAX_TIMEOUT_MS)
    throw badJob('changes.webhook.timeout must be from 1ms to 5m');
  return {
    url:
      typeof url === 'object' && url !== null
        ? readHttpSecret(url, 'changes.webhook.url')
        : readHttpUrl(url, 'changes.webhook.url').href,
    secret: readHttpSecret(secret, 'changes.webhook.secret'),
    kinds: readKinds(kinds),
    headers: readHttpHeaders(headers),
    allow: readAllowed(allow),
    timeoutMs,
  };
}

function readKinds(kinds: readonly ChangeKind[] | undefined): readonly ChangeKind[] | null {
  if (kinds === undefined) return null;
  if (!Array.isArray(kinds) || kinds.length === 0)
    throw badJob(`changes.webhook.kinds is no list of ${KINDS.join(', ')}; leave it out for all of them`);
  for (const kind of kinds)
    if (!KINDS.includes(kind))
      throw badJob(`changes.webhook.kinds has ${quote(kind)}, which is none of ${KINDS.join(', ')}`);
  return kinds;
}
