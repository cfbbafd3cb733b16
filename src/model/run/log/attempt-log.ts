// What handlers have logged, as people see it.
import type { LogLevel } from '../../job/logs-option.js';
import { REDACTED } from '../../operator.js';

/** One line that a handler has logged. */
export interface KeptLine {
  /** By the database's clock. */
  readonly at: Date;
  readonly level: LogLevel;
  readonly text: string;
  readonly fields: Readonly<Record<string, unknown>> | null;
}

/** The log of one attempt. */
export interface AttemptLog {
  /** 1 for the first. An attempt that was released has the number of the next one. */
  readonly attempt: number;
  /** Which claim of the run it was: grows with each. */
  readonly fence: number;
  readonly lines: readonly KeptLine[];
  /** How many bytes are not kept: of the lines left out, and of long ones. */
  readonly cutBytes: number;
  /** How many lines were left out, and after how many of `lines`. */
  readonly cutLines: number;
  readonly cutAfter: number;
}

/** What handlers log may say as much as payloads do. */
export const redactedLog = (log: AttemptLog): AttemptLog => ({
  ...log,
  lines: log.lines.map(line => ({ ...line, text: REDACTED, fields: null })),
});
