// examples/serverless/pg-cron.sql, on Debian's server with its pg_cron: the request that the job sends makes a tick. What
// Debian lacks, Supabase's vault and pg_net, stands in: it keeps the secret, and writes the request down.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import pg from 'pg';
import { expect, it } from 'vitest';
import { tickHandler } from '../../src/http.js';
import { createTock, defineJob } from '../../src/index.js';
import { openDebianServer } from '../chaos/debian-server.js';
import { lacks } from '../support/needs.js';
import { openOnce } from '../support/open.js';

const hasPgCron = !lacks('postgresql-15-cron');

const SECRET = 'correct-horse-battery-staple';
const STAND_INS = `
create schema vault;
create table vault.decrypted_secrets (name text, decrypted_secret text);
create function vault.create_secret(new_secret text, new_name text) returns void language sql
as 'insert into vault.decrypted_secrets values (new_name, new_secret)';
create schema net;
create table net.sent (url text, headers jsonb, timeout_milliseconds integer);
create function net.http_post(url text, body jsonb default '{}', params jsonb default '{}', headers jsonb default '{}', timeout_milliseconds integer default 2000)
returns bigint language sql as 'insert into net.sent values (url, headers, timeout_milliseconds); select 1::bigint'`;

const server = openOnce(async () => {
  if (!hasPgCron) return { url: () => '', remove: () => Promise.resolve() };
  return await openDebianServer(['shared_preload_libraries=pg_cron', 'cron.launch_active_jobs=off']);
});

it.runIf(hasPgCron)(
  'the job of pg-cron.sql ticks: with its secret, within the time that it waits for',
  async () => {
    const url = server.url('postgres');
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    const ticked = defineJob({ name: 'ticked', run: () => 'by pg_cron' });
    const tock = createTock({ connectionString: url, jobs: [ticked], logger: false });
    try {
      await client.query('create extension pg_cron');
      await client.query(STAND_INS);
      const file = path.join(import.meta.dirname, '../../examples/serverless/pg-cron.sql');
      // What its reader puts in.
      const text = (await readFile(file, 'utf8')).replace('the same as CRON_SECRET', SECRET);
      expect(text).toContain(SECRET);
      await client.query(text);
      const { rows: jobs } = await client.query('select jobname, schedule, command from cron.job');
      expect(jobs).toMatchObject([{ jobname: 'tock', schedule: '* * * * *' }]);
      await client.query((jobs as { command: string }[])[0]?.command ?? '');
      const { rows } = await client.query('select * from net.sent');
      const [sent] = rows as { url: string; headers: Record<string, string>; timeout_milliseconds: number }[];
      expect(sent).toMatchObject({ url: 'https://app.example.com/api/tick', timeout_milliseconds: 60_000 });

      await tock.migrate();
      const id = await tock.enqueue(ticked, {});
      const handler = tickHandler(tock, { secret: SECRET, budget: '50s' });
      const send = async (headers: Record<string, string>) =>
        await handler(new Request(sent?.url ?? '', { method: 'POST', headers }));
      expect((await send({ authorization: 'Bearer of another' })).status).toBe(401);
      expect((await send(sent?.headers ?? {})).status).toBe(200);
      expect(await tock.runs.get(id)).toMatchObject({ status: 'succeeded', output: 'by pg_cron' });
    } finally {
      await tock.close();
      await client.end();
    }
  },
);
