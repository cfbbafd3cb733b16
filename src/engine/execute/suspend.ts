// How a handler ends to wait: what it waits for is on record first, then the attempt ends by an error that is
// thrown through the handler. It is called again from its top, and comes past each wait that is over.
import { createHash } from 'node:crypto';
import { type Duration, parseDuration } from '../../model/duration.js';
import { TockError } from '../../model/errors.js';
import { isWithinYears } from '../../model/instant-bounds.js';
import type { EndedRun, EventWaitOptions, TimedOut, WaitedEvent } from '../../model/job/wait-methods.js';
import { checkEventKey, checkName, isStorable, quote } from '../../model/names.js';
import { checkOptions, optionNames } from '../../model/options.js';
import type { Ending } from '../../model/run/decide.js';
import { isSuspension, Suspension } from '../../model/run/snooze.js';
import { isTransient } from '../../store/connection/errors.js';
import {
  type AskedWait,
  type EndedWait,
  endOwnWait,
  endWaits,
  openWait,
  readAwaited,
} from '../../store/runs/waits/waits.js';
import type { Engine } from '../engine.js';
import { retryUntil } from '../finalize/retry-until.js';
import { type ActiveRun, leaseLost } from './active-run.js';

export interface Waits {
  readonly sleep: (name: string, until: Duration | Date) => Promise<void>;
  readonly waitFor: (event: string, options?: EventWaitOptions) => Promise<WaitedEvent | TimedOut>;
  readonly waitForRuns: (ids: readonly string[]) => Promise<EndedRun[]>;
}

const EVENT_OPTIONS = optionNames<EventWaitOptions>({ key: true, timeout: true, since: true });
const MAX_RUNS = 10_000;

type Asked = { readonly kind: 'sleep' | 'event' | 'runs' } & Pick<AskedWait, 'name'> &
  Partial<Omit<AskedWait, 'id' | 'fence' | 'workerId' | 'kind'>>;
const NOTHING = { key: '', delayMs: null, until: null, since: null, runs: null };

/** The waits of one attempt. Each fails with TOCK_LEASE_LOST once the lease is lost. */
export function createWaits(engine: Engine, active: ActiveRun, workerId: string): Waits {
  const { database } = engine;
  const { id, fence } = active.run;
  const used = new Set<string>();
  /** The wait that is being begun. */
  let opening: string | null = null;
  const retried = async <T>(work: () => Promise<T>): Promise<T> =>
    await retryUntil(engine.clock, work, error => isTransient(error) && !active.interrupt.isAborted);

  /**
   * Begins a wait, or comes past it if it is over. A wait that was begun by an earlier attempt keeps its
   * time.
   */
  const wait = async (known: string, asked: Asked): Promise<Pick<EndedWait, 'id' | 'result'>> => {
    refuseWait(active, opening, `ctx.${METHODS[asked.kind]}`);
    if (used.has(known))
      throw new TockError(
        'TOCK_BAD_STATE',
        `the handler waits twice under the name ${quote(known)}: give each wait its own name`,
      );
    used.add(known);
    opening = known;
    try {
      const holder = { id, fence, workerId };
      const opened = await retried(() => openWait.first(database, { ...NOTHING, ...asked, ...holder }));
      if (!opened) throw leaseLost(active);
      if (opened.unknown !== null) throw unknownRuns(opened.unknown);
      if (opened.outcome !== null) return opened;
      const look = {
        sleep: async () =>
          opened.isOver ? await endOwnWait.first(database, { wait: opened.id }) : undefined,
        event: async () => await endOwnWait.first(database, { wait: opened.id }),
        runs: async () =>
          await database.transaction(async session => (await endWaits(session, { waits: [opened.id] }))[0]),
      }[asked.kind];
      const ended = await retried(look);
      if (ended) return ended;
      active.suspension = new Suspension(known, opened.id, opened.until);
      throw active.suspension;
    } finally {
      opening = null;
    }
  };

  return {
    async sleep(name, until) {
      const isTime = until instanceof Date;
      if (isTime) checkDate(until, `ctx.sleep ${quote(name)}`);
      await wait(`sleep ${checkWaitName(name)}`, {
        kind: 'sleep',
        name,
        delayMs: isTime ? null : parseDuration(until, `ctx.sleep ${quote(name)}`),
        until: isTime ? until.toISOString() : null,
      });
    },

    async waitFor(event, options = {}) {
      const what = `ctx.waitFor ${quote(event)}`;
      checkName(event, 'event', 'TOCK_BAD_KEY');
      checkOptions(options, EVENT_OPTIONS, what);
      const { key = '', timeout, since } = options;
      if (since !== undefined) checkDate(since, `since of ${what}`);
      const known = checkEventKey(key) === '' ? event : `${event} ${key}`;
      const ended = await wait(`event ${known}`, {
        kind: 'event',
        name: event,
        key,
        delayMs: timeout === undefined ? null : parseDuration(timeout, `the timeout of ${what}`),
        since: since?.toISOString() ?? null,
      });
      if (ended.result === null) return { timedOut: true };
      const { emittedAt, ...rest } = JSON.parse(ended.result) as {
        id: string;
        payload: unknown;
        emittedAt: string;
      };
      return { timedOut: false, ...rest, emittedAt: new Date(emittedAt) };
    },

    async waitForRuns(ids) {
      const runs = checkRuns(ids, id);
      if (runs.length === 0) return [];
      const name = runs.join().length <= 100 ? runs.join() : `${runs.length} runs, ${digest(runs)}`;
      const { id: waitId } = await wait(`runs ${name}`, { kind: 'runs', name, runs });
      const rows = await retried(() => readAwaited.run(database, { wait: waitId }));
      return rows.map(({ status, output, ...row }) => ({
        ...row,
        status: status as EndedRun['status'],
        output: output === null ? null : JSON.parse(output),
      }));
    },
  };
}

const METHODS = { sleep: 'sleep', event: 'waitFor', runs: 'waitForRuns' } as const;

const digest = (runs: readonly string[]) =>
  createHash('sha256').update(runs.join()).digest('hex').slice(0, 20);

/** @throws TockError TOCK_BAD_TIME */
function checkDate(date: Date, what: string): void {
  if (!(date instanceof Date) || !isWithinYears(date.getTime()))
    throw new TockError('TOCK_BAD_TIME', `${what}: ${String(date)} is not a time`);
}

/** @throws TockError TOCK_BAD_OPTION, TOCK_BAD_STATE */
function checkRuns(ids: readonly string[], own: string): readonly string[] {
  const bad = Array.isArray(ids)
    ? ids.find(id => typeof id !== 'string' || !/^[1-9]\d{0,17}$/.test(id))
    : ids;
  if (!Array.isArray(ids) || bad !== undefined)
    throw new TockError(
      'TOCK_BAD_OPTION',
      `ctx.waitForRuns takes an array of ids of runs, not ${quote(bad)}`,
    );
  if (ids.length > MAX_RUNS)
    throw new TockError(
      'TOCK_BAD_OPTION',
      `ctx.waitForRuns: ${ids.length} runs are more than the ${MAX_RUNS} that one wait can be for`,
    );
  if (ids.includes(own))
    throw new TockError('TOCK_BAD_STATE', `ctx.waitForRuns: run ${own} would wait for its own end`);
  return ids;
}

function unknownRuns(ids: readonly string[]): TockError {
  const more = ids.length > 5 ? ` and ${ids.length - 5} more` : '';
  return new TockError(
    'TOCK_NOT_FOUND',
    `ctx.waitForRuns: there ${ids.length === 1 ? 'is no run' : 'are no runs'} ${ids.slice(0, 5).join(', ')}${more}: mistyped, or removed by retention`,
  );
}

/**
 * A handler can neither end nor make a child in what would be undone or done twice.
 * @throws TockError TOCK_BAD_STATE
 */
export function refuseWait(
  { openEffects, suspension }: ActiveRun,
  opening: string | null,
  what: string,
): void {
  if (openEffects > 0)
    throw new TockError(
      'TOCK_BAD_STATE',
      `${what} while ctx.step, ctx.once or ctx.transaction is at work: the handler cannot end there; wait before or after it`,
    );
  const other = suspension?.wait ?? opening;
  if (other !== null)
    throw new TockError(
      'TOCK_BAD_STATE',
      `${what} while the handler waits already (${other}): a handler waits for one thing at a time`,
    );
}

function checkWaitName(name: string): string {
  if (typeof name === 'string' && isStorable(name) && name !== '' && Buffer.byteLength(name) <= 900)
    return name;
  throw new TockError(
    'TOCK_BAD_KEY',
    `${quote(name)} cannot be the name of a wait: it must have 1 to 900 bytes, without NUL`,
  );
}

/** How an attempt ends whose handler threw; `error` undefined: it returned, though it was to end to wait. */
export function endingOfThrown(
  { suspension }: ActiveRun,
  error: unknown,
): Extract<Ending, { kind: 'threw' }> {
  const isLeft = error instanceof TockError && error.code === 'TOCK_NOT_AWAITED';
  if (suspension === null || isLeft || isSuspension(error)) return { kind: 'threw', error };
  const caught = new TockError(
    'TOCK_WAIT_CAUGHT',
    `the handler caught the error by which it ends to wait (${suspension.wait}): wait outside of try, or throw the error again if isWait(error)`,
    error === undefined ? undefined : { cause: error },
  );
  return { kind: 'threw', error: caught };
}
