// `fair` and `rate` of a job: by which key its runs share the workers, and how often each key may start.
import { type Duration, MAX_DURATION_MS, parseDuration } from '../../duration.js';
import { TockError, type TockErrorCode } from '../../errors.js';
import { quote } from '../../names.js';
import { checkOptions, optionNames } from '../../options.js';
import type { JobConcurrency } from './concurrency.js';
import { readKeyPath } from './fair-path.js';

/** By which key runs share the workers of all hosts. See docs/fairness.md. */
export interface FairOption<Payload = never> {
  /**
   * Where the key is in the payload: a path such as `'$.tenant'`, or a function that picks it,
   * `({ tenant }) => tenant`. A run without the key waits for nobody.
   */
  readonly key: string | ((payload: Payload) => string | number | undefined | null);
  /** The most runs of each key at once, over all hosts: 1 to 10,000. Default: no limit. */
  readonly limit?: number;
}

/** How often each key may start a run, over all hosts. */
export interface KeyRate {
  /** How many starts in each `per`, one after another: 1 to 1,000,000. */
  readonly limit: number;
  readonly per: Duration;
  /**
   * How many starts a key that had none for a while may make at once: what the rate allows in thirty years,
   * at most. Default: those of one second, at least 1.
   */
  readonly burst?: number;
}

/** `rate` of a job. */
export interface JobRate<Payload = never> extends KeyRate {
  /** As in `fair`. Default: the key of `fair`; a job without one must give it. */
  readonly key?: FairOption<Payload>['key'];
}

/** The part of a job's options that is about the keys of its runs. */
export interface FairOptions<Payload = never> {
  /**
   * By which key its runs share the workers of all hosts: keys with waiting runs take turns, by their
   * weights, and what one does not use the others get. See docs/fairness.md. Default: the order of their
   * time.
   */
  readonly fair?: FairOption<Payload>;
  /**
   * How often each key may start a run, over all hosts: in any time of length w at most `limit × w / per +
   * burst`. Implies `fair`. Default: no limit.
   */
  readonly rate?: JobRate<Payload>;
}

/** A rate as it is stored. */
export interface StoredRate {
  readonly limit: number;
  readonly perMs: number;
  readonly burst: number;
}

/** What a job, or a queue, says of its keys. */
export interface FairScope {
  /** A jsonpath of members and places. */
  readonly path: string;
  readonly limit: number | null;
  readonly rate: StoredRate | null;
  /** Of each key a run starts once the run before it has ended. Only of jobs. Default: false. */
  readonly isStrict?: boolean;
}

const FAIR = optionNames<FairOption>({ key: true, limit: true });
const RATE = optionNames<JobRate>({ limit: true, per: true, burst: true, key: true });
const KEY_RATE = optionNames<KeyRate>({ limit: true, per: true, burst: true });

/** @throws TockError of the code; TOCK_BAD_DURATION */
export function readFairOption(
  fair: FairOption,
  code: TockErrorCode = 'TOCK_BAD_JOB',
): Omit<FairScope, 'rate'> {
  checkOptions(fair, FAIR, 'fair', code, "{ key: '$.tenant' }");
  const path = readKeyPath(fair.key, 'fair.key', code);
  return { path, limit: fair.limit === undefined ? null : checkKeyLimit(fair.limit, 'fair.limit', code) };
}

/** The most runs of a key at once. @throws TockError of the code */
export function checkKeyLimit(limit: unknown, what: string, code: TockErrorCode): number {
  return wholeNumber(limit, 10_000, what, code);
}

/** @throws TockError of the code; TOCK_BAD_DURATION */
export function readKeyRate(rate: KeyRate, code: TockErrorCode, known = KEY_RATE): StoredRate {
  checkOptions(
    rate,
    known,
    'rate',
    code,
    `{ limit: 5, per: '1s'${known.has('key') ? ", key: '$.tenant'" : ''} }`,
  );
  const limit = wholeNumber(rate.limit, 1_000_000, 'rate.limit', code);
  const perMs = parseDuration(rate.per, 'rate.per');
  if (perMs < 1) throw new TockError(code, 'rate.per must be longer than 0');
  const burst =
    rate.burst === undefined
      ? Math.min(1_000_000, Math.max(1, Math.ceil((1000 * limit) / perMs)))
      : wholeNumber(rate.burst, 1_000_000, 'rate.burst', code);
  if ((burst * perMs) / limit > MAX_DURATION_MS)
    throw new TockError(
      code,
      `rate.burst ${burst} would take over thirty years to save up, at ${limit} per ${quote(rate.per)}`,
    );
  return { limit, perMs, burst };
}

function wholeNumber(count: unknown, most: number, what: string, code: TockErrorCode): number {
  if (typeof count === 'number' && Number.isInteger(count) && count >= 1 && count <= most) return count;
  throw new TockError(code, `${what} ${quote(count)} is not a whole number from 1 to ${most}`);
}

/** A strict order without a key: all runs of the job have this one. */
const ALL_RUNS = '"all"';

/**
 * What a job says of its keys; null: nothing.
 * @throws TockError TOCK_BAD_JOB, TOCK_BAD_DURATION
 */
export function fairScopeOf(job: {
  readonly name: string;
  readonly concurrency?: JobConcurrency;
  readonly fair?: FairOption;
  readonly rate?: JobRate;
}): FairScope | null {
  const { name, concurrency, fair, rate } = job;
  const isStrict = concurrency?.order === 'strict';
  const shared = fair === undefined ? null : readFairOption(fair);
  if (isStrict && (shared?.limit ?? 1) > 1)
    throw new TockError(
      'TOCK_BAD_JOB',
      `fair.limit of job ${name} is ${shared?.limit}, and its order is strict, with one run of each key at once: leave out fair.limit`,
    );
  const stored = rate === undefined ? null : readKeyRate(rate, 'TOCK_BAD_JOB', RATE);
  const paths: [string, string][] = [];
  if (isStrict) paths.push(['concurrency.key', strictPath(concurrency)]);
  if (shared !== null) paths.push(['fair.key', shared.path]);
  if (rate?.key !== undefined) paths.push(['rate.key', readKeyPath(rate.key, 'rate.key')]);
  const [first, ...others] = paths;
  if (first === undefined) {
    if (rate === undefined) return null;
    throw new TockError(
      'TOCK_BAD_JOB',
      `rate of job ${name} has no key: give rate.key or fair.key, such as '$.tenant'; for one rate of all runs, give the job a queue and that a rate: tock queue set ${name} --rate ${rate.limit}/${rate.per}`,
    );
  }
  const other = others.find(([, path]) => path !== first[1]);
  if (other)
    throw new TockError(
      'TOCK_BAD_JOB',
      `job ${name} has two keys, ${first.join(' ')} and ${other.join(' ')}: a run has one; leave out ${other[0]}`,
    );
  const limit = isStrict ? 1 : (shared?.limit ?? null);
  return { path: first[1], limit, rate: stored, ...(isStrict && { isStrict }) };
}

const strictPath = ({ key }: JobConcurrency) =>
  key === undefined ? ALL_RUNS : readKeyPath(key, 'concurrency.key');
