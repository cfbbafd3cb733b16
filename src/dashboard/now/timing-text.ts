// When a definition runs, in a few words.
import { formatDuration } from '../../model/duration.js';
import { chainWords } from '../../model/planning/chain.js';
import { utcText } from '../../model/schedule/instant-text.js';
import type { TimedDefinition } from '../../store/reads/coming.js';

export function timingText({ cron, every_ms: every, at, after, timezone }: TimedDefinition): string {
  if (after !== null) return chainWords(after);
  if (at !== null) return `once, at ${utcText(at)}`;
  if (every !== null) return `every ${formatDuration(every)}`;
  return cron === null ? 'no schedule' : `${cron}${timezone === 'UTC' ? '' : `, ${timezone}`}`;
}
