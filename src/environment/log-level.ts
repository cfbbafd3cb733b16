// Log levels, separate from the logger, which is loaded only when there is something to log.
import { TockError } from '../model/errors.js';
import { quote } from '../model/names.js';

const LEVELS = ['debug', 'info', 'warn', 'error', 'silent'];

/** @throws TockError TOCK_BAD_OPTION that lists them */
export function checkLogLevel(level: string): string {
  if (LEVELS.includes(level)) return level;
  throw new TockError('TOCK_BAD_OPTION', `log level ${quote(level)} is not one of ${LEVELS.join(', ')}`);
}
