// The local days and times of a schedule that follows the clocks: of a cron expression, or of every n-th day.
import { bits60 } from '../bits.js';
import { DAY_SECONDS } from '../calendar.js';
import { type CivilSet, EVERY_DAY } from '../civil-walk.js';
import { type CronFields, dayMask } from '../cron/cron-fields.js';
import { createDayGates } from '../day-gates.js';
import type { Exclusions } from '../exclusions.js';
import type { ReadSpec } from '../spec.js';
import { countedDays, type DaysOf, remembered, steppedDays } from './month-days.js';
import { type DayShift, type Shift, shiftDays } from './shifted-days.js';

/** A timing that follows the clocks. */
export type LocalTiming = Extract<ReadSpec['timing'], { readonly kind: 'cron' | 'days' }>;

export interface LocalDays {
  readonly set: CivilSet;
  /** Null where nothing moves. */
  readonly shift: DayShift | null;
}

/** Where the fields alone tell the days, as they mostly do, nothing is computed for a month. */
export function localDays(
  timing: LocalTiming,
  exclusions: Exclusions | null,
  shift: Shift | null,
): LocalDays {
  const fields = timing.kind === 'cron' ? timing.fields : timesAt(timing.anchor);
  const gates = createDayGates(exclusions, fields);
  const isLeft = (day: number) => gates.gateOf(day) !== 'closed';
  const named = timing.kind === 'days' ? steppedFrom(timing) : namedBy(fields, isLeft);
  if (shift === null || exclusions === null)
    return { set: { fields, gates, days: named ?? undefined }, shift: null };
  const moved = shiftDays(shift, named ?? daysOfFields(fields), isLeft);
  return { set: { fields, gates, days: moved.days }, shift: moved };
}

function timesAt(anchor: number): CronFields {
  // Positive before 1970 too.
  const time = ((anchor % DAY_SECONDS) + DAY_SECONDS) % DAY_SECONDS;
  const [hour, minute, second] = [Math.floor(time / 3600), Math.floor(time / 60) % 60, time % 60];
  return {
    ...EVERY_DAY,
    hours: 1 << hour,
    minutes: bits60([minute]),
    seconds: bits60([second]),
    businessDays: [],
    everyHour: false,
  };
}

const steppedFrom = ({ step, anchor }: Extract<LocalTiming, { readonly kind: 'days' }>): DaysOf =>
  steppedDays(Math.floor(anchor / DAY_SECONDS), step);

/** Null: the fields tell. */
function namedBy(fields: CronFields, isLeft: (day: number) => boolean): DaysOf | null {
  if (fields.businessDays.length === 0) return null;
  const [plain, counted] = [daysOfFields(fields), countedDays(fields.businessDays, isLeft)];
  return remembered((month, length, firstWeekday, first) =>
    ((fields.months >>> month) & 1) === 1
      ? plain(month, length, firstWeekday, first) | counted(month, length, firstWeekday, first)
      : 0,
  );
}

const daysOfFields =
  (fields: CronFields): DaysOf =>
  (month, length, firstWeekday) =>
    ((fields.months >>> month) & 1) === 1 ? dayMask(fields, length, firstWeekday) : 0;
