// I23: no fair key starts more runs, in any time, than its rate allows. I24: none starts while its key is closed.
// In: a history, and what the keys' rates are. Out: where they did not hold, and how many starts were looked at.
//
// The order of the events is enough for I24: a claim, and what closes a key, hold the lock of the key's row.
import { type HistoryEvent, TOLERANCE_MS } from './history.js';

export interface KeyRate {
  /** Fair keys that begin so. */
  readonly prefix: string;
  /** Between two starts, in milliseconds. */
  readonly stepMs: number;
  readonly burst: number;
}

export function checkFair(events: readonly HistoryEvent[], rates: readonly KeyRate[]) {
  const wrong: string[] = [];
  const closedUntil = new Map<string, number>();
  /** By key: when the next start is due at the earliest, if nothing was saved up. */
  const dueAt = new Map<string, number>();
  let starts = 0;
  let closings = 0;
  for (const { seq, place, old, new: row, app } of events) {
    if (place === 'fairKey') {
      const until = row?.closed_until ?? null;
      if (until !== null && until !== old?.closed_until) closings += 1;
      closedUntil.set(row?.name ?? old?.name ?? '', until === null ? Number.NaN : Date.parse(until));
    }
    const key = row?.slot_keys?.[0] ?? '';
    const isStart = place === 'live' && row?.status === 'running' && row.fence !== old?.fence;
    if (!isStart || !key.startsWith('~')) continue;
    starts += 1;
    const at = Date.parse(row.started_at ?? '');
    const where = `(run ${row.id}, event ${seq} by ${app})`;
    const until = closedUntil.get(key) ?? Number.NaN;
    if (at < until - TOLERANCE_MS)
      wrong.push(`I24 key ${key} starts a run ${until - at} ms before it opens ${where}`);
    const rate = rates.find(({ prefix }) => key.startsWith(prefix));
    if (rate === undefined) continue;
    const due = dueAt.get(key) ?? Number.NEGATIVE_INFINITY;
    const savedMs = (rate.burst - 1) * rate.stepMs;
    if (at < due - savedMs - TOLERANCE_MS)
      wrong.push(`I23 key ${key} starts a run ${due - savedMs - at} ms too soon ${where}`);
    dueAt.set(key, Math.max(due, at) + rate.stepMs);
  }
  return { wrong, starts, closings };
}
