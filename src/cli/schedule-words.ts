// Shell: cli. A schedule in words.
// In: a job's schedule, or a definition's columns. Out: `30 2 * * * Europe/Berlin`, `every 5m`, `once at …`.
import { scheduleOfColumns } from '../model/definition.js';
import { formatDuration, parseDuration } from '../model/duration.js';
import type { ScheduleSpec } from '../model/schedule/spec.js';
import type { DefinitionRecord } from '../store/reads.js';
import { utcText } from './time-text.js';

/** A schedule in words; empty where there is none. */
export function scheduleWords(spec: ScheduleSpec | null | undefined): string {
  if (!spec) return '';
  const { cron, every, phase, at, timezone = 'UTC', dst = 'once' } = spec;
  if (at !== undefined) return `once at ${utcText(new Date(at))}`;
  if (every !== undefined) {
    const offset = phase === undefined ? 0 : parseDuration(phase);
    return `every ${formatDuration(parseDuration(every))}${offset > 0 ? `, ${formatDuration(offset)} past` : ''}`;
  }
  return `${cron ?? ''} ${timezone}${dst === 'once' ? '' : ` (dst ${dst})`}`;
}

/** The schedule of a stored definition; null where it has none. */
export function scheduleOfRecord(record: DefinitionRecord): ScheduleSpec | null {
  return scheduleOfColumns({
    ...record,
    every_ms: record.everyMs,
    phase_ms: record.phaseMs,
    start_at: record.startAt,
    end_at: record.endAt,
  });
}
