// A time span of systemd: `90`, `5min`, `1h 30min`.

const UNITS: Readonly<Record<string, number>> = {
  ms: 1,
  msec: 1,
  '': 1000,
  s: 1000,
  sec: 1000,
  second: 1000,
  seconds: 1000,
  m: 60_000,
  min: 60_000,
  minute: 60_000,
  minutes: 60_000,
  h: 3_600_000,
  hr: 3_600_000,
  hour: 3_600_000,
  hours: 3_600_000,
  d: 86_400_000,
  day: 86_400_000,
  days: 86_400_000,
  w: 604_800_000,
  week: 604_800_000,
  weeks: 604_800_000,
};

/** In milliseconds; null: it is no span, or one of months and years. */
export function readSpan(text: string): number | null {
  let rest = text.trim();
  if (rest === '') return null;
  let sum = 0;
  while (rest !== '') {
    const [whole = '', count = '', unit = ''] = /^(\d+(?:\.\d+)?)\s*([a-z]*)\s*/i.exec(rest) ?? [];
    const size = Object.hasOwn(UNITS, unit.toLowerCase()) ? UNITS[unit.toLowerCase()] : undefined;
    if (whole === '' || size === undefined) return null;
    sum += Number(count) * size;
    rest = rest.slice(whole.length);
  }
  return sum;
}

/** Milliseconds as a duration of Tock: `90m`. Less than a second is dropped. */
export function durationText(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds % 3600 === 0) return `${seconds / 3600}h`;
  return seconds % 60 === 0 ? `${seconds / 60}m` : `${seconds}s`;
}
