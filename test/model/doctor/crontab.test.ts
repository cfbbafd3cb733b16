// Model: which line of a crontab ticks, and the line that is missing.
import { describe, expect, it } from 'vitest';
import {
  addCommand,
  type Checkout,
  checkCrontab,
  findTickLines,
  isInCache,
  tickLineFor,
  urlFileOf,
  versionManagerOf,
} from '../../../src/model/doctor/crontab.js';
import type { LastTick } from '../../../src/model/scheduler-view.js';

const CHECKOUT: Checkout = {
  host: 'web-1',
  folder: '/srv/app',
  node: '/usr/bin/node',
  tickScript: '/srv/app/dist/tick.js',
  variables: { TOCK_SCHEMA: 'jobs' },
  hasUrlInEnvironment: false,
  isNamedInFile: false,
};
const NOW = new Date('2026-03-09T07:00:00Z');
const TICK: LastTick = {
  host: 'web-1',
  folder: '/srv/app',
  kind: 'daemon',
  service: '',
  firstAt: NOW,
  at: NOW,
  count: 9,
  version: '0.1.0',
  node: '24.0.0',
  zoneData: '2025c',
  clockMs: 0,
  stoppedAt: null,
  asleepUntil: null,
};
const user = (text: string) => [{ source: 'crontab of app', hasUser: false, text }];
const system = (text: string) => [{ source: '/etc/cron.d/app', hasUser: true, text }];
const lines = (text: string) => findTickLines(user(text)).map(({ when, command }) => [when, command]);
const check = (text: string, ticks: readonly LastTick[] = [], checkout = CHECKOUT) =>
  checkCrontab(user(text), checkout, { ticks, at: NOW });

describe('urlFileOf', () => {
  it.each(['/etc/tock/url', `/srv/it's 100% mine/url`])('reads what tickLineFor has written: %s', file => {
    expect(urlFileOf(tickLineFor({ ...CHECKOUT, variables: { DATABASE_URL_FILE: file } }))).toBe(file);
  });

  it.each([
    ['* * * * * DATABASE_URL_FILE="/a b" tock tick', '/a b'],
    [String.raw`* * * * * DATABASE_URL_FILE=/a\ b tock tick`, '/a b'],
    ['* * * * * tock tick', null],
    ['* * * * * MY_DATABASE_URL_FILE=/a tock tick', null],
  ])('reads what people write: %s', (line, file) => {
    expect(urlFileOf(line)).toBe(file);
  });
});

describe('findTickLines', () => {
  it.each([
    ['* * * * * cd /srv/app && node dist/tick.js', '* * * * *', 'cd /srv/app && node dist/tick.js'],
    ['*/5 0-6,8 * jan mon-fri npx tock tick', '*/5 0-6,8 * jan mon-fri', 'npx tock tick'],
    ['-*/5 0~6 * * 1,fri-sun tock tick', '-*/5 0~6 * * 1,fri-sun', 'tock tick'],
    ['0 7 * jan-mar/2 5#2 tock tick', '0 7 * jan-mar/2 5#2', 'tock tick'],
    ['@hourly tock tick --budget 10s', '@hourly', 'tock tick --budget 10s'],
    ['  *\t* * * *   node dist/cli.js tick', '*\t* * * *', 'node dist/cli.js tick'],
  ])('finds %s', (line, when, command) => {
    expect(lines(`MAILTO=""\n\n${line}\n`)).toEqual([[when, command]]);
  });

  it.each([
    '# tock tick is what cron calls',
    'TOCK_JOBS=/srv/app/dist/tick.js',
    '* * * * * node dist/ticks.js',
    '* * * * * tock status',
    '* * * * tock tick',
    // Cron refuses these, and so they do not tick.
    '* * * * npx tock tick',
    '60 * * * * tock tick',
    '# a line for each minute: npx tock tick',
    '# one line that calls cron tock tick',
    '',
  ])('finds nothing in %s', line => {
    expect(lines(line)).toEqual([]);
  });

  it('reads past the user in a file of the system, and keeps what is commented out apart', () => {
    expect(findTickLines(system('* * * * * app cd /srv/app && node dist/tick.js'))).toMatchObject([
      { command: 'cd /srv/app && node dist/tick.js', isCommentedOut: false, source: '/etc/cron.d/app' },
    ]);
    expect(findTickLines(user('# * * * * * node /srv/app/dist/tick.js'))).toMatchObject([
      { command: 'node /srv/app/dist/tick.js', isCommentedOut: true },
    ]);
  });
});

describe('checkCrontab', () => {
  it.each([
    '* * * * * cd /srv/app && node dist/tick.js',
    '* * * * * cd /srv/app; node dist/tick.js',
    `* * * * * cd '/srv/app' && node dist/tick.js`,
    '* * * * * node /srv/app/dist/tick.js',
  ])('takes %s for this checkout', line => {
    expect(check(line)).toEqual({
      level: 'ok',
      text: `crontab of app: ${line}`,
      remedy: null,
      command: null,
    });
  });

  it.each(['/srv/app2', '/srv/app.old', '/old/srv/app-2', '/x/srv/app'])(
    'does not take %s for it',
    folder => {
      expect(check(`* * * * * cd ${folder} && node dist/tick.js`)).toMatchObject({
        level: 'failing',
        text: expect.stringContaining(
          `no line ticks here, but crontab of app has: * * * * * cd ${folder}`,
        ) as string,
        command: addCommand(CHECKOUT),
      });
    },
  );

  it('needs no line where a daemon runs, or another host ticks', () => {
    expect(check('', [TICK])).toMatchObject({
      level: 'ok',
      text: 'no line ticks here, and need not: a daemon runs in /srv/app',
    });
    expect(check('', [{ ...TICK, kind: 'tick', host: 'web-2' }]).text).toBe(
      'no line ticks in /srv/app; web-2 ticks, in /srv/app',
    );
    for (const gone of [
      { ...TICK, stoppedAt: NOW },
      { ...TICK, at: new Date(NOW.getTime() - 6 * 60_000) },
      { ...TICK, kind: 'tick' as const },
    ])
      expect(check('', [gone])).toMatchObject({ level: 'failing' });
  });

  it('does not know without any crontab to read', () => {
    expect(checkCrontab(null, CHECKOUT, null)).toMatchObject({ level: 'unknown', command: null });
  });
});

describe('the line that is missing', () => {
  it('names everything that cron does not give, and no secret', () => {
    expect(tickLineFor(CHECKOUT)).toBe(
      '* * * * * cd /srv/app && TOCK_SCHEMA=jobs /usr/bin/node /srv/app/dist/tick.js >> /srv/app/tick.log 2>&1',
    );
    expect(tickLineFor({ ...CHECKOUT, hasUrlInEnvironment: true })).toContain(
      'DATABASE_URL_FILE=/etc/tock/database-url TOCK_SCHEMA=jobs ',
    );
  });

  it('survives the shell and cron, whatever the folder is called', () => {
    const folder = `/srv/50% of it's`;
    const line = tickLineFor({ ...CHECKOUT, folder });
    expect(line).toContain(String.raw`cd '/srv/50\% of it'\''s' &&`);
    for (const each of [folder, '/srv/my app']) {
      const checkout = { ...CHECKOUT, folder: each, tickScript: `${each}/dist/tick.js` };
      expect(checkCrontab(user(tickLineFor(checkout)), checkout, null).level).toBe('ok');
      expect(checkCrontab(user(tickLineFor(checkout)), CHECKOUT, null).level).toBe('failing');
    }
    expect(addCommand(CHECKOUT)).toBe(
      `(crontab -l 2>/dev/null; printf '%s\\n' '${tickLineFor(CHECKOUT)}') | crontab -`,
    );
  });
});

it.each([
  ['/home/mia/.nvm/versions/node/v22.11.0/bin/node', 'nvm'],
  ['/home/mia/.local/share/fnm/node-versions/v22.11.0/installation/bin/node', 'fnm'],
  ['/home/mia/.volta/tools/image/node/22.11.0/bin/node', 'Volta'],
  ['/home/mia/.asdf/installs/nodejs/22.11.0/bin/node', 'asdf'],
  ['/home/mia/.local/share/mise/installs/node/22.11.0/bin/node', 'mise'],
  ['/home/mia/.nodenv/versions/22.11.0/bin/node', 'nodenv'],
  ['/usr/local/n/versions/node/22.11.0/bin/node', 'n'],
  ['/opt/homebrew/Cellar/node/22.11.0/bin/node', 'Homebrew'],
  ['/usr/bin/node', null],
  ['/opt/node-v22.11.0/bin/node', null],
])('versionManagerOf %s is of %s', (node, manager) => {
  expect(versionManagerOf(node)).toBe(manager);
});

it.each([
  ['/home/mia/.npm/_npx/0a1b/node_modules/pg-tock/dist/tick.js', true],
  ['/home/mia/.cache/pnpm/dlx-123/node_modules/pg-tock/dist/tick.js', true],
  ['/home/mia/.cache/pnpm/dlx/0a1b/node_modules/pg-tock/dist/tick.js', true],
  ['/tmp/bunx-1000-pg-tock@latest/node_modules/pg-tock/dist/tick.js', true],
  ['/srv/app/node_modules/pg-tock/dist/tick.js', false],
  ['/usr/lib/node_modules/pg-tock/dist/tick.js', false],
])('isInCache %s: %s', (file, isCache) => {
  expect(isInCache(file)).toBe(isCache);
});
