// Shell: cli. A schedule as flags state it.
// In: flags; for a change, the definition as it is. Out: what `tock.schedules.upsert` takes. What the values may be is
// checked, and told, there.
import { type Command, InvalidArgumentError } from 'commander';
import type { ScheduleInput } from '../engine/schedules.js';
import type { CatchupPolicy, OverlapPolicy } from '../model/policies.js';
import type { Dst } from '../model/schedule/spec.js';
import type { DefinitionRecord } from '../store/reads.js';
import { count, duration, instant } from './flags.js';
import { scheduleOfRecord } from './schedule-words.js';
import type { CommonOptions } from './shell.js';

/** Takes back what the schedule had. Not null, which commander hands on as empty text; nor the word, which is a policy. */
const NONE: unique symbol = Symbol('none');

export interface ScheduleFlags extends CommonOptions {
  readonly job?: string;
  readonly cron?: string;
  readonly every?: string;
  readonly phase?: string;
  readonly at?: Date;
  readonly timezone?: string;
  readonly dst?: Dst;
  readonly payload?: string;
  readonly overlap?: OverlapPolicy;
  readonly catchup?: CatchupPolicy;
  readonly catchupWindow?: string | typeof NONE;
  readonly startDeadline?: string | typeof NONE;
  readonly jitter?: string;
  readonly startAt?: Date | typeof NONE;
  readonly endAt?: Date | typeof NONE;
  readonly remaining?: number | typeof NONE;
  readonly queue?: string;
  readonly priority?: number;
}

/** Adds the flags of a schedule to a command. */
export function withScheduleFlags(command: Command): Command {
  return command
    .option('--cron <expression>', 'one of --cron, --every and --at: a cron expression')
    .option('--every <duration>', 'an interval, such as 5m', duration)
    .option('--phase <duration>', 'with --every: how far after its alignment', duration)
    .option('--at <instant>', 'once, such as 2026-03-08T07:30:00Z', instant)
    .option('--timezone <zone>', 'IANA name (default UTC)')
    .option('--dst <mode>', 'once, skip or literal (default once)')
    .option('--payload <json>', 'JSON; @file reads a file, - reads standard input (default {})')
    .option('--overlap <policy>', 'while an earlier run is live: skip or allow_all (default skip)')
    .option('--catchup <policy>', 'missed occurrences: latest, all or none (default latest)')
    .option('--catchup-window <duration>', 'older ones are left out', orNone(duration))
    .option('--start-deadline <duration>', 'claimed later than this, a run is skipped', orNone(duration))
    .option('--jitter <duration>', 'spreads schedules over up to this long', duration)
    .option('--start-at <instant>', 'the first that may be an occurrence', orNone(instant))
    .option('--end-at <instant>', 'the last that may be an occurrence', orNone(instant))
    .option('--remaining <n>', 'how many runs to make in all', orNone(count(0, 2_147_483_647)))
    .option('--queue <queue>', 'in place of the job’s own')
    .option('--priority <n>', 'lower goes first', count(-2_147_483_647, 2_147_483_647));
}

function orNone<T>(parse: (text: string) => T): (text: string) => T | typeof NONE {
  return text => {
    if (text.trim().toLowerCase() === 'none') return NONE;
    try {
      return parse(text);
    } catch (error) {
      if (!(error instanceof InvalidArgumentError)) throw error;
      throw new InvalidArgumentError(`${error.message}, or none`);
    }
  };
}

/** A new schedule: what is not given takes its default. */
export function statedInput(
  name: string,
  flags: ScheduleFlags & { readonly job: string },
  payload: unknown,
): ScheduleInput {
  return { name, job: flags.job, ...given({ payload }), ...given(timingOf(flags)), ...given(restOf(flags)) };
}

/** A changed schedule: what is not given stays as it is. */
export function changedInput(
  before: DefinitionRecord,
  flags: ScheduleFlags,
  payload: unknown,
): ScheduleInput {
  const { cron, every, at } = flags;
  const isRetimed = cron !== undefined || every !== undefined || at !== undefined;
  const kept = scheduleOfRecord(before) ?? {};
  const timing = isRetimed ? timingOf(flags) : { ...timingOf(kept), ...given({ phase: flags.phase }) };
  // The window's default depends on the policy: under another policy it is stated anew, or left to its default.
  const keepsWindow = flags.catchup === undefined || flags.catchup === before.catchup;
  const rest = {
    timezone: before.timezone,
    dst: before.dst as Dst,
    overlap: before.overlap as OverlapPolicy,
    catchup: before.catchup as CatchupPolicy,
    catchupWindow: keepsWindow ? before.catchupWindowMs : NONE,
    startDeadline: before.startDeadlineMs,
    jitter: before.jitterMs,
    startAt: before.startAt,
    endAt: before.endAt,
    remaining: before.remaining,
    queue: before.queue,
    priority: before.priority,
    ...defined(restOf(flags)),
  };
  return {
    name: before.name,
    job: flags.job ?? before.job,
    payload: payload === undefined ? before.payload : payload,
    exclude: before.exclude,
    maxAttempts: before.maxAttempts,
    ...given(timing),
    ...given(rest),
  };
}

function timingOf({ cron, every, phase, at }: Pick<ScheduleInput, 'cron' | 'every' | 'phase' | 'at'>) {
  return { cron, every, phase, at };
}

function restOf(flags: ScheduleFlags) {
  const { timezone, dst, overlap, catchup, catchupWindow, startDeadline, jitter, startAt, endAt } = flags;
  const { remaining, queue, priority } = flags;
  const policies = { overlap, catchup, catchupWindow, startDeadline, jitter };
  return { timezone, dst, ...policies, startAt, endAt, remaining, queue, priority };
}

type Given<T> = { [K in keyof T]?: Exclude<T[K], symbol | null | undefined> };

/** Without what was not given, or was taken back. */
function given<T extends object>(values: T): Given<T> {
  return Object.fromEntries(
    Object.entries(values).filter(([, value]) => value !== undefined && value !== null && value !== NONE),
  ) as Given<T>;
}

/** Without what was not given. */
function defined<T extends object>(values: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}
