// Chaos: I12 in histories written by hand. It can fail, and names the key.
import { describe, expect, it } from 'vitest';
import type { HistoryRow } from './history.js';
import { checkLimits } from './history-limits.js';
import { instant as AT, type Step, written } from './written-history.js';

const LIMITS = { 'job:limited/*': 1, 'queue:narrow': 2 };

const queued = (id: number, more: HistoryRow = {}): HistoryRow => ({
  id,
  status: 'queued',
  queue: 'default',
  ...more,
});
const running = (row: HistoryRow, from: number, until: number): HistoryRow => ({
  ...row,
  status: 'running',
  started_at: AT(from),
  locked_until: AT(until),
});
const events = (rows: readonly (readonly [HistoryRow | null, HistoryRow | null])[]) =>
  written(rows.map((row): Step => ['live', ...row]));
const KEYED: HistoryRow = { slot_keys: ['job:limited/a'] };
const NARROW: HistoryRow = { queue: 'narrow' };

describe('checkLimits', () => {
  it('accepts one after the other, and tells the most at once', () => {
    const [a, b] = [queued(1, KEYED), queued(2, KEYED)];
    const { wrong, highest } = checkLimits(
      events([
        [a, running(a, 1, 61)],
        [running(a, 1, 61), null],
        [b, running(b, 2, 62)],
      ]),
      LIMITS,
    );
    expect(wrong).toEqual([]);
    expect(highest.get('job:limited/a')).toBe(1);
  });

  it('finds one too many under a key, and none under another key', () => {
    const [a, b, c] = [queued(1, KEYED), queued(2, KEYED), queued(3, { slot_keys: ['job:limited/b'] })];
    const { wrong, highest } = checkLimits(
      events([
        [a, running(a, 1, 61)],
        [c, running(c, 1, 61)],
        [b, running(b, 2, 62)],
      ]),
      LIMITS,
    );
    expect(wrong).toEqual(['I12 2 runs hold job:limited/a at once (run 2, event 3 by a)']);
    expect(highest.get('job:limited/b')).toBe(1);
  });

  it('counts a lease until it is over, and as far as it was renewed', () => {
    const [a, b] = [queued(1, KEYED), queued(2, KEYED)];
    const expired = events([
      [a, running(a, 1, 3)],
      [b, running(b, 4, 62)],
    ]);
    expect(checkLimits(expired, LIMITS).wrong).toEqual([]);
    const renewed = events([
      [a, running(a, 1, 3)],
      [running(a, 1, 3), running(a, 1, 9)],
      [b, running(b, 4, 62)],
    ]);
    expect(checkLimits(renewed, LIMITS).wrong).toHaveLength(1);
  });

  it('counts a queue by the queue, whatever keys its runs have', () => {
    const rows = [queued(1, NARROW), queued(2, { ...NARROW, ...KEYED }), queued(3, NARROW)];
    const { wrong, highest } = checkLimits(events(rows.map(row => [row, running(row, 1, 61)])), LIMITS);
    expect(wrong).toEqual(['I12 3 runs hold queue:narrow at once (run 3, event 3 by a)']);
    expect(highest.get('queue:narrow')).toBe(3);
  });
});
