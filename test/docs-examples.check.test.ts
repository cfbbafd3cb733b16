// What the documents say of SQL and roles, tried: an enqueue in somebody else's transaction; and roles that were made and
// granted as the document has it, each with what it can do and what it cannot.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createTock, Dead, defineJob, type Tock } from '../src/index.js';
import { createTestDatabase } from './support/embedded-database.js';
import { openOnce } from './support/open.js';
import { openTestTock } from './support/test-tock.js';

const greet = defineJob({ name: 'greet', concurrency: { limit: 1 }, run: () => null });
const test = openOnce(
  () => openTestTock([greet]),
  ({ tock }) => tock.register(),
);

const connected = async <T>(work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = new pg.Client({ connectionString: test.url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
};

it('README.md tock.enqueue in SQL comes and goes with the transaction around it', async () => {
  const enqueue = async (client: pg.Client, ending: 'commit' | 'rollback') => {
    await client.query('begin');
    const { rows } = await client.query<{ id: string }>(
      `select tock.enqueue('greet', idempotency_key => 'sql') as id`,
    );
    const id = rows[0]?.id ?? '';
    expect(await test.tock.runs.get(id)).toBeNull();
    await client.query(ending);
    return await test.tock.runs.get(id);
  };
  await connected(async client => {
    expect(await enqueue(client, 'rollback')).toBeNull();
    expect(await enqueue(client, 'commit')).toMatchObject({ status: 'queued', idempotencyKey: 'sql' });
  });
});

/** A run as the library describes it to the functions. */
const SHAPE = { job: 'greet', queue: 'default', priority: 0, max_attempts: 1 };

describe('docs/database.md', () => {
  // Roles belong to the whole server: each run of the tests has its own.
  const suffix = `${process.pid}_${Math.random().toString(36).slice(2, 8)}`;
  const roles = ['owner', 'worker', 'enqueuer', 'app', 'completer', 'reader'] as const;
  type Role = (typeof roles)[number];
  const nameOf = (role: Role) => `tock_${role}_${suffix}`;
  const home = openOnce(createTestDatabase);
  let owner: Tock;
  const opened: Tock[] = [];
  const urlAs = (role: Role) => {
    const url = new URL(home.url);
    url.username = nameOf(role);
    url.password = 'secret';
    return url.href;
  };
  const tockAs = (role: Role) => {
    const tock = createTock({ connectionString: urlAs(role), jobs, logger: false });
    opened.push(tock);
    return tock;
  };
  const within = async <T>(url: string, work: (client: pg.Client) => Promise<T>): Promise<T> => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  };
  const as = async <T>(role: Role, work: (client: pg.Client) => Promise<T>): Promise<T> =>
    await within(urlAs(role), work);
  const refused = async (role: Role, statement: string, reason = /^(permission denied|must be owner)/) =>
    await as(role, async client => {
      const error = await client.query(statement).then(
        () => null,
        (thrown: Error) => thrown,
      );
      expect([statement, error?.message ?? 'it was not refused']).toEqual([
        statement,
        expect.stringMatching(reason),
      ]);
    });

  const seen: string[] = [];
  const jobs = [
    greet,
    defineJob({
      name: 'chatty',
      schedule: { cron: '* * * * *' },
      run: async ctx => {
        seen.push(await ctx.enqueue(greet, {}, { key: 'from a handler' }));
      },
    }),
    defineJob({ name: 'approves', run: ctx => ctx.handOff({ lease: '1d' }) }),
    defineJob({
      name: 'hopeless',
      onDead: 'greet',
      run: () => {
        throw new Dead('no');
      },
    }),
  ];

  beforeAll(async () => {
    const [make = '', grant = ''] = [
      ...(readFileSync(path.join(import.meta.dirname, '..', 'docs', 'database.md'), 'utf8')
        .split('## Roles')[1]
        ?.matchAll(/^```sql test\n([\s\S]*?)^```$/gm) ?? []),
    ].map(([, block = '']) =>
      block.replaceAll(
        /\btock_(?:owner|worker|enqueuer|app|completer|reader)\b/g,
        name => `${name}_${suffix}`,
      ),
    );
    await within(home.url, async client => {
      await client.query(
        make.replace('on database tock', `on database ${new URL(home.url).pathname.slice(1)}`),
      );
      for (const role of roles) await client.query(`alter role ${nameOf(role)} password 'secret'`);
    });
    owner = tockAs('owner');
    await owner.migrate();
    await as('owner', client => client.query(grant));
  });
  afterAll(async () => {
    await Promise.all(opened.map(tock => tock.close()));
    await within(home.url, async client => {
      for (const role of roles) await client.query(`drop owned by ${nameOf(role)} cascade`);
      for (const role of roles) await client.query(`drop role ${nameOf(role)}`);
    });
  });

  const tables = async () =>
    await within(home.url, async client => {
      const { rows } = await client.query<{ name: string }>(
        `select format('tock.%I', relname) as name from pg_class where relnamespace = 'tock'::regnamespace and relkind in ('r', 'p')`,
      );
      expect(rows.length).toBeGreaterThan(12);
      return rows.map(row => row.name);
    });

  it('the worker registers, materializes, executes, enqueues and follows up; it changes no schema', async () => {
    const worker = tockAs('worker');
    await worker.register();
    await within(home.url, client =>
      client.query(
        `update tock.job_definitions set cursor = cursor - interval '1 h', next_at = '-infinity' where name = 'chatty'`,
      ),
    );
    const dead = await worker.enqueue('hopeless');
    const summary = await worker.tick();
    expect(summary.executed).toMatchObject({ dead: 1, failed: 0 });
    expect(await worker.runs.get(seen[0] ?? '')).toMatchObject({
      status: 'succeeded',
      idempotencyKey: 'from a handler',
    });
    expect(await worker.runs.list({ job: 'greet' })).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ idempotencyKey: `dead:${dead}:1`, status: 'succeeded' }),
      ]),
    );
    await refused('worker', 'create table tock.mine ()');
    await refused('worker', 'drop table tock.job_runs_finished_default');
    await refused('worker', 'alter table tock.job_runs_live drop constraint job_runs_live_slots_check');
    await refused(
      'worker',
      `create or replace function tock.now() returns timestamptz language sql as 'select null::timestamptz'`,
    );
    await refused('worker', 'select tock.create_partitions(20)');
    await refused('worker', 'delete from tock.migrations');
    await expect(worker.prune()).rejects.toThrow(/permission denied|must be owner/);
  });

  it('the worker adds to the audit, and changes nothing of it: neither rows, nor their time and role', async () => {
    const worker = tockAs('worker');
    await worker.as({ name: 'mia', via: 'page', role: 'operate', seesPayloads: false }).queues.pause('mails');
    expect(await worker.audit.list({ limit: 1 })).toMatchObject([
      { operator: 'mia', action: 'queues.pause', databaseRole: nameOf('worker') },
    ]);
    for (const attack of [
      'delete from tock.audit',
      `update tock.audit set operator = 'ben'`,
      'truncate tock.audit',
      `insert into tock.audit (via, action, count, database_role) values ('cli', 'adopt', 1, 'postgres')`,
      `insert into tock.audit (via, action, count, created_at) values ('cli', 'adopt', 1, '2020-01-01')`,
    ])
      await refused('worker', attack);
  });

  it('the owner prunes', async () => {
    expect(await owner.prune()).toMatchObject({ isBusy: false, left: [] });
  });

  it('the enqueuer can call tock.enqueue, and nothing else', async () => {
    const id = await as('enqueuer', async client => {
      const enqueue = async (text: string) =>
        (await client.query<{ id: string }>(`select ${text}::text as id`)).rows[0]?.id ?? '';
      const made = await enqueue(
        `tock.enqueue('greet', '{"who": "a"}', 'role', queue => 'mail', priority => 3, max_attempts => 2)`,
      );
      expect(await enqueue(`tock.enqueue('greet', '{}', 'role')`)).toBe(made);
      return made;
    });
    expect(await owner.runs.get(id)).toMatchObject({
      queue: 'mail',
      priority: 3,
      maxAttempts: 2,
      fence: 0,
      attempts: 0,
      definition: null,
    });
    for (const call of [
      `tock.enqueue_one('greet', '{}', null, null, 'default', 0, 1, 'cron')`,
      `tock.enqueue_many('{}', '{}')`,
      `tock.enqueue_live('[]')`,
      'tock.create_partitions()',
      `tock.require_name('a', 'queue')`,
    ])
      await refused('enqueuer', `select ${call}`);
  });

  it('the enqueuer leaves a successor to a run that has begun, and the worker starts it', async () => {
    const enqueue = async (payload: string) =>
      await as('enqueuer', async client => {
        const { rows } = await client.query<{ id: string }>(
          `select tock.enqueue('greet', $1, 'state', unique_live => true, replace => true)::text as id`,
          [JSON.stringify({ who: payload })],
        );
        return rows[0]?.id ?? '';
      });
    const running = await enqueue('first');
    await within(home.url, client =>
      client.query(
        `update tock.job_runs_live set status = 'running', attempts = 1, fence = 1, locked_by = gen_random_uuid(), locked_until = tock.now() - interval '1s' where id = $1`,
        [running],
      ),
    );
    const left = await enqueue('second');
    expect(await enqueue('third')).toBe(left);
    await tockAs('worker').tick();
    expect(await owner.runs.get(running)).toMatchObject({ skipReason: `replaced by run ${left}` });
    expect(await owner.runs.get(left)).toMatchObject({ status: 'succeeded', payload: { who: 'third' } });
  });

  it('the app cannot say that a schedule or a person made its run; the worker can say that a person did', async () => {
    const calls = (trigger: string) => [
      `tock.enqueue_one('greet', '{}', null, null, 'default', 0, 1, '${trigger}')`,
      `ids from tock.enqueue_many('{}', '${JSON.stringify({ ...SHAPE, keys: [null], trigger })}')`,
      `id from tock.enqueue_live('${JSON.stringify([{ ...SHAPE, place: 0, payload: {}, key: null, trigger }])}')`,
    ];
    for (const trigger of ['manual', 'cron', 'chain', 'backfill', 'exec', 'other'])
      for (const call of calls(trigger))
        await expect(as('app', client => client.query(`select ${call}`))).rejects.toThrow(/trigger/);
    for (const [trigger, role] of [
      ['api', 'app'],
      ['manual', 'worker'],
    ] as const)
      for (const call of calls(trigger))
        await expect(as(role, client => client.query(`select ${call}`))).resolves.toMatchObject({
          rowCount: 1,
        });
    await expect(as('worker', client => client.query(`select ${calls('cron')[0]}`))).rejects.toThrow(
      /trigger/,
    );
    const id = await tockAs('worker').enqueue('greet', {}, { trigger: 'manual' });
    expect((await owner.runs.get(id))?.trigger).toBe('manual');
  });

  it('the completer can complete what was handed off, and nothing else', async () => {
    const worker = tockAs('worker');
    const id = await worker.enqueue('approves');
    await worker.tick();
    await as('completer', async client => {
      const held = async (call: string) =>
        (await client.query<{ held: boolean }>(`select tock.${call} as held`, [id])).rows[0]?.held;
      expect(await held('complete($1, 7)')).toBe(false);
      expect(await held(`extend($1, 1, '2 days')`)).toBe(true);
      expect(await held(`progress($1, 1, 0.5)`)).toBe(true);
      expect(await held(`complete($1, 1, '{"approved": true}')`)).toBe(true);
      expect(await held(`fail($1, 1, 'too late')`)).toBe(false);
    });
    for (const call of [
      `tock.decide(${id}, 1, 'succeeded', null, null, null)`,
      `tock.lock_handed_off(${id}, 1)`,
      `tock.enqueue('greet')`,
      'tock.create_partitions()',
    ])
      await refused('completer', `select ${call}`);
    await worker.tick();
    expect(await owner.runs.get(id)).toMatchObject({ status: 'succeeded', output: { approved: true } });
  });

  // oxlint-disable-next-line vitest/expect-expect -- refused() expects
  it.each(['enqueuer', 'app', 'completer'] as const)(
    'the %s has no right on any table or sequence',
    async role => {
      for (const table of await tables()) {
        await refused(role, `select from ${table}`);
        await refused(role, `delete from ${table}`);
        await refused(role, `truncate ${table}`);
        await refused(role, `do $$ begin lock table ${table} in access share mode; end $$`);
      }
      for (const attack of [
        `insert into tock.job_runs_live (job, fence) values ('greet', 2147483647)`,
        `insert into tock.job_runs_live (job, attempts) values ('greet', 2147483647)`,
        `insert into tock.job_runs_live (job, errors) values ('greet', '5')`,
        `insert into tock.job_runs_live (job, scheduled_for) values ('greet', 'infinity')`,
        `insert into tock.job_runs_live (job, definition_id) values ('greet', 1)`,
        `insert into tock.job_keys (idempotency_key, run_id) values ('cron:1:2026-03-01T12:00:00Z', 1)`,
        `insert into tock.job_occurrences (definition_id, scheduled_for, run_id) values (1, now(), 1)`,
        `insert into tock.job_slots (concurrency_key, slot, run_id, fence) values ('queue:default', 1, 1, 1)`,
        `insert into tock.job_queues (name, paused_at) values ('default', now())`,
        `insert into tock.job_outbox (kind, run_id, generation) values ('dead', 1, 1)`,
        `update tock.job_runs_live set payload = '{}'`,
        `update tock.job_definitions set paused_at = now()`,
        'select payload from tock.job_definitions',
        `select nextval('tock.job_runs_id_seq')`,
        `select setval('tock.job_runs_id_seq', 9223372036854775807)`,
        'create table tock.mine ()',
        `create function tock.mine() returns void language sql as ''`,
      ])
        await refused(role, attack);
    },
  );

  it.each([
    ['the enqueuer', 'enqueuer', `tock.enqueue('greet', '{}', 'shadowed')`],
    ['the app', 'app', `tock.enqueue_one('greet', '{}', null, null, 'default', 0, 1, 'api')`],
  ] as const)(
    '%s cannot put objects of its own in the place of those that the functions use',
    async (_who, role, call) => {
      await as(role, async client => {
        await client.query(`
        create temp table job_runs_live (like information_schema.sql_features);
        create temp table job_keys ();
        create function pg_temp.coalesce_text(text) returns text language sql as 'select null::text';
        create function pg_temp.octet_length(text) returns integer language plpgsql as $$ begin raise exception 'mine was called'; end $$;
        create function pg_temp.matches(text, text) returns boolean language plpgsql as $$ begin raise exception 'mine was called'; end $$;
        create operator pg_temp.~ (leftarg = text, rightarg = text, function = pg_temp.matches);
        set search_path = pg_temp, pg_catalog`);
        const { rows } = await client.query<{ id: string }>(`select ${call}::text as id`);
        expect(await owner.runs.get(rows[0]?.id ?? '')).toMatchObject({ job: 'greet', status: 'queued' });
      });
    },
  );

  it('an app’s role can enqueue through the library, in every way, also in its own transaction', async () => {
    const app = tockAs('app');
    const ids = [
      await app.enqueue(greet),
      ...(await app.enqueueMany([
        { job: greet, key: 'b' },
        { job: 'hopeless', queue: 'mail', priority: -2, maxAttempts: 3 },
      ])),
      await app.enqueue(greet, {}, { key: 'c', unique: 'live', delay: '1h' }),
    ];
    await owner.queues.set('shared', { fair: '$.tenant' });
    const shared = { job: greet, queue: 'shared', payload: { tenant: 7 } } as never;
    const all: string[] = [...ids];
    all.push(
      ...(await app.enqueueMany([shared, shared])),
      await app.enqueue('greet', { tenant: 8 }, { queue: 'shared' }),
      await app.enqueue('greet', { tenant: 8 }, { queue: 'shared', key: 'd', unique: 'live' }),
    );
    expect((await owner.runs.list({ queue: 'shared' })).map(run => run.blockedOn)).toEqual([
      '~shared//8',
      '~shared//8',
      '~shared//7',
      '~shared//7',
    ]);
    expect(await app.enqueue(greet, {}, { key: 'b' })).toBe(ids[1]);
    expect(await app.enqueue(greet, {}, { key: 'c', unique: 'live', replace: true })).toBe(ids[3]);
    for (const id of all) expect(await owner.runs.get(id)).toMatchObject({ status: 'queued' });
    await as('app', async client => {
      await client.query('begin');
      await app.enqueue(greet, {}, { client });
      const id = await app.enqueue(greet, {}, { client, key: 'app' });
      expect(await app.enqueue(greet, {}, { client, key: 'app' })).toBe(id);
      const live = await app.enqueue(greet, {}, { client, key: 'live', debounce: '1m' });
      expect(await app.enqueue(greet, {}, { client, key: 'live', debounce: '1m' })).toBe(live);
      await client.query('rollback');
      expect(await owner.runs.get(id)).toBeNull();
    });
    await expect(app.runs.list()).rejects.toThrow(/permission denied/);
    await expect(app.tick()).rejects.toThrow(/permission denied/);
  });

  it('the reader reads everything, and writes and enqueues nothing', async () => {
    const reader = tockAs('reader');
    expect((await reader.runs.list()).length).toBeGreaterThan(0);
    expect(await reader.status()).toMatchObject({ definitions: { broken: 0 } });
    expect((await reader.schedules.list()).map(each => each.name)).toContain('chatty');
    expect(await reader.why('chatty', new Date())).toMatchObject({ definition: 'chatty' });
    expect(await reader.queues.list()).toEqual(expect.any(Array));
    await refused('reader', `select tock.enqueue('greet')`);
    await refused('reader', 'delete from tock.job_runs');
    await refused('reader', `update tock.job_definitions set paused_at = now()`);
    await expect(reader.enqueue(greet)).rejects.toThrow(/permission denied/);
    const worker = tockAs('worker');
    const id = await worker.enqueue(greet);
    const cancels: Promise<unknown>[] = [];
    const onChange = () => {
      if (cancels.length === 0) cancels.push(worker.runs.cancel(id));
    };
    expect((await reader.runs.wait(id, { onChange })).status).toBe('cancelled');
    await Promise.all(cancels);
  });
});
