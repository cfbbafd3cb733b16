// The flags of a schedule, as input for `tock.schedules.upsert`, which checks the values.
import { type Command, InvalidArgumentError } from 'commander';
import type { ScheduleInput } from '../../engine/definitions/schedules.js';
import type { Expectation } from '../../model/alerts/options.js';
import { TockError } from '../../model/errors.js';
import type { After, Chain, ChainOn } from '../../model/planning/chain.js';
import type { CatchupPolicy, OverlapPolicy } from '../../model/planning/plan-occurrences.js';
import { scheduleOfRecord } from '../../model/planning/schedule-words.js';
import type { OutsideWindow } from '../../model/planning/window.js';
import type { Dst, ScheduleSpec } from '../../model/schedule/spec.js';
import type { DefinitionRecord } from '../../store/reads/runs.js';
import type { CommonOptions } from '../shell.js';
import { count, duration, instant, NONE, names, orNone } from './flags.js';

type Exclusions = NonNullable<ScheduleSpec['exclude']>;

export interface ScheduleFlags extends CommonOptions {
  readonly job?: string;
  readonly cron?: string;
  readonly every?: string;
  readonly phase?: string;
  readonly at?: Date;
  readonly after?: string[];
  readonly afterAny?: string[];
  readonly afterOn?: ChainOn;
  readonly timezone?: string;
  readonly dst?: Dst;
  readonly payload?: string;
  readonly overlap?: OverlapPolicy;
  readonly window?: string | typeof NONE;
  readonly outsideWindow?: OutsideWindow;
  readonly exclude?: Exclusions | typeof NONE;
  readonly catchup?: CatchupPolicy;
  readonly catchupWindow?: string | typeof NONE;
  readonly startDeadline?: string | typeof NONE;
  readonly jitter?: string;
  readonly startAt?: Date | typeof NONE;
  readonly endAt?: Date | typeof NONE;
  readonly remaining?: number | typeof NONE;
  readonly pauseOnFailure?: number | typeof NONE;
  readonly expectWithin?: string | typeof NONE;
  readonly maxDuration?: string | typeof NONE;
  readonly queue?: string;
  readonly priority?: number;
  readonly maxAttempts?: number;
}

export function withScheduleFlags(command: Command): Command {
  return command
    .option('--cron <expression>', 'one of --cron, --every, --at, --after: a cron expression')
    .option('--every <duration>', 'an interval, such as 5m', duration)
    .option('--phase <duration>', 'with --every: offset from its alignment', duration)
    .option('--at <instant>', 'once, such as 2026-03-08T07:30:00Z', instant)
    .option('--after <a,b>', 'for each occurrence of these definitions, when all have succeeded', names)
    .option('--after-any <a,b>', 'the same, when any of them has succeeded', names)
    .option('--after-on <outcome>', 'which outcome counts: success, failure or completion (default success)')
    .option('--timezone <zone>', 'IANA name (default UTC)')
    .option('--dst <mode>', 'once, skip or literal (default once)')
    .option('--payload <json>', 'JSON; @file reads a file, - reads standard input (default {})')
    .option(
      '--overlap <policy>',
      'while an earlier run is live: skip, buffer_one, buffer_all, cancel_other, terminate_other or allow_all (default skip; in chains buffer_all)',
    )
    .option(
      '--window <HH:MM-HH:MM>',
      'runs start only in these hours, such as 23:00-06:00',
      orNone(unchanged),
    )
    .option('--outside-window <what>', 'defer (to the next opening) or skip (default defer)')
    .option('--exclude <date|cron>', 'no occurrence then, such as 2026-12-25; may be repeated', exclusions)
    .option('--catchup <policy>', 'missed occurrences: latest, all or none (default latest)')
    .option('--catchup-window <duration>', 'older occurrences get no run', orNone(duration))
    .option('--start-deadline <duration>', 'a run claimed later than this is skipped', orNone(duration))
    .option('--jitter <duration>', 'spread schedules over up to this time', duration)
    .option('--start-at <instant>', 'no occurrence before this', orNone(instant))
    .option('--end-at <instant>', 'no occurrence after this', orNone(instant))
    .option('--remaining <n>', 'how many runs to make in all', orNone(count(0, 2_147_483_647)))
    .option('--pause-on-failure <n>', 'pause after this many dead runs in a row', orNone(count(1, 1_000_000)))
    .option(
      '--expect-within <duration>',
      'alert if no success follows an occurrence in time',
      orNone(duration),
    )
    .option('--max-duration <duration>', 'alert if an attempt takes longer', orNone(duration))
    .option('--queue <queue>', 'overrides the job’s own')
    .option('--priority <n>', 'lower goes first', count(-2_147_483_647, 2_147_483_647))
    .option('--max-attempts <n>', 'overrides the job’s own', count(1, 1_000_000));
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
  const timing = { ...timingOf(flags), after: afterOf(flags, null) };
  const expect = expectOf(flags, null);
  return { name, job: flags.job, ...given({ payload, expect }), ...given(timing), ...given(restOf(flags)) };
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
    ...given({ ...keptOf(before, flags, isChained), ...defined(restOf(flags)) }),
    ...given({ expect: expectOf(flags, isChained ? { ...before, expectWithinMs: null } : before) }),
  };
}

/** A chain. Its times come from the definitions it follows, so no options of time are kept. */
function chained(before: DefinitionRecord, flags: ScheduleFlags) {
  return { ...timingOf(flags), after: afterOf(flags, before.after) };
}

function timed(before: DefinitionRecord, flags: ScheduleFlags, isRetimed: boolean) {
  const kept = scheduleOfRecord(before) ?? {};
  return isRetimed ? timingOf(flags) : { ...timingOf(kept), ...given({ phase: flags.phase }) };
}

function keptOf(before: DefinitionRecord, flags: ScheduleFlags, isChained: boolean) {
  // Chains have another default: an overlap policy that was the default changes with the kind.
  const defaultOverlap = before.after === null ? 'skip' : 'buffer_all';
  const keepsOverlap = (before.after !== null) === isChained || before.overlap !== defaultOverlap;
  return {
    ...(isChained || before.after !== null ? {} : keptTiming(before, flags)),
    timezone: before.timezone,
    overlap: keepsOverlap ? before.overlap : null,
    window: before.window,
    outsideWindow: before.outsideWindow,
    startDeadline: before.startDeadlineMs,
    remaining: before.remaining,
    pauseOnFailure: before.pauseOnFailure,
    queue: before.queue,
    priority: before.priority,
    maxAttempts: before.maxAttempts,
  };
}

function keptTiming(before: DefinitionRecord, { catchup }: ScheduleFlags) {
  // The default window depends on the policy, so a new policy drops the old window.
  const keepsWindow = catchup === undefined || catchup === before.catchup;
  return {
    dst: before.dst,
    exclude: before.exclude,
    catchup: before.catchup,
    catchupWindow: keepsWindow ? before.catchupWindowMs : null,
    jitter: before.jitterMs,
    startAt: before.startAt,
    endAt: before.endAt,
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

function timingOf({ cron, every, phase, at }: Pick<ScheduleInput, 'cron' | 'every' | 'phase' | 'at'>) {
  return { cron, every, phase, at };
}

function restOf(flags: ScheduleFlags) {
  const { timezone, dst, overlap, window, outsideWindow, exclude, catchup, catchupWindow, jitter } = flags;
  const { startDeadline, startAt, endAt, remaining, pauseOnFailure, queue, priority, maxAttempts } = flags;
  const start = { startDeadline, startAt, endAt, remaining, pauseOnFailure, queue, priority, maxAttempts };
  return { timezone, dst, overlap, window, outsideWindow, exclude, catchup, catchupWindow, jitter, ...start };
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
