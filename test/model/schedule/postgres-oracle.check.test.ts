// The second oracle: PostgreSQL's zones, from instant to civil time, minute by minute. Nothing is shared with the code
// under test: no parser, no zones, no direction. TOCK_TEST_SEED repeats a run; TOCK_TEST_THOROUGH=1 takes ten times
// the cases.
import { beforeAll, describe, expect, it } from 'vitest';
import { nextOccurrence, previousOccurrence } from '../../../src/model/schedule/occurrences.js';
import { createTestDatabase, openClient } from '../../support/embedded-database.js';
import { openOnce } from '../../support/open.js';
import { newSeed } from '../../support/seed.js';
import { attempt } from './attempt.js';
import { expected, type MadeCron, type Minute, makeCron } from './oracle.js';
import { agreesWithNode, type Change, changesBetween, type Span, scanSpans } from './postgres-clock.js';
import { type Random, random } from './random.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const WEEK = 7 * 24 * HOUR;
/** Apia lost a day: what is shifted comes from as far away. */
const MARGIN = 27 * HOUR;
const MODES = ['once', 'skip', 'literal'] as const;
const FIRST_YEAR = 2006;
const LAST_YEAR = 2050;
/** The share of windows in which the two databases of zones may differ before this proves too little. */
const MOST_LEFT_OUT = 0.1;

const ZONES = [
  'Africa/Cairo',
  'Africa/Casablanca',
  'Africa/Juba',
  'America/Asuncion',
  'America/Caracas',
  'America/Havana',
  'America/New_York',
  'America/Nuuk',
  'America/Santiago',
  'America/Sao_Paulo',
  'America/St_Johns',
  'Antarctica/Casey',
  'Antarctica/Troll',
  'Asia/Amman',
  'Asia/Beirut',
  'Asia/Gaza',
  'Asia/Kathmandu',
  'Asia/Kolkata',
  'Asia/Pyongyang',
  'Asia/Tehran',
  'Australia/Adelaide',
  'Australia/Lord_Howe',
  'Europe/Berlin',
  'Europe/Dublin',
  'Europe/Istanbul',
  'Europe/Lisbon',
  'Europe/Moscow',
  'Pacific/Apia',
  'Pacific/Chatham',
  'Pacific/Norfolk',
];

const isThorough = process.env['TOCK_TEST_THOROUGH'] === '1';
const TIMES = isThorough ? 10 : 1;
/** Of each zone: windows around odd changes, around any, and anywhere. */
const [ODD, ANY, ANYWHERE] = [2 * TIMES, 3 * TIMES, 2 * TIMES];
const EXPRESSIONS = 9;

interface Scanned extends Span {
  readonly minutes: readonly Minute[];
}

const database = openOnce(createTestDatabase);
const client = openOnce(() => openClient(database.url));
let changes: Change[];
beforeAll(async () => {
  changes = await changesBetween(client, ZONES, Date.UTC(FIRST_YEAR), Date.UTC(LAST_YEAR + 1));
});

describe('nextOccurrence and previousOccurrence', () => {
  const seed = newSeed();

  it(
    `agree with PostgreSQL's clock in ${ZONES.length} zones from ${FIRST_YEAR} to ${LAST_YEAR} (TOCK_TEST_SEED=${seed})`,
    async () => {
      const generator = random(seed);
      const windows = await agreed(pickWindows(generator), `seed ${seed}`);
      let [cases, compared] = [0, 0];
      for (const window of windows) {
        for (let count = 0; count < EXPRESSIONS; count++) {
          const cron = makeCron(generator);
          for (const dst of MODES) {
            const { schedule, error } = attempt({ cron: cron.text, timezone: window.timezone, dst });
            // 31 June is rightly refused.
            expect(error?.message ?? 'never comes', `${cron.text}, seed ${seed}`).toContain('never comes');
            if (schedule === null) continue;
            const wanted = expected(cron, window.minutes, dst, window.from, window.to);
            const told = `${cron.text} in ${window.timezone}, ${dst}, from ${new Date(window.from).toISOString()}, seed ${seed}`;
            const spec = { cron: cron.text, timezone: window.timezone, dst };
            expect(forwards(spec, window), `next: ${told}`).toEqual(wanted);
            expect(backwards(spec, window), `previous: ${told}`).toEqual(wanted);
            mirrored(spec, window, generator, told);
            cases++;
            compared += wanted.length;
          }
        }
      }
      expect(cases).toBeGreaterThan(4000 * TIMES);
      expect(compared).toBeGreaterThan(20_000 * TIMES);
    },
    300_000 * TIMES,
  );

  it('answer the same in any order, at every second around each change of 2026', async () => {
    const year = changes.filter(each => new Date(each.at).getUTCFullYear() === 2026);
    const spans = year.map(({ timezone, at, before, after }) => {
      const reach = Math.abs(after - before) + 5 * MINUTE;
      return { timezone, from: at - reach, to: at + reach };
    });
    const windows = await agreed(spans, '2026');
    // 34 in these zones by tzdata 2025c; another version may know of one more or less.
    expect(windows.length).toBeGreaterThanOrEqual(28);
    const wrong: string[] = [];
    for (const window of windows) {
      for (const cron of cronsAround(window)) {
        for (const dst of MODES) wrong.push(...atEverySecond(cron, window, dst));
      }
    }
    expect(wrong.slice(0, 5)).toEqual([]);
  });
});

it('a span in which the two time zone databases differ is found, even if it is only an hour', async () => {
  const [from, to] = [Date.UTC(2026, 2, 28), Date.UTC(2026, 2, 30)];
  const [minutes] = await scanSpans(client, [{ timezone: 'Europe/Berlin', from, to }]);
  if (minutes === undefined) throw new Error('one span, one scan');
  expect(agreesWithNode('Europe/Berlin', minutes)).toBe(true);
  expect(agreesWithNode('Europe/London', minutes)).toBe(false);
  const change = Date.parse('2026-03-29T01:00Z');
  const late = minutes.map(each =>
    each.instant >= change && each.instant < change + HOUR ? { ...each, civil: each.civil - HOUR } : each,
  );
  expect(agreesWithNode('Europe/Berlin', late)).toBe(false);
});

/** The spans with their minutes, without those in which Node's zones are of another opinion. */
async function agreed(spans: readonly Span[], told: string): Promise<Scanned[]> {
  const scans = await scanSpans(
    client,
    spans.map(({ timezone, from, to }) => ({ timezone, from: from - MARGIN, to: to + MARGIN })),
  );
  const all = spans.map((span, index) => ({ ...span, minutes: scans[index] ?? [] }));
  const kept = all.filter(({ timezone, minutes }) => agreesWithNode(timezone, minutes));
  const left = all.filter(each => !kept.includes(each));
  const names = new Set(left.map(each => `${each.timezone} ${new Date(each.from).getUTCFullYear()}`));
  const message = `${left.length} of ${all.length} windows left out (${told}): Node's zones (tzdata ${process.versions['tz'] ?? 'unknown'}) and the server's differ ${left.length === 0 ? 'in none' : `in ${[...names].join(', ')}`}`;
  console.info(message);
  if (left.length > all.length * MOST_LEFT_OUT) throw new Error(`too few are compared: ${message}`);
  return kept;
}

/** Not one hour, not on the hour, or close to another: Lord Howe, Troll, Apia's lost day, St Johns, Gaza's week. */
function isOdd({ at, before, after }: Change, index: number, all: readonly Change[]): boolean {
  const isClose = [all[index - 1], all[index + 1]].some(each => Math.abs((each?.at ?? 0) - at) < WEEK);
  return isClose || Math.abs(after - before) !== HOUR || (at + before) % HOUR !== 0;
}

function pickWindows(generator: Random): Span[] {
  return ZONES.flatMap(timezone => {
    const own = changes.filter(each => each.timezone === timezone);
    const picked = [...sample(generator, own.filter(isOdd), ODD), ...sample(generator, own, ANY)];
    const around = picked.map(({ at }) => ({
      timezone,
      from: at - (2 + generator.below(17)) * HOUR - generator.below(60) * MINUTE,
      to: at + (3 + generator.below(28)) * HOUR + generator.below(60) * MINUTE,
    }));
    const years = LAST_YEAR - FIRST_YEAR + 1;
    const anywhere = Array.from({ length: ANYWHERE + ODD + ANY - picked.length }, () => {
      const from = Date.UTC(FIRST_YEAR + generator.below(years)) + generator.below(365 * 1440) * MINUTE;
      return { timezone, from, to: from + (1 + generator.below(36)) * HOUR };
    });
    return [...around, ...anywhere];
  });
}

function sample<T>(generator: Random, values: readonly T[], count: number): T[] {
  const left = [...values];
  const taken: T[] = [];
  while (taken.length < count && left.length > 0) taken.push(...left.splice(generator.below(left.length), 1));
  return taken;
}

interface Spec {
  readonly cron: string;
  readonly timezone: string;
  readonly dst: (typeof MODES)[number];
}

function forwards(spec: Spec, { from, to }: Span): number[] {
  const found: number[] = [];
  let at = nextOccurrence(spec, new Date(from - 1));
  for (; at !== null && at.getTime() < to; at = nextOccurrence(spec, at)) found.push(at.getTime());
  return found;
}

function backwards(spec: Spec, { from, to }: Span): number[] {
  const found: number[] = [];
  let at = previousOccurrence(spec, new Date(to));
  for (; at !== null && at.getTime() >= from; at = previousOccurrence(spec, at)) found.unshift(at.getTime());
  return found;
}

/** From any instant: between the one before and the one after it, each is the other's neighbour. */
function mirrored(spec: Spec, { from, to }: Span, generator: Random, told: string): void {
  const probe = new Date(from + generator.below(to - from));
  const [next, previous] = [nextOccurrence(spec, probe), previousOccurrence(spec, probe)];
  if (next === null || previous === null) return;
  const justBefore = new Date(probe.getTime() - 1);
  const isOne = nextOccurrence(spec, justBefore)?.getTime() === probe.getTime();
  expect(previousOccurrence(spec, next), `before next ${Number(probe)}: ${told}`).toEqual(
    isOne ? probe : previous,
  );
  expect(nextOccurrence(spec, previous), `after previous ${Number(probe)}: ${told}`).toEqual(
    isOne ? probe : next,
  );
}

/** What tells the most about a change: the hours around it, and a schedule that covers all of them. */
function cronsAround({ from, minutes }: Scanned): MadeCron[] {
  const begins = minutes.find(each => each.instant === from)?.civil ?? 0;
  const hours = Array.from({ length: 6 }, (_, index) =>
    new Date(begins + (index - 1) * HOUR).getUTCHours(),
  ).sort((a, b) => a - b);
  return [made('0,10,20,30,40,50', hours.join(',')), made('7,22,37,52', '*')];
}

function made(minutes: string, hours: string): MadeCron {
  const upTo = (count: number, first = 0): Set<number> =>
    new Set(Array.from({ length: count }, (_, index) => index + first));
  return {
    text: `${minutes} ${hours} * * *`,
    minutes: new Set(minutes.split(',').map(Number)),
    hours: hours === '*' ? upTo(24) : new Set(hours.split(',').map(Number)),
    dates: upTo(31, 1),
    months: upTo(12, 1),
    weekdays: upTo(7),
    starred: true,
  };
}

/** Each second of the window in a scattered order, against what a scan of a day on both sides gives. */
function atEverySecond(cron: MadeCron, window: Scanned, dst: (typeof MODES)[number]): string[] {
  const { timezone, from, to, minutes } = window;
  const { schedule } = attempt({ cron: cron.text, timezone, dst });
  if (schedule === null) throw new Error(`refused: ${cron.text}`);
  // 25 hours on either side: with the margin's other two, the most that a change of 2026 shifts.
  const wanted = expected(cron, minutes, dst, from - 25 * HOUR, to + 25 * HOUR);
  const seconds = (to - from) / 1000;
  const wrong: string[] = [];
  const [after, before] = neighbours(wanted, from, seconds);
  for (let step = 0; step < seconds; step++) {
    // 7,919 is a prime that does not divide the number of seconds: every one comes, none in its turn.
    const index = (step * 7919) % seconds;
    const second = from + index * 1000;
    const [next, previous] = [schedule.next(second), schedule.previous(second)];
    if (next !== after[index] || previous !== before[index]) {
      wrong.push(
        `${cron.text} in ${timezone}, ${dst}, at ${new Date(second).toISOString()}: ${next} for ${after[index]}, ${previous} for ${before[index]}`,
      );
    }
  }
  return wrong;
}

/** For each second from `from`: the least of the instants after it, and the greatest before it. */
function neighbours(instants: readonly number[], from: number, seconds: number): [number[], number[]] {
  const after: number[] = [];
  const before: number[] = [];
  let [next, last] = [0, -1];
  for (let index = 0; index < seconds; index++) {
    const second = from + index * 1000;
    while ((instants[next] ?? Number.POSITIVE_INFINITY) <= second) next++;
    while ((instants[last + 1] ?? Number.POSITIVE_INFINITY) < second) last++;
    after.push(instants[next] ?? Number.NaN);
    before.push(instants[last] ?? Number.NaN);
  }
  return [after, before];
}
