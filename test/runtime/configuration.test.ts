// Which database a process uses, and where its jobs are, by its environment.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { configOfProcess, misspeltVariables, readConfig } from '../../src/runtime/configuration.js';

const URL_GIVEN = 'postgres://a@b/c';

describe('the database', () => {
  it.each([
    ['a URL', { DATABASE_URL: URL_GIVEN }, URL_GIVEN, false],
    [
      'a URL before all else',
      { DATABASE_URL: URL_GIVEN, TOCK_DATABASE: 'embedded', PGHOST: 'h' },
      URL_GIVEN,
      true,
    ],
    ['the embedded server', { TOCK_DATABASE: 'embedded' }, null, true],
    ['the embedded server by its folder', { TOCK_DATA: '/srv/data' }, null, true],
    ['the embedded server before PGHOST', { TOCK_DATABASE: 'embedded', PGHOST: 'h' }, null, true],
    ['a host', { PGHOST: 'db.example', PGPORT: '5433' }, 'postgres://db.example:5433/', false],
    ['a host and a database', { PGHOST: 'h', PGDATABASE: 'my app' }, 'postgres://h/my%20app', false],
    ['a database on this host', { PGDATABASE: 'app' }, 'postgres://localhost/app', false],
    ['an IPv6 address', { PGHOST: '::1', PGDATABASE: 'app' }, 'postgres://[::1]/app', false],
    [
      'the folder of a socket',
      { PGHOST: '/run/postgresql', PGPORT: '5433', PGDATABASE: 'app' },
      'postgres:///app?host=%2Frun%2Fpostgresql&port=5433',
      false,
    ],
    [
      'several hosts',
      { PGHOST: 'h1,h2', PGPORT: '5432,5433', PGDATABASE: 'app' },
      'postgres:///app?host=h1%2Ch2&port=5432%2C5433',
      false,
    ],
    [
      'a host that must be the primary',
      { PGHOST: 'h1', PGTARGETSESSIONATTRS: 'primary' },
      'postgres:///?host=h1&target_session_attrs=primary',
      false,
    ],
    ['none: a user alone names no database', { PGUSER: 'app', PGPASSWORD: 'x' }, null, false],
  ])('is %s', (_what, env, databaseUrl, isEmbedded) => {
    // A folder that is there only in the working directory of somebody who tries Tock out.
    const all = { TOCK_JOBS: '/nowhere.js', ...env };
    expect(readConfig(all)).toMatchObject({ databaseUrl, isEmbedded });
  });

  it('is refused in TOCK_DATABASE, without showing it', () => {
    expect(() => readConfig({ TOCK_DATABASE: 'postgres://u:hunter2@h/d' })).toThrow(
      /^TOCK_DATABASE must be embedded or unset; the address of a database belongs in DATABASE_URL$/,
    );
  });
});

// Node 20 reads --env-file itself, also after the script's name, and may end the process first.
it('a file of variables that cannot be read is a usage error', () => {
  expect(() => configOfProcess({ envFile: '/nowhere/.env' })).toThrow(
    expect.objectContaining({
      code: 'TOCK_BAD_OPTION',
      message: '--env-file names "/nowhere/.env", which cannot be read',
    }),
  );
});

describe('the job module', () => {
  it('is the named one, relative to the working directory', () => {
    expect(readConfig({ TOCK_JOBS: 'a/jobs.js' }).jobsModule).toBe(path.resolve('a/jobs.js'));
  });

  it('is none in a folder without one', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'tock-empty-'));
    const before = process.cwd();
    const script = process.argv[1] ?? '';
    // As if it had been installed there.
    process.argv[1] = path.join(folder, 'node_modules', '.bin', 'tock');
    process.chdir(folder);
    try {
      expect(readConfig({}).jobsModule).toBeNull();
    } finally {
      process.chdir(before);
      process.argv[1] = script;
      await rm(folder, { recursive: true });
    }
  });
});

it('TOCK_ALLOW_VANISHING is on or off', () => {
  expect(readConfig({}).allowVanishing).toBe(false);
  expect(readConfig({ TOCK_ALLOW_VANISHING: 'on' }).allowVanishing).toBe(true);
  expect(() => readConfig({ TOCK_ALLOW_VANISHING: '1' })).toThrow(/must be on or off/);
});

it('the dashboard’s address is that of the environment, for links in alerts', () => {
  expect(readConfig({ TOCK_DASHBOARD_URL: ' https://ops.example.com/tock ' }).dashboardUrl).toBe(
    'https://ops.example.com/tock',
  );
  expect(readConfig({}).dashboardUrl).toBeUndefined();
});

describe('a variable', () => {
  it.each([
    ['TOCK_HEARTBEAT', ' "soon" is not a duration'],
    ['TOCK_GRACE', ' "soon" is not a duration'],
    ['TOCK_DRAIN', ' "soon" is not a duration'],
    ['TOCK_BUDGET', ' "soon" is not a duration'],
    ['TOCK_STATEMENT_TIMEOUT', ' "soon" is not a duration'],
    ['TOCK_HEARTBEAT_URL', ': heartbeat.url is not'],
    ['TOCK_LOG_LEVEL', ': log level "soon" is not'],
  ])('that is wrong is named: %s%s', (name, what) => {
    expect(() => readConfig({ [name]: 'soon' })).toThrow(`${name}${what}`);
  });

  it.each([
    ['is misspelt', { TOCK_CONCURENCY: '3', TOCK_QUEUE: 'mail' }],
    ['is an app’s own', { TOCK_API_TOKEN: 'x', TOCK_STAGE: 'y', TOCK_PHASE: 'z' }],
    ['is read', { TOCK_QUEUES: 'mail', TOCK_DASHBOARD_USERS: 'a' }],
    ['is set for a command of a shell job', { TOCK_JOB: 'mail', TOCK_KEY: 'k', TOCK_RUN_ID: '1' }],
  ])('that %s', (what, env) => {
    expect(misspeltVariables(env, ['TOCK_DASHBOARD_USERS'])).toBe(
      what === 'is misspelt'
        ? 'Tock does not read TOCK_CONCURENCY (did you mean TOCK_CONCURRENCY?), TOCK_QUEUE (did you mean TOCK_QUEUES?)'
        : null,
    );
  });
});
