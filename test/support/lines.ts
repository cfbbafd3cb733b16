// Room: test support. A logger that keeps its lines.
// In: log calls. Out: the fields and the message of each line.
import type { Logger } from '../../src/index.js';

export interface LineLog {
  readonly logger: Logger;
  /** Fields and message of each line above debug. */
  readonly lines: readonly Readonly<Record<string, unknown>>[];
}

export function collectLines(): LineLog {
  const lines: Record<string, unknown>[] = [];
  const keep = (fields: Readonly<Record<string, unknown>>, message?: string) =>
    void lines.push({ ...fields, ...(message === undefined ? {} : { message }) });
  const logger: Logger = {
    debug: () => undefined,
    info: keep,
    warn: keep,
    error: keep,
    child: () => logger,
  };
  return { logger, lines };
}
