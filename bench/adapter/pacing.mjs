// How many jobs are to be enqueued next. What could not be enqueued is given back, and due again.
// In: options; standard input, where the harness paces. Out: `next()`, a batch once there is one;
// `giveBack(count)`.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';

/** The file with the rate is read no more often. */
const RATE_MS = 200;

/** @param depth how many jobs are available now */
export function pacingOf(options, stopped, depth) {
  if (options.mode === 'depth-target') return upToDepth(options, depth);
  return options.pacing === 'harness' ? byHarness(stopped) : byClock(options);
}

/** A line `ENQUEUE <n>` on standard input is one batch of n. */
function byHarness(stopped) {
  const due = [];
  let wake = () => undefined;
  const lines = createInterface({ input: process.stdin });
  lines.on('line', line => {
    const count = Number(/^ENQUEUE (\d+)$/.exec(line.trim())?.[1]);
    if (count > 0) due.push(count);
    else console.error(`not understood on standard input: ${line}`);
    wake();
  });
  // Until it stops, the process lives without it: then whoever paces is gone, or is done.
  process.stdin.unref?.();
  return {
    next: async () => {
      if (due.length === 0)
        await Promise.race([new Promise(resolve => (wake = resolve)), stopped.then(() => undefined)]);
      return due.shift() ?? 0;
    },
    giveBack: count => void due.unshift(count),
  };
}

/** Credit for the time that has really passed, whatever an enqueue took; none of it is dropped. */
function byClock(options) {
  const { batchMs, batchMax } = options;
  const rate = rateOf(options);
  let credit = 0;
  let last = performance.now();
  const earn = () => {
    const now = performance.now();
    credit += (rate() * (now - last)) / 1000;
    last = now;
  };
  return {
    next: async () => {
      earn();
      if (credit < batchMax) await sleep(batchMs);
      earn();
      const count = Math.min(Math.floor(credit), batchMax);
      credit -= count;
      return count;
    },
    giveBack: count => void (credit += count),
  };
}

function upToDepth({ batchMs, batchMax, targetDepth }, depth) {
  return {
    next: async () => {
      await sleep(batchMs);
      return Math.max(0, Math.min(batchMax, targetDepth - (await depth())));
    },
    giveBack: () => undefined,
  };
}

/** The rate that the harness last wrote to its file, or the one of the start. */
export function rateOf({ rate, rateFile }) {
  if (rateFile === undefined) return () => rate;
  let latest = rate;
  let readAt = Number.NEGATIVE_INFINITY;
  return () => {
    if (performance.now() - readAt < RATE_MS) return latest;
    readAt = performance.now();
    try {
      const text = readFileSync(rateFile, 'utf8').trim();
      if (text !== '' && Number(text) >= 0) latest = Number(text);
    } catch {
      // Not there, or just being written.
    }
    return latest;
  };
}
