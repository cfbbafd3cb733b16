// The next occurrence of a definition as text, or why there is none.

import type { DefinitionRecord } from '../../answers/schedules/lists.js';
import { chainWords } from '../../model/planning/chain.js';
import { utcText } from '../../model/schedule/instant-text.js';
import { cleanLine } from '../terminal.js';
import { localTime, relative } from './time-text.js';

/** In the definition's own zone and in UTC; or why there is no next occurrence. */
export function nextText(record: DefinitionRecord, now = Date.now()): string {
  const { nextAt, after, timezone, pausedAt, pausedUntil, pauseReason, brokenReason, vanishedAt, origin } =
    record;
  if (vanishedAt)
    return origin === 'code'
      ? 'no next occurrence: it is no longer in code'
      : 'no next occurrence: it was removed';
  if (pausedAt) {
    const why = pauseReason === null ? '' : ` (${cleanLine(pauseReason)})`;
    const end = pausedUntil === null ? 'it is resumed' : localTime(pausedUntil);
    return `paused${why}: no runs are made until ${end}`;
  }
  if (brokenReason !== null) return `broken, no runs are made: ${cleanLine(brokenReason)}`;
  if (after) return `it runs ${chainWords(after)}, for each of their occurrences`;
  if (nextAt === null) return 'no next occurrence';
  if (nextAt.getTime() <= now)
    return `the occurrence of ${utcText(nextAt)} is due: the next tick creates its run`;
  const local = timezone === 'UTC' ? '' : `${localTime(nextAt, timezone)}, `;
  return `next occurrence: ${local}${utcText(nextAt)} (${relative(nextAt, now)})`;
}
