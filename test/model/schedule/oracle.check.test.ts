import { describe, expect, it } from 'vitest';
import type { CompiledSchedule } from '../../../src/model/schedule/compile.js';
import { newSeed } from '../../support/seed.js';
import { attempt } from './attempt.js';
import { changes, expected, makeCron, scan } from './oracle.js';
import { random } from './random.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const MODES = ['once', 'skip', 'literal'] as const;

/** Zones, each with a year in which something happens there. */
const ZONES: readonly (readonly [timezone: string, year: number])[] = [
  ['America/New_York', 2026],
  ['America/Havana', 2026],
  ['America/St_Johns', 2006],
  ['America/Sao_Paulo', 2018],
  ['America/Santiago', 2026],
  ['America/Caracas', 2007],
  ['America/Caracas', 2016],
  ['America/Nuuk', 2024],
  ['America/Asuncion', 2019],
  ['Europe/London', 2026],
  ['Europe/Berlin', 2026],
  ['Europe/Dublin', 2026],
  ['Europe/Istanbul', 2016],
  ['Europe/Moscow', 2011],
  ['Europe/Moscow', 2014],
  ['Africa/Casablanca', 2026],
  ['Africa/Cairo', 2026],
  ['Asia/Gaza', 2040],
  ['Asia/Beirut', 2026],
  ['Asia/Amman', 2021],
  ['Asia/Tehran', 2021],
  ['Asia/Kathmandu', 1985],
  ['Asia/Kolkata', 2026],
  ['Asia/Pyongyang', 2015],
  ['Asia/Pyongyang', 2018],
  ['Asia/Almaty', 2024],
  ['Australia/Lord_Howe', 2026],
  ['Australia/Adelaide', 2026],
  ['Pacific/Chatham', 2026],
  ['Pacific/Apia', 2011],
  ['Pacific/Kwajalein', 1993],
  ['Antarctica/Troll', 2026],
  ['Antarctica/Casey', 2020],
  ['Etc/GMT-14', 2026],
  ['UTC', 2026],
];
const EXPRESSIONS = 14;

describe('next and previous', () => {
  const seed = newSeed();

  it(`agree with a scan of every minute around the changes of ${new Set(ZONES.map(([zone]) => zone)).size} zones (TOCK_TEST_SEED=${seed})`, () => {
    const generator = random(seed);
    let compared = 0;
    for (const [timezone, year] of ZONES) {
      const days = changes(timezone, year);
      if (days.length === 0) days.push(Date.UTC(year, generator.below(12), 1 + generator.below(28)));
      for (const day of days) {
        const [from, to] = [day - DAY, day + 3 * DAY];
        const minutes = scan(timezone, from - 27 * HOUR, to + 27 * HOUR);
        for (let count = 0; count < EXPRESSIONS; count++) {
          const cron = makeCron(generator);
          for (const dst of MODES) {
            const { schedule, error } = attempt({ cron: cron.text, timezone, dst });
            // 31 June is rightly refused.
            expect(error?.message ?? 'never comes', `${cron.text}, seed ${seed}`).toContain('never comes');
            if (schedule === null) continue;
            const wanted = expected(cron, minutes, dst, from, to);
            const told = `${cron.text} in ${timezone}, ${dst}, from ${new Date(from).toISOString()}, seed ${seed}`;
            expect(forwards(schedule.next, from, to), `next: ${told}`).toEqual(wanted);
            expect(backwards(schedule.previous, from, to), `previous: ${told}`).toEqual(wanted);
            // From any instant, not only from an occurrence: half a second beside a random minute.
            const probe = from + generator.below(to - from);
            expect(within(schedule.next(probe), from, to), `next ${probe}: ${told}`).toBe(
              wanted.find(each => each > probe),
            );
            expect(within(schedule.previous(probe), from, to), `previous ${probe}: ${told}`).toBe(
              wanted.findLast(each => each < probe),
            );
            compared += wanted.length;
          }
        }
      }
    }
    expect(compared).toBeGreaterThan(10_000);
  });
});

function forwards(next: CompiledSchedule['next'], from: number, to: number): number[] {
  const found: number[] = [];
  for (let at = next(from - 1); at !== null && at < to; at = next(at)) found.push(at);
  return found;
}

function backwards(previous: CompiledSchedule['previous'], from: number, to: number): number[] {
  const found: number[] = [];
  for (let at = previous(to); at !== null && at >= from; at = previous(at)) found.unshift(at);
  return found;
}

function within(instant: number | null, from: number, to: number): number | undefined {
  return instant !== null && instant >= from && instant < to ? instant : undefined;
}
