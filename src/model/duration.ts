// Durations as people write and read them: '30s', '1h30m', '1d', ISO 8601 ('PT5M'), or milliseconds.
import { TockError } from './errors.js';
import { quote } from './names.js';

/** A duration: `'30s'`, `'1h30m'`, `'1d'`, ISO 8601 such as `'PT5M'`, or a number of milliseconds. */
export type Duration = string | number;

const UNIT_MS: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};
/** Thirty years: longer than any sensible wait, less than a value in the wrong unit (1e12). */
export const MAX_DURATION_MS = 30 * 366 * 86_400_000;

const WORDS = /^(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+$/;
const WORD = /(\d+(?:\.\d+)?)(ms|[smhdw])/g;
const ISO = /^P(?=.)(?:(\d+)W)?(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?$/i;

/**
 * Reads a duration into whole milliseconds. A day is 24 hours and a week seven days; months and years are
 * refused, because they have no fixed length.
 * @param what names the option in the error message
 * @throws TockError TOCK_BAD_DURATION when it is not a duration, negative, or over thirty years
 */
export function parseDuration(value: Duration, what = 'duration'): number {
  const ms = typeof value === 'number' ? value : readText(value);
  if (!Number.isFinite(ms) || ms < 0 || ms > MAX_DURATION_MS) {
    throw new TockError(
      'TOCK_BAD_DURATION',
      `${what} ${quote(value)} is not a duration between 0 and 30 years; write it as 30s, 5m, 1h30m, 1d, PT5M or in milliseconds`,
    );
  }
  return Math.round(ms);
}

function readText(value: unknown): number {
  if (typeof value !== 'string') return Number.NaN;
  const text = value.trim();
  if (text.length > 100) return Number.NaN;
  if (WORDS.test(text)) {
    let ms = 0;
    for (const [, count, unit] of text.matchAll(WORD))
      ms += Number(count) * (UNIT_MS[unit ?? ''] ?? Number.NaN);
    return ms;
  }
  const iso = ISO.exec(text);
  if (!iso) return Number.NaN;
  const [, w, d, h, m, s] = iso.map(part => Number(part ?? 0));
  return (
    (w ?? 0) * 604_800_000 +
    (d ?? 0) * 86_400_000 +
    (h ?? 0) * 3_600_000 +
    (m ?? 0) * 60_000 +
    (s ?? 0) * 1000
  );
}

/** Writes milliseconds as a person would: `250ms`, `4.2s`, `3m 20s`, `5h 2m`, `3d 4h`. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) return '-';
  if (ms < 0) return `-${formatDuration(-ms)}`;
  // The bounds are where rounding would give 1000ms and 60s.
  if (ms < 999.5) return `${Math.round(ms)}ms`;
  if (ms < 59_950) return `${Number((ms / 1000).toFixed(1))}s`;
  const seconds = Math.round(ms / 1000);
  const parts: readonly (readonly [number, string])[] = [
    [Math.floor(seconds / 86_400), 'd'],
    [Math.floor(seconds / 3600) % 24, 'h'],
    [Math.floor(seconds / 60) % 60, 'm'],
    [seconds % 60, 's'],
  ];
  const first = parts.findIndex(([count]) => count > 0);
  return parts
    .slice(first, first + 2)
    .filter(([count]) => count > 0)
    .map(([count, unit]) => `${count}${unit}`)
    .join(' ');
}

const DAYS_ONLY_MS = 30 * 86_400_000;

/** A duration in whole seconds, from 30 days on in whole days: for people who wait. */
export function formatSpan(ms: number): string {
  if (ms >= DAYS_ONLY_MS) return `${Math.round(ms / 86_400_000)}d`;
  return ms < 1000 ? formatDuration(ms) : formatDuration(Math.round(ms / 1000) * 1000);
}
