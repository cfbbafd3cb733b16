// How long a schedule's runs take, in a few characters.
import { spanText } from '../layout/text.js';
import type { Recent } from './read-schedule.js';

/** `42s, up to 3m`: the median and the 95th percentile, or one where they look alike; a dash without any. */
export function tookWords({ p50, p95 }: Pick<Recent, 'p50' | 'p95'>): string {
  if (p50 === null || p95 === null) return '–';
  const [usual, slow] = [spanText(p50), spanText(p95)];
  return usual === slow ? usual : `${usual} – ${slow}`;
}
