// The doctor on a real database: each check is seen failing, the command that it names is run in a shell, and the check
// passes. And `tock status --check`.
import { hostname } from 'node:os';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { CheckCode, CheckResult, DoctorReport } from '../../../src/index.js';
import { type CliHarness, openCliHarness } from '../cli-harness.js';
import { openShell, type Shell } from '../doctor-kit.js';

let harness: CliHarness;
let shell: Shell;
let pool: pg.Pool;
let base: Record<string, string>;
beforeAll(async () => {
  [harness, shell] = await Promise.all([openCliHarness(), openShell()]);
  pool = new pg.Pool({ connectionString: harness.url, max: 2 });
  pool.on('error', () => undefined);
  base = { DATABASE_URL: harness.url, TOCK_JOBS: path.join(harness.folder, 'jobs.mjs') };
  await shell.writeCrontab('');
});
afterAll(async () => {
  await pool.end();
  await harness.close();
  await shell.remove();
});

const sql = async (text: string) => (await pool.query(text)).rows as Record<string, unknown>[];
const examine = async (env: Record<string, string> = {}) =>
  await harness.json<DoctorReport>(['doctor'], { env: { ...shell.env, ...env } });
const checkOf = (report: Pick<DoctorReport, 'checks'>, code: CheckCode): CheckResult => {
  const check = report.checks.find(each => each.code === code);
  if (check === undefined) throw new Error(`there is no check ${code}`);
  return check;
};
const find = async (code: CheckCode, env?: Record<string, string>) => checkOf(await examine(env), code);
/** Runs a command as the check names it, and answers its question. */
const follow = async (command: string | null | undefined, env: Record<string, string> = {}) => {
  if (command === null || command === undefined) throw new Error('there is no command');
  const answered = command.startsWith('tock queue resume') ? `${command} --yes` : command;
  const owner = { OWNER_DATABASE_URL: base['DATABASE_URL'] ?? '' };
  const ended = await shell.run(answered, { ...base, ...owner, ...env });
  expect(ended, command).toMatchObject({ code: 0 });
  return ended;
};

const RUNTIME = (name: string, columns = '', values = '') =>
  `insert into tock.job_definitions (name, job, origin, cron, next_at${columns}) values ('${name}', 'greet', 'runtime', '0 4 29 2 *', tock.now() + interval '1 day'${values})`;

describe('before anything has ticked', () => {
  it('names the crontab’s line, and the line makes a tick', async () => {
    const secret = path.join(harness.folder, 'database-url');
    await shell.run(`umask 077 && printf '%s' '${harness.url}' > '${secret}'`, {});
    const env = { DATABASE_URL: '', DATABASE_URL_FILE: secret };
    const report = await examine(env);
    const crontab = checkOf(report, 'crontab');
    expect(crontab).toMatchObject({
      level: 'failing',
      text: expect.stringMatching(/is not ticked$/) as string,
    });
    expect(checkOf(report, 'last-tick')).toMatchObject({ level: 'warning', command: 'tock tick' });
    expect(report.level).toBe('failing');
    await follow(crontab.command, env);
    const found = await find('crontab', env);
    expect(found).toMatchObject({ level: 'ok', text: expect.stringContaining('crontab of ') as string });
    // What cron would do.
    const [line = ''] = (await shell.crontab()).trim().split('\n');
    expect(line).toMatch(/^\* \* \* \* \* cd /);
    expect(line).not.toContain(new URL(harness.url).password);
    const command = line.slice('* * * * * '.length).replace(/>> \S+ 2>&1$/, '');
    const ticked = await shell.run(command, { PATH: '/usr/bin:/bin' });
    expect(ticked).toMatchObject({ code: 0, stdout: expect.stringContaining('registered') as string });
    expect(await find('last-tick', env)).toMatchObject({ level: 'ok' });
  });

  it('says that cron will not have DATABASE_URL, and never writes it down', async () => {
    await shell.writeCrontab('# nothing\n');
    const crontab = await find('crontab');
    expect(crontab.remedy).toMatch(
      /Cron has no DATABASE_URL: write it into \/etc\/tock\/database-url, mode 0600$/,
    );
    expect(JSON.stringify(crontab)).not.toContain(harness.url);
  });
});

interface Fault {
  readonly code: CheckCode;
  readonly what: string;
  readonly breaks: string;
  readonly level: 'warning' | 'failing';
  readonly text: RegExp;
  readonly command: RegExp;
  /** The person's own words in place of `<zone>` and the like, or the answer to a question. */
  readonly with?: readonly [string, string];
}

const FAULTS: readonly Fault[] = [
  {
    code: 'database',
    what: 'a restored dump',
    breaks: 'update tock.database_identity set database_oid = 1',
    level: 'failing',
    text: /is a copy of another one/,
    command: /^tock adopt$/,
    with: ['tock adopt', 'tock adopt --yes'],
  },
  {
    code: 'database',
    what: 'a clock that was set back',
    breaks: `update tock.job_definitions set cursor = tock.now() + interval '6 hours', next_at = tock.now() + interval '9 hours' where name = 'steady'`,
    level: 'failing',
    text: /the database's clock was set back: 1 definition gets no runs/,
    command: /^tock reset-cursor --all$/,
  },
  {
    code: 'last-tick',
    what: 'cron that has stopped',
    breaks: `update tock.ticks set at = tock.now() - interval '10 minutes'`,
    level: 'failing',
    text: /^nothing has ticked for 10m[^,]*, since .* \(cron on /,
    command: /^tock tick$/,
  },
  {
    code: 'last-tick',
    what: 'one host of several that has stopped',
    breaks: `insert into tock.ticks (host, folder, kind, first_at, at, tick_count, version, node, zone_data, clock_ms)
      select 'web-2', folder, kind, first_at, tock.now() - interval '1 hour', 60, version, node, zone_data, clock_ms from tock.ticks limit 1`,
    level: 'warning',
    text: /^cron on web-2, in .* has not ticked for 1h/,
    command: /^tock doctor --forget web-2$/,
  },
  {
    code: 'partitions',
    what: 'partitions that have run out',
    breaks: `do $$ declare name text; begin for name in select p.name from tock.finished_partitions() p where p.low is not null loop
      execute format('drop table tock.%I', name); end loop; end $$`,
    level: 'warning',
    text: /^the partitions of the finished runs have run out/,
    command: /^tock migrate$/,
  },
  {
    code: 'autovacuum',
    what: 'a live partition without autovacuum',
    breaks: 'alter table tock.job_runs_live set (autovacuum_enabled = off)',
    level: 'failing',
    text: /^autovacuum is off for job_runs_live/,
    command: /^psql .* reset \(autovacuum_enabled\)"$/,
  },
  {
    code: 'autovacuum',
    what: 'a live partition that has lost its fillfactor',
    breaks: 'alter table tock.job_runs_live reset (fillfactor, autovacuum_vacuum_scale_factor)',
    level: 'warning',
    text: /fillfactor is not set, autovacuum_vacuum_scale_factor is not set$/,
    command: /^psql .* set \(fillfactor = 45, autovacuum_vacuum_scale_factor = 0.02\)"$/,
  },
  {
    code: 'jobs',
    what: 'a schedule whose job this code lacks',
    breaks: `insert into tock.job_definitions (name, job, origin, cron, next_at) values ('ghosts', 'ghost', 'runtime', '0 4 29 2 *', tock.now() + interval '1 day')`,
    level: 'failing',
    text: /^this code lacks the job of ghosts \(ghost\): their runs wait for a worker that has it$/,
    command: /^tock schedule remove ghosts$/,
  },
  {
    code: 'jobs',
    what: 'runs whose job this code lacks',
    breaks: `insert into tock.job_runs_live (job, status, run_at) values ('a;b', 'queued', tock.now() + interval '1 day'), ('a;b', 'failed', tock.now() + interval '1 day')`,
    level: 'warning',
    text: /live runs: 2 of a;b$/,
    command: /^tock cancel --status queued,failed --job 'a;b' --yes$/,
  },
  {
    code: 'broken',
    what: 'a schedule that cannot be evaluated',
    breaks: RUNTIME(
      'martian',
      ', timezone, broken_at, broken_reason',
      `, 'Mars/Phobos', tock.now(), 'there is no time zone Mars/Phobos'`,
    ),
    level: 'failing',
    text: /^no runs are made of martian \(there is no time zone Mars\/Phobos\)/,
    command: /^tock schedule set martian --timezone <zone>$/,
    with: ['<zone>', 'UTC'],
  },
  {
    code: 'paused',
    what: 'a definition that paused itself',
    breaks: `update tock.job_definitions set paused_at = tock.now(), pause_reason = 'paused by itself after 3 dead runs in a row' where name = 'nightly'`,
    level: 'warning',
    text: /^after dead runs: nightly \(paused by itself after 3 dead runs in a row\)/,
    command: /^tock resume nightly$/,
  },
  {
    code: 'paused',
    what: 'a paused queue that holds back runs',
    breaks: `insert into tock.job_queues (name, paused_at) values ('slow', tock.now());
      select tock.enqueue('greet', queue => 'slow')`,
    level: 'warning',
    text: /^the paused queue slow holds back due runs/,
    command: /^tock queue resume slow$/,
  },
  {
    code: 'runs',
    what: 'a run that waits for long',
    breaks: `insert into tock.job_runs_live (job, status, run_at, payload) values ('greet', 'queued', tock.now() - interval '1 hour', '{}')`,
    level: 'failing',
    text: /^queue default is 1h behind: 1 due run waits, and no worker claims from it/,
    command: /^tock tick$/,
  },
  {
    code: 'leases',
    what: 'a lease that nobody has taken back',
    breaks: `insert into tock.job_runs_live (job, status, payload, attempts, fence, locked_by, locked_until) values ('greet', 'running', '{}', 1, 1, gen_random_uuid(), tock.now() - interval '1 minute')`,
    level: 'warning',
    text: /^1 running run is past its lease/,
    command: /^tock tick$/,
  },
  {
    code: 'keys',
    what: 'keys beyond their keep',
    breaks: `insert into tock.job_keys (idempotency_key, run_id, created_at) values ('old', 1, tock.now() - interval '500 days')`,
    level: 'warning',
    text: /^job_keys holds keys of 500d ago, which are kept for 400d: nothing prunes$/,
    command: /^tock prune$/,
  },
  {
    code: 'queues',
    what: 'a queue that lets none start',
    breaks: `insert into tock.job_queues (name, concurrency) values ('shut', 0); select tock.enqueue('greet', queue => 'shut')`,
    level: 'failing',
    text: /^queue shut has a concurrency of 0, so none of its runs starts \(1 waiting\)$/,
    command: /^tock queue set shut --concurrency none$/,
  },
  {
    code: 'queues',
    what: 'a rate below what its schedules make',
    breaks: `insert into tock.job_queues (name, rate_count, rate_period_ms) values ('thin', 10, 86400000);
      insert into tock.job_definitions (name, job, origin, every_ms, next_at, queue) values ('often', 'greet', 'runtime', 3600000, tock.now() + interval '1 hour', 'thin')`,
    level: 'warning',
    text: /^queue thin starts 10 runs a day, and its schedules make 24 in the next 24 hours/,
    command: /^tock queue set thin --rate none$/,
  },
  {
    code: 'queues',
    what: 'windows that are never open together',
    breaks: `insert into tock.job_queues (name, active_window, timezone) values ('night', '23:00-06:00', 'UTC');
      ${RUNTIME('by-day', ', queue, active_window, timezone', `, 'night', '12:00-15:00', 'Europe/Berlin'`)}`,
    level: 'failing',
    text: /^by-day may run at 12:00-15:00 Europe\/Berlin, its queue night at 23:00-06:00 UTC: never at the same time$/,
    command: /^tock queue set night --window none$/,
  },
  // Last, because it leaves a worker behind.
  {
    code: 'listen',
    what: 'notifications that are turned off',
    breaks: `insert into tock.workers (id, kind, host, pid, capacity, heartbeat_ms) values ('00000000-0000-4000-8000-000000000009', 'daemon', 'h', 1, 1, 3600000);
      insert into tock.sleepers (worker_id) values ('00000000-0000-4000-8000-000000000009');
      do $$ begin execute format('alter database %I set pg_tock.notify = off', current_database()); end $$`,
    level: 'warning',
    text: /^pg_tock.notify is off, .* but a daemon listens/,
    command: /^psql "\$DATABASE_URL" -c "alter database .* reset pg_tock.notify"$/,
  },
];

describe('what is wrong comes with the command that fixes it', () => {
  it.each(FAULTS)('$code: $what', async ({ code, breaks, level, text, command, with: own }) => {
    expect(await find(code)).toMatchObject({ level: 'ok', command: null });
    await sql(breaks);
    const found = await find(code);
    expect(found).toMatchObject({ level, text: expect.stringMatching(text) as string });
    expect(found.remedy).not.toBeNull();
    expect(found.command).toMatch(command);
    await follow(own === undefined ? found.command : found.command?.replace(...own));
    expect(await find(code)).toMatchObject({ level: 'ok', command: null });
  });

  it('runs: dead ones, once their cause is gone', async () => {
    await sql(
      `insert into tock.job_runs_finished (job, status, finished_at, payload, errors) values ('greet', 'dead', tock.now(), '{}', '[]')`,
    );
    const found = await find('runs');
    expect(found).toMatchObject({ level: 'warning', command: 'tock runs --status dead' });
    expect((await follow(found.command)).stdout).toContain('greet');
    await follow('tock retry --status dead --yes');
    expect(await find('runs')).toMatchObject({ level: 'ok' });
    await follow('tock tick');
  });

  it('schema: one that is not there yet', async () => {
    const env = { TOCK_SCHEMA: 'fresh' };
    const report = await examine(env);
    expect(checkOf(report, 'schema')).toMatchObject({ level: 'failing', command: 'tock migrate' });
    expect(report).toMatchObject({ at: null, level: 'failing' });
    expect(checkOf(report, 'rights')).toMatchObject({ level: 'unknown' });
    expect(checkOf(report, 'versions')).toMatchObject({ level: 'ok' });
    await follow('tock migrate', env);
    const after = await examine(env);
    expect(checkOf(after, 'schema')).toMatchObject({ level: 'ok' });
    expect(checkOf(after, 'rights')).toMatchObject({ level: 'ok' });
  });

  it.each(['tock', 'order'])('rights: a role that may not tick, in the schema %s', async schema => {
    const role = `doctor_${schema}_${path.basename(harness.folder).replaceAll(/\W/g, '').toLowerCase()}`;
    await follow('tock migrate', { TOCK_SCHEMA: schema });
    await sql(`create role ${role} login password 'secret'; grant usage on schema "${schema}" to ${role};
      grant select on all tables in schema "${schema}" to ${role}`);
    try {
      const url = new URL(harness.url);
      [url.username, url.password] = [role, 'secret'];
      const env = { DATABASE_URL: url.href, TOCK_SCHEMA: schema };
      const found = await find('rights', env);
      expect(found).toMatchObject({
        level: 'failing',
        text: expect.stringMatching(/cannot tick, for want of delete on \w+, .* and \d+ more$/) as string,
      });
      // As the owner.
      await follow(found.command);
      expect(await find('rights', env)).toMatchObject({ level: 'ok' });
      expect((await shell.run('tock tick', { ...base, ...env })).code).toBe(0);
      // It may add to the audit, and not change it.
      expect(
        await sql(
          `select has_table_privilege('${role}', '"${schema}".audit', p) as may from unnest('{insert,update,delete}'::text[]) p`,
        ),
      ).toEqual([{ may: false }, { may: false }, { may: false }]);
    } finally {
      await sql(`drop owned by ${role}; drop role ${role}`);
    }
  });

  it('crontab: a line for another checkout, and one that is commented out', async () => {
    await sql('delete from tock.ticks');
    await shell.writeCrontab('* * * * * cd /srv/other && node dist/tick.js >> tick.log 2>&1\n');
    expect(await find('crontab')).toMatchObject({
      level: 'failing',
      text: expect.stringMatching(
        /^no line ticks here, but crontab of .* has: \* \* \* \* \* cd \/srv\/other/,
      ) as string,
    });
    const project = path.resolve('.');
    await shell.writeCrontab(`#* * * * * cd ${project} && node dist/tick.js\n`);
    expect(await find('crontab')).toMatchObject({
      level: 'failing',
      text: expect.stringMatching(/is commented out \(crontab of /) as string,
    });
    await shell.writeCrontab(`* * * * * cd ${project} && node dist/tick.js\n`);
    expect(await find('crontab')).toMatchObject({ level: 'ok' });
    await follow('tock tick');
  });
});

describe('tock doctor', () => {
  it('prints one line a check, and the command on a line of its own', async () => {
    const calm = await harness.tock(['doctor'], { env: shell.env });
    expect(calm.stdout).toMatch(/^✓ database {2,}it is the one/m);
    expect(calm.stdout).toMatch(/^✓ last tick {2,}.* ago: cron on /m);
    expect(calm).toMatchObject({ code: 0, stderr: '' });
    await sql(`update tock.ticks set at = tock.now() - interval '10 minutes'`);
    const { stdout, code } = await harness.tock(['doctor'], { env: shell.env });
    expect(stdout).toMatch(/^✗ last tick {2,}nothing has ticked for 10m/m);
    expect(stdout).toMatch(/^ +tock tick$/m);
    expect(stdout).toMatch(/1 of \d+ checks found something\n$/);
    expect(code).toBe(0);
  });

  it('has exit codes for a monitor: 0, 1, 4, and 3 without a database', async () => {
    const code = async (env: Record<string, string> = {}) =>
      (await harness.tock(['doctor', '--exit-code'], { env: { ...shell.env, ...env } })).code;
    await sql(`update tock.ticks set at = tock.now() - interval '10 minutes'`);
    expect(await code()).toBe(1);
    await follow('tock tick');
    expect(await code()).toBe(0);
    await sql(
      `insert into tock.job_keys (idempotency_key, run_id, created_at) values ('old', 1, tock.now() - interval '500 days')`,
    );
    expect(await code()).toBe(4);
    await follow('tock prune');
    expect(await code()).toBe(0);
    const away = 'postgres://nobody:hush@127.0.0.1:1/none';
    expect(await code({ DATABASE_URL: away })).toBe(3);
    const { stdout } = await harness.tock(['doctor'], { env: { ...shell.env, DATABASE_URL: away } });
    expect(stdout).toMatch(/^✗ database {2,}cannot reach the database: .*ECONNREFUSED/m);
    expect(stdout).toMatch(/^✓ crontab/m);
    expect(stdout).not.toContain('hush');
  });

  it('finds a job module that cannot be loaded, and goes on', async () => {
    const module = path.join(harness.folder, 'bad.mjs');
    await shell.run(`echo 'export const jobs = 1;' > '${module}'`, {});
    const report = await examine({ TOCK_JOBS: module });
    expect(checkOf(report, 'jobs')).toMatchObject({
      level: 'failing',
      text: expect.stringMatching(/exports no array named jobs/) as string,
    });
    expect(checkOf(report, 'schema')).toMatchObject({ level: 'ok' });
  });

  it('cannot be made to control the terminal by a host’s name or a job’s', async () => {
    await sql(`insert into tock.ticks (host, folder, kind, tick_count, at, version, node, zone_data, clock_ms)
      values (E'far\\u001b[31m', E'/srv\\u0007', 'tick', 99, tock.now() - interval '1 hour', '1', '1', '1', 0)`);
    const { stdout } = await harness.tock(['doctor'], { env: shell.env });
    expect(stdout).toContain('has not ticked for 1h');
    // oxlint-disable-next-line no-control-regex
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000b-\u001f]/);
    await sql(`delete from tock.ticks where tick_count = 99`);
  });

  it('refuses to forget a host that it does not know', async () => {
    const { code, stderr } = await harness.tock(['doctor', '--forget', 'nobody'], { env: shell.env });
    expect(stderr).toMatch(/no tick of nobody is on record/);
    expect(code).toBe(1);
  });
});

describe('tock status --check', () => {
  const check = (...args: string[]) => harness.tock(['status', '--check', ...args]);

  it('says what is wrong, with the exit code of it', async () => {
    await follow('tock tick');
    expect(await check()).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^ok: Nothing is wrong: the last tick was /) as string,
    });
    await sql(
      `insert into tock.job_runs_finished (job, status, finished_at, payload, errors) values ('greet', 'dead', tock.now(), '{}', '[]')`,
    );
    expect(await check()).toMatchObject({
      code: 4,
      stdout: expect.stringMatching(
        /^warning: 1 run ended dead in the last 24 hours\. List them with tock/,
      ) as string,
    });
    await sql(`update tock.ticks set at = tock.now() - interval '10 minutes'`);
    const failing = await check();
    expect(failing).toMatchObject({ code: 1 });
    expect(failing.stdout.split('\n')).toEqual([
      expect.stringMatching(
        `^failing: Nothing has ticked for 10m[^,]*, since .* \\(cron on ${hostname()}, in `,
      ),
      expect.stringMatching(/^warning: 1 run ended dead/),
      '',
    ]);
    expect(await check('--max-tick-age', '1h')).toMatchObject({ code: 4 });
    const document = await harness.json<{ level: string }>(['status', '--check']);
    expect(document).toMatchObject({
      level: 'failing',
      sentences: [{ level: 'failing', command: 'tock tick' }, {}],
    });
  });

  it('counts the same as the whole status, without counting what ended well', async () => {
    const status = await harness.json<{ health: { sentences: { text: string }[] } }>(['status']);
    const health = await harness.json<{ sentences: { text: string }[] }>(['status', '--check']);
    const texts = (sentences: { text: string }[]) =>
      sentences.map(({ text }) => text.replaceAll(/ ?\d+[ms]/g, ''));
    expect(texts(health.sentences)).toEqual(texts(status.health.sentences));
  });
});
