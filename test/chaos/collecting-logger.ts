// A logger that keeps the names of events.
// In: log calls. Out: how often each event was logged.
import type { Logger } from '../../src/index.js';

export interface EventLog {
  readonly logger: Logger;
  readonly count: (event: string) => number;
}

export function collectEvents(): EventLog {
  const events: string[] = [];
  const keep = ({ event }: { readonly event?: string }) => void events.push(event ?? '');
  const logger: Logger = { debug: keep, info: keep, warn: keep, error: keep, child: () => logger };
  return { logger, count: event => events.filter(each => each === event).length };
}
