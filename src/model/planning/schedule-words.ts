// A schedule as text: `30 2 * * * Europe/Berlin`, `every 5m`, `after load and clean`.

import { formatDuration, parseDuration } from '../duration.js';
import type { AnyJob } from '../job/job.js';
import { atWords } from '../schedule/at-text.js';
import type { ScheduleSpec } from '../schedule/spec.js';
import { type Chain, chainWords, readAfter, waitsForWords } from './chain.js';
import { scheduleOfColumns } from './definition.js';
import { columnsOf, type DefinitionRecord } from './definition-columns.js';

/** Empty if there is no schedule. */
export function scheduleWords(spec: ScheduleSpec | null | undefined): string {
  if (!spec) return '';
  const { cron, every, phase, anchor, at, timezone = 'UTC', dst = 'once', shift } = spec;
  const moved = shift === undefined ? '' : ` (shift ${shift})`;
  if (at !== undefined) return `once at ${atWords(at, timezone)}`;
  if (every !== undefined) {
    const offset = phase === undefined ? 0 : parseDuration(phase);
    if (anchor !== undefined)
      return `every ${formatDuration(parseDuration(every))} from ${anchor} on, ${timezone}${moved}`;
    return `every ${formatDuration(parseDuration(every))}${offset > 0 ? `, ${formatDuration(offset)} past` : ''}`;
  }
  return `${cron ?? ''} ${timezone}${dst === 'once' ? '' : ` (dst ${dst})`}${moved}`;
}

/** Schedule or chain, and window, of a stored definition; empty if it has none. */
export function definitionWords(record: DefinitionRecord): string {
  const { after, waitsFor, cron, anchor, window, outsideWindow, timezone, pauseOnFailure } = record;
  const when = after ? chainWords(after) : scheduleWords(scheduleOfRecord(record));
  if (when === '') return '';
  const zone = cron === null && anchor === null ? timezone : null;
  return withWindow(when, { waitsFor, window, outsideWindow, pauseOnFailure, zone });
}

export function jobWords({ name, schedule }: AnyJob): string {
  if (schedule === undefined) return '';
  const { window = null, outsideWindow = 'defer', pauseOnFailure = null, timezone = 'UTC' } = schedule;
  const { chain, waitsFor } = readAfter(schedule.after, name);
  const zone = schedule.cron === undefined && schedule.anchor === undefined ? timezone : null;
  const when = chain ? chainWords(chain) : scheduleWords(schedule);
  return withWindow(when, { waitsFor, window, outsideWindow, pauseOnFailure, zone });
}

export function chainOfJob({ name, schedule }: Pick<AnyJob, 'name' | 'schedule'>): Chain | null {
  return readAfter(schedule?.after, name).chain;
}

interface Bounds extends Pick<DefinitionRecord, 'waitsFor' | 'window' | 'outsideWindow' | 'pauseOnFailure'> {
  /** The window's time zone, unless the schedule's text already names it. */
  readonly zone: string | null;
}

function withWindow(when: string, { waitsFor, window, outsideWindow, pauseOnFailure, zone }: Bounds): string {
  const hours = `${window ?? ''}${zone === null ? '' : ` ${zone}`}${outsideWindow === 'skip' ? ' (else skipped)' : ''}`;
  return [
    when,
    ...(waitsFor === null ? [] : [waitsForWords(waitsFor)]),
    ...(window === null ? [] : [`only ${hours}`]),
    ...(pauseOnFailure === null ? [] : [`pauses after ${pauseOnFailure} dead`]),
  ].join(', ');
}

/** The schedule of a stored definition; null if it has none or is a chain. */
export function scheduleOfRecord(record: DefinitionRecord): ScheduleSpec | null {
  return scheduleOfColumns(columnsOf(record));
}
