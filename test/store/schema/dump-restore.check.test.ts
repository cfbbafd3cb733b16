// Store: a dump of the database, restored elsewhere: the constraints, the functions that enqueue and the rights on them are
// there, and Tock goes on. On Debian's PostgreSQL 15, which brings pg_dump, in a zone of odd offsets.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTock, defineJob, type Tock } from '../../../src/index.js';
import { openDebianServer } from '../../chaos/debian-server.js';
import { hasDebianPostgres } from '../../chaos/servers.js';
import { openOnce } from '../../support/open.js';

const greet = defineJob({ name: 'greet', schedule: { cron: '* * * * *' }, run: () => 'hello' });

describe.skipIf(!hasDebianPostgres)('a restored dump (needs Debian’s PostgreSQL 15)', () => {
  const server = openOnce(() => openDebianServer(['timezone=America/New_York']));
  const opened: Tock[] = [];
  const urlOf = (database: string, role = 'postgres') => {
    const url = new URL(server.url(database));
    url.username = role;
    return url.href;
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
  const tockOn = (database: string, role: string) => {
    const tock = createTock({ connectionString: urlOf(database, role), jobs: [greet], logger: false });
    opened.push(tock);
    return tock;
  };

  beforeAll(async () => {
    await sql(urlOf('postgres'), 'create database tock');
    await sql(urlOf('postgres'), 'create database copy');
    const [make = '', grant = ''] = [
      ...(readFileSync('docs/database.md', 'utf8')
        .split('## Roles')[1]
        ?.matchAll(/^```sql test\n([\s\S]*?)^```$/gm) ?? []),
    ].map(([, block = '']) => block);
    await sql(urlOf('tock'), make);
    for (const role of ['owner', 'worker', 'enqueuer'])
      await sql(urlOf('tock'), `alter role tock_${role} password 'secret'`);
    const owner = tockOn('tock', 'tock_owner');
    await owner.migrate();
    await sql(urlOf('tock', 'tock_owner'), grant);
    await owner.register();
    await owner.enqueue(greet, {}, { key: 'before', delay: '1h' });
    await owner.enqueue(greet);
    await owner.tick();
    await owner.close();
    const to = ['-h', server.folder, '-U', 'postgres', '-p', new URL(server.url('tock')).port];
    const dump = path.join(server.folder, 'dump.sql');
    await server.call('pg_dump', ...to, '-d', 'tock', '-f', dump);
    await server.call('psql', '-qX', '-v', 'ON_ERROR_STOP=1', ...to, '-d', 'copy', '-f', dump);
    await tockOn('copy', 'tock_owner').adopt();
  });
  afterAll(async () => {
    await Promise.all(opened.map(tock => tock.close()));
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
    ).rejects.toThrow(/count_in_0_to_1000000000/);
    const [made] = await sql<{ id: string; before: string }>(
      urlOf('copy', 'tock_enqueuer'),
      `select tock.enqueue('greet')::text as id, tock.enqueue('greet', idempotency_key => 'before')::text as before`,
    );
    const worker = tockOn('copy', 'tock_worker');
    await worker.tick();
    expect(await worker.runs.get(made?.id ?? '')).toMatchObject({ status: 'succeeded', output: 'hello' });
    expect(await worker.runs.get(made?.before ?? '')).toMatchObject({
      status: 'queued',
      idempotencyKey: 'before',
    });
  });
});
