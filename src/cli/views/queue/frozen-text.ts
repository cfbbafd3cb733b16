// A freeze as text.
import { formatDuration } from '../../../model/duration.js';
import type { Freeze } from '../../../model/freeze/freeze.js';
import { cleanLine } from '../../terminal.js';
import { localTime, relative } from '../time-text.js';

/** `until Mon 2026-03-09 10:20 CET (in 20m): maintenance; then what waits starts over 5m`. */
export function frozenWords({ until, note, rampMs }: Freeze, now = Date.now()): string {
  const then = rampMs === 0 ? '' : `; then what waits starts over ${formatDuration(rampMs)}`;
  return `until ${localTime(until)} (${relative(until, now)}): ${cleanLine(note)}${then}`;
}
