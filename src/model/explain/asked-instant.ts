// A moment as people name it when they filter: `-2h`, `yesterday`, a local time, an instant.
import { parseDuration } from '../duration.js';
import { TockError } from '../errors.js';
import { isWithinYears } from '../instant-bounds.js';
import { quote } from '../names.js';
import type { Zone } from '../schedule/zone/zone.js';
import { type AskedTime, readAskedTime } from './asked-time.js';
import { firstInstant } from './day.js';
import { placeOfCivil } from './local-clock.js';

const SPAN = /^([+-]?)((?:\d+(?:\.\d+)?(?:ms|[smhdw]))+)$/;
/** Days from today. */
const DAYS: Readonly<Record<string, number>> = { yesterday: -1, today: 0, tomorrow: 1 };
const DAY_SECONDS = 86_400;

/**
 * Reads a moment: `now`; `-2h`, or `2h`, for two hours ago; `+2h`; `yesterday`, `today`, `tomorrow` or
 * `2026-03-08` for the beginning of that day in the zone; `2026-03-08 02:30` or `02:30` in the zone; an ISO
 * instant with Z or an offset.
 * @param what names the option in the error message
 * @throws TockError TOCK_BAD_TIME
 */
export function readAskedInstant(text: string, zone: Zone, now: Date, what: string): Date {
  const word = text.trim();
  const lower = word.toLowerCase();
  if (lower === 'now') return now;
  const [, sign = '', span = ''] = SPAN.exec(word) ?? [];
  const days = DAYS[lower];
  const found = span === '' ? placed(word, days, zone, now) : moved(now, sign, span);
  if (found !== null && isWithinYears(found)) return new Date(found);
  throw new TockError(
    'TOCK_BAD_TIME',
    `${what} ${quote(text)} is not a time; write -2h, yesterday, today, 2026-03-08, 2026-03-08T02:30 or 2026-03-08T07:30:00Z`,
  );
}

/** Epoch milliseconds; null: longer than a duration may be. */
function moved(now: Date, sign: string, span: string): number | null {
  try {
    return now.getTime() + (sign === '+' ? 1 : -1) * parseDuration(span);
  } catch {
    return null;
  }
}

/** Epoch milliseconds; null: it is no time. */
function placed(word: string, days: number | undefined, zone: Zone, now: Date): number | null {
  if (days !== undefined) {
    const second = Math.floor(now.getTime() / 1000);
    const today = Math.floor((second + zone.segmentAt(second).offset) / DAY_SECONDS);
    return firstInstant(zone, (today + days) * DAY_SECONDS) * 1000;
  }
  const asked = askedTime(word, zone, now);
  if (asked === null) return null;
  if (asked.kind === 'instant') return asked.at * 1000;
  if (asked.kind === 'day') return firstInstant(zone, asked.day * DAY_SECONDS) * 1000;
  const { instants, gap } = placeOfCivil(zone, asked.civil);
  return (instants[0] ?? gap?.start ?? asked.civil) * 1000;
}

function askedTime(word: string, zone: Zone, now: Date): AskedTime | null {
  try {
    return readAskedTime(word, zone, now.getTime());
  } catch {
    return null;
  }
}
