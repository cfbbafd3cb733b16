// The flags of `tock queue set`, as input for `tock.queues.set`.
import type { Command } from 'commander';
import { TockError } from '../../model/errors.js';
import type { QueueLimits } from '../../model/queue/queue-limits.js';
import type { SetQueueOptions } from '../../model/queue-methods.js';
import type { CommonOptions } from '../shell.js';
import { count, end, NONE, orNone, rate } from './flags.js';

export interface LimitFlags extends CommonOptions {
  readonly concurrency?: number | typeof NONE;
  readonly rate?: NonNullable<QueueLimits['rate']> | typeof NONE;
  readonly window?: string | typeof NONE;
  readonly timezone?: string | typeof NONE;
  readonly relay?: string | typeof NONE;
  readonly fair?: string | typeof NONE;
  readonly until?: string | Date;
}

export function addLimitFlags(command: Command): Command {
  return command
    .option('--concurrency <n>', 'maximum of runs at once; 0 lets none start', orNone(count(0, 1_000_000)))
    .option(
      '--rate <n/duration>',
      'maximum of starts per period, spread evenly, such as 100/1m',
      orNone(rate),
    )
    .option(
      '--window <HH:MM-HH:MM>',
      'runs start only in these hours, such as 23:00-06:00',
      orNone(unchanged),
    )
    .option('--timezone <zone>', 'time zone of these hours: IANA name (default UTC)', orNone(unchanged))
    .option(
      '--relay <broker>',
      'only workers that name the queue claim from it, such as a relay to this broker; sql: workers that call tock.claim; none: all workers do',
      orNone(unchanged),
    )
    .option(
      '--fair <path>',
      'where the key is in the payloads by which its runs share the workers, such as $.tenant',
      orNone(unchanged),
    )
    .option(
      '--until <time>',
      'in a queue that is in code: when this ends, such as +2h, 14:30 or 2026-03-09T08:00:00Z',
      end,
    );
}

/** @throws TockError TOCK_BAD_OPTION if no limit is given */
export function readLimitFlags(flags: LimitFlags): SetQueueOptions {
  const { concurrency, rate: starts, window, timezone, relay, fair, until } = flags;
  const limits: QueueLimits = {
    ...(concurrency === undefined ? {} : { concurrency: concurrency === NONE ? null : concurrency }),
    ...(starts === undefined ? {} : { rate: starts === NONE ? null : starts }),
    ...(window === undefined ? {} : { window: window === NONE ? null : window }),
    ...(timezone === undefined ? {} : { timezone: timezone === NONE ? 'UTC' : timezone }),
    ...(relay === undefined ? {} : { relay: relay === NONE ? null : relay }),
    ...(fair === undefined ? {} : { fair: fair === NONE ? null : fair }),
  };
  if (Object.keys(limits).length === 0)
    throw new TockError(
      'TOCK_BAD_OPTION',
      'give at least one of --concurrency, --rate, --window, --timezone, --relay and --fair',
    );
  return { ...limits, ...(until === undefined ? {} : { until }) };
}

function unchanged(text: string): string {
  return text;
}
