// The audit: each action leaves its row in its own transaction, or neither is there.
import { beforeAll, describe, expect, it } from 'vitest';
import { Dead, defineJob } from '../../src/index.js';
import type { Action } from '../../src/model/operator.js';
import type { Tock } from '../../src/tock/types.js';
import { openOnce } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const NOW = '2026-03-08T12:00:00.000Z';
const hourly = { cron: '0 * * * *', timezone: 'UTC', catchup: 'none' } as const;
const names = ['paused', 'resumed', 'filled', 'ahead'];
const jobs = [
  defineJob({ name: 'plain', run: () => null }),
  defineJob({
    name: 'hopeless',
    run: () => {
      throw new Dead('no');
    },
  }),
  ...names.map(name => defineJob({ name, schedule: hourly, run: () => null })),
];

const test = openOnce(() => openTestTock(jobs));
let mia: Tock;
beforeAll(async () => {
  await test.setClock(NOW);
  await test.tock.tick();
  mia = test.tock.as({ name: 'mia', via: 'page', role: 'admin', seesPayloads: true });
  // Commits of a transaction that has written the audit fail while this is on.
  await test.sql(
    `create function public.fail() returns trigger language plpgsql as $$ begin raise exception 'no audit today'; end $$`,
  );
});

/** All that an action may change. */
const TABLES = [
  'job_runs',
  'job_definitions',
  'job_queues',
  'job_keys',
  'job_occurrences',
  'job_slots',
  'job_outbox',
  'job_successors',
  'database_identity',
  'audit',
];
async function everything(): Promise<string> {
  const parts = TABLES.map(
    name => `(select coalesce(jsonb_agg(t order by to_jsonb(t)::text), '[]') from tock.${name} t) as ${name}`,
  );
  return JSON.stringify(await test.sql(`select ${parts.join(', ')}`), null, 1);
}

async function whileCommitsFail(work: () => Promise<void>): Promise<void> {
  await test.sql(
    `create constraint trigger fails after insert on tock.audit deferrable initially deferred for each row execute function public.fail()`,
  );
  try {
    await work();
  } finally {
    await test.sql('drop trigger fails on tock.audit');
  }
}

async function deadRun(): Promise<string> {
  const id = await test.tock.enqueue('hopeless');
  await test.tock.tick();
  expect(await test.tock.runs.get(id)).toMatchObject({ status: 'dead' });
  return id;
}

interface Case {
  readonly action: Action;
  readonly what: string;
  /** What the action needs; gives what it is about. */
  readonly before?: () => Promise<string>;
  readonly act: (tock: Tock, subject: string) => Promise<unknown>;
  readonly row: (subject: string) => Record<string, unknown>;
  /** Each time it is done, it does something. */
  readonly isRepeated?: true;
}

const CASES: readonly Case[] = [
  {
    action: 'enqueue',
    what: 'by hand',
    isRepeated: true,
    act: tock => tock.enqueue('plain', { iban: 'DE1' }),
    row: () => ({ targets: [expect.stringMatching(/^\d+$/)], count: 1, details: { job: 'plain' } }),
  },
  {
    action: 'enqueue',
    what: 'of many by hand, the first 100 named',
    isRepeated: true,
    act: tock => tock.enqueueMany(Array.from({ length: 130 }, () => ({ job: 'plain' }))),
    row: () => ({
      targets: expect.toSatisfy((ids: string[]) => ids.length === 100),
      count: 130,
      details: { job: 'plain' },
    }),
  },
  {
    action: 'runs.retry',
    what: 'of a dead run',
    before: deadRun,
    act: (tock, id) => tock.runs.retry(id, { attempts: 3 }),
    row: id => ({ targets: [id], count: 1, details: { job: 'hopeless', attempts: 3 } }),
  },
  {
    action: 'runs.cancel',
    what: 'of a waiting run',
    before: () => test.tock.enqueue('plain', {}, { delay: '1h' }),
    act: (tock, id) => tock.runs.cancel(id, { reason: 'wrong month' }),
    row: id => ({ targets: [id], count: 1, details: { job: 'plain', reason: 'wrong month' } }),
  },
  {
    action: 'runs.cancel',
    what: 'of a running run',
    isRepeated: true,
    before: async () => {
      const id = await test.tock.enqueue('plain', {}, { delay: '1h' });
      await test.sql(
        `update tock.job_runs_live set status = 'running', locked_by = gen_random_uuid(), locked_until = tock.now() + interval '1 h' where id = $1`,
        [id],
      );
      return id;
    },
    act: (tock, id) => tock.runs.cancel(id),
    row: id => ({ targets: [id], count: 1, details: { job: 'plain', isAsked: true } }),
  },
  {
    action: 'schedules.pause',
    what: 'of a definition',
    act: tock => tock.schedules.pause('paused', { note: 'stocktaking' }),
    row: () => ({ targets: ['paused'], count: 1, details: { note: 'stocktaking' } }),
  },
  {
    action: 'schedules.resume',
    what: 'of a paused definition',
    before: async () => {
      await test.tock.schedules.pause('resumed', { note: 'stocktaking' });
      await test.sql(
        `update tock.job_definitions set paused_at = '2026-03-08T09:00Z', cursor = '2026-03-08T09:00Z' where name = 'resumed'`,
      );
      return 'resumed';
    },
    act: tock => tock.schedules.resume('resumed'),
    row: () => ({
      targets: ['resumed'],
      details: { pausedAt: '2026-03-08T09:00:00.000Z', note: 'stocktaking', skipped: 3 },
    }),
  },
  {
    action: 'schedules.backfill',
    what: 'of a day',
    act: tock =>
      tock.schedules.backfill('filled', { from: '2026-03-07T00:00:00Z', to: '2026-03-08T00:00:00Z' }),
    row: () => ({
      targets: ['filled'],
      count: 24,
      details: { from: '2026-03-07T00:00:00.000Z', to: '2026-03-08T00:00:00.000Z', occurrences: 24 },
    }),
  },
  {
    action: 'schedules.upsert',
    what: 'of a new schedule',
    act: tock =>
      tock.schedules.upsert({ name: 'made', job: 'plain', cron: '0 4 * * *', payload: { iban: 'DE1' } }),
    row: () => ({
      targets: ['made'],
      details: { change: 'made', version: 1, job: 'plain', cron: '0 4 * * *' },
    }),
  },
  {
    action: 'schedules.upsert',
    what: 'of an edited schedule: what was changed, and no payload',
    before: async () => {
      await test.tock.schedules.upsert({
        name: 'edited',
        job: 'plain',
        cron: '0 4 * * *',
        payload: { iban: 'DE1' },
      });
      return 'edited';
    },
    act: tock =>
      tock.schedules.upsert({
        name: 'edited',
        job: 'plain',
        every: '1h',
        payload: { iban: 'DE2' },
        priority: 5,
      }),
    row: () => ({
      targets: ['edited'],
      details: {
        change: 'edited',
        version: 2,
        job: 'plain',
        changes: {
          cron: { from: '0 4 * * *', to: null },
          every_ms: { from: null, to: 3_600_000 },
          priority: { from: 0, to: 5 },
          payload: 'changed',
        },
      },
    }),
  },
  {
    action: 'schedules.remove',
    what: 'of a schedule',
    before: async () => {
      await test.tock.schedules.upsert({ name: 'removed', job: 'plain', cron: '0 4 * * *' });
      return 'removed';
    },
    act: tock => tock.schedules.remove('removed'),
    row: () => ({ targets: ['removed'], details: { version: 1, job: 'plain' } }),
  },
  {
    action: 'schedules.resetCursors',
    what: 'of a cursor that is ahead',
    before: async () => {
      await test.sql(
        `update tock.job_definitions set cursor = tock.now() + interval '1 day' where name = 'ahead'`,
      );
      return 'ahead';
    },
    act: tock => tock.schedules.resetCursors(),
    row: () => ({ targets: ['ahead'], count: 1 }),
  },
  {
    action: 'queues.set',
    what: 'of new limits',
    before: async () => {
      await test.tock.queues.set('limited', { concurrency: 3, window: '23:00-06:00' });
      return 'limited';
    },
    act: tock =>
      tock.queues.set('limited', {
        concurrency: 5,
        rate: { count: 100, per: '1m' },
        window: null,
        timezone: 'UTC',
      }),
    row: () => ({
      targets: ['limited'],
      details: {
        changes: {
          concurrency: { from: 3, to: 5 },
          rate: { from: null, to: { count: 100, perMs: 60_000 } },
          window: { from: '23:00-06:00', to: null },
        },
      },
    }),
  },
  {
    action: 'queues.pause',
    what: 'with a note',
    act: tock => tock.queues.pause('paused-queue', { note: 'the printer is on fire' }),
    row: () => ({ targets: ['paused-queue'], details: { note: 'the printer is on fire' } }),
  },
  {
    action: 'queues.resume',
    what: 'of a paused queue',
    before: async () => {
      await test.tock.queues.pause('resumed-queue', { note: 'fire' });
      return 'resumed-queue';
    },
    act: tock => tock.queues.resume('resumed-queue'),
    row: () => ({ targets: ['resumed-queue'], details: { pausedAt: NOW, note: 'fire' } }),
  },
  {
    action: 'forgetHost',
    what: 'that is gone',
    before: async () => {
      await test.sql(
        `insert into tock.ticks (host, folder, kind, version, node, zone_data, clock_ms)
         values ('gone', '/a', 'tick', '1', '1', '1', 0), ('gone', '/b', 'tick', '1', '1', '1', 0)`,
      );
      return 'gone';
    },
    act: tock => tock.forgetHost('gone'),
    row: () => ({ targets: ['gone'], details: {} }),
  },
  {
    action: 'queues.remove',
    what: 'of a queue with limits',
    before: async () => {
      await test.tock.queues.set('removed-queue', { concurrency: 3 });
      return 'removed-queue';
    },
    act: tock => tock.queues.remove('removed-queue'),
    row: () => ({
      targets: ['removed-queue'],
      details: { changes: { concurrency: { from: 3, to: null } } },
    }),
  },
  {
    action: 'adopt',
    what: 'of a copy',
    before: async () => {
      await test.sql('update tock.database_identity set database_oid = 1');
      return '';
    },
    act: tock => tock.adopt(),
    row: () => ({
      targets: [],
      count: 1,
      details: { queued: expect.any(Number), running: expect.any(Number) },
    }),
  },
];

describe.each(CASES)('$action $what', ({ action, before, act, row, isRepeated = false }) => {
  let subject = '';
  beforeAll(async () => {
    subject = (await before?.()) ?? '';
  });

  it('is undone if its row cannot be committed', async () => {
    const untouched = await everything();
    await whileCommitsFail(async () => {
      await expect(act(mia, subject)).rejects.toThrow(/no audit today/);
    });
    expect(await everything()).toBe(untouched);
  });

  it('leaves one row that says who did what to what', async () => {
    const untouched = await everything();
    const [latest] = await mia.audit.list({ limit: 1 });
    await act(mia, subject);
    expect(await everything()).not.toBe(untouched);
    const rows = (await mia.audit.list()).filter(({ id }) => Number(id) > Number(latest?.id ?? 0));
    expect(rows).toEqual([
      {
        id: expect.stringMatching(/^\d+$/),
        at: new Date(NOW),
        operator: 'mia',
        via: 'page',
        action,
        targets: expect.any(Array),
        count: 1,
        details: {},
        databaseRole: expect.stringMatching(/./),
        ...row(subject),
      },
    ]);
    expect(JSON.stringify(rows)).not.toMatch(/DE1|DE2/);
  });

  it.skipIf(isRepeated)(
    'leaves none when it is done again and changes nothing, or is refused',
    { tags: 'check' },
    async () => {
      const state = await everything();
      await act(mia, subject).catch(() => undefined);
      expect(await everything()).toBe(state);
    },
  );
});

describe('an action of several transactions', () => {
  const window = { from: '2026-01-01T00:00:00Z', to: '2026-03-01T00:00:00Z' };

  it('is one row with the sum of what each did, also when it ended halfway', { tags: 'check' }, async () => {
    const hours = 59 * 24;
    let seen = 0;
    const stop = () => {
      seen++;
      throw new Error('stop');
    };
    await expect(mia.schedules.backfill('paused', { ...window, onProgress: stop })).rejects.toThrow('stop');
    expect(seen).toBe(1);
    expect(await mia.audit.list({ target: 'paused', action: 'schedules.backfill' })).toMatchObject([
      { count: 1000 },
    ]);
    await mia.schedules.backfill('paused', window);
    await mia.schedules.backfill('resumed', window);
    expect(await mia.audit.list({ target: 'paused', action: 'schedules.backfill' })).toMatchObject([
      { count: hours - 1000 },
      { count: 1000 },
    ]);
    expect(await mia.audit.list({ target: 'resumed', action: 'schedules.backfill' })).toMatchObject([
      { count: hours, details: { occurrences: hours } },
    ]);
    const parts = await test.sql<{ count: number }>(
      `select count from tock.audit where action = 'schedules.backfill' and targets = '{resumed}' order by id`,
    );
    expect(parts.map(({ count }) => count)).toEqual([1000, hours - 1000]);
  });
});

describe('what is no action', () => {
  const count = async () => (await test.sql('select from tock.audit')).length;

  it('leaves no row: enqueueing by the app, ticks, registering, reading, dry runs', {
    tags: 'check',
  }, async () => {
    const before = await count();
    await test.tock.enqueue('plain');
    await test.tock.enqueueMany([{ job: 'plain', trigger: 'manual' }]);
    await mia.register();
    await mia.tick();
    await mia.runs.list();
    await mia.schedules.backfill('filled', {
      from: '2026-03-01T00:00:00Z',
      to: '2026-03-02T00:00:00Z',
      dryRun: true,
    });
    await mia.schedules.resetCursors({ dryRun: true });
    await mia.adopt({ dryRun: true });
    await mia.migrate();
    expect(await count()).toBe(before);
  });

  it('leaves no row: an enqueue by hand under a key that is used up', async () => {
    await mia.enqueue('plain', {}, { key: 'once' });
    const before = await count();
    await mia.enqueue('plain', {}, { key: 'once' });
    expect(await count()).toBe(before);
  });

  it.each<[string, (tock: Tock) => Promise<unknown>]>([
    ['a run that is not there', tock => tock.runs.retry('999999')],
    ['a definition that is not there', tock => tock.schedules.pause('nobody')],
    [
      'an edit at another version',
      tock => tock.schedules.upsert({ name: 'made', job: 'plain', every: '2h' }, { ifVersion: 77 }),
    ],
    ['a bad limit', tock => tock.queues.set('limited', { concurrency: -1 })],
    ['a circle', tock => tock.schedules.upsert({ name: 'made', job: 'plain', after: 'made' })],
  ])('leaves no row: %s', async (_what, act) => {
    const before = await count();
    await expect(act(mia)).rejects.toMatchObject({ code: expect.stringMatching(/^TOCK_/) });
    expect(await count()).toBe(before);
  });
});

describe('who acts', () => {
  it('is the role of the database by default, the name of createTock if there is one', async () => {
    const [role] = await test.sql<{ name: string }>('select session_user::text as name');
    await test.tock.queues.pause('by-role');
    await test.another({ operator: 'billing' }).queues.pause('by-app');
    expect(await mia.audit.list({ limit: 2 })).toMatchObject([
      { operator: 'billing', via: 'api', databaseRole: role?.name },
      { operator: role?.name, via: 'api', databaseRole: role?.name },
    ]);
  });

  it('acts within the caller’s own transaction where an enqueue gets one', async () => {
    const enqueue = async (ending: string) => {
      const client = new (await import('pg')).default.Client({ connectionString: test.url });
      await client.connect();
      await client.query('begin');
      const id = await mia.enqueue('plain', {}, { client });
      await client.query(ending);
      await client.end();
      return await mia.audit.list({ target: id });
    };
    expect(await enqueue('rollback')).toEqual([]);
    expect(await enqueue('commit')).toMatchObject([{ action: 'enqueue', operator: 'mia' }]);
  });
});

describe('actions at once', () => {
  it('that ask for the same leave one row: only one of them changed something', {
    tags: 'check',
  }, async () => {
    const id = await deadRun();
    const again = test.another().as({ name: 'ben', via: 'cli', role: 'operate', seesPayloads: false });
    const results = await Promise.allSettled([mia, again, mia, again].map(tock => tock.runs.retry(id)));
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    expect(await mia.audit.list({ target: id })).toHaveLength(1);
  });

  it('on one queue say each what they changed, as if one had come after the other', async () => {
    const limits = [1, 2, 3, 4, 5, 6];
    await Promise.all(limits.map(concurrency => mia.queues.set('contested', { concurrency })));
    const rows = (await mia.audit.list({ target: 'contested' })).toReversed();
    const changes = rows.map(
      ({ details }) => (details['changes'] as { concurrency: { from: unknown; to: unknown } }).concurrency,
    );
    expect(changes.map(({ to }) => Number(to)).toSorted((a, b) => a - b)).toEqual(limits);
    // Each begins where another one ended: together they are one chain from none to what is there now.
    const [now] = (await mia.queues.list()).filter(({ name }) => name === 'contested');
    const next = new Map(changes.map(({ from, to }) => [from, to]));
    const chain: unknown[] = [];
    for (let at = next.get(null); at !== undefined; at = next.get(at)) chain.push(at);
    expect(chain).toHaveLength(limits.length);
    expect(chain.at(-1)).toBe(now?.concurrency);
  });
});

it('audit.list finds rows by who, what, on what, through what and when, a page at a time', async () => {
  const all = await mia.audit.list({ limit: 1000 });
  const ids = all.map(({ id }) => Number(id));
  expect(ids).toEqual(ids.toSorted((a, b) => b - a));
  const pages: string[] = [];
  for (let before: string | undefined; ; ) {
    const page = await mia.audit.list({ limit: 7, ...(before === undefined ? {} : { before }) });
    pages.push(...page.map(({ id }) => id));
    before = page.at(-1)?.id;
    if (page.length < 7) break;
  }
  expect(pages).toEqual(all.map(({ id }) => id));
  const filtered = async (filter: Parameters<Tock['audit']['list']>[0]) =>
    (await mia.audit.list({ limit: 1000, ...filter })).map(({ id }) => id);
  const where = (test: (row: (typeof all)[number]) => boolean) => all.filter(test).map(({ id }) => id);
  expect(await filtered({ operator: 'billing' })).toEqual(where(row => row.operator === 'billing'));
  expect(await filtered({ action: 'runs' })).toEqual(where(row => row.action.startsWith('runs.')));
  expect(await filtered({ action: 'queues.set' })).toEqual(where(row => row.action === 'queues.set'));
  expect(await filtered({ via: 'api' })).toEqual(where(row => row.via === 'api'));
  expect(await filtered({ target: 'edited' })).toEqual(where(row => row.targets.includes('edited')));
  expect(await filtered({ action: 'no.such' })).toEqual([]);
  expect(await filtered({ since: new Date(NOW) })).toEqual(all.map(({ id }) => id));
  expect(await filtered({ until: new Date(NOW) })).toEqual([]);
  expect((await filtered({ operator: 'mia', action: 'schedules.pause', target: 'paused' })).length).toBe(1);
});
