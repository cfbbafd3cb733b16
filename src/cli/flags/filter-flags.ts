// The flags by which runs are listed, and retried or cancelled together: one set for all three.
import { type Command, InvalidArgumentError } from 'commander';
import { hostZone } from '../../environment/host-zone.js';
import { TockError } from '../../model/errors.js';
import { quote } from '../../model/names.js';
import {
  ADD_UP,
  type FilterText,
  faultsOf,
  isEmpty,
  matchOf,
  readFilterText,
} from '../../model/run/match/filter-text.js';
import { filterClauses } from '../../model/run/match/filter-words.js';
import type { RunMatch } from '../../model/run/match/run-match.js';
import type { RunStatus } from '../../model/run/states.js';
import { cleanLine } from '../terminal.js';
import { statuses } from './flags.js';

/** What the flags hold. Checked one by one as they are read. */
export interface FilterFlags {
  readonly status?: RunStatus[];
  readonly job?: string;
  readonly definition?: string;
  readonly queue?: string;
  readonly group?: string;
  readonly key?: string;
  readonly tag?: string;
  readonly deploy?: string;
  readonly error?: string;
  readonly payload?: string;
  readonly from?: string;
  readonly to?: string;
}

const FLAGS = {
  job: ['--job <job>', 'runs of this job'],
  definition: ['--definition <name>', 'runs of this definition'],
  queue: ['--queue <name>', 'runs of this queue'],
  group: ['--group <id>', 'members of this group; its id is that of its join'],
  key: ['--key <key>', 'the run with this idempotency key'],
  tag: ['--tag <tag>', 'runs with this tag; given several times, with all of them'],
  deploy: ['--deploy <name>', 'runs of which an attempt was executed in this deploy'],
  error: ['--error <text>', 'runs whose last error has this in its name, code or message'],
  payload: [
    '--payload <path=value>',
    'runs whose payload has this, as customer=812 or order.state=open; or JSON that it contains',
  ],
  from: ['--from <time>', 'ended then or later, or due then: -2h, yesterday, today, 2026-03-08, an instant'],
  to: ['--to <time>', 'before then; a day is its beginning, so yesterday is --from yesterday --to today'],
} as const satisfies Record<Exclude<keyof FilterFlags, 'status'>, readonly [string, string]>;

/** The names of the flags, for messages. */
export const FILTER_NAMES = ['--status', ...Object.keys(FLAGS).map(name => `--${name}`)];

/** @param states which there are, and which are meant without the flag */
export function withFilter(command: Command, states: string): Command {
  command.option(
    '--status <status>',
    `runs in these states: ${states}; separate several with commas`,
    statuses,
  );
  for (const [name, [flag, help]] of Object.entries(FLAGS))
    command.option(flag, help, (value: string, before?: string) => checked(name as Field, value, before));
  return command;
}

type Field = keyof typeof FLAGS;

/** Tags, and conditions on the payload, add up; of the others the last counts. */
function checked(field: Field, value: string, before: string | undefined): string {
  const text = ADD_UP.includes(field) && before !== undefined ? `${before} ${value}` : value;
  const [fault] = faultsOf(
    readFilterText(name => (name === field ? [text] : [])),
    hostZone(),
    new Date(0),
  );
  if (text.trim() === '') throw new InvalidArgumentError('it is empty');
  if (fault !== undefined) throw new InvalidArgumentError(fault.message);
  return text;
}

/** Whether any of the flags is given. */
export const isFiltered = (flags: FilterFlags): boolean => !isEmpty(textOf(flags));

function textOf(flags: FilterFlags): FilterText {
  return readFilterText(name => [flags[name as keyof FilterFlags] ?? []].flat());
}

/** Days and local times are those of this host's zone. @throws TockError TOCK_BAD_TIME */
export function matchOfFlags(flags: FilterFlags): RunMatch {
  const text = textOf(flags);
  const [fault] = faultsOf(text, hostZone(), new Date());
  if (fault !== undefined) throw new TockError('TOCK_BAD_TIME', fault.message);
  return matchOf(text, hostZone());
}

/** ` of job "mail" since yesterday`, or nothing; the states aside. */
export function scopeText(flags: FilterFlags): string {
  const clauses = filterClauses(textOf(flags), { quoted: quote, definition: 'definition' });
  return clauses.map(clause => ` ${cleanLine(clause)}`).join('');
}
