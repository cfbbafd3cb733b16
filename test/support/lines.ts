// Room: test support. A logger that keeps its lines.
// In: log calls. Out: the fields and the message of each line.
import type { Logger } from '../../src/index.js';

export interface LineLog {
  readonly logger: Logger;
  /** Fields and message of each line above debug. */
  readonly lines: readonly Readonly<Record<string, unknown>>[];
  /** Those of them that warn, or are errors. */
  readonly warnings: readonly Readonly<Record<string, unknown>>[];
}

export function collectLines(): LineLog {
  const lines: Record<string, unknown>[] = [];
  const warnings: Record<string, unknown>[] = [];
  const keepIn =
    (...lists: readonly Record<string, unknown>[][]) =>
    (fields: Readonly<Record<string, unknown>>, message?: string) => {
      for (const list of lists) list.push({ ...fields, ...(message === undefined ? {} : { message }) });
    };
  const warn = keepIn(lines, warnings);
  const logger: Logger = {
    debug: () => undefined,
    info: keepIn(lines),
    warn,
    error: warn,
    child: () => logger,
  };
  return { logger, lines, warnings };
}
