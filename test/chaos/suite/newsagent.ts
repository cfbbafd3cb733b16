// Who tells of the events that runs wait for, and the operator who cancels and retries them, and in the end continues groups.
// In: the database, a Tock that no fault meets, a URL that may fail. Out: wake-ups that were lost, a line each; which groups.
import type { Tock } from '../../../src/tock/types.js';
import { random } from '../../model/schedule/random.js';
import { continueAll, EMISSIONS, emitAll, emitNews, findLostWakeUps, meddle, newsKey } from '../waits.js';
import { openConnections } from './connections.js';
import { sleep } from './sleep.js';
import type { Query } from './stage.js';

const EVERY_MS = 300;
const HOLD_MS = 1500;
const CONNECTIONS = 4;

export interface Newsagent {
  /**
   * From now on nobody is cancelled or retried, each run gets the event that it waits for, and what waits for the
   * success of runs that have failed goes on.
   */
  readonly calm: () => void;
  readonly stop: () => Promise<void>;
  readonly wrong: readonly string[];
  /** What was let go on, or was to be. */
  readonly continued: ReadonlySet<number>;
}

/** Starts it. */
export function startNews(options: {
  readonly query: Query;
  readonly tock: Tock;
  readonly url: string;
  readonly seed: number;
  readonly signal: AbortSignal;
}): Newsagent {
  const { query, tock, url } = options;
  const over = new AbortController();
  const signal = AbortSignal.any([options.signal, over.signal]);
  const lots = random(options.seed ^ 0x1b873593);
  const connections = openConnections(url, CONNECTIONS);
  const wrong = new Set<string>();
  const underWay = new Set<Promise<void>>();
  const continued = new Set<number>();
  let isCalm = false;

  const emit = async () => {
    const [way, key, holdMs] = [lots.pick(EMISSIONS), newsKey(lots.below(99)), lots.below(HOLD_MS)];
    await connections.use(client => emitNews(client, way, key, holdMs));
  };
  /** The server may be away, or the connection cut: what is on record counts. */
  const attempt = (work: () => Promise<unknown>) => {
    const tried = work().then(
      () => undefined,
      () => undefined,
    );
    underWay.add(tried);
    void tried.finally(() => underWay.delete(tried));
    return tried;
  };
  const live = async () => {
    while (!signal.aborted) {
      if (underWay.size < CONNECTIONS) void attempt(emit);
      if (!isCalm)
        await attempt(() => meddle(query, tock, lots.pick(['cancel', 'retry', 'retry group'] as const)));
      await attempt(async () => {
        for (const line of await findLostWakeUps(query)) wrong.add(line);
      });
      if (isCalm) await attempt(() => Promise.all([emitAll(query), continueAll(query, tock, continued)]));
      await sleep(EVERY_MS, signal);
    }
  };
  const lived = live();
  const end = async () => {
    over.abort();
    await lived;
    await Promise.all(underWay);
    await connections.close();
  };
  let ended: Promise<void> | null = null;
  return {
    calm() {
      isCalm = true;
    },
    stop: () => (ended ??= end()),
    get wrong() {
      return [...wrong];
    },
    continued,
  };
}
