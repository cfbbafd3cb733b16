// Whether work goes on: for how long no run has ended.
import { setTimeout as pause } from 'node:timers/promises';
import type { Pace } from '../chaos/suite/pace.js';
import type { Query } from '../chaos/suite/stage.js';
import * as sql from '../chaos/suite/statements.js';

const LOOK_EVERY_MS = 100;

/** Looks all the while, and lets the clients wait where too much is waiting already. */
export function watchProgress(query: Query, pace: Pace) {
  const endedAt: number[] = [performance.now()];
  let isStopped = false;
  let last = -1;
  const watch = async () => {
    while (!isStopped) {
      try {
        const [{ count } = { count: last }] = await query<{ count: number }>(sql.FINISHED_COUNT);
        if (count !== last) endedAt.push(performance.now());
        last = count;
        pace.note((await query<{ live: number }>(sql.REMAINS))[0]?.live ?? 0);
      } catch {
        // No server takes writes at present.
      }
      await pause(LOOK_EVERY_MS);
    }
  };
  const watching = watch();
  return {
    /** The longest time since then without the end of a run, in milliseconds. */
    longestGapMs(since: number) {
      const times = [...endedAt.filter(at => at >= since), performance.now()];
      let longest = 0;
      let before = since;
      for (const at of times) {
        longest = Math.max(longest, at - before);
        before = at;
      }
      return Math.round(longest);
    },
    async stop() {
      isStopped = true;
      await watching;
    },
  };
}
