// What the command line says.
// In: the arguments. Out: options, checked; or what is wrong with them and what is allowed.
import path from 'node:path';
import { parseArgs } from 'node:util';

export interface SuiteOptions {
  readonly runs: number;
  readonly kills: number;
  readonly stops: number;
  readonly restarts: number;
  readonly cuts: number;
  readonly seed: number;
  /** The built Tock that is put to the test: its tick.js, cli.js and index.js. Null: the project's own. */
  readonly dist: string | null;
  readonly planOnly: boolean;
  readonly json: string | null;
  readonly help: boolean;
}

interface Count {
  readonly least: number;
  readonly most: number;
  readonly byDefault: number | null;
  readonly meaning: string;
}

/** The numbers that the command takes. */
const COUNTS = {
  runs: { least: 1, most: 1_000_000, byDefault: 2000, meaning: 'runs that clients enqueue' },
  kills: { least: 0, most: 10_000, byDefault: 15, meaning: 'kill -9 of a worker' },
  stops: {
    least: 0,
    most: 10_000,
    byDefault: 6,
    meaning: 'SIGSTOP of a worker until its leases are over, then SIGCONT',
  },
  restarts: { least: 0, most: 1000, byDefault: 2, meaning: 'pg_ctl -m immediate, and a start of the server' },
  cuts: {
    least: 0,
    most: 10_000,
    byDefault: 8,
    meaning: 'lost replies and cut connections, of workers and clients',
  },
  seed: {
    least: 0,
    most: 2 ** 32 - 1,
    byDefault: null,
    meaning: 'gives the plan of faults (default: a random one, which is printed)',
  },
} as const satisfies Record<string, Count>;
type CountName = keyof typeof COUNTS;
const NAMES = Object.keys(COUNTS) as CountName[];

const column = (text: string) => `  ${text}`.padEnd(18);
const countLine = (name: CountName) => {
  const { byDefault, meaning } = COUNTS[name];
  return `${column(`--${name} N`)}${meaning}${byDefault === null ? '' : ` (default ${byDefault})`}`;
};

export const HELP = `Usage: npm run chaos -- [options]

Breaks a Tock and counts. A PostgreSQL of its own, with its default durability; daemons, and ticks as cron starts them;
clients that note what was confirmed to them. While they work, a plan of faults is carried out. Then all must become
quiet, and every change that the database has recorded is checked.

Options:
${NAMES.map(countLine).join('\n')}
${column('--plan')}print the plan of faults, and carry out nothing
${column('--json FILE')}write the figures to a file too
${column('--dist DIR')}test the build in this folder (default: dist/, built anew)
${column('-h, --help')}this text

Examples:
  npm run chaos                                  about a minute
  npm run chaos -- --seed 7 --plan               what would be done to it
  npm run chaos -- --runs 20000 --kills 200 --stops 60 --restarts 10 --cuts 60 --seed 1 --json figures.json

Exit codes: 0 all holds, 1 something is wrong, 2 usage, 130 after Ctrl-C.`;

export class UsageError extends Error {}

/** Reads the arguments. @throws UsageError */
export function readOptions(argv: readonly string[]): SuiteOptions {
  const values = parse(argv);
  const count = (name: CountName): number => {
    const { least, most, byDefault } = COUNTS[name];
    const text = values[name];
    if (text === undefined) return byDefault ?? Math.floor(Math.random() * 2 ** 31);
    const number = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (number >= least && number <= most) return number;
    throw new UsageError(`--${name} is "${text}"; it must be a whole number from ${least} to ${most}`);
  };
  if (values.json === '') throw new UsageError('--json is empty; it must name a file to write');
  return {
    runs: count('runs'),
    kills: count('kills'),
    stops: count('stops'),
    restarts: count('restarts'),
    cuts: count('cuts'),
    seed: count('seed'),
    dist: values.dist === undefined ? null : path.resolve(values.dist),
    planOnly: values.plan === true,
    json: values.json === undefined ? null : path.resolve(values.json),
    help: values.help === true,
  };
}

function parse(argv: readonly string[]) {
  try {
    return parseArgs({
      args: [...argv],
      options: {
        runs: { type: 'string' },
        kills: { type: 'string' },
        stops: { type: 'string' },
        restarts: { type: 'string' },
        cuts: { type: 'string' },
        seed: { type: 'string' },
        json: { type: 'string' },
        dist: { type: 'string' },
        plan: { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    }).values;
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('. ')[0] : String(error);
    const allowed = [...NAMES, 'json', 'dist', 'plan', 'help'].map(name => `--${name}`).join(', ');
    throw new UsageError(`${reason}; the options are ${allowed}`);
  }
}
