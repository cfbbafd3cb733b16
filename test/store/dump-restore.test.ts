// Store: a dump of the database, restored elsewhere: the constraints, the functions that enqueue and the rights on them are
// there, and Tock goes on. On Debian's PostgreSQL 15, which brings pg_dump, in a zone of odd offsets.
import { execFile } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { chmod, chown, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Account, run, serverAccount } from '../../src/embedded/embedded-process.js';
import { createTock, defineJob, type Tock } from '../../src/index.js';
import { DEBIAN_BIN, freePort } from '../chaos/servers.js';

const greet = defineJob({ name: 'greet', schedule: { cron: '* * * * *' }, run: () => 'hello' });

const hasDump = existsSync(path.join(DEBIAN_BIN, 'pg_dump'));

describe.skipIf(!hasDump)('a restored dump (needs Debian’s PostgreSQL 15)', () => {
  let folder: string;
  let account: Account | undefined;
  let port: number;
  const opened: Tock[] = [];
  const urlOf = (database: string, role = 'postgres') => `postgres://${role}@127.0.0.1:${port}/${database}`;
  const call = async (name: string, args: readonly string[]) => {
    const { code, output } = await run(path.join(DEBIAN_BIN, name), args, account);
    if (code !== 0) throw new Error(`${name} failed: ${output}`);
  };
  const sql = async <Row = Record<string, unknown>>(url: string, text: string): Promise<Row[]> => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      return (await client.query(text)).rows as Row[];
    } finally {
      await client.end();
    }
  };
  const tockOn = (database: string, role?: string) => {
    const tock = createTock({ connectionString: urlOf(database, role), jobs: [greet], logger: false });
    opened.push(tock);
    return tock;
  };

  beforeAll(async () => {
    account = await serverAccount();
    folder = await mkdtemp(path.join(tmpdir(), 'tock-dump-'));
    await chmod(folder, 0o711);
    if (account !== undefined) await chown(folder, account.uid, account.gid);
    port = await freePort();
    const data = path.join(folder, 'data');
    await call('initdb', [
      '-D',
      data,
      '-U',
      'postgres',
      '-A',
      'trust',
      '-E',
      'UTF8',
      '--locale=C.UTF-8',
      '--no-sync',
    ]);
    const settings = `-c port=${port} -c listen_addresses=127.0.0.1 -c unix_socket_directories='' -c fsync=off -c timezone=America/New_York`;
    await call('pg_ctl', ['-D', data, '-w', '-l', path.join(folder, 'log'), '-o', settings, 'start']);
    await sql(urlOf('postgres'), 'create database tock');
    await sql(urlOf('postgres'), 'create database copy');
    const [make = '', grant = ''] = [
      ...(readFileSync('docs/operations.md', 'utf8')
        .split('## Roles')[1]
        ?.matchAll(/^```sql test\n([\s\S]*?)^```$/gm) ?? []),
    ].map(([, block = '']) => block);
    await sql(urlOf('tock'), make);
    const owner = tockOn('tock', 'tock_owner');
    await owner.migrate();
    await sql(urlOf('tock', 'tock_owner'), grant);
    await owner.register();
    await owner.enqueue(greet, {}, { key: 'before', delay: '1h' });
    await owner.enqueue(greet);
    await owner.tick();
    await owner.close();
    const dump = path.join(folder, 'dump.sql');
    await promisify(execFile)(path.join(DEBIAN_BIN, 'pg_dump'), ['-d', urlOf('tock'), '-f', dump]);
    await promisify(execFile)(path.join(DEBIAN_BIN, 'psql'), [
      '-X',
      '-q',
      '-v',
      'ON_ERROR_STOP=1',
      '-d',
      urlOf('copy'),
      '-f',
      dump,
    ]);
  });
  afterAll(async () => {
    await Promise.all(opened.map(tock => tock.close()));
    await call('pg_ctl', ['-D', path.join(folder, 'data'), '-w', '-m', 'immediate', 'stop']);
    await rm(folder, { recursive: true, force: true });
  });

  it.each([
    [
      'constraints',
      `select conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid) as line from pg_constraint where connamespace = 'tock'::regnamespace order by 1`,
    ],
    [
      'functions',
      `select oid::regprocedure || ' ' || prosecdef || ' ' || coalesce(proconfig::text, '') || ' ' || proowner::regrole || ' ' || coalesce(proacl::text, '') || prosrc as line from pg_proc where pronamespace = 'tock'::regnamespace order by 1`,
    ],
    [
      'rights',
      `select relname || ' ' || coalesce(relacl::text, '') as line from pg_class where relnamespace = 'tock'::regnamespace order by 1`,
    ],
    [
      'runs',
      `select id || ' ' || status || ' ' || run_at || ' ' || coalesce(idempotency_key, '') as line from tock.job_runs order by id`,
    ],
  ])('has the same %s', async (_what, query) => {
    const before = await sql(urlOf('tock'), query);
    expect(before.length).toBeGreaterThan(1);
    // PostgreSQL writes nested conditions with fewer parentheses once it has read them back.
    const bare = (rows: readonly object[]) => rows.map(row => JSON.stringify(row).replaceAll(/[()]/g, ''));
    expect(bare(await sql(urlOf('copy'), query))).toEqual(bare(before));
  });

  it('refuses what was refused, and goes on', async () => {
    await expect(sql(urlOf('copy', 'tock_enqueuer'), 'select from tock.job_runs_live')).rejects.toThrow(
      /permission denied/,
    );
    await expect(
      sql(urlOf('copy'), `insert into tock.job_runs_live (job, fence) values ('greet', 2147483647)`),
    ).rejects.toThrow(/job_runs_live_counts_check/);
    const [made] = await sql<{ id: string; before: string }>(
      urlOf('copy', 'tock_enqueuer'),
      `select tock.enqueue('greet')::text as id, tock.enqueue('greet', idempotency_key => 'before')::text as before`,
    );
    // It is a copy: what would happen there would happen twice.
    const worker = tockOn('copy', 'tock_worker');
    await expect(worker.tick()).rejects.toMatchObject({ code: 'TOCK_DATABASE_COPIED' });
    await tockOn('copy').adopt();
    await worker.tick();
    expect(await worker.runs.get(made?.id ?? '')).toMatchObject({ status: 'succeeded', output: 'hello' });
    expect(await worker.runs.get(made?.before ?? '')).toMatchObject({
      status: 'queued',
      idempotencyKey: 'before',
    });
  });
});
