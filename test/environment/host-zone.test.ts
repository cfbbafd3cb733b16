// Environment: the zone of the process, whatever TZ says.
import { afterEach, describe, expect, it } from 'vitest';
import { localStamp, localTime, offsetMinutes } from '../../src/cli/views/time-text.js';
import { hostZone } from '../../src/environment/host-zone.js';

const ours = process.env['TZ'];
afterEach(() => {
  if (ours === undefined) delete process.env['TZ'];
  else process.env['TZ'] = ours;
});

describe('the zone of the process', () => {
  it.each([
    ['Europe/Berlin', 'Europe/Berlin'],
    ['', 'UTC'],
    ['Mars/Phobos', 'UTC'],
    [':/etc/localtime', 'UTC'],
    ['Etc/Unknown', 'UTC'],
  ])('is, for TZ=%s, one that schedules and times can have: %s', (given, zone) => {
    process.env['TZ'] = given;
    expect(hostZone()).toBe(zone);
    expect(localTime(new Date(0))).toMatch(/^Thu 1970-01-01 0[01]:00 (?:UTC|CET)$/);
  });

  it('is UTC in a text where the zone of a schedule is not known here', () => {
    expect(localTime(new Date(0), 'Mars/Phobos')).toBe('Thu 1970-01-01 00:00 UTC');
    expect(localStamp(new Date(0), 'Mars/Phobos')).toBe('1970-01-01 00:00:00');
    expect(offsetMinutes(new Date(0), 'Mars/Phobos')).toBe(0);
  });
});
