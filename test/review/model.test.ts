// Review: schedules against an independent oracle, forwards and backwards.
import { expect, it } from 'vitest';
import { compileSchedule } from '../../src/model/schedule/compile.js';

let state = Number(process.env['SEED'] ?? 7);
const random = () => {
  state = (state * 1664525 + 1013904223) >>> 0;
  return state / 2 ** 32;
};
const int = (a: number, b: number) => a + Math.floor(random() * (b - a + 1));
const pick = <T>(list: readonly T[]): T => list[int(0, list.length - 1)]!;

const formats = new Map<string, Intl.DateTimeFormat>();
const offsets = new Map<string, number>();
/** Offset by Intl at an instant (seconds). */
function offset(zone: string, at: number): number {
  const key = `${zone} ${at}`;
  const known = offsets.get(key);
  if (known !== undefined) return known;
  let f = formats.get(zone);
  if (!f)
    formats.set(
      zone,
      (f = new Intl.DateTimeFormat('en-US', {
        timeZone: zone,
        hourCycle: 'h23',
        year: 'numeric',
        month: 'numeric',
        day: 'numeric',
        hour: 'numeric',
        minute: 'numeric',
        second: 'numeric',
      })),
    );
  const p = Object.fromEntries(
    f.formatToParts(at * 1000).map(({ type, value }) => [type, Number(value)]),
  ) as any;
  const local = Date.UTC(p.year, p.month - 1, p.day, p.hour, p.minute, p.second) / 1000;
  offsets.set(key, local - at);
  return local - at;
}
/** Changes in a window, to the second. */
function changesIn(zone: string, from: number, to: number) {
  const found: { at: number; before: number; after: number }[] = [];
  for (let t = from; t < to; t += 3600 * 6) {
    const [a, b] = [offset(zone, t), offset(zone, t + 3600 * 6)];
    if (a === b) continue;
    let [lo, hi] = [t, t + 3600 * 6];
    while (hi - lo > 1) {
      const mid = Math.floor((lo + hi) / 2);
      if (offset(zone, mid) === a) lo = mid;
      else hi = mid;
    }
    found.push({ at: hi, before: a, after: b });
  }
  return found;
}
const dayNumber = (text: string) => Date.parse(`${text}T00:00Z`) / 86_400_000;
const dayText = (n: number) => new Date(n * 86_400_000).toISOString().slice(0, 10);
const wd = (n: number) => new Date(n * 86_400_000).getUTCDay();
const mlen = (n: number) => {
  const d = new Date(n * 86_400_000);
  return new Date(Date.UTC(d.getUTCFullYear(), d.getUTCMonth() + 1, 0)).getUTCDate();
};
const dom = (n: number) => new Date(n * 86_400_000).getUTCDate();
const mon = (n: number) => new Date(n * 86_400_000).getUTCMonth() + 1;

interface Sched {
  minutes: number[];
  hours: number[];
  dom: string;
  month: string;
  dow: string;
}
const DOMS = [
  '*',
  '*',
  '*',
  '1',
  '15',
  'L',
  'LW',
  '15W',
  '1W',
  '31W',
  'L-3',
  'L-3W',
  '1,15',
  '29',
  '31',
  '*/2',
  '1W,LW',
  '3B',
  'LB',
  'L-2B',
  '1B,LB',
  '10B,15',
  '30W',
];
const DOWS = ['*', '*', '*', 'mon', 'mon-fri', '5L', '1#2', '0,6', '5#5', 'tue/2', '7'];
function matchDom(entry: string, n: number, isLeft: (n: number) => boolean): boolean {
  const len = mlen(n),
    d = dom(n),
    first = n - d + 1;
  if (entry === '*') return true;
  if (entry.startsWith('*/')) return (d - 1) % Number(entry.slice(2)) === 0;
  if (entry.endsWith('B')) {
    const left = Array.from({ length: len }, (_, i) => first + i).filter(isLeft);
    const m = /^(?:L(?:-(\d+))?|(\d+))B$/.exec(entry)!;
    const want = m[2] ? left[Number(m[2]) - 1] : left[left.length - 1 - Number(m[1] ?? 0)];
    return want === n;
  }
  const isW = entry.endsWith('W');
  const base = isW ? entry.slice(0, -1) : entry;
  const day = base === 'L' ? len : base.startsWith('L-') ? len - Number(base.slice(2)) : Number(base);
  if (day < 1 || day > len) return false;
  if (!isW) return d === day;
  // nearest weekday in the month
  for (const delta of [0, -1, 1, -2, 2]) {
    const c = day + delta;
    if (c < 1 || c > len) continue;
    const w = wd(first + c - 1);
    if (w !== 0 && w !== 6) return d === c;
  }
  return false;
}
function matchDow(e: string, n: number): boolean {
  const w = wd(n);
  switch (e) {
    case '*':
      return true;
    case 'mon':
      return w === 1;
    case 'mon-fri':
      return w >= 1 && w <= 5;
    case '5L':
      return w === 5 && dom(n) + 7 > mlen(n);
    case '1#2':
      return w === 1 && Math.ceil(dom(n) / 7) === 2;
    case '5#5':
      return w === 5 && Math.ceil(dom(n) / 7) === 5;
    case '0,6':
      return w === 0 || w === 6;
    case 'tue/2':
      return w === 2 || w === 4 || w === 6;
    case '7':
      return w === 0;
  }
  throw new Error(e);
}
const ZONES: [string, string, string][] = [
  ['Europe/Berlin', '2026-01-01', '2027-01-20'],
  ['Australia/Lord_Howe', '2026-01-01', '2026-12-20'],
  ['Asia/Kathmandu', '2026-02-01', '2026-09-20'],
  ['Asia/Kathmandu', '1985-11-01', '1986-02-20'],
  ['Africa/Casablanca', '2026-01-01', '2026-06-01'],
  ['Africa/Casablanca', '2030-01-01', '2031-06-01'],
  ['Pacific/Apia', '2011-11-01', '2012-05-01'],
  ['Antarctica/Troll', '2026-01-01', '2026-12-01'],
  ['America/St_Johns', '2006-01-01', '2006-12-31'],
  ['Pacific/Kwajalein', '1993-07-01', '1993-10-01'],
  ['Africa/Monrovia', '1971-12-01', '1972-03-01'],
  ['Europe/Dublin', '1970-01-01', '1972-01-01'],
  ['America/New_York', '2099-01-01', '2100-12-31'],
  ['UTC', '2096-01-01', '2104-06-01'],
  ['Asia/Gaza', '2040-08-01', '2040-12-31'],
  ['America/Caracas', '2007-11-01', '2008-01-31'],
  ['Pacific/Kiritimati', '1994-11-01', '1995-02-28'],
  ['Europe/Amsterdam', '1937-05-01', '1937-09-01'],
  ['Antarctica/Casey', '2009-09-01', '2012-03-01'],
];
it('next and previous agree with an oracle', () => {
  const bad: string[] = [];
  let tried = 0;
  const ROUNDS = Number(process.env['RUNS'] ?? 400);
  for (let round = 0; round < ROUNDS; round++) {
    const [zone, fromText, toText] = pick(ZONES);
    const hours =
      random() < 0.1
        ? Array.from({ length: 24 }, (_, i) => i)
        : [
            ...new Set(
              Array.from({ length: int(1, 4) }, () => pick([0, 1, 2, 2, 3, 12, 23, 22, int(0, 23)])),
            ),
          ].sort((a, b) => a - b);
    const minutes = [...new Set(Array.from({ length: int(1, 3) }, () => pick([0, 30, 15, int(0, 59)])))].sort(
      (a, b) => a - b,
    );
    const domText = pick(DOMS),
      dow = domText.includes('B') ? '*' : pick(DOWS);
    const month = pick(['*', '*', '*', '2', '1-6/2', 'feb,dec']);
    const kind = random() < 0.75 ? 'cron' : random() < 0.6 ? 'days' : 'every';
    const dst = pick(['once', 'once', 'skip', 'literal'] as const);
    const startDay = dayNumber(fromText),
      endDay = dayNumber(toText);
    const dates = random() < 0.6 ? Array.from({ length: int(1, 25) }, () => int(startDay, endDay)) : [];
    // a long closed block
    if (random() < 0.15) {
      const b = int(startDay, endDay - 50);
      for (let i = 0; i < pick([10, 31, 32, 33, 45]); i++) dates.push(b + i);
    }
    const weekend =
      domText.includes('B') || random() < 0.3 ? pick([['sat', 'sun'], ['fri', 'sat'], ['sun']]) : null;
    const setHours = random() < 0.25 ? ([int(0, 11), int(12, 23)] as const) : null;
    const shift = kind !== 'every' && random() < 0.5 ? pick(['next', 'previous'] as const) : null;
    const exclude: any[] = [...new Set(dates)].map(dayText);
    if (weekend) exclude.push({ weekend });
    if (setHours) exclude.push({ cron: `* ${setHours[0]}-${setHours[1]} * * *` });
    const DAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
    const dateSet = new Set(dates);
    const startAt = random() < 0.15 ? int(startDay, endDay) * 86400 + int(0, 86399) : null;
    const endAt = random() < 0.15 ? int(startDay, endDay) * 86400 + int(0, 86399) : null;
    if (startAt !== null && endAt !== null && endAt < startAt) continue;
    const anchorDay = int(startDay, startDay + 40),
      stepDays = pick([1, 2, 7, 14, 3]);
    const every = pick([
        3600 * 5,
        90 * 60,
        86_400,
        7 * 86_400,
        45 * 60,
        7 * 3600 + 60 * 13,
        3600 * 24 * 3 + 1,
      ]),
      phase = int(0, every - 1);
    const spec: any = {
      ...(kind === 'cron'
        ? { cron: `${minutes.join()} ${hours.join()} ${domText} ${month} ${dow}` }
        : kind === 'days'
          ? {
              every: `${stepDays}d`,
              anchor: `${dayText(anchorDay)}T${String(hours[0]).padStart(2, '0')}:${String(minutes[0]).padStart(2, '0')}`,
            }
          : { every: every * 1000, phase: phase * 1000 }),
      timezone: zone,
      dst,
      exclude,
      ...(shift ? { shift } : {}),
      ...(startAt === null ? {} : { startAt: new Date(startAt * 1000) }),
      ...(endAt === null ? {} : { endAt: new Date(endAt * 1000) }),
    };
    const h = kind === 'days' ? [hours[0]!] : hours,
      m = kind === 'days' ? [minutes[0]!] : minutes;
    const everyHour = kind === 'cron' && hours.length === 24;
    const timeOut = (hh: number) => setHours !== null && hh >= setHours[0] && hh <= setHours[1];
    const dayOut = (n: number) =>
      dateSet.has(n) ||
      (weekend !== null && weekend.includes(DAYS[wd(n)]!)) ||
      (kind !== 'every' && h.every(timeOut));
    const isLeft = (n: number) => !dayOut(n);
    const months = {
      '*': [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12],
      '2': [2],
      '1-6/2': [1, 3, 5],
      'feb,dec': [2, 12],
    }[month]!;
    const named = (n: number) => {
      if (kind === 'days') return n >= anchorDay && (n - anchorDay) % stepDays === 0;
      if (!months.includes(mon(n))) return false;
      const entries = domText.split(',');
      const a = entries.some(e => matchDom(e, n, isLeft)),
        b = matchDow(dow, n);
      return domText.startsWith('*') || dow.startsWith('*') ? a && b : a || b;
    };
    let compiled;
    try {
      compiled = compileSchedule(spec, 'x');
    } catch (e) {
      if (!/never comes|leaves no/.test(String(e))) bad.push(`${JSON.stringify(spec)}: ${e}`);
      continue;
    }
    tried++;
    const W0 = startDay * 86400,
      W1 = endDay * 86400;
    const ch = changesIn(zone, W0 - 3 * 86400, W1 + 3 * 86400);
    const found = new Set<number>();
    if (kind === 'every') {
      for (let at = phase + Math.ceil((W0 - phase) / every) * every; at < W1; at += every) {
        const c = at + offset(zone, ch.length ? (ch.findLast(x => x.at <= at)?.at ?? W0 - 3 * 86400) : W0);
        const n = Math.floor(c / 86400);
        if (dayOut(n) || timeOut(Math.floor((c - n * 86400) / 3600))) continue;
        found.add(at);
      }
    } else {
      const days = new Set<number>();
      for (let n = startDay - 40; n <= endDay + 40; n++) {
        if (!named(n)) continue;
        if (isLeft(n)) {
          days.add(n);
          continue;
        }
        if (!shift) continue;
        for (let k = 1; k <= 31; k++) {
          const t = n + (shift === 'next' ? k : -k);
          if (isLeft(t)) {
            days.add(t);
            break;
          }
        }
      }
      const base = offset(zone, W0 - 3 * 86400);
      const segs = [{ at: -Infinity, off: base }, ...ch.map(c => ({ at: c.at, off: c.after }))];
      for (const n of days)
        for (const hh of h)
          for (const mm of m) {
            if (timeOut(hh)) continue;
            const civil = n * 86400 + hh * 3600 + mm * 60;
            const hits: number[] = [];
            segs.forEach((s, i) => {
              const at = civil - s.off;
              const end = segs[i + 1]?.at ?? Infinity;
              if (at >= s.at && at < end) hits.push(at);
            });
            const literal = everyHour || dst === 'literal';
            if (hits.length > 0) {
              if (literal) for (const at of hits) found.add(at);
              else found.add(hits[0]!);
            } else if (!literal && dst === 'once') {
              const i = segs.findIndex(
                (s, k) => k > 0 && civil - s.off < s.at && civil - segs[k - 1]!.off >= s.at,
              );
              if (i > 0) found.add(civil - segs[i - 1]!.off);
              else bad.push(`oracle ${civil}`);
            }
          }
    }
    const want = [...found]
      .filter(
        at => at >= W0 && at < W1 && (startAt === null || at >= startAt) && (endAt === null || at <= endAt),
      )
      .sort((a, b) => a - b);
    const got: number[] = [];
    for (
      let at = compiled.next(W0 * 1000 - 1);
      at !== null && at < W1 * 1000 && got.length < 200_000;
      at = compiled.next(at)
    )
      got.push(at / 1000);
    const back: number[] = [];
    for (
      let at = compiled.previous(W1 * 1000);
      at !== null && at >= W0 * 1000 && back.length < 200_000;
      at = compiled.previous(at)
    )
      back.push(at / 1000);
    back.reverse();
    if (got.join() !== want.join() || back.join() !== want.join()) {
      const w = new Set(want),
        g = new Set(got),
        b = new Set(back);
      const iso = (x?: number) => (x === undefined ? '-' : new Date(x * 1000).toISOString());
      bad.push(
        `${JSON.stringify(spec)} missing ${iso(want.find(x => !g.has(x)))} extra ${iso(got.find(x => !w.has(x)))} back missing ${iso(want.find(x => !b.has(x)))} back extra ${iso(back.find(x => !w.has(x)))}`,
      );
    }
  }
  console.log(
    tried,
    bad.length,
    bad
      .slice(0, 8)
      .map(x => x.slice(0, 900))
      .join('\n'),
  );
  expect(bad.length).toBe(0);
});
