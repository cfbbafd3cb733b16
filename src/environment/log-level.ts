// Room: environment. The words for how much is logged. Apart from the logger, which is loaded when there is something to say.
import { TockError } from '../model/errors.js';
import { quote } from '../model/names.js';

const LEVELS = ['debug', 'info', 'warn', 'error', 'silent'];

/** Checks a log level. @throws TockError TOCK_BAD_OPTION that lists them */
export function checkLogLevel(level: string): string {
  if (LEVELS.includes(level)) return level;
  throw new TockError('TOCK_BAD_OPTION', `log level ${quote(level)} is none of ${LEVELS.join(', ')}`);
}
