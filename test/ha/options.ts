// What the command line of the fail-over tests says.
import { parse, UsageError, wholeNumber } from '../chaos/suite/command.js';
import { EVENT_NAMES, EVENTS, type EventName } from './events.js';

export interface HaOptions {
  readonly events: readonly EventName[];
  /** Experiments with `synchronous_mode` on, off, or one of each. */
  readonly synchronous: readonly boolean[];
  readonly seed: number;
  readonly dist: string | null;
  readonly help: boolean;
}

const MODES: Readonly<Record<string, readonly boolean[]>> = {
  on: [true],
  off: [false],
  both: [true, false],
};
const SHORT: readonly EventName[] = ['switchover', 'kill'];

export const HELP = `Usage: npm run test:ha -- [options]

Three PostgreSQL 15 under Debian's Patroni with etcd; daemons, ticks and clients whose URL names all three servers.
While they work, other servers become the primary. Then all must become quiet, and every change that the database
has recorded is checked. With synchronous_mode on nothing may be lost; with it off what has vanished is counted.

Events:
${EVENT_NAMES.map(name => `  ${name.padEnd(16)}${EVENTS[name]}`).join('\n')}

Options:
  --events A,B    which of them, in this order (default: all but promote, which confirms writes on two servers)
  --sync MODE     on, off or both: whether commits wait for a standby (default both)
  --short         ${SHORT.join(' and ')}, with commits that wait: about two minutes
  --seed N        gives what clients enqueue (default 1)
  --dist DIR      test the build in this folder (default: dist/, built anew)
  -h, --help      this text

Exit codes: 0 all holds, or packages are missing, which is said; 1 something is wrong, 2 usage, 130 after Ctrl-C.`;

/** Reads the arguments. @throws UsageError */
export function readOptions(argv: readonly string[]): HaOptions {
  const values = parse(argv, ['events', 'sync', 'seed', 'dist'], ['short', 'help']);
  const isShort = values.short !== undefined;
  const mode = values.sync ?? (isShort ? 'on' : 'both');
  const synchronous = MODES[mode];
  if (synchronous === undefined)
    throw new UsageError(`--sync is "${mode}"; it must be one of ${Object.keys(MODES).join(', ')}`);
  return {
    events: values.events?.split(',').map(eventOf) ?? defaultEvents(isShort),
    synchronous,
    seed: wholeNumber('seed', values.seed ?? '1', 0, 2 ** 32 - 1),
    dist: values.dist ?? null,
    help: values.help !== undefined,
  };
}

const defaultEvents = (isShort: boolean) =>
  isShort ? SHORT : EVENT_NAMES.filter(name => name !== 'promote');

function eventOf(text: string): EventName {
  const event = EVENT_NAMES.find(name => name === text.trim());
  if (event !== undefined) return event;
  throw new UsageError(`--events has "${text}"; the events are ${EVENT_NAMES.join(', ')}`);
}
