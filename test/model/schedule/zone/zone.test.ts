import { describe, expect, it } from 'vitest';
import { nextInstant, previousInstant } from '../../../../src/model/schedule/civil.js';
import { compileSchedule } from '../../../../src/model/schedule/compile.js';
import { readCron } from '../../../../src/model/schedule/cron/cron-fields.js';
import { createDayGates } from '../../../../src/model/schedule/day-gates.js';
import { findZone, type Zone } from '../../../../src/model/schedule/zone/zone.js';
import { newSeed } from '../../../support/seed.js';
import { attempt, refusal } from '../attempt.js';
import { clockOf } from '../oracle.js';
import { random } from '../random.js';

const REFUSED: readonly (readonly [timezone: unknown, ...says: string[]])[] = [
  ['Mars/Phobos', '"Mars/Phobos" is not known'],
  ['UTC+3', 'offsets are not zones', 'Etc/GMT-3 is always UTC+3', 'Europe/Berlin'],
  ['GMT-5', 'Etc/GMT+5 is always UTC-5'],
  ['+03:00', 'offsets are not zones', 'Etc/GMT-3'],
  ['-0330', 'offsets are not zones'],
  ['+00', 'offsets are not zones'],
  ['UTC+99', 'offsets are not zones'],
  ['local', 'hosts differ', 'Europe/Berlin'],
  ['localtime', 'hosts differ'],
  ['', 'leave the option out for UTC'],
  ['  ', 'leave the option out for UTC'],
  ['Europe/Berln', 'did you mean Europe/Berlin?'],
  ['Berlin', 'did you mean Europe/Berlin?'],
  ['new york', 'did you mean America/New_York?'],
  ['America/New York', 'did you mean America/New_York?'],
  ['Asia/Tokio', 'did you mean Asia/Tokyo?'],
  ['Asia/Mumbai', 'did you mean Asia/Kolkata?'],
  ['New Delhi', 'did you mean Asia/Kolkata?'],
  ['America/San_Francisco', 'did you mean America/Los_Angeles?'],
  ['Asia/Beijing', 'did you mean Asia/Shanghai?'],
  ['PST', 'not known'],
  ['IST', 'not known'],
  ['SystemV/PST8', 'not known'],
  ['US/Pacific-New', 'not known'],
  ['Etc/Unknown', 'not known'],
  ['posix/Europe/Berlin', 'did you mean Europe/Berlin?'],
  ['__proto__', 'not known'],
  ['x'.repeat(5000), 'not known'],
  ['Europe/Berlin\0', 'not known'],
  [null, 'timezone is null', 'IANA'],
  [3, 'timezone is 3', 'IANA'],
  [['UTC'], 'timezone is a list'],
];

describe('the name of a zone', () => {
  for (const [timezone, ...says] of REFUSED) {
    it(`refuses ${JSON.stringify(timezone)?.slice(0, 30)}`, () => {
      const error = refusal({ cron: '0 0 * * *', timezone });
      expect(error.code).toBe('TOCK_BAD_SCHEDULE');
      for (const part of says) expect(error.message).toContain(part);
      expect(error.message.length).toBeLessThan(300);
    });
  }

  it('may be any zone that Intl lists, an old name, and in any case', () => {
    const names = [
      ...Intl.supportedValuesOf('timeZone'),
      'UTC',
      'GMT',
      'Etc/UTC',
      'US/Eastern',
      'Asia/Calcutta',
      'EST5EDT',
      'Zulu',
    ];
    expect(names.length).toBeGreaterThan(400);
    expect(names.filter(timezone => attempt({ every: '1h', timezone }).error !== null)).toEqual([]);
    const at = Date.UTC(2026, 6, 1);
    const berlin = compileSchedule({ cron: '0 0 * * *', timezone: 'europe/BERLIN' }).next(at);
    expect(berlin).toBe(Date.UTC(2026, 6, 1, 22));
  });

  it('has in Etc names the sign of POSIX', () => {
    expect(compileSchedule({ cron: '0 0 * * *', timezone: 'Etc/GMT-3' }).next(0)).toBe(21 * 3_600_000);
  });

  it('is UTC by default', () => {
    expect(compileSchedule({ cron: '0 0 * * *' }).next(0)).toBe(86_400_000);
  });
});

describe('segmentAt', () => {
  const seed = newSeed();

  it(`gives the offset that Intl gives, within bounds that hold the instant (TOCK_TEST_SEED=${seed})`, () => {
    const generator = random(seed);
    const names = Intl.supportedValuesOf('timeZone');
    for (let count = 0; count < 60; count++) {
      const name = generator.pick(names);
      const zone = findZone(name);
      const clock = clockOf(name);
      for (let probe = 0; probe < 5; probe++) {
        const instant = Date.UTC(1970 + generator.below(130), 0, 1) / 1000 + generator.below(366 * 86_400);
        const { start, end, offset, before } = zone.segmentAt(instant);
        const told = `${name} at ${instant}, seed ${seed}`;
        const offsetOf = (second: number): number => clock(second * 1000) / 1000 - second;
        expect(start <= instant && instant < end, `in ${told}`).toBe(true);
        expect([instant, start, end - 1].map(offsetOf), `in ${told}`).toEqual([offset, offset, offset]);
        expect(offsetOf(start - 1), `in ${told}`).toBe(before);
      }
    }
  });

  it('does not depend on earlier calls, even after years and zones have left the cache', {
    tags: 'check',
  }, () => {
    const zone = findZone('America/New_York');
    const probes = Array.from({ length: 150 }, (_, index) => Date.UTC(1950 + index, index % 12, 10) / 1000);
    const first = probes.map(probe => zone.segmentAt(probe));
    for (const probe of probes.toReversed()) zone.segmentAt(probe);
    expect(probes.map(probe => zone.segmentAt(probe))).toEqual(first);
  });

  it('belongs to one zone object, found once', () => {
    expect(findZone('Europe/Berlin')).toBe(findZone('Europe/Berlin'));
  });

  it('finds the changes of a year to the second', () => {
    const zone = findZone('America/New_York');
    const summer = zone.segmentAt(Date.UTC(2026, 5, 1) / 1000);
    expect(summer).toEqual({
      start: Date.parse('2026-03-08T07:00Z') / 1000,
      end: Date.parse('2026-11-01T06:00Z') / 1000,
      offset: -4 * 3600,
      before: -5 * 3600,
    });
  });
});

describe('the search', () => {
  /** A zone that counts how often it is asked. */
  function counting(name: string): { zone: Zone; asked: () => number } {
    const { segmentAt } = { segmentAt: (instant: number) => findZone(name).segmentAt(instant) };
    let count = 0;
    return { zone: { name, segmentAt: instant => (count++, segmentAt(instant)) }, asked: () => count };
  }

  for (const cron of ['0 0 29 2 *', '0 0 * 2 1#5', '0 0 1 1 *', '*/5 * * * *', '30 2 8 3 *']) {
    it(`for ${cron} asks a zone a few times only, however far away the answer`, () => {
      const set = { fields: readCron(cron), gates: createDayGates(null, readCron(cron)) };
      for (const mapping of ['once', 'skip', 'literal'] as const) {
        for (const at of [
          '2026-03-08T06:59:59Z',
          '2026-06-01T00:00Z',
          '2096-03-01T00:00Z',
          '2026-11-01T05:30Z',
        ]) {
          const { zone, asked } = counting('America/New_York');
          expect(nextInstant(set, zone, mapping, Date.parse(at) / 1000)).not.toBeNull();
          expect(previousInstant(set, zone, mapping, Date.parse(at) / 1000)).not.toBeNull();
          expect(asked()).toBeLessThanOrEqual(10);
        }
      }
    });
  }
});
