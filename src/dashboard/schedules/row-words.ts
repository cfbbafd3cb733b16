// How long a schedule's runs take, in a few words.

import type { Recent } from '../../answers/schedules/read-schedule.js';
import { spanText } from '../layout/text.js';

/** `takes 42s, at most 3m`: the median and the 95th percentile, or one where they look alike; or nothing. */
export function tookWords({ p50, p95 }: Pick<Recent, 'p50' | 'p95'>): string {
  if (p50 === null || p95 === null) return '';
  const [usual, slow] = [spanText(p50), spanText(p95)];
  return usual === slow ? `takes ${usual}` : `takes ${usual}, 95% at most ${slow}`;
}
