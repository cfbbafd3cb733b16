// `tock calendar`: named dates that schedules leave out.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { openOnce } from '../../support/open.js';
import { openCliHarness } from '../cli-harness.js';

const harness = openOnce(openCliHarness);
const calendar = (...args: string[]) => harness.tock(['calendar', ...args]);

describe('tock calendar', () => {
  it('makes, lists, shows, edits and removes one', async () => {
    expect((await calendar()).stdout).toBe('there is no calendar (tock calendar add makes one)\n');
    const made = await calendar('add', 'holidays', '--dates', '2999-01-01,2999-05-01');
    expect(made.stderr).toBe('');
    expect(made.stdout).toBe(
      'holidays: 2 dates, version 1, 2 dates added\nno occurrence of the next year changes\n',
    );
    const added = ['schedule', 'add', 'yearly', '--job', 'greet', '--cron', '0 9 * * *'];
    expect((await harness.tock([...added, '--exclude', 'holidays'])).code).toBe(0);
    const tomorrow = new Date(Date.now() + 2 * 86_400_000).toISOString().slice(0, 10);
    const dry = await calendar('add', 'holidays', '--dates', tomorrow, '--dry-run');
    expect(dry.stdout).toBe(
      'holidays: 1 date, version 2, 1 date added, 2 dates removed (a dry run: nothing is written)\nin the next year, of 1 definition:\n  yearly: 1 occurrence fewer\n',
    );
    expect((await calendar()).stdout).toMatch(/^holidays +2 +2999-01-01 +2999-05-01 +1$/m);
    expect((await calendar('show', 'holidays')).stdout).toBe(
      'holidays: 2 dates, version 1\n  2999-01-01\n  2999-05-01\nnamed by yearly\n',
    );
    const refused = await calendar('remove', 'holidays');
    expect(refused.stderr).toContain('named by yearly; take it out of their exclude first');
    expect(refused.code).not.toBe(0);
    await calendar('add', 'holidays', '--dates', tomorrow);
    const next = await harness.json<{ occurrences: string[] }>(['next', 'yearly', '--count', '4']);
    expect(next.occurrences.some(each => each.startsWith(tomorrow))).toBe(false);
    expect((await harness.tock(['why', 'yearly', tomorrow])).stdout).toContain('the calendar holidays');
    expect((await harness.tock(['schedule', 'set', 'yearly', '--exclude', 'none'])).code).toBe(0);
    expect((await calendar('remove', 'holidays')).stdout).toBe('the calendar holidays is removed\n');
  });

  it('gives schedules their business days, and says where an excluded day has moved to', async () => {
    await calendar('add', 'closed', '--dates', '2027-01-03');
    const added = ['schedule', 'add', 'rent', '--job', 'greet', '--timezone', 'Europe/Berlin'];
    const days = ['--business-days', 'sun-thu,closed', '--shift', 'next'];
    expect((await harness.tock([...added, '--cron', '0 9 1 * *', ...days])).stderr).toBe('');
    const asked = ['next', 'rent', '--from', '2027-01-01T00:00:00Z', '--count', '2'];
    // 1 January 2027 is a Friday.
    expect(await harness.json(asked)).toMatchObject({
      occurrences: ['2027-01-04T08:00:00Z', '2027-02-01T08:00:00Z'],
    });
    expect((await harness.tock(asked)).stdout).toContain('from 2027-01-01');
    expect((await harness.tock(['schedule', 'set', 'rent', '--cron', '0 9 3B * *'])).code).toBe(0);
    expect(await harness.json(asked)).toMatchObject({
      occurrences: ['2027-01-06T08:00:00Z', '2027-02-03T08:00:00Z'],
    });
    // Either flag states all that is left out.
    expect((await harness.tock(['schedule', 'set', 'rent', '--business-days', 'mon-fri'])).code).toBe(0);
    expect(await harness.json(asked)).toMatchObject({
      occurrences: ['2027-01-05T08:00:00Z', '2027-02-03T08:00:00Z'],
    });
    expect((await harness.tock(['schedule', 'remove', 'rent'])).code).toBe(0);
    await calendar('remove', 'closed');
  });

  it.each([
    [['--shift', 'forward'], 'write next or previous'],
    [['--anchor', '2027-01-04T09:00'], 'anchor belongs to every'],
  ])('refuses a schedule with %j', async (flags, message) => {
    const { stderr } = await harness.tock([
      'schedule',
      'add',
      'x',
      '--job',
      'greet',
      '--cron',
      '0 9 1 * *',
      ...flags,
    ]);
    expect(stderr).toContain(message);
  });

  it('takes its dates from a calendar file, and says how far events are repeated', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'tock-ics-'));
    const file = path.join(folder, 'holidays.ics');
    const events = [
      ['DTSTART;VALUE=DATE:29000101', 'RRULE:FREQ=YEARLY'],
      ['DTSTART:29000103T080000Z'],
      ['DTSTART;VALUE=DATE:29000105', 'STATUS:CANCELLED'],
    ].flatMap((lines, index) => ['BEGIN:VEVENT', `UID:${index}`, ...lines, 'END:VEVENT']);
    await writeFile(file, ['BEGIN:VCALENDAR', 'VERSION:2.0', ...events, 'END:VCALENDAR', ''].join('\r\n'));
    const { stdout, stderr } = await calendar('add', 'from-file', '--ics', file, '--until', '2902-12-31');
    await rm(folder, { recursive: true });
    expect(stderr).toBe('');
    expect(stdout).toBe(
      'events without an end are repeated up to 2902-12-31 (--until)\nleft out: 1 event with a time, 1 cancelled event\nfrom-file: 3 dates, version 1, 3 dates added\nno occurrence of the next year changes\n',
    );
  });

  it('refuses a name that is none', async () => {
    const { code, stderr } = await calendar('add', '7', '--dates', '2027-02-03');
    expect(stderr).toContain('does not begin with a letter');
    expect(code).toBe(2);
  });
});
