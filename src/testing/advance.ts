// Moves the clock to what comes next.
import { TockError } from '../model/errors.js';
import { quote } from '../model/names.js';
import { didYouMean } from '../model/nearest.js';
import type { RunRecord } from '../model/run/run-record.js';
import { readInstant } from '../model/schedule/instant-text.js';
import { readNextDue } from '../store/reads/next-due.js';
import { type Drained, type DrainOptions, drain } from './drain.js';
import type { TestClock } from './test-clock.js';

export interface Moved extends Drained {
  readonly clock: TestClock;
}

/**
 * Moves the clock to the next occurrence of a definition (with jitter: to its run's start) and drains.
 * Everything due in between is executed too, at that one moment. A clock that is already there, or later,
 * stays.
 * @throws TockError TOCK_NOT_FOUND; TOCK_BAD_STATE if there is no next occurrence
 */
export async function untilNext(kit: Moved, name: string, options?: DrainOptions): Promise<RunRecord[]> {
  await kit.tock.register();
  const [definition] = await kit.tock.schedules.list({ name });
  if (!definition) {
    const known = (await kit.tock.schedules.list({ limit: 1000 })).map(each => each.name);
    const near = didYouMean(name, known) || `: there are ${known.join(', ') || 'none'}`;
    throw new TockError('TOCK_NOT_FOUND', `there is no definition ${quote(name)}${near}`);
  }
  const { nextAt, pausedAt, brokenReason } = definition;
  if (nextAt === null || pausedAt !== null || brokenReason !== null) {
    const why = pausedAt ? 'it is paused' : (brokenReason ?? 'its schedule gives no more, or it has none');
    throw new TockError('TOCK_BAD_STATE', `definition ${name} has no next occurrence: ${why}`);
  }
  if ((await kit.clock.now()) < nextAt) await kit.clock.set(nextAt);
  const ended = await drain(kit, options);
  const late = await kit.database.run<{ at: Date }>(
    `select extract(epoch from date_trunc('milliseconds', r.run_at + interval '999 microseconds')) as at from tock.job_runs_live r
    where r.definition_id = $1 and r.scheduled_for = $2 and r.status = 'queued' and r.run_at > tock.now()`,
    [definition.id, nextAt],
  );
  if (!late[0]) return ended;
  await kit.clock.set(late[0].at);
  return [...ended, ...(await drain(kit, options))];
}

/**
 * Moves the clock on to an instant, and drains at each moment on the way at which an occurrence, a retry or
 * another waiting run is due, like a worker that is never late.
 * @throws TockError TOCK_BAD_TIME when the instant is past; TOCK_BAD_STATE after over `limit` (1000) moments
 */
export async function advanceTo(
  kit: Moved,
  instant: Date | string,
  options: DrainOptions = {},
): Promise<RunRecord[]> {
  const until = readInstant(instant, 'the instant to advance to');
  const { limit = 1000 } = options;
  let now = (await kit.clock.now()).getTime();
  if (until < now) {
    throw new TockError(
      'TOCK_BAD_TIME',
      `the clock is at ${new Date(now).toISOString()} already: advance to a later instant`,
    );
  }
  // Otherwise it would move between one look at what is due and the next.
  await kit.clock.set(new Date(now));
  const ended = await drain(kit, options);
  for (let moments = 1; now < until; moments++) {
    if (moments > limit) {
      throw new TockError(
        'TOCK_BAD_STATE',
        `over ${limit} moments at which something was due on the way to ${new Date(until).toISOString()}: raise the limit, or jump with clock.set and drain`,
      );
    }
    const due = await readNextDue(kit.database, options.queues ?? null, false);
    const waits = [due.occurrenceMs, due.runMs].flatMap(ms =>
      ms === null || ms <= 0 ? [] : [Math.ceil(ms)],
    );
    now = Math.min(until, now + Math.min(...waits, until - now));
    await kit.clock.set(new Date(now));
    ended.push(...(await drain(kit, options)));
  }
  return ended;
}
