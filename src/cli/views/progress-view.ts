// Progress of a long command: a moving bar in a terminal, a line per tenth in a pipe. On standard error,
// because standard output is for the result.

import type { Shell } from '../shell.js';
import { progressBar } from './run-text.js';

export interface ProgressView {
  readonly show: (done: number, total: number, stage: string) => void;
  readonly end: () => void;
}

const CLEAR_LINE = '\u001B[2K';
/** A pipe gets at most one line per tenth. */
const STEPS = 10;

export function createProgressView({ json }: Shell): ProgressView {
  if (json) return { show: () => undefined, end: () => undefined };
  const stream = process.stderr;
  let lastStep = 0;
  const show = (done: number, total: number, stage: string) => {
    const bar = progressBar({ fraction: done / total, stage }, stream.isTTY);
    if (stream.isTTY) {
      stream.write(`${CLEAR_LINE}${bar}\r`);
      return;
    }
    const step = Math.floor((done / total) * STEPS);
    // A single batch needs no progress line.
    if (step > lastStep && done < total) stream.write(`${bar}\n`);
    lastStep = step;
  };
  const end = () => {
    if (stream.isTTY) stream.write(CLEAR_LINE);
  };
  return { show, end };
}
