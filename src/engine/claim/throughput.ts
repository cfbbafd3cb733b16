// Room: engine. How many runs a worker claims ahead of its free capacity: as many as it begins within a moment.
// In: how many have ended, and when. Out: a number. Quick handlers make it large, slow ones nothing at all, so that no
// run waits in one process while another is idle.

/** What is claimed ahead is begun within about this long. */
const AHEAD_MS = 50;
/** Bound what one process holds, whatever the backlog: so many runs, and so many characters of payload. */
export const MOST_AHEAD = 4000;
const MOST_PAYLOAD_AHEAD = 8 * 2 ** 20;
const WINDOW_MS = 10;

export interface Pace {
  /** A run has ended. @param now milliseconds of any steady clock @param length of its payload, in characters */
  note(now: number, length?: number): void;
  /** How many runs to have in hand besides those that are executed. */
  ahead(now: number): number;
  /** What was claimed ahead could not be begun: none for now. */
  halt(now: number): void;
}

/** A pace that knows nothing yet: nothing is claimed ahead. */
export function createPace(): Pace {
  let perMs = 0;
  let count = 0;
  let since = 0;
  /** Of a payload, as they were of late. */
  let meanLength = 0;
  const settle = (now: number) => {
    const elapsed = now - since;
    if (elapsed < WINDOW_MS) return;
    // The new window weighs as much as all before it; the first one, and one after a long silence, stand alone.
    const isAlone = perMs === 0 || elapsed > 10 * WINDOW_MS;
    perMs = isAlone ? count / elapsed : (perMs + count / elapsed) / 2;
    count = 0;
    since = now;
  };
  return {
    note(now, length = 0) {
      settle(now);
      count++;
      meanLength += (length - meanLength) / 16;
    },
    ahead(now) {
      settle(now);
      const most = Math.min(MOST_AHEAD, MOST_PAYLOAD_AHEAD / Math.max(meanLength, 1));
      return Math.floor(Math.min(most, perMs * AHEAD_MS));
    },
    halt(now) {
      perMs = 0;
      count = 0;
      since = now;
    },
  };
}
