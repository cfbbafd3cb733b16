// What becomes of each line of a crontab, in definitions and in words.
import { describe, expect, it } from 'vitest';
import { nameOfCommand } from '../../src/import/code/job-name.js';
import { importReport } from '../../src/import/crontab/report.js';
import { isName } from '../../src/model/names.js';
import { compileSchedule } from '../../src/model/schedule/compile.js';
import { CRONTABS, translated } from './crontabs.js';

const jobOf = (text: string, change: Parameters<typeof translated>[1] = {}) => {
  const [line] = translated(text, change).taken;
  if (line === undefined) throw new Error(`not taken: ${text}`);
  return line.job;
};
const differencesOf = (text: string, change: Parameters<typeof translated>[1] = {}) =>
  translated(text, change).taken[0]?.differences.join('\n') ?? 'not taken';
const leftOf = (text: string) => translated(text).left[0];

describe('the schedule', () => {
  it.each([
    ['30 2 * * *', '30 2 * * *', null],
    ['00 02 * * 07', '00 02 * * 07', null],
    ['*/5 * * * *', '*/5 * * * *', null],
    ['0 */2 * * *', '0 */2 * * *', 'literal'],
    ['*/30 2 * * *', '*/30 2 * * *', 'literal'],
    ['* 2 * * *', '* 2 * * *', 'literal'],
    ['0 0-23 * * *', '0 0-23 * * *', null],
    ['@daily', '@daily', null],
    ['@hourly', '@hourly', null],
    ['*/90 * * * *', '0 * * * *', null],
    ['0 */36 * * *', '0 0 * * *', 'literal'],
    ['0 0 */40 * *', '0 0 */31 * *', null],
    ['0 0 */10 * 1', '0 0 */10 * 1', null],
    ['0 0 * * mon#2', '0 0 * * 1', null],
    ['0 9 * * MON-FRI', '0 9 * * MON-FRI', null],
    ['0 0 * * 0,7', '0 0 * * 0,7', null],
  ])('of %s is %s', (when, cron, dst) => {
    expect(jobOf(`${when} x\n`)).toMatchObject({ cron, dst, timezone: 'Europe/Berlin' });
  });

  it('writes what cronie reads as sat-sun', () => {
    expect(jobOf('0 9 * * sat-sun x\n', { kind: 'cronie' }).cron).toBe('0 9 * * 6-7');
  });

  it('makes a value by the name of what cronie chooses at random', () => {
    const change = { kind: 'cronie' } as const;
    expect(jobOf('10~20 3 * * 0~7 x\n', change).cron).toBe('H(10-20) 3 * * H(0-6)');
    expect(differencesOf('10~20 3 * * * x\n', change)).toContain('H is one value');
  });

  it('is one that Tock takes, for every line of the fixtures', () => {
    let count = 0;
    for (const { text, hasUser } of CRONTABS) {
      for (const kind of ['debian', 'cronie'] as const) {
        for (const { job } of translated(text, { hasUser, kind }).taken) {
          const { next } = compileSchedule({ cron: job.cron, timezone: job.timezone }, job.name);
          expect(next(0), job.cron).not.toBeNull();
          expect(isName(job.name), job.name).toBe(true);
          count++;
        }
      }
    }
    expect(count).toBeGreaterThan(250);
  });
});

it('has a queue of its own for each user whose lines are not for the importing one', () => {
  const users = ['www', '_www', 'a+b', 'a-b', 'a.b', '-', '+'];
  const { taken } = translated(users.map(user => `0 1 * * * ${user} x\n`).join(''), { hasUser: true });
  const queues = taken.map(({ job }) => job.queue);
  expect([queues[0], queues.every(isName), new Set(queues).size]).toEqual(['www', true, users.length]);
});

describe('settings of cron', () => {
  it('makes a zone of CRON_TZ for cronie, by the clock of it', () => {
    const text = 'CRON_TZ=America/New_York\n30 2 * * * x\n';
    expect(jobOf(text, { kind: 'cronie' })).toMatchObject({
      timezone: 'America/New_York',
      dst: 'literal',
      env: { PATH: '/usr/bin:/bin' },
    });
    expect(jobOf(text)).toMatchObject({ timezone: 'Europe/Berlin', dst: null });
    expect(differencesOf(text)).toContain("Debian's cron ignores CRON_TZ=America/New_York");
  });

  it('reads a CRON_TZ that is no zone as UTC, as the C library does', () => {
    const text = 'CRON_TZ=Mars/Olympus\n30 2 * * * x\n';
    expect(jobOf(text, { kind: 'cronie' }).timezone).toBe('UTC');
    expect(differencesOf(text, { kind: 'cronie' })).toContain('is no time zone');
  });

  it('passes TZ to the command, and says that the schedule has another zone', () => {
    const text = 'TZ=Asia/Tokyo\n30 2 * * * x\n';
    expect(jobOf(text)).toMatchObject({ timezone: 'Europe/Berlin', env: { TZ: 'Asia/Tokyo' } });
    expect(differencesOf(text)).toContain('TZ=Asia/Tokyo is for the command only');
  });

  it('makes a jitter of RANDOM_DELAY for cronie', () => {
    const text = 'RANDOM_DELAY=45\n30 2 * * * x\n';
    expect(jobOf(text, { kind: 'cronie' })).toMatchObject({ jitter: '45m' });
    expect(jobOf(text)).toMatchObject({ jitter: null });
    expect(differencesOf(text)).toContain("write jitter: '45m'");
    for (const bad of ['0', '9999', 'x'])
      expect(jobOf(`RANDOM_DELAY=${bad}\n1 1 * * * x\n`, { kind: 'cronie' }).jitter).toBeNull();
  });

  it('keeps the environment, but for what is cron’s own', () => {
    const text = 'SHELL=/bin/bash\nMAILTO=ops@example.com\nPATH=/opt/bin\nLANG=C\n30 2 * * * x\n';
    expect(jobOf(text)).toMatchObject({
      shellProgram: '/bin/bash',
      env: { PATH: '/opt/bin', LANG: 'C' },
      cwd: '/home/app',
    });
    expect(translated(text).mailTo).toEqual(['ops@example.com']);
    expect(jobOf('HOME=/srv\n1 1 * * * x\n')).toMatchObject({ cwd: '/srv' });
  });

  it('warns of a secret that would stand in code', () => {
    expect(differencesOf('DB_PASSWORD=hunter2\n30 2 * * * x\n')).toContain(
      'the value of DB_PASSWORD is now in code',
    );
  });

  it('puts the lines of other users into queues of their own', () => {
    const text = '30 2 * * * root x\n31 2 * * * app y\n';
    const [root, own] = translated(text, { hasUser: true }).taken;
    expect(root?.job).toMatchObject({ queue: 'root', cwd: '/home/root' });
    expect(root?.differences.join()).toContain('TOCK_QUEUES=root');
    expect(own?.job.queue).toBeNull();
    expect(own?.differences).toEqual([]);
  });

  it('warns of a test that fails where there is nothing to do', () => {
    expect(differencesOf('1 1 * * * [ -x /opt/x ] && /opt/x -a\n')).toContain('successCodes: [0, 1]');
    for (const fine of ['test -x /a || /b && /c', '[ -x /a ] && /a; true', 'cd / && /a', '/a && test -x /b'])
      expect(differencesOf(`1 1 * * * ${fine}\n`)).toBe('');
  });

  it('splits the command at the percent sign', () => {
    expect(jobOf(String.raw`0 1 * * * date +\%F%in%put` + '\n')).toMatchObject({
      shell: 'date +%F',
      stdin: 'in\nput\n',
    });
  });
});

it.each([
  ['@reboot /opt/x', '@reboot names no time', 'systemd'],
  ['0 22-6 * * * x', 'runs backwards', 'Correct'],
  ['0 22-6 * * * x', '22-23,0-6', 'Correct'],
  ['0 9 * * sat-sun x', '6-7', 'Correct'],
  ['0 9 * * fri-mon x', '5-6,0-1', 'Correct'],
  ['0 0 30 2 * x', 'no date that ever comes', 'Correct'],
  ['61 * * * * x', 'cron refuses the minute "61"', 'correct it'],
  ['* * * * * cd /srv && node dist/tick.js', 'ticks Tock', 'Keep it'],
])('lines that are not taken %s', (line, problem, remedy) => {
  expect(leftOf(`${line}\n`)?.problem).toContain(problem);
  expect(leftOf(`${line}\n`)?.remedy).toContain(remedy);
});

describe('names', () => {
  it.each([
    ['/usr/local/bin/backup.sh --all', 'backup'],
    ['cd /var/www/shop && php artisan schedule:run >> /dev/null 2>&1', 'artisan-schedule-run'],
    ['cd /srv/site && /srv/site/env/bin/python manage.py clearsessions', 'manage-clearsessions'],
    ['nice -n 19 /usr/bin/php /var/www/wiki/maintenance/runJobs.php --maxtime=540', 'runjobs'],
    ['flock -n /run/a.lock monrun --run couples', 'monrun'],
    ['test -x /usr/sbin/anacron || ( cd / && run-parts --report /etc/cron.daily )', 'cron-daily'],
    ['RAILS_ENV=production bundle exec rake sitemap:refresh', 'rake-sitemap-refresh'],
    ['[ -x /usr/lib/php/sessionclean ] && /usr/lib/php/sessionclean', 'sessionclean'],
    ['sudo -u deploy timeout 300 node /srv/app/sync.mjs', 'sync'],
    ['FOO=1 BAR="a b" /opt/x', 'x'],
    ['/bin/sh -c "/opt/thing.sh"', 'thing'],
    ['curl -fsS https://example.com/ping', 'curl'],
    ['$HOME/bin/daily.job >> $HOME/tmp/out 2>&1', 'daily-job'],
    ['%%', 'line'],
    ['日本語', 'line'],
  ])('of %s is %s', (command, name) => {
    expect(nameOfCommand(command)).toBe(name);
  });

  it('are unique, and the same each time', () => {
    const text = '1 1 * * * /opt/x\n@reboot /opt/x\n2 1 * * * /opt/x a\n3 1 * * * /srv/x.sh\n';
    const names = () => translated(text).taken.map(({ job }) => job.name);
    expect(names()).toEqual(['x', 'x-2', 'x-3']);
    expect(names()).toEqual(names());
  });
});

describe('importReport', () => {
  const report = (text: string, timezone = 'Europe/Berlin') =>
    importReport(
      [{ source: 'crontab of app', translation: translated(text, { timezone }) }],
      timezone,
      Date.UTC(2027, 0, 1),
    );

  it('tells of each line in order, then counts', () => {
    const lines = report('1 1 * * * /opt/a\n@reboot /opt/b\nTZ=Asia/Tokyo\n2 1 * * * /opt/c\n');
    expect(lines.slice(0, 8)).toEqual([
      'crontab of app:',
      '  line 1: taken: a',
      '  line 2: not taken: @reboot /opt/b',
      expect.stringContaining('@reboot names no time'),
      expect.stringContaining('systemd'),
      '  line 4: taken, with a difference: c',
      expect.stringContaining('TZ=Asia/Tokyo'),
      '2 taken, 1 of them with a difference; 1 not taken',
    ]);
  });

  it('suggests an alert for MAILTO, and speaks of clocks only where they change', () => {
    const lines = report('MAILTO=ops@example.com\n1 1 * * * /opt/a\n').join('\n');
    expect(lines).toContain("mail: 'ops@example.com'");
    expect(lines).toContain('When clocks go forward');
    expect(report('1 1 * * * /opt/a\n', 'UTC').join('\n')).not.toContain('When clocks go forward');
  });

  it('says that a crontab has no line', () => {
    expect(report('# nothing\n')[0]).toBe('crontab of app: no line with a command');
  });
});
