// Model: what the doctor's checks decide from what was read.
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { fine, joined, unknown, worstOf, wrong } from '../../../src/model/doctor/check.js';
import {
  checkBroken,
  checkJobs,
  checkKeys,
  checkPaused,
  checkQueues,
  checkWaits,
} from '../../../src/model/doctor/definition-checks.js';
import { checkReplication } from '../../../src/model/doctor/replication.js';
import { checkIndexes } from '../../../src/model/doctor/schema-checks.js';
import {
  checkAutovacuum,
  checkListen,
  checkPooler,
  checkRights,
  checkSchema,
  workerGrants,
} from '../../../src/model/doctor/server-checks.js';
import { checkSettings } from '../../../src/model/doctor/settings.js';
import {
  checkClocks,
  checkLastTick,
  checkVersions,
  checkZones,
} from '../../../src/model/doctor/status-checks.js';
import type { LastTick, SchedulerStatus } from '../../../src/model/scheduler-view.js';
import { shellWord } from '../../../src/model/shell-word.js';
import { NOW, CALM as STATUS, TICK } from '../../support/calm-status.js';

const MINUTE = 60_000;
const DAY = 86_400_000;
const with2 = (tick: Partial<LastTick>): SchedulerStatus => ({
  ...STATUS,
  ticks: [TICK, { ...TICK, host: 'web-2', at: new Date(NOW.getTime() - 40_000), ...tick }],
});

it('the last tick is that of all hosts; nothing on record is a warning', () => {
  expect(checkLastTick(STATUS, {}).text).toBe('20s ago: cron on web-1, in /srv/app');
  expect(checkLastTick({ ...STATUS, ticks: [] }, {})).toMatchObject({
    level: 'warning',
    command: 'tock tick',
  });
  const overdue = { ...STATUS, ticks: [], definitions: { ...STATUS.definitions, overdueMs: 6 * MINUTE } };
  expect(checkLastTick(overdue, {})).toMatchObject({ level: 'failing' });
  expect(checkLastTick(STATUS, { silentTickMs: 10_000 })).toMatchObject({ level: 'failing' });
});

describe('versions', () => {
  const own = { tock: '0.1.0', node: '24.1.0', serverNumber: 180_000, server: '18.0' };

  it('are those that Tock needs, and the same on all hosts', () => {
    expect(checkVersions(STATUS, own)).toEqual(fine('Tock 0.1.0, Node 24.1.0, PostgreSQL 18.0'));
    expect(checkVersions(null, { ...own, node: '20.19.0' })).toMatchObject({ level: 'ok' });
    for (const node of ['18.20.0', '20.18.3'])
      expect(checkVersions(STATUS, { ...own, node })).toMatchObject({
        level: 'failing',
        text: `Node ${node} is too old`,
      });
    expect(checkVersions(STATUS, { ...own, serverNumber: 140_012, server: '14.12' })).toMatchObject({
      level: 'failing',
      text: 'PostgreSQL 14.12 is too old',
    });
    expect(checkVersions(with2({ version: '0.2.0' }), own)).toMatchObject({
      level: 'warning',
      text: 'the hosts run different versions of Tock: web-1 0.1.0, web-2 0.2.0',
    });
  });

  it('of hosts that no longer tick do not count', () => {
    for (const tick of [{ at: new Date(NOW.getTime() - 2 * 3_600_000) }, { stoppedAt: NOW }])
      expect(checkVersions(with2({ version: '0.2.0', ...tick }), own)).toMatchObject({ level: 'ok' });
  });
});

it('clocks are compared with the database’s, on this host and on those on record', () => {
  expect(checkClocks(STATUS, 'web-1', 9000)).toEqual(
    fine(`at most 9s from the database's, by which schedules go`),
  );
  const found = checkClocks(with2({ clockMs: -3_600_000 }), 'web-1', 20_000);
  expect(found).toMatchObject({ level: 'warning', command: 'timedatectl set-ntp true' });
  expect(found.text).toMatch(/web-1's is 20s ahead, web-2's is 1h behind; schedules go by the database's/);
  // This host's own is measured now, not as it was at its last tick.
  expect(checkClocks({ ...STATUS, ticks: [{ ...TICK, clockMs: 60_000 }] }, 'web-1', 0)).toMatchObject({
    level: 'ok',
  });
});

it('time zones must agree between Node and the server, and between hosts', () => {
  expect(checkZones(STATUS, {}, '2025c')).toMatchObject({ level: 'ok' });
  const zone = {
    timezone: 'Europe/Berlin',
    from: NOW,
    to: NOW,
    nodeOffsetMinutes: 60,
    serverOffsetMinutes: 120,
    nodeVersion: '2025c',
    definitions: [],
    firstAffected: null,
  };
  expect(checkZones({ ...STATUS, zoneDisagreements: [zone] }, {}, '2025c')).toMatchObject({
    level: 'warning',
    remedy: 'Update Node on all hosts, or the server, whichever is older',
  });
  expect(checkZones(with2({ zoneData: '2024a' }), {}, '2025c').text).toMatch(
    /^the hosts have different time zone data \(web-1 2025c, web-2 2024a\)/,
  );
});

const THERE = { hidden: [], renamedFrom: null, missing: [], newer: [], drift: [] };

describe('the server', () => {
  it('has a schema that is older, newer, or right', () => {
    expect(checkSchema({ ...THERE, missing: ['0002_b.sql'] })).toMatchObject({
      level: 'failing',
      command: 'tock migrate',
    });
    expect(checkSchema({ ...THERE, newer: ['0003_c.sql'] })).toMatchObject({ level: 'warning' });
    expect(checkSchema(THERE)).toMatchObject({ level: 'ok' });
  });

  it('quotes a role in the command as SQL and the shell need it', () => {
    const found = checkRights({ role: 'a"b$c', missing: ['insert on ticks', 'a', 'b', 'c', 'd', 'e'] });
    expect(found.text).toBe('the role a"b$c cannot tick, for want of insert on ticks, a, b, c and 2 more');
    expect(found.command).toContain(String.raw`grant usage on schema tock to \"a\"\"b\$c\"`);
  });

  it('names all the grants of a worker that the documentation lists, for the owner to give', () => {
    const text = readFileSync('docs/database.md', 'utf8');
    const listed = [
      ...text
        .slice(0, text.indexOf('-- The enqueuer'))
        .matchAll(/^(?:grant|revoke|alter) .*tock_worker(?=;$)/gm),
    ];
    expect(workerGrants('tock_worker')).toEqual(listed.map(([each]) => each));
    expect(listed).toHaveLength(12);
    const { command } = checkRights({ role: 'tock_worker', missing: ['insert on ticks'] });
    expect(command).toMatch(/^psql "\$OWNER_DATABASE_URL" -c "grant usage on schema tock to /);
  });

  it.each([
    [{ isOn: false }, 'failing', /off for the whole server/, /alter system set autovacuum = on/],
    [
      { tableOptions: ['autovacuum_enabled=false'] },
      'failing',
      /off for job_runs_live/,
      /reset \(autovacuum_enabled\)/,
    ],
    [{ tableOptions: [] }, 'warning', /fillfactor is not set/, /set \(fillfactor = 45, /],
    [{ tableOptions: ['fillfactor=100'] }, 'warning', /fillfactor is 100/, /set \(fillfactor = 45, /],
  ] as const)('has its autovacuum and fillfactor: %j', (changed, level, text, command) => {
    const found = checkAutovacuum({ isOn: true, tableOptions: ALL_OPTIONS, ...changed });
    expect(found).toMatchObject({ level, text: expect.stringMatching(text) as string });
    expect(found.command).toMatch(command);
  });

  it('may have emptier pages and earlier vacuum than the migration sets', () => {
    const tableOptions = ALL_OPTIONS.map(option => option.replace('=45', '=30').replace('=0.02', '=0.01'));
    expect(checkAutovacuum({ isOn: true, tableOptions })).toEqual(
      fine('on, and job_runs_live has a fillfactor of 30'),
    );
  });

  it('waits for its standby, if it has one', () => {
    const none = { standbys: [], synchronousNames: '', synchronousCommit: 'on' };
    expect(checkReplication(none)).toMatchObject({ level: 'ok', text: 'no standby is connected' });
    const found = checkReplication({ ...none, standbys: [{ name: 'pg2', syncState: 'async' }] });
    expect(found).toMatchObject({ level: 'warning' });
    expect(found.text).toMatch(/^1 standby follows \(pg2\), but no commit waits for it: a failover can lose/);
    expect(found.command).toBe(
      `psql "$DATABASE_URL" -c "alter system set synchronous_standby_names = '*'" -c "select pg_reload_conf()"`,
    );
    const two = [
      { name: 'pg2', syncState: 'quorum' },
      { name: 'pg3', syncState: 'async' },
    ];
    const local = { standbys: two, synchronousNames: '*', synchronousCommit: 'local' };
    expect(checkReplication(local).text).toMatch(
      /^2 standbys follow \(pg2, pg3\), but synchronous_commit is local/,
    );
    const on = { standbys: two, synchronousNames: 'ANY 1 (pg2)', synchronousCommit: 'on' };
    expect(checkReplication(on)).toEqual(
      fine(
        '2 standbys follow (pg2, pg3), and commits wait for confirmation (synchronous_standby_names is ANY 1 (pg2), now those of pg2): a failover to such a standby loses nothing',
      ),
    );
  });

  it('waits for a standby that is there, as far as this role may know', () => {
    const on = { synchronousNames: 'pg2', synchronousCommit: 'on' };
    for (const standbys of [[], [{ name: 'pg3', syncState: 'async' }]])
      expect(checkReplication({ ...on, standbys })).toMatchObject({
        level: 'failing',
        text: expect.stringContaining('nothing can be written'),
      });
    const hidden = [{ name: null, syncState: null }];
    expect(checkReplication({ ...on, standbys: hidden })).toEqual(
      fine(
        '1 standby follows, and commits wait for confirmation (synchronous_standby_names is pg2): a failover to such a standby loses nothing',
      ),
    );
  });
});

const ALL_OPTIONS = [
  'fillfactor=45',
  'autovacuum_vacuum_scale_factor=0.02',
  'autovacuum_vacuum_threshold=1000',
  'autovacuum_analyze_scale_factor=0.05',
  'autovacuum_vacuum_cost_delay=0',
];

describe('notifications', () => {
  const heard = { heardMs: 2, isPooled: false, turnedOffFor: null, listeners: 1 };

  it('are heard, or not needed', () => {
    expect(checkListen(heard)).toEqual(fine('one was sent and heard within 2ms'));
    expect(checkListen({ ...heard, heardMs: null, isPooled: true, listeners: 0 })).toMatchObject({
      level: 'ok',
    });
    expect(checkListen({ ...heard, turnedOffFor: 'system', listeners: 0 })).toMatchObject({ level: 'ok' });
  });

  it.each([
    [
      { heardMs: null, isPooled: true },
      /because the pooler is in transaction mode, but a daemon listens/,
      /^tock start --no-listen$/,
    ],
    [
      { heardMs: null, listeners: 3 },
      /^one was sent and not heard, but 3 daemons listen/,
      /^tock start --no-listen$/,
    ],
    [{ turnedOffFor: 'role app' }, /^pg_tock.notify is off/, /-c "alter role app reset pg_tock.notify"$/],
    [
      { turnedOffFor: 'system' },
      /^pg_tock.notify is off/,
      /-c "alter system reset pg_tock.notify" -c "select pg_reload_conf/,
    ],
  ])('are missed by daemons that listen: %j', (changed, text, command) => {
    const found = checkListen({ ...heard, ...changed });
    expect(found).toMatchObject({ level: 'warning', text: expect.stringMatching(text) as string });
    expect(found.command).toMatch(command);
  });

  it('tell a pooler in transaction mode from one that gives each client a session', () => {
    expect(checkPooler(false, true).text).toMatch(/^none/);
    expect(checkPooler(true, true).text).toMatch(/a session of its own$/);
    expect(checkPooler(true, false).text).toMatch(/in transaction mode/);
  });
});

describe('definitions', () => {
  const orphans = { jobs: 3, definitions: [], runs: [] };

  it('need a job in code, which a process without jobs cannot tell', () => {
    expect(checkJobs({ ...orphans, jobs: 0 })).toMatchObject({ level: 'unknown' });
    expect(checkJobs(orphans)).toMatchObject({ level: 'ok' });
    const code = { name: 'a', job: 'gone', origin: 'code' as const };
    expect(checkJobs({ ...orphans, definitions: [code] })).toMatchObject({
      level: 'failing',
      text: 'this code lacks the job of a (gone): their runs wait for a worker that has it',
      command: 'tock tick',
    });
  });

  it('that are broken in code are corrected there', () => {
    expect(checkBroken([{ name: 'a', origin: 'code', reason: 'a circle' }])).toMatchObject({
      level: 'failing',
      text: 'no runs are made of a (a circle)',
      command: 'tock tick',
    });
    expect(checkBroken([{ name: 'a', origin: 'runtime', reason: null }]).command).toBe(
      'tock schedule set a --cron <expression>',
    );
  });

  it('whose run waits past the next occurrence is warned of', () => {
    expect(checkWaits([])).toMatchObject({ level: 'ok' });
    expect(checkWaits([{ definition: 'report', overlap: 'skip', runId: '7' }])).toMatchObject({
      level: 'warning',
      text: 'runs wait past the next occurrence of report (overlap: skip), which cannot start beside them',
      command: 'tock show 7',
    });
  });

  it('may be paused by an operator', () => {
    const paused = [
      { name: 'a', reason: 'stocktaking', isByItself: false },
      { name: 'b', reason: null, isByItself: false },
    ];
    expect(checkPaused(paused, STATUS)).toEqual(fine('by operators: a (stocktaking), b'));
    expect(checkPaused([], STATUS)).toEqual(fine('nothing is'));
  });
});

it('keys may be a month late', () => {
  const old = (days: number) => ({ oldest: new Date(NOW.getTime() - days * DAY), table: 'job_keys' });
  expect(checkKeys(old(430), NOW)).toMatchObject({ level: 'ok' });
  expect(checkKeys(old(431), NOW)).toMatchObject({ level: 'warning', command: 'tock prune' });
  expect(checkKeys(old(431), NOW, 900 * DAY)).toMatchObject({ level: 'ok' });
  expect(checkKeys({ oldest: null, table: null }, NOW)).toEqual(fine('there are no keys yet'));
});

describe('queues', () => {
  const queue = { name: 'q', concurrency: null, rate: null, window: null, timezone: 'UTC', waiting: 0 };
  const definition = { name: 'd', queue: 'q', window: null, timezone: 'UTC', perDay: 24 };
  const check = (changes: object, of: object = {}) =>
    checkQueues([{ ...queue, ...changes }], [{ ...definition, ...of }], NOW);

  it('with limits that can be satisfied are fine', () => {
    expect(checkQueues([], [], NOW)).toEqual(fine('no queue has any'));
    expect(check({ concurrency: 1, rate: { count: 24, perMs: DAY }, window: '23:00-06:00' })).toEqual(
      fine('those of q can be satisfied'),
    );
    expect(checkQueues([{ ...queue, concurrency: 0 }], [], NOW)).toMatchObject({ level: 'ok' });
    // More at once than a day allows: it catches up later.
    expect(check({ rate: { count: 100, perMs: 30 * DAY } })).toMatchObject({ level: 'ok' });
  });

  it('compare windows by the clocks of their zones', () => {
    const inNewYork = (window: string) =>
      check({ window: '12:00-13:00' }, { window, timezone: 'America/New_York' });
    // At 11:00 UTC now, and at 12:00 in winter.
    expect(inNewYork('07:00-08:00')).toMatchObject({ level: 'ok' });
    expect(inNewYork('08:30-09:00')).toMatchObject({ level: 'ok' });
    for (const window of ['06:00-07:00', '09:00-11:00'])
      expect(inNewYork(window)).toMatchObject({
        level: 'failing',
        command: 'tock queue set q --window none',
      });
  });

  it('say the worst of several first', () => {
    const found = check({ concurrency: 0, rate: { count: 1, perMs: DAY } });
    expect(found.level).toBe('failing');
    expect(found.text).toMatch(/^queue q has a concurrency of 0.*; queue q starts 1 runs a day/);
  });
});

it('findings are joined with the worst first, and what is unknown does not count', () => {
  expect(joined([wrong('warning', 'a', 'x', 'do a'), wrong('failing', 'b', 'y')], 'fine')).toEqual(
    wrong('failing', 'b; a', 'y'),
  );
  expect(worstOf([fine('a'), unknown('b')])).toBe('ok');
  expect(worstOf([fine('a'), wrong('warning', 'b', 'c'), unknown('d')])).toBe('warning');
  expect(worstOf([wrong('warning', 'b', 'c'), wrong('failing', 'b', 'c')])).toBe('failing');
});

it.each([
  ['/srv/app', '/srv/app'],
  ['web-1.example.com', 'web-1.example.com'],
  ['a b', `'a b'`],
  [`it's`, `'it'\\''s'`],
  ['$(reboot)', `'$(reboot)'`],
  ['-rf', `'-rf'`],
  ['', `''`],
])('shellWord %s', (text, word) => {
  expect(shellWord(text)).toBe(word);
});

describe('what the schema consists of', () => {
  it('names five things that somebody has changed', () => {
    const drift = Array.from({ length: 7 }, (_, n) => ({
      object: `column job_runs.c${n}`,
      what: 'changed' as const,
    }));
    expect(checkSchema({ ...THERE, drift })).toMatchObject({
      level: 'warning',
      text: expect.stringMatching(
        /^it is not as the migrations made it: column job_runs\.c0 was changed; .*c4 was changed; and 2 more$/,
      ),
    });
  });

  const index = { name: 'job_runs_live_claim', bytes: 812 * 1024 * 1024, rows: 1200, isValid: true };
  it.each([
    ['bloated', index, 'warning', /^the index job_runs_live_claim has 812 MiB for about 1200 rows/],
    ['large', { ...index, rows: 5_000_000 }, 'ok', /^none is bloated/],
    ['small', { ...index, bytes: 1024 * 1024 }, 'ok', /^none/],
    ['invalid', { ...index, isValid: false }, 'warning', /is invalid: building it has failed/],
  ])('says of an index that is %s what to do', (_what, one, level, text) => {
    const found = checkIndexes([one]);
    expect(found).toMatchObject({ level, text: expect.stringMatching(text) });
    if (level === 'warning')
      expect(found.command).toBe(
        'psql "$DATABASE_URL" -c "reindex index concurrently tock.job_runs_live_claim"',
      );
  });

  it('drops what a rebuild has left', () => {
    expect(checkIndexes([{ ...index, name: 'job_runs_live_claim_ccnew', isValid: false }]).command).toBe(
      'psql "$DATABASE_URL" -c "drop index concurrently tock.job_runs_live_claim_ccnew"',
    );
  });
});

describe('settings of the server', () => {
  const settings = (more: Record<string, string>) => checkSettings({ role: 'app', settings: more });
  it('that lose what was committed are named, unless it is one for tests', () => {
    expect(settings({ fsync: 'off', full_page_writes: 'on', synchronous_commit: 'on' })).toMatchObject({
      level: 'warning',
      command: 'psql "$DATABASE_URL" -c "alter system set fsync = on" -c "select pg_reload_conf()"',
    });
    expect(settings({ fsync: 'on', full_page_writes: 'on', synchronous_commit: 'off' })).toMatchObject({
      level: 'warning',
      command: String.raw`psql "$DATABASE_URL" -c "alter role \"app\" set synchronous_commit = on"`,
    });
    const all = { fsync: 'off', full_page_writes: 'off', synchronous_commit: 'off' };
    expect(settings(all)).toMatchObject({ level: 'ok', text: expect.stringContaining('one for tests') });
    expect(settings({ ...all, enable_indexscan: 'off' })).toMatchObject({ level: 'warning' });
  });
});
