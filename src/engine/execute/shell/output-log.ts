// The output of a command as lines: for the log of its run, its progress, and its error.
import { LineReader } from '../../../model/shell/lines.js';
import { progressOf } from '../../../model/shell/progress.js';
import type { OutputName } from './run-command.js';

export interface OutputSinks {
  readonly onLine: (name: OutputName, text: string) => void;
  /** `stage`: the line; null if it holds nothing but the percentage. */
  readonly onProgress: (fraction: number, stage: string | null) => void;
  /** In place of the rule for progress. */
  readonly progressPattern: RegExp | null;
}

const MAX_LAST_LINE = 500;
const ONLY_PERCENTAGE = /^\s*[\d.]+ ?%\s*$/;

/** Reads both outputs of one attempt. */
export class OutputLog {
  readonly bytes: Record<OutputName, number> = { stdout: 0, stderr: 0 };
  private readonly readers: Record<OutputName, LineReader>;
  private readonly last: Record<OutputName, string> = { stdout: '', stderr: '' };

  constructor({ onLine, onProgress, progressPattern }: OutputSinks) {
    const readProgress = (text: string) => {
      const fraction = progressOf(text, progressPattern);
      if (fraction !== null) onProgress(fraction, ONLY_PERCENTAGE.test(text) ? null : text.trim());
    };
    const readerOf = (name: OutputName) =>
      new LineReader(text => {
        if (text.trim() !== '') this.last[name] = text.slice(0, MAX_LAST_LINE).trim();
        onLine(name, text);
      }, readProgress);
    this.readers = { stdout: readerOf('stdout'), stderr: readerOf('stderr') };
  }

  push(name: OutputName, chunk: Buffer): void {
    this.bytes[name] += chunk.length;
    this.readers[name].push(chunk);
  }

  end(): void {
    this.readers.stdout.end();
    this.readers.stderr.end();
  }

  /** What a failure is best explained by: the last line of the errors, otherwise of the output. */
  get lastLine(): string {
    return this.last.stderr || this.last.stdout;
  }
}
