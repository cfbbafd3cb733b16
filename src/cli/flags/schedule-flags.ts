// The flags of a schedule, as input for `tock.schedules.upsert`, which checks the values.
import { type Command, InvalidArgumentError, Option } from 'commander';
import type { ScheduleInput } from '../../engine/definitions/schedules.js';
import type { Expectation } from '../../model/alerts/options.js';
import { readExclusion } from '../../model/calendar/exclusion-text.js';
import { TockError } from '../../model/errors.js';
import { TIMING } from '../../model/planning/definition.js';
import { columnsOf, type DefinitionRecord, optionsOf } from '../../model/planning/definition-columns.js';
import { scheduleOfRecord } from '../../model/planning/schedule-words.js';
import { tagsIn } from '../../model/run/tags.js';
import { readAt } from '../../model/schedule/at-text.js';
import { type BusinessDays, WEEKDAYS, type Weekday } from '../../model/schedule/days/business-days.js';
import type { ScheduleSpec } from '../../model/schedule/spec.js';
import type { CommonOptions } from '../shell.js';
import { type AfterFlags, afterOf, waitOf } from './after-flags.js';
import { count, duration, instant, NONE, names, orNone } from './flags.js';

type Exclusions = NonNullable<ScheduleSpec['exclude']>;

/** The options that are flags of the same names. */
type Same = Omit<ScheduleInput, 'name' | 'job' | 'payload' | 'after' | 'expect'>;

interface OtherFlags extends AfterFlags {
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
  anchor: flag('--anchor <local time>', 'with --every of whole days: the first, such as 2027-01-04T09:00'),
  at: flag('--at <time>', 'once: 2026-03-08T07:30:00Z, or 2026-03-08T09:30 in --timezone', atTime),
  after: flag('--after <a,b>', 'for each occurrence of these definitions, when all have succeeded', names),
  afterAny: flag('--after-any <a,b>', 'the same, when any of them has succeeded', names),
  afterOn: flag(
    '--after-on <outcome>',
    'which outcome counts: success, failure or completion (default success)',
  ),
  within: flag(
    '--within <interval>',
    'with --cron or --every and --after: dataInterval, to wait for their occurrences since the one before',
    orNone(unchanged),
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
    '--exclude <date|calendar|weekend=sat,sun|cron>',
    'no occurrence then, such as 2026-12-25 or de-holidays; may be repeated',
    exclusions,
  ),
  businessDays: flag(
    '--business-days <mon-fri|calendar>',
    'short for --exclude: only these days of the week (default mon-fri), but not the dates of a calendar; as in sun-thu,ae-holidays',
    businessDays,
  ),
  shift: flag(
    '--shift <direction>',
    'next or previous: an excluded day moves to the next, or the previous, day that is not',
    orNone(unchanged),
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
  tags: flag('--tags <a,b>', 'of its runs, beside those of the job', orNone(tagsIn)),
  maxAttempts: flag('--max-attempts <n>', 'overrides the job’s own', count(1, 1_000_000)),
};

const TIMES = ['cron', 'every', 'phase', 'anchor', 'at'] as const;
const OTHERS = ['after', 'afterAny', 'afterOn', 'within', 'payload', 'expectWithin', 'maxDuration'];
type Rest = Exclude<keyof Same, (typeof TIMES)[number]>;
/** What is stored as it is stated: business days are stored as exclusions. */
type Stored = Exclude<Rest, 'businessDays'>;
const REST = Object.keys(FLAGS).filter(name => ![...TIMES, ...OTHERS].includes(name)) as Rest[];

export function withScheduleFlags(command: Command): Command {
  for (const option of Object.values(FLAGS)) command.addOption(option);
  return command;
}

function atTime(text: string): string {
  try {
    readAt(text.trim(), true);
    return text.trim();
  } catch (error) {
    throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
  }
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
  return [...(before ?? []), readExclusion(word)];
}

/** `mon-fri`, `de-holidays`, `sun-thu,ae-holidays`. */
function businessDays(text: string): BusinessDays {
  const words = text.split(',').map(word => word.trim());
  const [week = 'mon-fri', ...weeks] = words.filter(word => WEEK.test(word));
  const [calendar, ...calendars] = words.filter(word => !WEEK.test(word));
  if (calendar === '' || weeks.length > 0 || calendars.length > 0)
    throw new InvalidArgumentError(
      'Write days such as mon-fri, a calendar, or both with a comma between them.',
    );
  const [first = 0, last = 0] = week.split('-').map(day => WEEKDAYS.indexOf(day.toLowerCase() as Weekday));
  const after = (day: number) => (day - first + WEEKDAYS.length) % WEEKDAYS.length;
  const weekend = WEEKDAYS.filter((_, day) => after(day) > after(last));
  return { weekend, ...(calendar === undefined ? {} : { calendar }) };
}

const WEEK = new RegExp(`^(${WEEKDAYS.join('|')})-(${WEEKDAYS.join('|')})$`, 'i');

/** Refuses flags that state more than one schedule, or none where there must be one. */
export function checkTiming(flags: ScheduleFlags, mustHaveOne: boolean): void {
  const stated = {
    '--cron': flags.cron,
    '--every': flags.every,
    '--at': flags.at,
    '--after': flags.after,
    '--after-any': flags.afterAny,
  };
  const waits = flags.within !== undefined && flags.within !== NONE;
  const given = Object.entries(stated).flatMap(([flag, value]) =>
    value === undefined || (waits && flag === '--after') ? [] : [flag],
  );
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
  if (flags.afterOn !== undefined && !waits && given.some(flag => !flag.startsWith('--after')))
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
  const { within } = flags;
  const after = within === undefined || within === NONE ? afterOf(flags, null) : waitOf(flags, null);
  const timing = { ...pick(flags, TIMES), after };
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
  const waits = flags.within === undefined ? before.waitsFor !== null : flags.within !== NONE;
  const isChained =
    !waits && !isTimed && (before.after !== null || after !== undefined || afterAny !== undefined);
  if (!isChained && !waits && flags.afterOn !== undefined)
    throw usage(`--after-on needs --after or --after-any: ${before.name} does not run after anything`);
  return {
    name: before.name,
    job: flags.job ?? before.job,
    payload: payload === undefined ? before.payload : payload,
    ...given(isChained ? chained(before, flags) : timed(before, flags, isTimed)),
    ...given(waits ? { after: waitOf(flags, before.waitsFor ?? before.after) } : {}),
    ...given({ ...keptOf(before, flags, { isChained, waits }), ...defined(pick(flags, REST)) }),
    ...given({ expect: expectOf(flags, isChained ? { ...before, expectWithinMs: null } : before) }),
  };
}

/** A chain. Its times come from the definitions it follows, so no options of time are kept. */
function chained(before: DefinitionRecord, flags: ScheduleFlags) {
  return { ...pick(flags, TIMES), after: afterOf(flags, before.after) };
}

function timed(before: DefinitionRecord, flags: ScheduleFlags, isRetimed: boolean) {
  const kept: ScheduleSpec = scheduleOfRecord(before) ?? {};
  return isRetimed
    ? pick(flags, TIMES)
    : { ...pick(kept, TIMES), ...given({ phase: flags.phase, anchor: flags.anchor }) };
}

function keptOf(
  before: DefinitionRecord,
  { catchup, businessDays }: ScheduleFlags,
  { isChained, waits }: { readonly isChained: boolean; readonly waits: boolean },
) {
  const isTimed = !isChained && before.after === null;
  const stored = REST.filter((option): option is Stored => option !== 'businessDays');
  // They are short for exclusions: either states all of these.
  const stated = stored.filter(option => option !== 'exclude' || businessDays === undefined);
  const kept = stated.filter(option => isTimed || !(TIMING as readonly string[]).includes(option));
  // What runs after others has another default: an overlap policy that was the default changes with the kind.
  const followed = before.after !== null || before.waitsFor !== null;
  const defaultOverlap = followed ? 'buffer_all' : 'skip';
  const keepsOverlap = followed === (isChained || waits) || before.overlap !== defaultOverlap;
  // The default window depends on the policy, so a new policy drops the old window.
  const keepsWindow = catchup === undefined || catchup === before.catchup;
  return {
    ...pick(optionsOf(columnsOf(before)), kept),
    ...(keepsOverlap ? {} : { overlap: null }),
    ...(keepsWindow ? {} : { catchupWindow: null }),
  };
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
