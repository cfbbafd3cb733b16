// `tock schema`, `tock migrate --sql` and `tock uninstall` on a real database: what they print, and what they refuse.
import { describe, expect, it } from 'vitest';
import { runAt } from '../../support/embedded-database.js';
import { openForEach, openOnce } from '../../support/open.js';
import { openCliHarness, tock } from '../cli-harness.js';

const UNREACHABLE = { DATABASE_URL: 'postgres://user:geheim@127.0.0.1:1/nowhere' };

describe('tock schema', () => {
  const harness = openOnce(openCliHarness);

  it('shows owner, version, tables, partitions and migrations', async () => {
    await harness.tock(['migrate']);
    const { code, stdout, stderr } = await harness.tock(['schema']);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^schema tock on .+\n {2}owner {7}\S+\n {2}version {5}1 migration applied; up to date with Tock \d/,
    );
    expect(stdout).toMatch(/\n {2}size {8}\d[\d.]* (kB|MB) of \d[\d.]* MB in the database, with indexes\n/);
    expect(stdout).toMatch(/\ntable +rows \(estimate\) +size +indexes +notes\n/);
    expect(stdout).toMatch(/\njob_runs_finished +0 +\S+ kB +\S+ kB +5 partitions\n/);
    expect(stdout).toMatch(/\njob_runs_finished_\d{4}_\d{2} .* {2}\d{4}-\d\d-01 to \d{4}-\d\d-01\n/);
    expect(stdout).toMatch(/\njob_runs_finished_default .* {2}all else\n/);
    expect(stdout).toMatch(/\njob_logs_1 .* {2}segment 1\n/);
    expect(stdout).toMatch(/\n0001_the_ledger\.sql +applied +\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n$/);
  });

  it('is a document under --json', async () => {
    const document = await harness.json<{ schema: string; tables: { table: string }[]; version: string }>([
      'schema',
    ]);
    expect(document).toMatchObject({
      schema: 'tock',
      version: expect.stringMatching(/^\d/) as string,
      migrations: [{ name: '0001_the_ledger.sql', state: 'applied' }],
    });
    expect(document.tables.length).toBeGreaterThan(25);
  });

  it('names the schema that was probably meant', async () => {
    expect(await harness.tock(['schema'], { env: { TOCK_SCHEMA: 'tick' } })).toEqual({
      code: 1,
      stdout: '',
      stderr: 'tock schema: there is no schema tick; Tock’s here is tock: set TOCK_SCHEMA\n',
    });
  });

  it('names the grants that a role lacks', async () => {
    const role = `tock_nobody_${Date.now()}`;
    await runAt(harness.url, `create role ${role} login password 'secret'`);
    const url = new URL(harness.url);
    url.username = role;
    url.password = 'secret';
    const { code, stderr } = await harness.tock(['schema'], { env: { DATABASE_URL: url.href } });
    await runAt(harness.url, `drop role ${role}`);
    expect(stderr).toMatch(
      new RegExp(
        `^tock schema: the role ${role} may not read the schema tock; \\w+ may grant it: grant usage on schema tock to ${role}; grant select`,
      ),
    );
    expect(code).toBe(1);
  });
});

describe('tock migrate --sql', () => {
  const harness = openForEach(() => openCliHarness({ migrated: false }));

  it('prints what is missing, which makes the schema; then there is nothing to print', async () => {
    const env = { TOCK_SCHEMA: 'jobs' };
    const { code, stdout, stderr } = await harness.tock(['migrate', '--sql'], { env });
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^-- Tock \d\S*, schema jobs: 0001_the_ledger\.sql\n/);
    await runAt(harness.url, stdout);
    expect((await harness.tock(['migrate', '--sql'], { env })).stdout).toBe(
      '-- the schema jobs is up to date: there is nothing to apply\n',
    );
    expect((await harness.tock(['migrate'], { env })).stdout).toBe(
      'the schema jobs is up to date (1 migrations applied before)\n',
    );
    expect(await harness.json(['migrate', '--sql'], { env })).toEqual({
      schema: 'jobs',
      migrations: [],
      sql: null,
    });
    expect((await harness.tock(['tick'], { env })).code).toBe(0);
  });

  it('prints everything without a database', async () => {
    const text = await tock(['migrate', '--sql', '--all'], { env: UNREACHABLE });
    expect(text).toMatchObject({ code: 0, stderr: '' });
    expect(text.stdout).toBe((await harness.tock(['migrate', '--sql'])).stdout);
    const document = await tock(['migrate', '--sql', '--all', '--no-transaction', '--json'], {
      env: UNREACHABLE,
    });
    const { migrations, sql } = JSON.parse(document.stdout) as { migrations: string[]; sql: string };
    expect(migrations).toEqual(['0001_the_ledger.sql']);
    expect(sql).not.toMatch(/^(begin isolation|commit;)/m);
  });

  it('refuses a schema that is none, and needs the server for what is missing', async () => {
    expect((await tock(['migrate', '--sql', '--all'], { env: { TOCK_SCHEMA: 'Bad!' } })).code).toBe(2);
    expect((await tock(['migrate', '--sql'], { env: UNREACHABLE })).code).toBe(3);
  });
});

describe('tock uninstall', () => {
  const harness = openForEach(openCliHarness);
  const isThere = async () =>
    (await runAt(harness.url, `select to_regnamespace('tock') is not null as yes`))[0]?.['yes'];

  it('shows what would be lost, and changes nothing in a dry run', async () => {
    await runAt(
      harness.url,
      `insert into tock.job_definitions (name, job, origin, cron) values ('tenant-7', 'greet', 'runtime', '0 7 * * *')`,
    );
    await runAt(
      harness.url,
      `insert into tock.job_runs (job, status) values ('greet', 'queued'), ('greet', 'failed')`,
    );
    const { code, stdout } = await harness.tock(['uninstall', '--dry-run']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^schema tock on .+, [\d.]+ (kB|MB), owner \w+\nthis is lost:\n/);
    expect(stdout).toContain('  live runs      2 waiting, 0 running\n');
    expect(stdout).toContain('  finished runs  0\n');
    expect(stdout).toContain('  definitions    1, 1 of them not in code\n');
    expect(stdout).toContain('  not in code    tenant-7\n');
    expect(stdout).toContain('  workers        none is alive\n');
    expect(await isThere()).toBe(true);
    expect(await harness.json(['uninstall', '--dry-run'])).toMatchObject({
      schema: 'tock',
      live: { queued: 1, failed: 1, running: 0 },
      operatorMade: ['tenant-7'],
      dropped: false,
    });
  });

  it('asks for --yes without a terminal, and with --json', async () => {
    for (const flags of [[], ['--json']]) {
      const { code, stderr } = await harness.tock(['uninstall', ...flags]);
      expect(stderr).toMatch(/this would drop the schema tock on .+: repeat it with --yes/);
      expect(code).toBe(2);
    }
    expect(await isThere()).toBe(true);
  });

  it('asks in a terminal', async () => {
    const no = await harness.beginInTerminal(['uninstall'], { input: 'n\n' }).ended;
    expect(no.stdout).toContain('nothing was changed');
    expect(no.code).toBe(1);
    expect(await isThere()).toBe(true);
    const yes = await harness.beginInTerminal(['uninstall'], { input: 'y\n' }).ended;
    expect(yes.stdout).toMatch(/drop the schema tock on .+\? \[y\/N\] /);
    expect(yes.stdout).toContain('dropped the schema tock');
    expect(yes.code).toBe(0);
    expect(await isThere()).toBe(false);
  });

  it('drops it with --yes, and says what remains', async () => {
    const ticked = await harness.tock(['tick']);
    expect(ticked.code).toBe(0);
    const { code, stdout } = await harness.tock(['uninstall', '--yes']);
    expect(code).toBe(0);
    expect(stdout).toMatch(/\ndropped the schema tock\nthis remains:\n/);
    expect(stdout).toMatch(/\n {2}what has ticked within a day, and fails from now on: tick on \S+ in \S+\n/);
    expect(await isThere()).toBe(false);
    const again = await harness.tock(['uninstall', '--yes']);
    expect(again.stderr).toBe(
      'tock uninstall: there is no schema tock; no schema of this database is Tock’s: check DATABASE_URL, or make it with tock migrate\n',
    );
    expect(again.code).toBe(1);
  });

  it('refuses while a worker is alive, unless it is forced', async () => {
    await runAt(
      harness.url,
      `insert into tock.workers (id, kind, host, pid, capacity) values (gen_random_uuid(), 'daemon', 'web-1', 7, 1)`,
    );
    const refused = await harness.tock(['uninstall', '--yes']);
    expect(refused.stderr).toBe(
      'tock uninstall: a worker is alive (daemon on web-1, pid 7): stop it first, or use --force. Nothing was changed\n',
    );
    expect(refused.code).toBe(1);
    expect(await isThere()).toBe(true);
    expect(await harness.json(['uninstall', '--yes', '--force'])).toMatchObject({ dropped: true });
    expect(await isThere()).toBe(false);
  });
});
