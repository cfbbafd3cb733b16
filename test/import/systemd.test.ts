// Timers of systemd: calendar events, unit files, and what becomes of them.
import { describe, expect, it } from 'vitest';
import { readCalendar } from '../../src/import/systemd/on-calendar.js';
import { durationText, readSpan } from '../../src/import/systemd/span.js';
import { translateTimer } from '../../src/import/systemd/timer.js';
import { lastOf, readUnitFile, splitWords } from '../../src/import/systemd/unit-file.js';
import { compileSchedule } from '../../src/model/schedule/compile.js';

describe('readCalendar', () => {
  it.each([
    ['minutely', '* * * * *'],
    ['hourly', '0 * * * *'],
    ['Daily', '0 0 * * *'],
    ['weekly', '0 0 * * 1'],
    ['quarterly', '0 0 1 1,4,7,10 *'],
    ['*-*-* 02:30:00', '30 2 * * *'],
    ['10:00', '0 10 * * *'],
    ['*:0/15', '0/15 * * * *'],
    ['*:*:0/10', '0/10 * * * * *'],
    ['*-*-* 00/6:00:00', '0 0/6 * * *'],
    ['Mon', '0 0 * * 1'],
    ['Mon..Fri 9:00', '0 9 * * 1-5'],
    ['Sat,Sun 10:00', '0 10 * * 6,0'],
    ['Fri..Sunday 10:00', '0 10 * * 5-7'],
    ['*-*-1,15 4:05:06', '6 5 4 1,15 * *'],
    ['*-1..3-1 00:00', '0 0 1 1-3 *'],
    ['*-*~01 10:00', '0 10 L * *'],
    ['*-*~03 10:00', '0 10 L-2 * *'],
    ['09-01 12:00', '0 12 1 9 *'],
    ['*-*-* 8..18/2:00', '0 8-18/2 * * *'],
  ])('reads %s', (text, cron) => {
    expect(readCalendar(text)).toMatchObject({ cron, timezone: null, exclude: null });
    expect(compileSchedule({ cron }).next(0)).not.toBeNull();
  });

  it('reads a zone', () => {
    expect(readCalendar('Sat 10:00 America/New_York')).toMatchObject({
      cron: '0 10 * * 6',
      timezone: 'America/New_York',
    });
    expect(readCalendar('daily UTC')).toMatchObject({ cron: '0 0 * * *', timezone: 'UTC' });
  });

  it('wants date and weekday, where cron wants either', () => {
    const read = readCalendar('Mon *-*-1..7 00:00');
    expect(read).toMatchObject({ cron: '0 0 1-7 * *', exclude: '* * * * 0,2,3,4,5,6' });
    const schedule = compileSchedule({ cron: '0 0 1-7 * *', exclude: [{ cron: '* * * * 0,2,3,4,5,6' }] });
    expect(schedule.next(Date.UTC(2027, 0, 1))).toBe(Date.UTC(2027, 0, 4));
    expect(schedule.next(Date.UTC(2027, 0, 4))).toBe(Date.UTC(2027, 1, 1));
  });

  it.each([
    '',
    '12',
    '25:00',
    'Fri..Mon 10:00',
    '2026-12-25 10:00',
    '*-*~07/1',
    '*-*-* 10:00:00.5',
    'Funday',
    '*-13-1',
    '@5',
  ])('says why not: %s', text => {
    expect(readCalendar(text)).toEqual(expect.any(String));
  });
});

describe('readUnitFile', () => {
  it('reads sections, lists, comments, and lines that go on', () => {
    const unit = readUnitFile(
      '# c\n[Timer]\nOnCalendar=daily\n;c\nOnCalendar = *:0/5\nUnit=a \\\n  b\n[X]\nA=1\nA=\n',
    );
    expect(unit.get('Timer.OnCalendar')).toEqual(['daily', '*:0/5']);
    expect(lastOf(unit, 'Timer.Unit')).toMatch(/^a {2,}b$/);
    expect(unit.get('X.A')).toEqual([]);
    expect(lastOf(unit, 'X.A')).toBeNull();
  });

  it('splits words', () => {
    expect(splitWords(`a "b c" 'd "e"' f\\ g ""`)).toEqual(['a', 'b c', 'd "e"', 'f g', '']);
    expect(splitWords('a "b')).toBeNull();
  });
});

describe('readSpan', () => {
  it.each([
    ['90', 90_000],
    ['5min', 300_000],
    ['1h 30min', 5_400_000],
    ['1.5s', 1500],
    ['infinity', null],
    ['', null],
    ['1 month', null],
  ])('of %s', (text, ms) => {
    expect(readSpan(text)).toBe(ms);
  });

  it('is written as a duration', () => {
    expect([5_400_000, 7_200_000, 61_000].map(durationText)).toEqual(['90m', '2h', '61s']);
  });
});

describe('translateTimer', () => {
  const translate = (timer: string, service: string | null = '[Service]\nExecStart=/opt/x\n') =>
    translateTimer(
      {
        name: 'backup.timer',
        timer: readUnitFile(`[Timer]\n${timer}`),
        service: service === null ? null : readUnitFile(service),
      },
      { timezone: 'Europe/Berlin', user: 'root' },
      new Set(),
    );

  it('takes schedule, command and settings', () => {
    const { jobs, differences, problems } = translate(
      'OnCalendar=*-*-* 02:30:00\nPersistent=true\nRandomizedDelaySec=15min\n',
      '[Service]\nType=oneshot\nUser=root\nWorkingDirectory=/srv\nEnvironment=A=1 "B=two words"\nTimeoutStartSec=10min\nExecStart=/usr/bin/pg_dump --file "/srv/a b.dump" shop\n',
    );
    expect(problems).toEqual([]);
    expect(differences).toEqual([]);
    expect(jobs).toMatchObject([
      {
        name: 'backup',
        schedule: { cron: '30 2 * * *', timezone: 'Europe/Berlin', dst: 'skip', jitter: '15m' },
        command: ['/usr/bin/pg_dump', '--file', '/srv/a b.dump', 'shop'],
        cwd: '/srv',
        env: { A: '1', B: 'two words' },
        timeout: '10m',
        queue: null,
      },
    ]);
    expect(jobs[0]?.schedule).not.toHaveProperty('catchup');
  });

  it('forgets what it missed without Persistent, as systemd does', () => {
    expect(translate('OnCalendar=daily\n').jobs[0]?.schedule).toMatchObject({ catchup: 'none' });
  });

  it('makes one definition for each OnCalendar, and leaves what cannot be', () => {
    const { jobs, problems } = translate('OnCalendar=daily\nOnCalendar=2026-12-25\nOnCalendar=weekly\n');
    expect(jobs.map(({ name }) => name)).toEqual(['backup', 'backup-2']);
    expect(problems).toEqual([expect.stringContaining('2026-12-25')]);
  });

  it('makes an interval of OnUnitActiveSec, and says that it is aligned', () => {
    const { jobs, differences } = translate('OnBootSec=5min\nOnUnitActiveSec=1h\n');
    expect(jobs[0]?.schedule).toMatchObject({ every: '1h' });
    expect(differences.join()).toContain('aligned to the clock');
  });

  it('lets a shell run several commands, or variables', () => {
    const { jobs } = translate(
      'OnCalendar=daily\n',
      '[Service]\nExecStart=/bin/a "it\'s" *\nExecStart=/bin/b $HOME/x\n',
    );
    expect(jobs[0]).toMatchObject({ command: null, shell: `/bin/a 'it'\\''s' '*' && /bin/b "$HOME/x"` });
  });

  it('says what differs', () => {
    const { jobs, differences } = translate(
      'OnCalendar=hourly\n',
      '[Service]\nUser=www\nProtectSystem=strict\nExecStart=-/bin/a\n',
    );
    expect(jobs[0]?.queue).toBe('www');
    expect(differences.join('\n')).toMatch(
      /ignores a failure[^]*TOCK_QUEUES=www[^]*not carried over: ProtectSystem/,
    );
  });

  it.each([
    ['OnBootSec=5min\n', '[Service]\nExecStart=/x\n', 'no OnCalendar'],
    ['OnCalendar=daily\n', null, 'no service'],
    ['OnCalendar=daily\n', '[Service]\n', 'no ExecStart'],
    ['OnCalendar=daily\n', '[Service]\nExecStart=/x %i\n', 'specifier'],
    ['OnCalendar=daily\n', '[Service]\nExecStart=/x "y\n', 'no end'],
    ['OnCalendar=daily Mars/Olympus\n', '[Service]\nExecStart=/x\n', 'not known'],
  ])('takes none of %j', (timer, service, problem) => {
    const { jobs, problems } = translate(timer, service);
    expect(jobs).toEqual([]);
    expect(problems.join()).toContain(problem);
  });
});
