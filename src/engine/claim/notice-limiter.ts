// Room: engine. How often a notice may make a worker look. Every role that may connect can send notices, and as many as
// it likes: they are worth a look, and less often the longer looks find nothing.
// In: notices, and what the looks found. Out: calls of `look`, four a second at most while they find nothing.
import { performance } from 'node:perf_hooks';

const FIRST_PAUSE_MS = 5;
const MAX_PAUSE_MS = 250;

export interface NoticeGate {
  /** A notice has arrived: looks at once, or when the pause since the last look is over. */
  notice(): void;
  /** A look found something: the next notice is answered at once. */
  found(): void;
  /** Calls `look` no more for what has arrived. */
  close(): void;
}

/** @param look must not throw */
export function createNoticeGate(look: () => void): NoticeGate {
  let pauseMs = 0;
  let lookedAt = Number.NEGATIVE_INFINITY;
  let timer: NodeJS.Timeout | undefined;

  const open = () => {
    timer = undefined;
    lookedAt = performance.now();
    pauseMs = Math.min(Math.max(pauseMs * 2, FIRST_PAUSE_MS), MAX_PAUSE_MS);
    look();
  };

  return {
    notice() {
      if (timer !== undefined) return;
      const waitMs = lookedAt + pauseMs - performance.now();
      if (waitMs <= 0) open();
      else timer = setTimeout(open, waitMs);
    },
    found() {
      pauseMs = 0;
    },
    close() {
      clearTimeout(timer);
      timer = undefined;
    },
  };
}
