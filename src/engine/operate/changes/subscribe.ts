// Follows changes: reads pages after a position, and waits where there is nothing. It holds one page at most,
// and reads the next when that has been given out. The position is all of its state: a lost connection loses
// nothing.
import { manyMayListen } from '../../../environment/many-listeners.js';
import type { Change, ChangeSubscription, SubscribeOptions } from '../../../model/changes/change.js';
import { cursorAt, placeOf, readFrom } from '../../../model/changes/cursor.js';
import { TockError } from '../../../model/errors.js';
import { checkName, quote } from '../../../model/names.js';
import { isTransient } from '../../../store/connection/errors.js';
import { type PlacedChange, readChangesHead, readChangesPage } from '../../../store/reads/changes/changes.js';
import type { Engine } from '../../engine.js';
import { type ChangeFeed, pauseAfter } from './change-feed.js';

const PAGE = 500;
const DONE = { done: true, value: undefined } as const;

interface Asked {
  readonly jobs: readonly string[] | null;
  readonly run: string | null;
}

/** @throws TockError TOCK_BAD_OPTION, TOCK_BAD_JOB */
function readAsked({ jobs, run }: SubscribeOptions): Asked {
  if (jobs !== undefined && !Array.isArray(jobs))
    throw new TockError('TOCK_BAD_OPTION', `jobs is ${quote(jobs)}; write a list of names`);
  if (run !== undefined && !(typeof run === 'string' && /^\d{1,18}$/.test(run)))
    throw new TockError(
      'TOCK_BAD_OPTION',
      `run is ${quote(run)}; the id of a run is a whole number, as text`,
    );
  return { jobs: jobs?.map(name => checkName(name, 'job')) ?? null, run: run ?? null };
}

/** Follows changes; see `ChangeMethods.subscribe`. Reads nothing before the first `begin` or `next`. */
export function subscribe(
  engine: Engine,
  feed: ChangeFeed,
  options: SubscribeOptions = {},
): ChangeSubscription {
  const asked = readAsked(options);
  const from = readFrom(options.from);
  const ending = new AbortController();
  const { signal } = ending;
  const end = () => {
    ending.abort();
    options.signal?.removeEventListener('abort', end);
  };
  if (options.signal?.aborted) end();
  if (options.signal) manyMayListen(options.signal).addEventListener('abort', end, { once: true });

  let origin: string | null = null;
  /** Up to here, all has been read. */
  let place = 0;
  /** Up to here, all has been given out. */
  let given = 0;
  let page: PlacedChange[] = [];

  /** Tries again while the database is away. */
  const persistently = async <Read>(read: () => Promise<Read>): Promise<Read | null> => {
    for (let failures = 1; ; failures++) {
      if (signal.aborted) return null;
      feed.requireOpen();
      try {
        return await read();
      } catch (error) {
        feed.requireOpen();
        if (!isTransient(error)) throw error;
        await feed.pause(pauseAfter(failures), signal);
      }
    }
  };
  const begin = async () => {
    if (origin !== null) return;
    await persistently(async () => {
      if (from === 'now') await feed.number();
      const head = await readChangesHead(engine.database);
      place = placeOf(from, head);
      given = place;
      origin = head.origin;
    });
  };
  const fill = async () => {
    const read = await persistently(
      async () => await readChangesPage(engine.database, { ...asked, after: place, limit: PAGE }),
    );
    if (read === null || origin === null) return;
    placeOf({ origin, position: place }, read.head);
    page = [...read.changes];
    const isAtEnd = read.end === place;
    place = read.end;
    if (page.length > 0) return;
    given = place;
    if (isAtEnd) await feed.after(place, signal);
  };
  const pull = async (): Promise<IteratorResult<Change, undefined>> => {
    await begin();
    for (;;) {
      if (signal.aborted) return DONE;
      const next = page.shift();
      if (next !== undefined) {
        given = page.length === 0 ? place : next.position;
        return { done: false, value: next.change };
      }
      await fill();
    }
  };

  /** One after another: two calls must not read one page twice. */
  let turn: Promise<unknown> = Promise.resolve();
  /**
   * Resolves with the work, or at once when the subscription ends, also while the database does not answer.
   */
  const inTurn = async <Result>(work: () => Promise<Result>, whenEnded: Result): Promise<Result> => {
    const mine = turn.then(work);
    turn = mine.catch(() => undefined);
    return await new Promise<Result>((resolve, reject) => {
      const stop = () => resolve(whenEnded);
      if (signal.aborted) stop();
      signal.addEventListener('abort', stop, { once: true });
      // No race with a promise that lives as long as the subscription: it would keep each result.
      void mine.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
    });
  };

  const subscription: ChangeSubscription = {
    get cursor() {
      return origin === null ? null : cursorAt(origin, given);
    },
    begin: async () => {
      await inTurn(begin, undefined);
      if (origin !== null) return cursorAt(origin, given);
      throw new TockError('TOCK_BAD_STATE', 'the subscription was ended before it had begun');
    },
    next: async () => {
      if (signal.aborted) return DONE;
      try {
        return await inTurn(pull, DONE);
      } catch (error) {
        end();
        throw error;
      }
    },
    return: async () => {
      end();
      return DONE;
    },
    [Symbol.asyncIterator]: () => subscription,
  };
  return subscription;
}
