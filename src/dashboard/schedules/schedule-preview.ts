// What a form of a schedule would do: its words, its next occurrences, and what the clocks do to them.
import { calendarsNamed, withDates } from '../../model/calendar/calendar-entries.js';
import { openTimetable, type Timetable } from '../../model/explain/instant.js';
import { summerTimeSentences } from '../../model/occurrences/summer-time.js';
import { scheduleOfColumns } from '../../model/planning/definition.js';
import { plainSchedule } from '../words/schedule-words.js';
import { describeFields, faultsOf, NAMELESS, type ScheduleFault } from './schedule-faults.js';
import { type Kind, NEW_FIELDS, type ScheduleFields } from './schedule-form.js';
import { startOf } from './times.js';

/** An occurrence, and when its run may start, after jitter and window. Epoch milliseconds. */
export interface ShownStart {
  readonly at: number;
  readonly startsAt: number;
}

/** `chain`: it has the occurrences of others. `empty`: nothing was written yet. */
export type Preview =
  | { readonly kind: 'empty'; readonly of: Kind }
  | { readonly kind: 'faults'; readonly faults: readonly ScheduleFault[] }
  | { readonly kind: 'chain'; readonly words: string }
  | {
      readonly kind: 'times';
      readonly words: string;
      readonly timezone: string;
      readonly times: readonly ShownStart[];
      /** What the next change of the clocks does, and what the list does not know, as sentences. */
      readonly remarks: readonly string[];
    };

const SHOWN = 5;
/** The fields that decide when: what is wrong with others is said where it is. */
export const TIMES_FIELDS = [
  'kind',
  'when',
  'timezone',
  'dst',
  'phase',
  'anchor',
  'startAt',
  'endAt',
  'exclude',
  'shift',
  'jitter',
  'window',
  'outsideWindow',
  'require',
  'on',
  'waitsFor',
] as const satisfies readonly (keyof ScheduleFields)[];

/** @param name decides what `H` and the jitter stand for; empty: not known yet */
export function previewOf(name: string, fields: ScheduleFields, now: Date): Preview {
  if (fields.when === '') return { kind: 'empty', of: fields.kind };
  const timing = timingOf(fields);
  const faults = faultsOf(null, timing);
  if (faults.length > 0) return { kind: 'faults', faults };
  const columns = describeFields(name === '' ? NAMELESS : name, timing);
  const words = plainSchedule(columns);
  const calendars = calendarsNamed(columns.exclude);
  const spec = scheduleOfColumns({ ...columns, exclude: withDates(columns.exclude, () => []) });
  if (spec === null) return { kind: 'chain', words };
  const table = openTimetable(spec, columns.name);
  const times = nextTimes(table, now).map(at => ({ at, startsAt: startOf(columns, table.compiled, at) }));
  const remarks = [
    ...(columns.cron === null && columns.anchor === null ? [] : summerTimeSentences(table, now.getTime())),
    ...(calendars.length === 0
      ? []
      : [`the dates of ${calendars.join(' and ')} are left out too, but not yet in this list`]),
  ];
  return { kind: 'times', words, timezone: table.zone.name, times, remarks };
}

/** The rest as in a new form, with some job. */
function timingOf(fields: ScheduleFields): ScheduleFields {
  const timing = Object.fromEntries(TIMES_FIELDS.map(name => [name, fields[name]]));
  return { ...NEW_FIELDS, ...(timing as Pick<ScheduleFields, (typeof TIMES_FIELDS)[number]>), job: 'any' };
}

function nextTimes({ compiled }: Timetable, now: Date): readonly number[] {
  const found: number[] = [];
  for (let at = compiled.next(now.getTime()); at !== null && found.length < SHOWN; at = compiled.next(at))
    found.push(at);
  return found;
}
