// Who tells of the events that runs wait for, and the operator who cancels and retries them, and in the end continues groups.
// In: the database, a Tock that no fault meets, a URL that may fail. Out: wake-ups that were lost, a line each; which groups.
import type { Tock } from '../../../src/tock/types.js';
import { random } from '../../model/schedule/random.js';
import { continueAll, EMISSIONS, emitAll, emitNews, findLostWakeUps, meddle, newsKey } from '../waits.js';
import { openConnections } from './connections.js';
import { startLoop } from './loop.js';
import type { Query } from './stage.js';

const EVERY_MS = 300;
const HOLD_MS = 1500;
const CONNECTIONS = 4;

/** Starts it. */
export function startNews(options: {
  readonly query: Query;
  readonly tock: Tock;
  readonly url: string;
  readonly seed: number;
  readonly signal: AbortSignal;
}) {
  const { query, tock, url } = options;
  const lots = random(options.seed ^ 0x1b873593);
  const connections = openConnections(url, CONNECTIONS);
  const wrong = new Set<string>();
  const underWay = new Set<Promise<void>>();
  /** What was let go on, or was to be. */
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
  const loop = startLoop(
    options.signal,
    () => EVERY_MS,
    async () => {
      if (underWay.size < CONNECTIONS) void attempt(emit);
      if (!isCalm)
        await attempt(() => meddle(query, tock, lots.pick(['cancel', 'retry', 'retry group'] as const)));
      await attempt(async () => {
        for (const line of await findLostWakeUps(query)) wrong.add(line);
      });
      if (isCalm) await attempt(() => Promise.all([emitAll(query), continueAll(query, tock, continued)]));
    },
  );
  return {
    /**
     * From now on nobody is cancelled or retried, each run gets the event that it waits for, and what waits for the
     * success of runs that have failed goes on.
     */
    calm() {
      isCalm = true;
    },
    async stop() {
      await loop.stop();
      await Promise.all(underWay);
      await connections.close();
    },
    wrong,
    continued,
  };
}
