// ctx.closeUntil: what shares the run's key, or its queue, starts no run until then.
import type { Duration } from '../../../model/duration.js';
import { TockError } from '../../../model/errors.js';
import type { CloseOptions } from '../../../model/job/fair/close.js';
import { quote } from '../../../model/names.js';
import { checkOptions, optionNames } from '../../../model/options.js';
import { readTimeOrDuration } from '../../../model/planning/end-time.js';
import { isTransient } from '../../../store/connection/errors.js';
import { type ClosingTime, closeKey, closeQueue } from '../../../store/runs/fair/close.js';
import { type Engine, releasePrefetched } from '../../engine.js';
import { retryUntil } from '../../finalize/retry-until.js';
import { type ActiveRun, leaseLost } from '../active-run.js';

const OPTIONS = optionNames<CloseOptions>({ queue: true });

/** Closes the fair key, or the queue, of a run of this process. See {@link JobContext.closeUntil}. */
export async function closeUntil(
  engine: Engine,
  active: ActiveRun,
  workerId: string,
  until: Date | Duration,
  options: CloseOptions = {},
): Promise<Date> {
  checkOptions(options, OPTIONS, 'ctx.closeUntil');
  const time = readUntil(until);
  const { id, fence, job, slot_keys: keys } = active.run;
  const isQueue = options.queue === true;
  const close = isQueue ? closeQueue : closeKey;
  const closed = await retryUntil(
    engine.clock,
    () => close.first(engine.database, { id, fence, workerId, ...time }),
    error => isTransient(error) && !active.interrupt.isAborted,
  );
  if (!closed) throw leaseLost(active);
  if (closed.name === null || closed.untilMs === null)
    throw new TockError(
      'TOCK_BAD_OPTION',
      `ctx.closeUntil: run ${id} of job ${job} has no fair key to close; give the job one, fair: { key: '$.tenant' }, or close its whole queue: ctx.closeUntil(until, { queue: true })`,
    );
  // A claimed run does not say its queue. So all are released; those of other queues are claimed again.
  releasePrefetched(engine, run => isQueue || run.slot_keys?.[0] === keys?.[0]);
  const at = new Date(closed.untilMs);
  const text = `${quote(closed.name)} is closed until ${at.toISOString()}`;
  const fields = { until: at.toISOString(), run_id: id, job };
  if (isQueue) engine.logger.warn({ event: 'queue.closed', queue: closed.name, ...fields }, `queue ${text}`);
  else engine.logger.warn({ event: 'key.closed', key: closed.name, ...fields }, `key ${text}`);
  return at;
}

/** @throws TockError TOCK_BAD_TIME, TOCK_BAD_DURATION */
function readUntil(until: Date | Duration): ClosingTime {
  const end = readTimeOrDuration(until, 'the time of ctx.closeUntil');
  return 'at' in end
    ? { until: new Date(end.at).toISOString(), delayMs: null }
    : { until: null, delayMs: end.inMs };
}
