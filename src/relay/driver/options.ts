// The options that all drivers have, and the packages that they load late.
import { type Duration, parseDuration } from '../../model/duration.js';
import { TockError } from '../../model/errors.js';
import { type Logger, silentLogger } from '../../model/logger.js';
import { quote } from '../../model/names.js';

/** What each driver takes, whichever broker it is for. */
export interface DriverOptions {
  /** Begins the names of queues: letters, digits, `_` and `-`, at most 40. Default `tock`. */
  readonly prefix?: string;
  /** What is not confirmed within this time counts as not published. Default `15s`. */
  readonly publishTimeout?: Duration;
  /** Default: warnings and errors as JSON to standard error. `false`: none. */
  readonly logger?: Logger | false;
}

const PREFIX = /^[A-Za-z0-9][\w-]{0,39}$/;

/** @throws TockError TOCK_BAD_OPTION */
export function readPrefix({ prefix = 'tock' }: DriverOptions): string {
  if (typeof prefix === 'string' && PREFIX.test(prefix)) return prefix;
  throw new TockError(
    'TOCK_BAD_OPTION',
    `prefix ${quote(prefix)} is not a text of 1 to 40 letters, digits, _ and -, beginning with a letter or digit`,
  );
}

/** @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION */
export function readPublishTimeout({ publishTimeout = '15s' }: DriverOptions): number {
  const timeoutMs = parseDuration(publishTimeout, 'publishTimeout');
  if (timeoutMs >= 100 && timeoutMs <= 600_000) return timeoutMs;
  throw new TockError(
    'TOCK_BAD_OPTION',
    `publishTimeout ${quote(publishTimeout)} is not between 100ms and 10 minutes`,
  );
}

export async function openLogger({ logger }: DriverOptions): Promise<Logger> {
  if (logger !== undefined) return logger || silentLogger;
  return (await import('../../environment/logger.js')).createLogger();
}

/**
 * Names that the build does not see: clients of brokers are the project's packages, not a part of Tock's.
 * @throws TockError TOCK_BAD_OPTION with the command that installs them
 */
export async function loadPackages(
  driver: string,
  names: readonly string[],
): Promise<readonly Record<string, unknown>[]> {
  try {
    return await Promise.all(names.map(async name => (await import(name)) as Record<string, unknown>));
  } catch (cause) {
    throw new TockError(
      'TOCK_BAD_OPTION',
      `${driver} needs ${names.length === 1 ? 'the package' : 'the packages'} ${names.join(' and ')}: npm install ${names.join(' ')}`,
      { cause },
    );
  }
}
