// The flags of a schedule, as input for `tock.schedules.upsert`, which checks the values.
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { ScheduleInput } from '../../engine/definitions/schedules.js';
import type { Expectation } from '../../model/alerts/options.js';
import { TockError } from '../../model/errors.js';
import type { After, Chain, ChainOn } from '../../model/planning/chain.js';
import { TIMING } from '../../model/planning/definition.js';
import { columnsOf, type DefinitionRecord, optionsOf } from '../../model/planning/definition-columns.js';
import { scheduleOfRecord } from '../../model/planning/schedule-words.js';
import type { ScheduleSpec } from '../../model/schedule/spec.js';
import type { CommonOptions } from '../shell.js';
import { count, duration, instant, NONE, names, orNone } from './flags.js';

type Exclusions = NonNullable<ScheduleSpec['exclude']>;

/** The options that are flags of the same names. */
type Same = Omit<ScheduleInput, 'name' | 'job' | 'payload' | 'after' | 'expect'>;

interface OtherFlags {
  readonly after?: string[];
  readonly afterAny?: string[];
  readonly afterOn?: ChainOn;
  readonly payload?: string;
  readonly expectWithin?: string | typeof NONE;
  readonly maxDuration?: string | typeof NONE;
}

export type ScheduleFlags = CommonOptions &
  OtherFlags & { readonly job?: string } & { readonly [O in keyof Same]?: Same[O] | typeof NONE };

function flag<T>(flags: string, description: string, parse?: (text: string, before: T) => T): Option {
  const option = new Option(flags, description);
  return parse === undefined ? option : option.argParser(parse);
}

/** In the order of the help. Leaving one out does not compile. */
const FLAGS: Readonly<Record<keyof Same | keyof OtherFlags, Option>> = {
  cron: flag('--cron <expression>', 'one of --cron, --every, --at, --after: a cron expression'),
  every: flag('--every <duration>', 'an interval, such as 5m', duration),
  phase: flag('--phase <duration>', 'with --every: offset from its alignment', duration),
  at: flag('--at <instant>', 'once, such as 2026-03-08T07:30:00Z', instant),
  after: flag('--after <a,b>', 'for each occurrence of these definitions, when all have succeeded', names),
  afterAny: flag('--after-any <a,b>', 'the same, when any of them has succeeded', names),
  afterOn: flag(
    '--after-on <outcome>',
    'which outcome counts: success, failure or completion (default success)',
  ),
  timezone: flag('--timezone <zone>', 'IANA name (default UTC)'),
  dst: flag('--dst <mode>', 'once, skip or literal (default once)'),
  payload: flag('--payload <json>', 'JSON; @file reads a file, - reads standard input (default {})'),
  overlap: flag(
    '--overlap <policy>',
    'while an earlier run is live: skip, buffer_one, buffer_all, cancel_other, terminate_other or allow_all (default skip; in chains buffer_all)',
  ),
  window: flag(
    '--window <HH:MM-HH:MM>',
    'runs start only in these hours, such as 23:00-06:00',
    orNone(unchanged),
  ),
  outsideWindow: flag('--outside-window <what>', 'defer (to the next opening) or skip (default defer)'),
  exclude: flag(
    '--exclude <date|cron>',
    'no occurrence then, such as 2026-12-25; may be repeated',
    exclusions,
  ),
  catchup: flag('--catchup <policy>', 'missed occurrences: latest, all or none (default latest)'),
  catchupWindow: flag('--catchup-window <duration>', 'older occurrences get no run', orNone(duration)),
  startDeadline: flag(
    '--start-deadline <duration>',
    'a run claimed later than this is skipped',
    orNone(duration),
  ),
  jitter: flag('--jitter <duration>', 'spread schedules over up to this time', duration),
  startAt: flag('--start-at <instant>', 'no occurrence before this', orNone(instant)),
  endAt: flag('--end-at <instant>', 'no occurrence after this', orNone(instant)),
  remaining: flag('--remaining <n>', 'how many runs to make in all', orNone(count(0, 2_147_483_647))),
  pauseOnFailure: flag(
    '--pause-on-failure <n>',
    'pause after this many dead runs in a row',
    orNone(count(1, 1_000_000)),
  ),
  expectWithin: flag(
    '--expect-within <duration>',
    'alert if no success follows an occurrence in time',
    orNone(duration),
  ),
  maxDuration: flag('--max-duration <duration>', 'alert if an attempt takes longer', orNone(duration)),
  queue: flag('--queue <queue>', 'overrides the job’s own'),
  priority: flag('--priority <n>', 'lower goes first', count(-2_147_483_647, 2_147_483_647)),
  maxAttempts: flag('--max-attempts <n>', 'overrides the job’s own', count(1, 1_000_000)),
};

const TIMES = ['cron', 'every', 'phase', 'at'] as const;
const OTHERS = ['after', 'afterAny', 'afterOn', 'payload', 'expectWithin', 'maxDuration'];
type Rest = Exclude<keyof Same, (typeof TIMES)[number]>;
const REST = Object.keys(FLAGS).filter(name => ![...TIMES, ...OTHERS].includes(name)) as Rest[];

export function withScheduleFlags(command: Command): Command {
  for (const option of Object.values(FLAGS)) command.addOption(option);
  return command;
}

function unchanged(text: string): string {
  return text;
}

function exclusions(text: string, before?: Exclusions | typeof NONE): Exclusions | typeof NONE {
  const word = text.trim();
  const isNone = word.toLowerCase() === 'none';
  if (before !== undefined && (isNone || before === NONE))
    throw new InvalidArgumentError('none removes all exclusions; it cannot be combined with others');
  if (isNone) return NONE;
  return [...(before ?? []), /\s|^@/.test(word) ? { cron: word } : word];
}

/** Refuses flags that state more than one schedule, or none where there must be one. */
export function checkTiming(flags: ScheduleFlags, mustHaveOne: boolean): void {
  const stated = {
    '--cron': flags.cron,
    '--every': flags.every,
    '--at': flags.at,
    '--after': flags.after,
    '--after-any': flags.afterAny,
  };
  const given = Object.entries(stated).flatMap(([flag, value]) => (value === undefined ? [] : [flag]));
  if (given.length > 1)
    throw usage(
      `${given.join(' and ')} exclude each other: each sets the time; give one of --cron, --every, --at, --after and --after-any`,
    );
  if (given.length === 0 && mustHaveOne)
    throw usage(
      flags.afterOn === undefined
        ? 'a schedule needs one of --cron, --every, --at and --after'
        : '--after-on needs --after or --after-any: the definitions to follow',
    );
  if (flags.afterOn !== undefined && given.some(flag => !flag.startsWith('--after')))
    throw usage(`--after-on needs --after or --after-any; it does not go with ${given.join(', ')}`);
}

function usage(message: string): TockError {
  return new TockError('TOCK_BAD_OPTION', message);
}

export function statedInput(
  name: string,
  flags: ScheduleFlags & { readonly job: string },
  payload: unknown,
): ScheduleInput {
  const timing = { ...pick(flags, TIMES), after: afterOf(flags, null) };
  const expect = expectOf(flags, null);
  return { name, job: flags.job, ...given({ payload, expect, ...timing, ...pick(flags, REST) }) };
}

/** A changed schedule: an option that is not given stays as it is. */
export function changedInput(
  before: DefinitionRecord,
  flags: ScheduleFlags,
  payload: unknown,
): ScheduleInput {
  const { cron, every, at, after, afterAny } = flags;
  const isTimed = cron !== undefined || every !== undefined || at !== undefined;
  const isChained = !isTimed && (before.after !== null || after !== undefined || afterAny !== undefined);
  if (!isChained && flags.afterOn !== undefined)
    throw usage(`--after-on needs --after or --after-any: ${before.name} does not run after anything`);
  return {
    name: before.name,
    job: flags.job ?? before.job,
    payload: payload === undefined ? before.payload : payload,
    ...given(isChained ? chained(before, flags) : timed(before, flags, isTimed)),
    ...given({ ...keptOf(before, flags, isChained), ...defined(pick(flags, REST)) }),
    ...given({ expect: expectOf(flags, isChained ? { ...before, expectWithinMs: null } : before) }),
  };
}

/** A chain. Its times come from the definitions it follows, so no options of time are kept. */
function chained(before: DefinitionRecord, flags: ScheduleFlags) {
  return { ...pick(flags, TIMES), after: afterOf(flags, before.after) };
}

function timed(before: DefinitionRecord, flags: ScheduleFlags, isRetimed: boolean) {
  const kept: ScheduleSpec = scheduleOfRecord(before) ?? {};
  return isRetimed ? pick(flags, TIMES) : { ...pick(kept, TIMES), ...given({ phase: flags.phase }) };
}

function keptOf(before: DefinitionRecord, { catchup }: ScheduleFlags, isChained: boolean) {
  const isTimed = !isChained && before.after === null;
  const kept = REST.filter(option => isTimed || !(TIMING as readonly string[]).includes(option));
  // Chains have another default: an overlap policy that was the default changes with the kind.
  const defaultOverlap = before.after === null ? 'skip' : 'buffer_all';
  const keepsOverlap = (before.after !== null) === isChained || before.overlap !== defaultOverlap;
  // The default window depends on the policy, so a new policy drops the old window.
  const keepsWindow = catchup === undefined || catchup === before.catchup;
  return {
    ...pick(optionsOf(columnsOf(before)), kept),
    ...(keepsOverlap ? {} : { overlap: null }),
    ...(keepsWindow ? {} : { catchupWindow: null }),
  };
}

/** The chain that the flags describe; parts that are not given stay as they are. */
function afterOf({ after, afterAny, afterOn }: ScheduleFlags, before: Chain | null): After | null {
  const definitions = after ?? afterAny ?? before?.definitions;
  if (definitions === undefined) return null;
  const isAny = afterAny !== undefined || (after === undefined && before?.require === 'any');
  const on = afterOn ?? before?.on ?? 'success';
  return isAny ? { any: definitions, on } : { all: definitions, on };
}

function expectOf(
  { expectWithin, maxDuration }: ScheduleFlags,
  before: Pick<DefinitionRecord, 'expectWithinMs' | 'maxDurationMs'> | null,
): Expectation | null {
  const expect = given({
    within: expectWithin ?? before?.expectWithinMs,
    maxDuration: maxDuration ?? before?.maxDurationMs,
  });
  return Object.keys(expect).length === 0 ? null : expect;
}

function pick<T extends object, K extends keyof T>(values: T, names: readonly K[]): Pick<T, K> {
  return Object.fromEntries(names.map(name => [name, values[name]])) as Pick<T, K>;
}

type Given<T> = { [K in keyof T]?: Exclude<T[K], symbol | null | undefined> };

function given<T extends object>(values: T): Given<T> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== NONE),
  ) as Given<T>;
}

function defined<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
