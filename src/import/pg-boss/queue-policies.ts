// The options of a pg-boss schedule and its queue as policies of a definition.
import { secondsText } from '../elsewhere/taken.js';
import { textOf, type Values } from '../elsewhere/values.js';

export interface QueuePolicies {
  readonly schedule: Readonly<Record<string, string>>;
  readonly timeout: string | null;
  readonly priority: number;
  /** As code. */
  readonly retry: string;
  readonly differences: readonly string[];
}

/** What happens to an occurrence while an earlier job is active, by the policy of the queue. */
const OVERLAPS: Readonly<Record<string, string>> = {
  standard: 'allow_all',
  short: 'allow_all',
  singleton: 'buffer_all',
  stately: 'buffer_one',
  exclusive: 'skip',
  key_strict_fifo: 'buffer_all',
};
const READ = new Set([
  'tz',
  'key',
  'missed',
  'priority',
  'retryLimit',
  'retryDelay',
  'retryBackoff',
  'retryDelayMax',
  'expireInSeconds',
  'expireInMinutes',
  'expireInHours',
]);
const REMEDIES: Readonly<Record<string, string>> = {
  deadLetter: 'onDead enqueues a job for each dead run',
  singletonKey:
    'a schedule never makes two runs of one occurrence; for other jobs, key and unique of tock.enqueue',
  singletonSeconds: 'a schedule never makes two runs of one occurrence',
  startAfter: 'write ctx.enqueue(…, { delay }) in the handler, or another time in cron',
  group: 'concurrency with a key',
};
/** Those of pg-boss, for queues of older versions. */
const DEFAULTS = { retryLimit: 2, expireSeconds: 900 };

/** @param options those of the schedule, which come first. @param queue the row of its queue */
export function queuePolicies(options: Values, queue: Values): QueuePolicies {
  const number = (name: string, column: string): number | null =>
    asNumber(options[name]) ?? asNumber(queue[column]);
  const differences: string[] = [];
  const policy = typeof queue['policy'] === 'string' ? queue['policy'] : 'standard';
  if (policy === 'short')
    differences.push('its queue has the policy short: at most one job waits there; here any number may');
  if (!Object.hasOwn(OVERLAPS, policy))
    differences.push(`the policy ${policy} of its queue is not known; overlap is as for standard`);
  const expire =
    asNumber(options['expireInSeconds']) ??
    scaled(options['expireInMinutes'], 60) ??
    scaled(options['expireInHours'], 3600) ??
    asNumber(queue['expire_seconds']) ??
    DEFAULTS.expireSeconds;
  const deadLetter = textOf(options['deadLetter'] ?? queue['dead_letter']);
  const rest = Object.keys(options).filter(
    name => !READ.has(name) && name !== 'deadLetter' && isSet(options[name]),
  );
  if (deadLetter !== null)
    differences.push(`not carried over: deadLetter ${deadLetter} (${REMEDIES['deadLetter'] ?? ''})`);
  for (const name of rest)
    differences.push(
      `not carried over: ${name}${REMEDIES[name] === undefined ? '' : ` (${REMEDIES[name]})`}`,
    );
  return {
    schedule: {
      overlap: OVERLAPS[policy] ?? 'allow_all',
      // `once` makes one job for what was missed, which is Tock's default.
      ...(options['missed'] === 'once' ? {} : { catchup: 'none' }),
    },
    timeout: expire >= 1 ? secondsText(expire) : null,
    priority: -(asNumber(options['priority']) ?? 0) || 0,
    retry: retryCode(
      number('retryLimit', 'retry_limit') ?? DEFAULTS.retryLimit,
      number('retryDelay', 'retry_delay') ?? 0,
      (options['retryBackoff'] ?? queue['retry_backoff']) === true,
      number('retryDelayMax', 'retry_delay_max'),
    ),
    differences,
  };
}

function retryCode(limit: number, delay: number, isExponential: boolean, max: number | null): string {
  if (limit < 1) return '{ maxAttempts: 1 }';
  const parts = [`maxAttempts: ${limit + 1}`];
  // With backoff, pg-boss waits at least a second.
  const base = isExponential ? Math.max(1, delay) : delay;
  parts.push(isExponential ? '' : "backoff: 'fixed'", `base: '${secondsText(base)}'`);
  if (isExponential && max !== null && max > 0) parts.push(`max: '${secondsText(max)}'`);
  return `{ ${parts.filter(part => part !== '').join(', ')} }`;
}

const asNumber = (value: unknown): number | null =>
  typeof value === 'number' && Number.isFinite(value) ? value : null;
const scaled = (value: unknown, by: number): number | null => {
  const number = asNumber(value);
  return number === null ? null : number * by;
};
const isSet = (value: unknown): boolean => value !== null && value !== undefined && value !== false;
