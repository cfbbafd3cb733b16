// A schedule as text: `30 2 * * * Europe/Berlin`, `every 5m`, `after load and clean`.

import { formatDuration, parseDuration } from '../duration.js';
import type { AnyJob } from '../job/job.js';
import { utcText } from '../schedule/instant-text.js';
import type { ScheduleSpec } from '../schedule/spec.js';
import { type Chain, chainWords, readAfter } from './chain.js';
import { scheduleOfColumns } from './definition.js';
import { columnsOf, type DefinitionRecord } from './definition-columns.js';

/** Empty if there is no schedule. */
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

/** Schedule or chain, and window, of a stored definition; empty if it has none. */
export function definitionWords(record: DefinitionRecord): string {
  const { after, cron, window, outsideWindow, timezone, pauseOnFailure } = record;
  const when = after ? chainWords(after) : scheduleWords(scheduleOfRecord(record));
  if (when === '') return '';
  return withWindow(when, { window, outsideWindow, pauseOnFailure, zone: cron === null ? timezone : null });
}

export function jobWords({ name, schedule }: AnyJob): string {
  if (schedule === undefined) return '';
  const { window = null, outsideWindow = 'defer', pauseOnFailure = null, timezone = 'UTC' } = schedule;
  const chain = chainOfJob({ name, schedule });
  const zone = schedule.cron === undefined ? timezone : null;
  const when = chain ? chainWords(chain) : scheduleWords(schedule);
  return withWindow(when, { window, outsideWindow, pauseOnFailure, zone });
}

export function chainOfJob({ name, schedule }: Pick<AnyJob, 'name' | 'schedule'>): Chain | null {
  return schedule?.after === undefined ? null : readAfter(schedule.after, name);
}

interface Bounds extends Pick<DefinitionRecord, 'window' | 'outsideWindow' | 'pauseOnFailure'> {
  /** The window's time zone, unless the schedule's text already names it. */
  readonly zone: string | null;
}

function withWindow(when: string, { window, outsideWindow, pauseOnFailure, zone }: Bounds): string {
  const hours = `${window ?? ''}${zone === null ? '' : ` ${zone}`}${outsideWindow === 'skip' ? ' (else skipped)' : ''}`;
  return [
    when,
    ...(window === null ? [] : [`only ${hours}`]),
    ...(pauseOnFailure === null ? [] : [`pauses after ${pauseOnFailure} dead`]),
  ].join(', ');
}

/** The schedule of a stored definition; null if it has none or is a chain. */
export function scheduleOfRecord(record: DefinitionRecord): ScheduleSpec | null {
  return scheduleOfColumns(columnsOf(record));
}
