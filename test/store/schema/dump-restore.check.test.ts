// Store: a dump of the database, restored elsewhere: the constraints, the functions that enqueue and the rights on them are
// there, and Tock goes on. On Debian's PostgreSQL 15, which brings pg_dump, in a zone of odd offsets.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTock, defineJob, type Tock } from '../../../src/index.js';
import { hasDebianPostgres, openDebianServer } from '../../chaos/debian-server.js';
import { openOnce } from '../../support/open.js';
import { sqlAt } from '../../support/sql-at.js';

const greet = defineJob({ name: 'greet', schedule: { cron: '* * * * *' }, run: () => 'hello' });

describe.skipIf(!hasDebianPostgres)('a restored dump (needs Debian’s PostgreSQL 15)', () => {
  const server = openOnce(() => openDebianServer(['timezone=America/New_York']));
  const opened: Tock[] = [];
  const urlOf = (database: string, role = 'postgres') => {
    const url = new URL(server.url(database));
    url.username = role;
    return url.href;
  };
  const tockOn = (database: string, role: string) => {
    const tock = createTock({ connectionString: urlOf(database, role), jobs: [greet], logger: false });
    opened.push(tock);
    return tock;
  };

  beforeAll(async () => {
    await sqlAt(urlOf('postgres'), 'create database tock');
    await sqlAt(urlOf('postgres'), 'create database copy');
    const [make = '', grant = ''] = [
      ...(readFileSync('docs/database.md', 'utf8')
        .split('## Roles')[1]
        ?.matchAll(/^```sql test\n([\s\S]*?)^```$/gm) ?? []),
    ].map(([, block = '']) => block);
    await sqlAt(urlOf('tock'), make);
    for (const role of ['owner', 'worker', 'enqueuer'])
      await sqlAt(urlOf('tock'), `alter role tock_${role} password 'secret'`);
    const owner = tockOn('tock', 'tock_owner');
    await owner.migrate();
    await sqlAt(urlOf('tock', 'tock_owner'), grant);
    await owner.register();
    await owner.enqueue(greet, {}, { key: 'before', delay: '1h' });
    await owner.enqueue(greet);
    await owner.tick();
    await owner.close();
    const dump = path.join(server.folder, 'dump.sql');
    await server.call('pg_dump', '-d', 'tock', '-f', dump);
    await server.call('psql', '-qX', '-v', 'ON_ERROR_STOP=1', '-d', 'copy', '-f', dump);
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
    const before = await sqlAt(urlOf('tock'), query);
    expect(before.length).toBeGreaterThan(1);
    // PostgreSQL writes nested conditions with fewer parentheses once it has read them back.
    const bare = (rows: readonly object[]) => rows.map(row => JSON.stringify(row).replaceAll(/[()]/g, ''));
    expect(bare(await sqlAt(urlOf('copy'), query))).toEqual(bare(before));
  });

  it('refuses what was refused, and goes on', async () => {
    await expect(sqlAt(urlOf('copy', 'tock_enqueuer'), 'select from tock.job_runs_live')).rejects.toThrow(
      /permission denied/,
    );
    await expect(
      sqlAt(urlOf('copy'), `insert into tock.job_runs_live (job, fence) values ('greet', 2147483647)`),
    ).rejects.toThrow(/count_in_0_to_1000000000/);
    const [made] = await sqlAt<{ id: string; before: string }>(
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
