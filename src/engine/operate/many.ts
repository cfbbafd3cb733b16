// Retry or cancel all runs that match a filter: counted first, then in sorted batches, one transaction each.
//
// The runs are walked upwards by id, as far as the newest run at the beginning, or when they were counted. So
// a run that dies again in the meantime is not retried twice. What was done no longer matches: repeated after
// a crash, an action goes on with what is left.
import type { Details } from '../../model/audit.js';
import { parseDuration } from '../../model/duration.js';
import { TockError } from '../../model/errors.js';
import { quote, storableNote } from '../../model/names.js';
import {
  MAX_COUNTED,
  type ReadRunMatch,
  type RunMatch,
  requireSight,
} from '../../model/run/match/run-match.js';
import { checkMaxAttempts } from '../../model/run/retry.js';
import type {
  CancelManyOptions,
  ManyOptions,
  ManyResult,
  PausedRuns,
  RetryManyOptions,
  RetryRate,
} from '../../model/run/run-methods.js';
import { LIVE_STATUSES, type RunStatus, TRANSITIONS } from '../../model/run/states.js';
import { readClock } from '../../store/connection/clock.js';
import type { Session } from '../../store/connection/database.js';
import { isUniqueViolation } from '../../store/connection/errors.js';
import { readPausedQueues } from '../../store/reads/queue-names.js';
import { readMatch } from '../../store/reads/runs/read-match.js';
import { countRuns, readMatchingRuns, readNewestRunId } from '../../store/reads/runs/run-list.js';
import { EXEC_TRIGGER, readExecRuns } from '../../store/runs/exec/begin.js';
import {
  type CancelledRuns,
  cancelRuns,
  type RetryPace,
  retryRuns,
} from '../../store/runs/operator-moves.js';
import { isDataError } from '../../store/runs/set-aside.js';
import { audit } from '../audit.js';
import type { Engine } from '../engine.js';
import { afterCommit } from '../finalize/after-commit.js';
import { notRepeatable, tryRetry } from './runs.js';

const BATCH_SIZE = 200;
/** Of runs that could not be retried, these many are named. */
const MAX_FAILURES = 100;

/** Carries out a batch; resolves to how many are in which state now. */
type Act = (
  ids: readonly string[],
  failed: (id: string, error: TockError) => void,
) => Promise<Record<string, number>>;

/**
 * Puts all dead (or cancelled) runs that match back into the queue, due now or at a rate. Default status:
 * dead.
 * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_TIME; TOCK_FORBIDDEN for a filter by what is hidden
 */
export async function retryMany(
  engine: Engine,
  match: RunMatch,
  options: RetryManyOptions = {},
): Promise<ManyResult> {
  const attempts = options.attempts === undefined ? null : checkMaxAttempts(options.attempts);
  const rate = options.rate === undefined ? null : readRate(options.rate);
  requireSight(engine.operator, match);
  const wanted = withStatus(
    await readMatch(engine.database, match),
    TRANSITIONS.retry.from,
    ['dead'],
    'retried',
  );
  const audited: Audited = { details: detailsOf(wanted, { attempts, rate }), partOf: null };
  const from = rate === null || options.dryRun ? null : (await readClock(engine.database)).toISOString();
  let done = 0;
  const paceOf = (offset: number): RetryPace | null =>
    rate === null || from === null ? null : { from, stepMs: rate.perMs / rate.count, offset };
  const result = await actOnMany(engine, wanted, options, async (ids, failed) => {
    try {
      const queued = await retryBatch(engine, ids, attempts, { pace: paceOf(done), audited });
      done += queued;
      const others = queued === ids.length ? [] : await readExecRuns(engine.database, ids);
      for (const id of others) failed(id, notRepeatable(id));
      return { queued };
    } catch (error) {
      if (!isUniqueViolation(error) && !isDataError(error)) throw error;
    }
    // One of them cannot be live again. The others can.
    let queued = 0;
    for (const id of ids) {
      try {
        const { done: isRetried, run } = await tryRetry(engine, id, attempts, paceOf(done));
        if (isRetried) {
          queued++;
          done++;
        } else if (run.trigger === EXEC_TRIGGER) failed(id, notRepeatable(id));
      } catch (error) {
        if (!(error instanceof TockError)) throw error;
        if (error.code === 'TOCK_BAD_STATE') failed(id, error);
        // One that retention has removed meanwhile is passed over.
        else if (error.code !== 'TOCK_NOT_FOUND') throw error;
      }
    }
    return { queued };
  });
  if (options.dryRun === true)
    return { ...result, pausedQueues: await pausedAmong(engine.database, wanted, result.upTo) };
  if (rate === null || from === null) return result;
  const lastMs = Date.parse(from) + ((done - 1) * rate.perMs) / rate.count;
  return { ...result, lastDueAt: done === 0 ? null : new Date(lastMs) };
}

/** @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION */
function readRate({ count, per }: RetryRate): { readonly count: number; readonly perMs: number } {
  const perMs = parseDuration(per, 'rate.per');
  if (Number.isInteger(count) && count >= 1 && count <= 1_000_000 && perMs >= 1) return { count, perMs };
  throw new TockError(
    'TOCK_BAD_OPTION',
    `rate ${quote({ count, per })} is not a whole number of starts in a period, such as { count: 5, per: '1s' }`,
  );
}

/** Runs that match and would not start when they are retried. */
async function pausedAmong(session: Session, match: ReadRunMatch, upTo: string): Promise<PausedRuns[]> {
  const found: PausedRuns[] = [];
  for (const queue of await readPausedQueues(session)) {
    if (match.queue !== undefined && match.queue !== queue) continue;
    const runs = await countMatching(session, { ...match, queue }, upTo);
    if (runs > 0) found.push({ queue, runs });
  }
  return found;
}

/** What the audit says of all batches; `partOf` is its first row. */
interface Audited {
  readonly details: Details;
  partOf: string | null;
}

/** The filter without the payload that it looks for. */
function detailsOf({ payload, errorGroup, from, to, ...match }: ReadRunMatch, more: Details): Details {
  return {
    ...match,
    ...(errorGroup && { errorGroup: { ...errorGroup } }),
    ...(payload === undefined ? {} : { payload: 'given' }),
    ...(from && { from: from.toISOString() }),
    ...(to && { to: to.toISOString() }),
    ...Object.fromEntries(Object.entries(more).filter(([, value]) => value !== null)),
  };
}

async function retryBatch(
  engine: Engine,
  ids: readonly string[],
  attempts: number | null,
  { pace, audited }: { readonly pace: RetryPace | null; readonly audited: Audited },
): Promise<number> {
  const { count, auditId } = await engine.database.transaction(async session => {
    const targets = await retryRuns(session, ids, attempts, pace);
    const entry = { action: 'runs.retry', targets, ...audited } as const;
    return { count: targets.length, auditId: await audit(session, engine, entry) };
  });
  audited.partOf ??= auditId;
  return count;
}

async function cancelBatch(
  engine: Engine,
  ids: readonly string[],
  reason: string | null,
  audited: Audited,
): Promise<CancelledRuns> {
  const { done, auditId } = await engine.database.transaction(async session => {
    const done = await cancelRuns(session, ids, reason);
    const entry = { action: 'runs.cancel', targets: [...done.cancelled, ...done.asked], ...audited } as const;
    return { done, auditId: await audit(session, engine, entry) };
  });
  audited.partOf ??= auditId;
  return done;
}

/**
 * Cancels all live runs that match: waiting ones at once; the holders of running ones are asked to stop.
 * Default status: queued and failed.
 * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_TIME; TOCK_FORBIDDEN for a filter by what is hidden
 */
export async function cancelMany(
  engine: Engine,
  match: RunMatch,
  options: CancelManyOptions = {},
): Promise<ManyResult> {
  const reason = storableNote(options.reason);
  requireSight(engine.operator, match);
  const wanted = withStatus(
    await readMatch(engine.database, match),
    LIVE_STATUSES,
    TRANSITIONS.cancel.from,
    'cancelled',
  );
  const audited: Audited = { details: detailsOf(wanted, { reason }), partOf: null };
  return await actOnMany(engine, wanted, options, async ids => {
    const { cancelled, asked, freed, outboxWritten } = await cancelBatch(engine, ids, reason, audited);
    await afterCommit(engine, { freed, outboxWritten, dead: [] });
    return { cancelled: cancelled.length, running: asked.length };
  });
}

function withStatus(
  read: ReadRunMatch,
  possible: readonly RunStatus[],
  usual: readonly RunStatus[],
  verb: string,
): ReadRunMatch {
  const statuses = read.status ?? usual;
  const wrong = statuses.find(status => !possible.includes(status));
  if (wrong === undefined) return { ...read, status: statuses };
  throw new TockError('TOCK_BAD_OPTION', `only ${listText(possible)} runs can be ${verb}, not ${wrong} ones`);
}

const listText = (statuses: readonly RunStatus[]) =>
  `${statuses.slice(0, -1).join(', ')} or ${statuses.at(-1) ?? ''}`;

async function actOnMany(
  engine: Engine,
  match: ReadRunMatch,
  { dryRun = false, limit = Number.POSITIVE_INFINITY, upTo: asked, onProgress, signal }: ManyOptions,
  act: Act,
): Promise<ManyResult> {
  if (!(limit >= 1)) throw new TockError('TOCK_BAD_OPTION', `limit ${quote(limit)} must be at least 1`);
  if (asked !== undefined && !/^\d{1,18}$/.test(asked))
    throw new TockError('TOCK_BAD_OPTION', `upTo ${quote(asked)} is not the id of a run`);
  const upTo = asked ?? (await readNewestRunId(engine.database));
  const none = { failed: [], isStopped: false, pausedQueues: [], upTo };
  if (dryRun) {
    const matched = Math.min(await countMatching(engine.database, match, upTo), limit);
    return { ...none, matched, done: {}, passed: 0, failedCount: 0 };
  }
  const done: Record<string, number> = {};
  const failed: { id: string; code: string; message: string }[] = [];
  let [matched, failedCount, passed] = [0, 0, 0];
  const isStopped = () => signal?.aborted === true;
  for await (const ids of batchesOf(engine.database, match, { upTo, limit, isStopped })) {
    let failures = 0;
    const counts = await act(ids, (id, { code, message }) => {
      failures++;
      if (failed.length < MAX_FAILURES) failed.push({ id, code, message });
    });
    let changed = 0;
    for (const [status, count] of Object.entries(counts)) {
      if (count > 0) done[status] = (done[status] ?? 0) + count;
      changed += count;
    }
    matched += ids.length;
    failedCount += failures;
    passed += ids.length - changed - failures;
    onProgress?.(matched);
  }
  return { ...none, matched, done, passed, failedCount, failed, isStopped: isStopped() };
}

/** Ids that match, ascending, in batches. Each is read when the one before has been carried out. */
async function* batchesOf(
  session: Session,
  match: ReadRunMatch,
  {
    upTo,
    limit,
    isStopped,
  }: { readonly upTo: string; readonly limit: number; readonly isStopped: () => boolean },
): AsyncGenerator<readonly string[]> {
  let left = limit;
  for (let after: string | null = '0'; after !== null && left > 0 && !isStopped(); ) {
    const { ids, next } = await readMatchingRuns(session, match, { after, upTo, limit: BATCH_SIZE });
    const batch = ids.slice(0, left);
    left -= batch.length;
    if (batch.length > 0) yield batch;
    after = next;
  }
}

/** Up to one more than {@link MAX_COUNTED}. */
async function countMatching(session: Session, match: ReadRunMatch, upTo: string): Promise<number> {
  if (match.errorGroup === undefined) return await countRuns(session, match, MAX_COUNTED, { upTo });
  let count = 0;
  for (let after: string | null = '0'; after !== null && count <= MAX_COUNTED; ) {
    const { ids, next } = await readMatchingRuns(session, match, { after, upTo, limit: 1000 });
    count += ids.length;
    after = next;
  }
  return Math.min(count, MAX_COUNTED + 1);
}
