// How far it is: a bar in a terminal, a line every few seconds elsewhere.
// In: what has been done. Out: text on standard error.
import type { Progress } from './experiment.js';

const LINE_EVERY_MS = 5000;
const BAR = 24;

export interface ProgressView {
  readonly show: (progress: Progress) => void;
  readonly end: () => void;
}

const clock = (ms: number) =>
  `${Math.floor(ms / 60_000)}:${String(Math.floor(ms / 1000) % 60).padStart(2, '0')}`;

/** @param totals what there is to be done: runs, faults, and the time that the plan takes */
export function openProgress(
  totals: { readonly runs: number; readonly faults: number; readonly durationMs: number },
  stream: NodeJS.WriteStream = process.stderr,
): ProgressView {
  const startedAt = performance.now();
  let shownAt = Number.NEGATIVE_INFINITY;
  let shownStage = '';
  const text = ({ stage, planMs, runsDone, faultsDone }: Progress) => {
    const elapsed = performance.now() - startedAt;
    // What is left of the plan takes as long as it has taken up to now, or longer; some seconds of quiet follow.
    const slowness = planMs < 5000 ? 1 : Math.max(1, elapsed / planMs);
    const left = (totals.durationMs - Math.min(planMs, totals.durationMs)) * slowness + 10_000;
    const estimate = stage === 'checking' ? elapsed : elapsed + left;
    const share = stage === 'checking' ? 1 : Math.min(0.99, elapsed / estimate);
    const bar = stream.isTTY ? `[${'#'.repeat(Math.round(share * BAR)).padEnd(BAR, '.')}] ` : '';
    return (
      `${bar}${stage}: ${runsDone} runs done (${totals.runs} asked for), ${faultsDone} of ${totals.faults} faults, ` +
      `${clock(elapsed)} of about ${clock(estimate)}`
    );
  };
  return {
    show(progress) {
      const now = performance.now();
      if (stream.isTTY) {
        stream.write(`\r\u001B[K${text(progress).slice(0, Math.max(20, stream.columns - 1))}`);
      } else if (progress.stage !== shownStage || now - shownAt >= LINE_EVERY_MS) {
        stream.write(`${text(progress)}\n`);
        shownAt = now;
      }
      shownStage = progress.stage;
    },
    end() {
      if (stream.isTTY) stream.write('\r\u001B[K');
    },
  };
}
