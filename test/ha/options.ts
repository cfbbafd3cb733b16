// What the command line of the fail-over tests says.
import path from 'node:path';
import { parseArgs } from 'node:util';
import { EVENT_NAMES, EVENTS, type EventName } from './events.js';

export interface HaOptions {
  readonly events: readonly EventName[];
  /** Experiments with `synchronous_mode` on, off, or one of each. */
  readonly synchronous: readonly boolean[];
  readonly seed: number;
  readonly dist: string | null;
  readonly json: string | null;
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
  --json FILE     write the figures to a file too
  --dist DIR      test the build in this folder (default: dist/, built anew)
  -h, --help      this text

Exit codes: 0 all holds, or packages are missing, which is said; 1 something is wrong, 2 usage, 130 after Ctrl-C.`;

export class UsageError extends Error {}

/** Reads the arguments. @throws UsageError */
export function readOptions(argv: readonly string[]): HaOptions {
  const values = parse(argv);
  const isShort = values.short === true;
  const mode = values.sync ?? (isShort ? 'on' : 'both');
  const synchronous = MODES[mode];
  if (synchronous === undefined)
    throw new UsageError(`--sync is "${mode}"; it must be one of ${Object.keys(MODES).join(', ')}`);
  const seed = Number(values.seed ?? 1);
  if (!Number.isInteger(seed) || seed < 0 || seed >= 2 ** 32)
    throw new UsageError(`--seed is "${values.seed}"; it must be a whole number from 0 to ${2 ** 32 - 1}`);
  return {
    events: values.events === undefined ? defaultEvents(isShort) : values.events.split(',').map(eventOf),
    synchronous,
    seed,
    dist: values.dist === undefined ? null : path.resolve(values.dist),
    json: values.json === undefined ? null : path.resolve(values.json),
    help: values.help === true,
  };
}

const defaultEvents = (isShort: boolean) =>
  isShort ? SHORT : EVENT_NAMES.filter(name => name !== 'promote');

function eventOf(text: string): EventName {
  const event = EVENT_NAMES.find(name => name === text.trim());
  if (event !== undefined) return event;
  throw new UsageError(`--events has "${text}"; the events are ${EVENT_NAMES.join(', ')}`);
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        events: { type: 'string' },
        sync: { type: 'string' },
        short: { type: 'boolean' },
        seed: { type: 'string' },
        json: { type: 'string' },
        dist: { type: 'string' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? (error.message.split('. ')[0] ?? '') : String(error));
  }
}
