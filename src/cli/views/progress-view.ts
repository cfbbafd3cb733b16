// Shell: cli. How far something long is: a bar that moves in a terminal, a line per tenth in a pipe.
// In: how much of how much is done. Out: lines on standard error, so that the result alone is on standard output.

import type { Shell } from '../shell.js';
import { progressBar } from './run-text.js';

export interface ProgressView {
  readonly show: (done: number, total: number, stage: string) => void;
  readonly end: () => void;
}

const CLEAR_LINE = '\u001B[2K';
/** How many lines a pipe gets at most: one per tenth. */
const STEPS = 10;

export function createProgressView({ json }: Shell): ProgressView {
  if (json) return { show: () => undefined, end: () => undefined };
  const stream = process.stderr;
  let said = 0;
  const show = (done: number, total: number, stage: string) => {
    const bar = progressBar({ fraction: done / total, stage }, stream.isTTY);
    if (stream.isTTY) {
      stream.write(`${CLEAR_LINE}${bar}\r`);
      return;
    }
    const step = Math.floor((done / total) * STEPS);
    // What is done in one batch needs no progress.
    if (step > said && done < total) stream.write(`${bar}\n`);
    said = step;
  };
  const end = () => {
    if (stream.isTTY) stream.write(CLEAR_LINE);
  };
  return { show, end };
}
