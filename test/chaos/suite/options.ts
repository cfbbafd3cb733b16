// What the command line says.
// In: the arguments. Out: options, checked; or what is wrong with them and what is allowed.
import { parse, wholeNumber } from './command.js';

interface Count {
  readonly byDefault: number | null;
  readonly meaning: string;
}

/** The numbers that the command takes. */
const COUNTS = {
  runs: { byDefault: 2000, meaning: 'runs that clients enqueue' },
  kills: { byDefault: 15, meaning: 'kill -9 of a worker' },
  stops: { byDefault: 6, meaning: 'SIGSTOP of a worker until its leases are over, then SIGCONT' },
  restarts: { byDefault: 2, meaning: 'pg_ctl -m immediate, and a start of the server' },
  cuts: { byDefault: 8, meaning: 'lost replies and cut connections, of workers and clients' },
  drains: { byDefault: 0, meaning: 'SIGTERM of a worker' },
  farewells: { byDefault: 0, meaning: 'pg_terminate_backend, of workers and clients' },
  suicides: { byDefault: 0, meaning: 'runs that kill their own process, each time' },
  leaps: { byDefault: 0, meaning: "leaps of the database's clock, which is hours behind the host's then" },
  seed: { byDefault: null, meaning: 'gives the plan of faults (default: a random one, which is printed)' },
} as const satisfies Record<string, Count>;
type CountName = keyof typeof COUNTS;
const NAMES = Object.keys(COUNTS) as CountName[];

export interface SuiteOptions extends Readonly<Record<CountName, number>> {
  /** The built Tock that is put to the test: its tick.js, cli.js and index.js. Null: the project's own. */
  readonly dist: string | null;
  readonly plan: boolean;
  readonly help: boolean;
}

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
${column('--dist DIR')}test the build in this folder (default: dist/, built anew)
${column('-h, --help')}this text

Examples:
  npm run chaos                                  about a minute
  npm run chaos -- --seed 7 --plan               what would be done to it
  npm run chaos -- --runs 20000 --kills 200 --stops 60 --restarts 10 --cuts 60 --seed 1

Exit codes: 0 all holds, 1 something is wrong, 2 usage, 130 after Ctrl-C.`;

/** Reads the arguments. @throws UsageError */
export function readOptions(argv: readonly string[]): SuiteOptions {
  const { dist, plan, help, ...counts } = parse(argv, [...NAMES, 'dist'], ['plan', 'help']);
  const count = (name: CountName) =>
    counts[name] === undefined
      ? (COUNTS[name].byDefault ?? Math.floor(Math.random() * 2 ** 31))
      : wholeNumber(name, counts[name], name === 'runs' ? 1 : 0, name === 'seed' ? 2 ** 32 - 1 : 1_000_000);
  return {
    ...(Object.fromEntries(NAMES.map(name => [name, count(name)])) as Record<CountName, number>),
    dist: dist ?? null,
    plan: plan !== undefined,
    help: help !== undefined,
  };
}

/** The options that repeat an experiment. */
export const countsOf = (options: SuiteOptions): string =>
  NAMES.filter(name => options[name] !== COUNTS[name].byDefault)
    .map(name => `--${name} ${options[name]}`)
    .join(' ');
