// The dates of iCalendar files.
import { describe, expect, it } from 'vitest';
import { readIcs } from '../../src/import/ics/read-ics.js';

const event = (...lines: string[]) =>
  ['BEGIN:VEVENT', 'DTSTAMP:20260101T000000Z', ...lines, 'END:VEVENT'].join('\r\n');
const file = (...events: string[]) =>
  ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//x//EN', ...events, 'END:VCALENDAR', ''].join('\r\n');
const datesOf = (...events: string[]) => readIcs(file(...events), '2032-12-31').dates;

describe('readIcs', () => {
  it('takes each day of an event; DTEND is the day after the last', () => {
    expect(
      datesOf(
        event('UID:1', 'DTSTART;VALUE=DATE:20261224', 'DTEND;VALUE=DATE:20261227'),
        event('UID:2', 'DTSTART;VALUE=DATE:20270101'),
        event('UID:3', 'DTSTART;VALUE=DATE:20270205', 'DURATION:P2D'),
        event('UID:4', 'DTSTART;VALUE=DATE:20270101', 'DTEND;VALUE=DATE:20270102'),
      ),
    ).toEqual(['2026-12-24', '2026-12-25', '2026-12-26', '2027-01-01', '2027-02-05', '2027-02-06']);
  });

  it('repeats yearly events up to the bound, and says that it cuts them', () => {
    const years = (from: number, to: number, day: string) =>
      Array.from({ length: to - from + 1 }, (_, index) => `${from + index}-${day}`);
    const forEver = event('UID:1', 'DTSTART;VALUE=DATE:20250101', 'RRULE:FREQ=YEARLY');
    expect(readIcs(file(forEver), '2030-06-30')).toEqual({
      dates: years(2025, 2030, '01-01'),
      timedCount: 0,
      cancelledCount: 0,
      isCut: true,
    });
    const thrice = event('UID:1', 'DTSTART;VALUE=DATE:20250101', 'RRULE:FREQ=YEARLY;COUNT=3');
    expect(readIcs(file(thrice), '2032-12-31')).toMatchObject({
      dates: years(2025, 2027, '01-01'),
      isCut: false,
    });
    expect(
      datesOf(event('UID:1', 'DTSTART;VALUE=DATE:20250101', 'RRULE:FREQ=YEARLY;UNTIL=20270101')),
    ).toEqual(years(2025, 2027, '01-01'));
    // 29 February is in leap years only.
    expect(datesOf(event('UID:1', 'DTSTART;VALUE=DATE:20240229', 'RRULE:FREQ=YEARLY'))).toEqual([
      '2024-02-29',
      '2028-02-29',
      '2032-02-29',
    ]);
  });

  it('knows the fourth Thursday of November, less what is excepted, as a loop over the days does', () => {
    const expected: string[] = [];
    for (let year = 2024; year <= 2032; year++)
      for (let day = 22; day <= 28; day++)
        if (new Date(Date.UTC(year, 10, day)).getUTCDay() === 4) expected.push(`${year}-11-${day}`);
    const rule = 'RRULE:FREQ=YEARLY;BYMONTH=11;BYDAY=4TH';
    const start = 'DTSTART;VALUE=DATE:20241128';
    expect(datesOf(event('UID:1', start, rule))).toEqual(expected);
    expect(datesOf(event('UID:1', start, rule, 'EXDATE;VALUE=DATE:20261126'))).toEqual(
      expected.filter(date => date !== '2026-11-26'),
    );
  });

  it('moves a date of a repeated event that has an event of its own', () => {
    expect(
      datesOf(
        event('UID:1', 'DTSTART;VALUE=DATE:20270101', 'RRULE:FREQ=YEARLY;COUNT=2'),
        event('UID:1', 'RECURRENCE-ID;VALUE=DATE:20280101', 'DTSTART;VALUE=DATE:20280103'),
      ),
    ).toEqual(['2027-01-01', '2028-01-03']);
  });

  it('leaves out cancelled events and those with a time, and counts them', () => {
    const events = [
      event('UID:1', 'DTSTART;VALUE=DATE:20270501'),
      event('UID:2', 'DTSTART;VALUE=DATE:20270502', 'STATUS:cancelled'),
      event('UID:3', 'DTSTART:20270503T080000Z', 'DTEND:20270503T090000Z'),
    ];
    expect(readIcs(file(...events), '2032-12-31')).toEqual({
      dates: ['2027-05-01'],
      timedCount: 1,
      cancelledCount: 1,
      isCut: false,
    });
  });

  it('reads folded lines, other ends of lines, and a mark of the byte order', () => {
    const text = `\uFEFF${file(event('UID:1', 'SUMMARY:a very\r\n  long day', 'DTSTART;VALUE=DATE:2027\r\n 0501'))}`;
    expect(readIcs(text.replaceAll('\r\n', '\n'), '2032-12-31').dates).toEqual(['2027-05-01']);
  });

  it.each([
    ['', 'does not begin with BEGIN:VCALENDAR'],
    ['<html></html>', 'does not begin with BEGIN:VCALENDAR'],
    ['BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nUID:1', 'cut off'],
    [file(), 'no event of whole days (0 with a time, 0 cancelled)'],
    [file(event('UID:1', 'DTSTART:20270503T080000Z')), 'no event of whole days (1 with a time, 0 cancelled)'],
    [file(event('UID:1', 'DTSTART;VALUE=DATE:20271399')), '"DTSTART;VALUE=DATE:20271399" has no date'],
    [file(event('UID:1', 'DTSTART;VALUE=DATE:tomorrow')), 'has no date such as 20270101'],
    [file(event('UID:1', 'SUMMARY:a day')), 'the event "a day" has no start of a whole day'],
    [file(event('UID:1', 'RDATE;VALUE=DATE:20270101')), 'RDATE is not read'],
    ...[
      'FREQ=YEARLY;INTERVAL=0',
      'FREQ=SECONDLY',
      'FREQ=MONTHLY;BYMONTHDAY=-1',
      'FREQ=YEARLY;BYMONTH=11;BYDAY=TH;BYSETPOS=4',
      'FREQ=DAILY;BYMONTH=1;BYMONTHDAY=1',
      'FREQ=sometimes',
    ].map((rule): [string, string] => [
      file(event('UID:1', 'DTSTART;VALUE=DATE:20270101', `RRULE:${rule}`)),
      'the rule of the event',
    ]),
    [
      file(event('UID:1', 'DTSTART;VALUE=DATE:20270101', 'RRULE:FREQ=YEARLY', 'EXDATE:20280101')),
      'without VALUE=DATE',
    ],
    [
      file(event('UID:1', 'DTSTART;VALUE=DATE:20270101', 'RRULE:FREQ=YEARLY', 'EXDATE:20280101T000000Z')),
      'its EXDATE has a time',
    ],
    [file(event('UID:1', 'DTSTART;VALUE=DATE:20270101', 'hello')), 'cannot be read as iCalendar'],
  ])('refuses %j', (text, message) => {
    expect(() => readIcs(text, '2032-12-31')).toThrow(
      expect.objectContaining({
        code: 'TOCK_BAD_OPTION',
        message: expect.stringContaining(message) as string,
      }),
    );
  });
});
