// What a queue or job says of its keys, in words.
import { formatDuration } from '../duration.js';
import type { FairScope } from '../job/fair/fair.js';

/** `shared by $.tenant (3 at once, 2 per 1s each)`. */
export function fairWords({ path, limit, rate }: FairScope): string {
  const each = [
    limit === null ? null : `${limit} at once`,
    rate === null ? null : `${rate.limit} per ${formatDuration(rate.perMs)}`,
  ].filter(part => part !== null);
  return `shared by ${path}${each.length === 0 ? '' : ` (${each.join(', ')} each)`}`;
}
