// What was in force when: the versions of a definition as segments of time, by the cursor. Each occurrence
// belongs to the segment in which its instant lies.
import type { Stop } from '../explain/without-row.js';
import { scheduleOfColumns } from '../planning/definition.js';
import type { DefinitionColumns } from '../planning/definition-columns.js';
import { windowIn } from '../planning/window.js';
import { type CompiledSchedule, compileSchedule } from '../schedule/compile.js';

/** The columns from which occurrences are computed. */
export type EvaluatedColumns = Pick<
  DefinitionColumns,
  | 'name'
  | 'cron'
  | 'every_ms'
  | 'phase_ms'
  | 'anchor'
  | 'at'
  | 'after'
  | 'timezone'
  | 'dst'
  | 'start_at'
  | 'end_at'
  | 'exclude'
  | 'shift'
  | 'active_window'
  | 'outside_window'
  | 'remaining_count'
>;

/** A version as it is kept. Instants in epoch milliseconds. */
export interface Version extends EvaluatedColumns {
  readonly number: number;
  /** Why the one before it ended; `made` for the first. */
  readonly change: string;
  /** The cursor at which it began. */
  readonly since_ms: number;
  readonly written_ms: number;
  /** The runs that the version before it had left to make. */
  readonly left_count: number | null;
  readonly stop: Exclude<Stop, 'used-up'> | null;
  /** Begun by a reset of the cursor: skipped rows up to this id, of occurrences after it, no longer count. */
  readonly void_until: number | null;
}

/** A version, and the instants whose occurrences are its own: after `from`, up to `to`. */
export interface Segment {
  readonly version: Version;
  readonly from: number;
  /** Infinity for the one in force. */
  readonly to: number;
  /** The runs that it had left to make in the end, or has now. */
  readonly left: number | null;
}

/** All that was in force. */
export interface Timeline {
  /** Ascending and without gaps, from the first version that is kept. */
  readonly segments: readonly Segment[];
  /** What had been considered before a cursor was reset: its records may still be there. */
  readonly superseded: readonly Segment[];
}

/** @param versions by number. @param left what `remaining_count` is now */
export function timelineOf(versions: readonly Version[], left: number | null): Timeline {
  const segments: Segment[] = [];
  const superseded: Segment[] = [];
  for (const version of versions) {
    const since = version.since_ms;
    const ended = segments.pop();
    // A cursor that falls leaves what was considered after it to the version that begins.
    if (ended && (version.change === 'reset-cursor' || since < ended.from)) {
      superseded.push({ ...ended, from: Math.max(ended.from, since) });
      for (let last = segments.at(-1); last && last.to > since; last = segments.at(-1)) {
        segments.pop();
        superseded.push({ ...last, from: Math.max(last.from, since) });
        if (last.from < since) segments.push({ ...last, to: since });
      }
    }
    if (ended && ended.from <= since) segments.push({ ...ended, to: since, left: version.left_count });
    segments.push({ version, from: since, to: Number.POSITIVE_INFINITY, left });
  }
  return { segments, superseded };
}

/** Compiles the schedules of versions, each once. Null: it has none, or it cannot be read. */
export function createEvaluator(): (version: EvaluatedColumns) => CompiledSchedule | null {
  const known = new Map<EvaluatedColumns, CompiledSchedule | null>();
  return version => {
    const found = known.get(version);
    if (found !== undefined) return found;
    const compiled = compile(version);
    known.set(version, compiled);
    return compiled;
  };
}

function compile(version: EvaluatedColumns): CompiledSchedule | null {
  try {
    const spec = scheduleOfColumns(version);
    return spec === null ? null : compileSchedule(spec, version.name);
  } catch {
    return null;
  }
}

/** Whether it has an occurrence at an instant. @param at epoch milliseconds */
export const hasOccurrence = (schedule: CompiledSchedule | null, at: number): boolean =>
  schedule !== null && schedule.next(at - 1) === at;

/** Whether a skipped row of this reason counts an occurrence at an instant of its span. */
export function countedBy(
  { active_window: hours, outside_window: outside, timezone }: EvaluatedColumns,
  reason: string | null,
): (at: number) => boolean {
  if (hours === null || outside === 'defer' || (reason !== 'window' && reason !== 'overlap'))
    return () => true;
  const window = windowIn(hours, timezone);
  return at => window.isOpen(at) === (reason === 'overlap');
}
