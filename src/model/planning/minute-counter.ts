// Counts of starts by minute, and what is read from them: hours, peaks, the busiest minutes.
import type { Zone } from '../schedule/zone/zone.js';

export const MINUTE_MS = 60_000;

/** The most runs that would start in one minute, and the first such minute; null if none would start. */
export interface Peak {
  readonly perMinute: number;
  readonly minute: Date | null;
}

/** A local hour, or what lies of it in the window; a repeated hour is there twice. */
export interface HourCount {
  readonly start: Date;
  readonly count: number;
  /** The most starts in one of its minutes. */
  readonly peak: number;
}

/** Counts starts by minute in [from, to). */
export function counterOf({ from, to }: { readonly from: Date; readonly to: Date }) {
  const [begin, end] = [from.getTime(), to.getTime()];
  const base = Math.floor(begin / MINUTE_MS) * MINUTE_MS;
  const minutes = new Uint32Array(Math.ceil((end - base) / MINUTE_MS));
  const dateOf = (index: number) => new Date(base + index * MINUTE_MS);
  return {
    add(at: number): void {
      if (at < begin || at >= end) return;
      const index = Math.floor((at - base) / MINUTE_MS);
      minutes[index] = (minutes[index] ?? 0) + 1;
    },
    total: () => minutes.reduce((sum, count) => sum + count, 0),
    peak(): Peak {
      let best = -1;
      for (const [index, count] of minutes.entries()) if (count > (minutes[best] ?? 0)) best = index;
      return { perMinute: minutes[best] ?? 0, minute: best < 0 ? null : dateOf(best) };
    },
    busiest(most: number): { readonly minute: Date; readonly count: number }[] {
      const best: { minute: Date; count: number }[] = [];
      for (const [index, count] of minutes.entries()) {
        if (count === 0 || (best.length === most && count <= (best.at(-1)?.count ?? 0))) continue;
        best.push({ minute: dateOf(index), count });
        best.sort((a, b) => b.count - a.count || a.minute.getTime() - b.minute.getTime());
        best.length = Math.min(best.length, most);
      }
      return best;
    },
    byHour(zone: Zone): HourCount[] {
      const hours: { start: Date; count: number; peak: number }[] = [];
      let current = '';
      for (const [index, count] of minutes.entries()) {
        const second = (base + index * MINUTE_MS) / 1000;
        const { offset } = zone.segmentAt(second);
        const hour = `${Math.floor((second + offset) / 3600)} ${offset}`;
        if (hour !== current) hours.push({ start: dateOf(index), count: 0, peak: 0 });
        current = hour;
        const last = hours.at(-1);
        if (last === undefined) continue;
        last.count += count;
        last.peak = Math.max(last.peak, count);
      }
      return hours;
    },
  };
}
