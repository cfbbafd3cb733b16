// What becomes of runs, as it is followed: without a gap and without a double, whatever happens meanwhile.
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { type Change, type ChangeSubscription, defineJob, Snooze, type Tock } from '../../src/index.js';
import { cancelRun } from '../../src/store/runs/operator-moves.js';
import { openDatabase } from '../support/database.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock, until } from '../support/test-tock.js';

const NOON = '2026-03-01T12:00:00Z';
type Does = 'pass' | 'fail' | 'sleep' | 'snooze' | 'die';

const handler = async (
  ctx: { sleep: (name: string, time: string) => Promise<void>; attempt: number; snoozes: number },
  { does = 'pass' }: { does?: Does },
) => {
  if (does === 'sleep') await ctx.sleep('a while', '1h');
  if (does === 'snooze' && ctx.snoozes === 0) throw new Snooze('1h');
  if (does === 'die' || (does === 'fail' && ctx.attempt === 1)) throw new Error('a secret');
  return 'a secret';
};
const retry = { maxAttempts: 2, base: '1m', jitter: 0 } as const;
const told = defineJob({ name: 'told', changes: true, retry, run: handler });
const other = defineJob({ name: 'other', changes: true, run: handler });
const quiet = defineJob({ name: 'quiet', retry, run: handler });

const test = openForEach(
  () => reuseTestTock([told, other, quiet]),
  ({ setClock }) => setClock(NOON),
);
const database = openForEach(() => openDatabase({ connectionString: test.url }));

const take = async (subscription: ChangeSubscription, count: number): Promise<Change[]> => {
  const taken: Change[] = [];
  while (taken.length < count) {
    const { value } = await subscription.next();
    if (value === undefined) break;
    taken.push(value);
  }
  return taken;
};
/** All that are there by now. */
const rest = async (from: string, options = {}): Promise<Change[]> => {
  const end = await test.tock.changes.subscribe().begin();
  const subscription = test.tock.changes.subscribe({ from, ...options });
  await subscription.begin();
  const taken: Change[] = [];
  while (subscription.cursor !== end) {
    let given: Change | undefined;
    const next = subscription.next().then(({ value }) => {
      given = value;
    });
    await until(async () => given !== undefined || subscription.cursor === end, 'the end');
    if (given !== undefined) taken.push(given);
    else await subscription.return();
    await next;
  }
  return taken;
};
const positionOf = ({ cursor }: Change) => Number(cursor.split('-')[1]);
const positions = (changes: readonly Change[]) => changes.map(positionOf);
const drain = async (tock: Tock = test.tock) => {
  while ((await tock.tick()).executed.claimed > 0);
};
const countRows = async () =>
  (await test.sql<{ count: number }>('select count(*)::integer as count from tock.job_changes'))[0]?.count;

describe('what is kept', () => {
  it('that a run has ended, failed or waits, without what it was given and made', async () => {
    const subscription = test.tock.changes.subscribe();
    const begun = await subscription.begin();
    const ids: Record<string, string> = {};
    for (const does of ['pass', 'fail', 'sleep', 'snooze'] as const) {
      ids[does] = await test.tock.enqueue(told, { does });
      await test.tock.tick();
    }
    const first = await take(subscription, 4);
    expect(first.map(({ at, ...change }) => ({ ...change, at: at.toISOString() }))).toEqual([
      {
        cursor: begun.replace(/0$/, '1'),
        kind: 'ended',
        runId: ids['pass'],
        job: 'told',
        definition: null,
        status: 'succeeded',
        attempts: 1,
        generation: 1,
        at: '2026-03-01T12:00:00.000Z',
      },
      expect.objectContaining({ kind: 'failed', runId: ids['fail'], status: 'failed', attempts: 1 }),
      expect.objectContaining({ kind: 'waiting', runId: ids['sleep'], status: 'queued' }),
      expect.objectContaining({ kind: 'waiting', runId: ids['snooze'], status: 'queued' }),
    ]);
    await test.advance('2h');
    await drain();
    const then = await take(subscription, 3);
    expect(then.map(({ kind, status }) => `${kind} ${status}`)).toEqual(Array(3).fill('ended succeeded'));
    expect(positions([...first, ...then])).toEqual([1, 2, 3, 4, 5, 6, 7]);
    expect([begun.endsWith('-0'), subscription.cursor]).toEqual([true, then.at(-1)?.cursor]);
    expect(JSON.stringify([first, then])).not.toContain('secret');
    await subscription.return();
  });

  it('however a run came to be, and however it ends', { tags: 'check' }, async () => {
    const { tock } = test;
    await tock.register();
    await tock.enqueue(told, {}, { key: 'k' });
    await tock.enqueueMany([{ job: told }, { job: told, queue: 'slow' }]);
    await tock.enqueue(told, {}, { key: 'live', unique: 'live' });
    await tock.enqueueGroup([{ job: told }], { then: { job: told } });
    await test.sql(
      `select tock.enqueue('told', '{}'), tock.enqueue('told', '{}', 'sql-live', unique_live => true)`,
    );
    await tock.schedules.upsert({ name: 'daily', job: told, cron: '0 13 * * *' });
    await test.advance('90m');
    await drain();
    const ended = await rest('oldest');
    expect(ended.map(({ kind, status }) => `${kind} ${status}`)).toEqual(Array(9).fill('ended succeeded'));
    expect(ended.filter(({ definition }) => definition === 'daily')).toHaveLength(1);

    const at = ended.at(-1)?.cursor ?? '';
    const dead = await tock.enqueue(told, { does: 'die' });
    await drain();
    await test.advance('2m');
    await drain();
    await tock.runs.retry(dead);
    await tock.runs.cancel(dead);
    await tock.runs.cancel(await tock.enqueue(told, {}, { delay: '1h' }));
    expect((await rest(at)).map(({ kind, status, generation }) => `${kind} ${status} ${generation}`)).toEqual(
      ['failed failed 1', 'ended dead 1', 'ended cancelled 2', 'ended cancelled 1'],
    );
  });

  it('what takes the place of a run that has begun, too; and that a lease was lost', {
    tags: 'check',
  }, async () => {
    const { tock } = test;
    await tock.register();
    const live = { key: 'live', unique: 'live', replace: true } as const;
    const first = await tock.enqueue(told, {}, live);
    await test.sql(
      `update tock.job_runs_live set status = 'running', attempts = 1, fence = 1, locked_by = gen_random_uuid(),
        locked_until = tock.now() + interval '1 minute', started_at = tock.now() where id = $1`,
      [first],
    );
    const next = await tock.enqueue(told, {}, live);
    await test.sql(
      `update tock.job_runs_live set locked_until = tock.now() - interval '1 s', run_at = tock.now() where id = $1`,
      [first],
    );
    await tock.tick();
    await test.advance('5m');
    await drain();
    const seen = (await rest('oldest')).map(({ kind, runId, status }) => [kind, runId, status]);
    expect(seen).toEqual([
      ['ended', first, 'cancelled'],
      ['ended', next, 'succeeded'],
    ]);
  });

  it('nothing of a job that does not ask', { tags: 'check' }, async () => {
    for (const does of ['pass', 'fail', 'sleep', 'snooze', 'die'] as const) {
      await test.tock.enqueue(quiet, { does });
      await test.sql(`select tock.enqueue('quiet', $1)`, [JSON.stringify({ does })]);
    }
    await test.tock.runs.cancel(await test.tock.enqueue(quiet, {}, { delay: '1h' }));
    await drain();
    await test.advance('2h');
    await drain();
    expect(await countRows()).toBe(0);
    const marked = await test.sql('select from tock.job_runs where keeps_changes');
    expect(marked).toHaveLength(0);
  });
});

describe('a schedule that was made at run time', () => {
  const without = defineJob({ name: 'told', retry, run: handler });
  const runOnce = async (tock: Tock) => {
    await tock.tick();
    await test.advance('1m');
    await tock.tick();
    return (await test.sql('select kind from tock.job_changes order by id')).length;
  };
  const make = async () =>
    await test.tock.schedules.upsert({ name: 'nightly', job: 'told', cron: '* * * * *', payload: {} });

  it('tells as its job in code does, whichever was there first', async () => {
    const plain = test.another({ jobs: [without, other, quiet] });
    await plain.tick();
    await plain.schedules.upsert({ name: 'nightly', job: 'told', cron: '* * * * *', payload: {} });
    expect(await runOnce(plain)).toBe(0);
    expect(await runOnce(test.tock)).toBe(1);
    await test.tock.schedules.upsert({ name: 'then', job: 'told', after: 'nightly', payload: {} });
    await runOnce(test.tock);
    await test.tock.tick();
    expect(await countRows()).toBe(3);
  });

  it('tells no more once its job does not', async () => {
    await test.tock.tick();
    await make();
    expect(await runOnce(test.another({ jobs: [without, other, quiet] }))).toBe(0);
  });
});

describe('a transaction that stays open', () => {
  it('holds up its own changes only, and leaves no gap', { tags: 'check' }, async () => {
    const { tock } = test;
    const [a, b, c] = await tock.enqueueMany(Array.from({ length: 3 }, () => ({ job: told, delay: '1h' })));
    const subscription = tock.changes.subscribe();
    await subscription.begin();
    let commit: () => void = () => undefined;
    let isWritten = false;
    await tock.runs.cancel(a ?? '');
    const open = database.transaction(async session => {
      await cancelRun(session, b ?? '', null);
      isWritten = true;
      await new Promise<void>(resolve => {
        commit = resolve;
      });
    });
    await until(async () => isWritten, 'the open transaction');
    await tock.runs.cancel(c ?? '');
    const before = await take(subscription, 2);
    expect(before.map(({ runId }) => runId)).toEqual([a, c]);
    const waiting = subscription.next();
    commit();
    await open;
    const last = (await waiting).value as Change;
    expect(last.runId).toBe(b);
    expect(positions([...before, last])).toEqual([1, 2, 3]);
    // Who begins anew sees the same order.
    expect((await rest('oldest')).map(({ runId }) => runId)).toEqual([a, c, b]);
    await subscription.return();
  });

  it('and is rolled back leaves nothing', async () => {
    const [a, b] = await test.tock.enqueueMany(Array.from({ length: 2 }, () => ({ job: told, delay: '1h' })));
    await database
      .transaction(async session => {
        await cancelRun(session, a ?? '', null);
        throw new Error('rolled back');
      })
      .catch(() => undefined);
    await test.tock.runs.cancel(b ?? '');
    const all = await rest('oldest');
    expect([all.map(({ runId }) => runId), positions(all)]).toEqual([[b], [1]]);
  });
});

describe('followers', () => {
  it('go on at their cursor, over another connection: nothing twice, nothing missed', {
    tags: 'check',
  }, async () => {
    const ids = await test.tock.enqueueMany(Array.from({ length: 7 }, () => ({ job: told })));
    await drain();
    const seen: Change[] = [];
    let from = 'oldest';
    for (const count of [2, 1, 4]) {
      const tock = test.another({ connectionString: test.url });
      for await (const change of tock.changes.subscribe({ from })) {
        seen.push(change);
        from = change.cursor;
        if (seen.length === [2, 3, 7][[2, 1, 4].indexOf(count)]) break;
      }
      await tock.close();
    }
    expect(seen.map(({ runId }) => runId).toSorted()).toEqual(ids.toSorted());
    expect(positions(seen)).toEqual([1, 2, 3, 4, 5, 6, 7]);
  });

  it('see the changes of several writers in one order, each once', { tags: 'check' }, async () => {
    const COUNT = 240;
    const hosts = [test.another(), test.another(), test.another()];
    const [one, two] = [test.tock, hosts[0] as Tock].map(tock =>
      tock.changes.subscribe({ jobs: ['told', 'other'] }),
    );
    await Promise.all([one?.begin(), two?.begin()]);
    await test.tock.enqueueMany(
      Array.from({ length: COUNT }, (_, n) => ({ job: n % 3 === 0 ? other : told, queue: `q${n % 4}` })),
    );
    const reading = Promise.all([one, two].map(each => take(each as ChangeSubscription, COUNT)));
    await Promise.all(hosts.map(tock => tock.tick({ concurrency: 7 })));
    await drain();
    const [first = [], second = []] = await reading;
    expect(new Set(first.map(({ runId }) => runId)).size).toBe(COUNT);
    expect(positions(first)).toEqual(Array.from({ length: COUNT }, (_, index) => index + 1));
    expect(second.map(({ cursor }) => cursor)).toEqual(first.map(({ cursor }) => cursor));
    await Promise.all([one?.return(), two?.return()]);
  });

  it('go on when the server ends their connections amid reading', { tags: 'check' }, async () => {
    const COUNT = 60;
    // By a name of their own: what the others of the test ask is not interrupted.
    const url = new URL(test.url);
    url.searchParams.set('application_name', 'follower');
    const tock = test.another({ connectionString: url.href, connections: 5 });
    const subscription = tock.changes.subscribe();
    await subscription.begin();
    const seen: Change[] = [];
    let ended = 0;
    const reading = (async () => {
      for await (const change of subscription) {
        seen.push(change);
        if (seen.length === COUNT) break;
      }
    })();
    for (let done = 10; done <= COUNT; done += 10) {
      await test.tock.enqueueMany(Array.from({ length: 10 }, () => ({ job: told })));
      await drain();
      const rows = await test.sql(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()
          and application_name = 'follower' and state = 'idle'`,
      );
      ended += rows.length;
      await until(async () => seen.length === done, `${done} changes`);
    }
    await reading;
    expect(ended).toBeGreaterThan(0);
    expect(positions(seen)).toEqual(Array.from({ length: COUNT }, (_, index) => index + 1));
  });

  it('of some jobs, or of one run, go past the others', { tags: 'check' }, async () => {
    const [a] = await test.tock.enqueueMany([{ job: told }, { job: other }, { job: told }, { job: other }]);
    await drain();
    const { changes } = test.tock;
    const others = changes.subscribe({ from: 'oldest', jobs: ['other'] });
    expect((await take(others, 2)).map(({ job }) => job)).toEqual(['other', 'other']);
    const ofRun = changes.subscribe({ from: 'oldest', run: a ?? '' });
    expect((await take(ofRun, 1)).map(({ runId }) => runId)).toEqual([a]);
    expect(ofRun.cursor).toMatch(/-4$/);
    const none = changes.subscribe({ from: 'oldest', jobs: ['quiet'] });
    const next = none.next();
    await until(async () => none.cursor?.endsWith('-4') === true, 'the end');
    await none.return();
    expect(await next).toEqual({ done: true, value: undefined });
  });

  it('that are slow hold one page, and get all', { tags: 'check' }, async () => {
    await test.sql(
      `insert into tock.job_changes (kind, run_id, job, status, attempts, generation)
        select 'ended', n, case when n % 1000 = 0 then 'rare' else 'told' end, 'succeeded', 1, 1 from generate_series(1, 12000) n`,
    );
    const rare = await take(test.tock.changes.subscribe({ from: 'oldest', jobs: ['rare'] }), 12);
    expect(positions(rare)).toEqual(Array.from({ length: 12 }, (_, index) => (index + 1) * 1000));
    const all = await take(test.tock.changes.subscribe({ from: 'oldest' }), 12_000);
    expect([all.length, new Set(positions(all)).size, positionOf(all.at(-1) as Change)]).toEqual([
      12000, 12000, 12000,
    ]);
  });

  it('end by their signal, by return, and when their Tock is closed', async () => {
    const ending = new AbortController();
    const tock = test.another();
    const bySignal = tock.changes.subscribe({ signal: ending.signal });
    const byReturn = tock.changes.subscribe();
    const byClose = tock.changes.subscribe();
    const [first, second, third] = [bySignal.next(), byReturn.next(), byClose.next()];
    const refusal = third.catch((error: unknown) => error);
    await until(async () => byClose.cursor !== null, 'it to begin');
    ending.abort();
    await byReturn.return();
    expect([await first, await second, await bySignal.next()]).toEqual(
      Array.from({ length: 3 }, () => ({ done: true, value: undefined })),
    );
    await tock.close();
    expect(await refusal).toMatchObject({ code: 'TOCK_CLOSED' });
  });
});

describe('a cursor', () => {
  const begin = async (from: string) => await test.tock.changes.subscribe({ from }).begin();

  it('that is forged, of another database or ahead of this one is refused', async () => {
    const own = await begin('now');
    for (const from of ["0' or 1=1", '12', own.replace(/-0$/, '-5'), own.replace(/^.{8}/, 'ffffffff')]) {
      await expect(begin(from)).rejects.toMatchObject({ code: 'TOCK_BAD_CURSOR' });
      await expect(test.sql('select * from tock.changes($1)', [from])).rejects.toThrow(
        /is none of this database/,
      );
    }
    await expect(test.tock.changes.subscribe({ run: '1 or 1=1' }).next()).rejects.toMatchObject({
      code: 'TOCK_BAD_OPTION',
    });
    await expect(test.tock.changes.subscribe({ jobs: ['../x'] }).next()).rejects.toMatchObject({
      code: 'TOCK_BAD_JOB',
    });
  });

  it('older than what is kept says so, also to who has fallen behind while reading', {
    tags: 'check',
  }, async () => {
    await test.tock.enqueueMany(Array.from({ length: 3 }, () => ({ job: told })));
    await drain();
    const behind = test.tock.changes.subscribe({ from: 'oldest' });
    const origin = (await behind.begin()).slice(0, 8);
    await test.advance('6d');
    await test.tock.enqueue(told);
    await drain();
    await test.advance('2d');
    await test.tock.prune();
    expect(await countRows()).toBe(1);
    for (const from of [0, 2].map(position => `${origin}-${position}`)) {
      await expect(begin(from)).rejects.toMatchObject({ code: 'TOCK_CHANGES_GONE' });
      await expect(test.sql('select * from tock.changes($1)', [from])).rejects.toThrow(/have been deleted/);
    }
    await expect(behind.next()).rejects.toMatchObject({ code: 'TOCK_CHANGES_GONE' });
    expect(positions(await rest('oldest'))).toEqual([4]);
    expect(positions(await rest(`${origin}-3`))).toEqual([4]);
    await test.advance('8d');
    await test.tock.prune();
    expect(await countRows()).toBe(0);
    await expect(begin(`${origin}-3`)).rejects.toMatchObject({ code: 'TOCK_CHANGES_GONE' });
    expect(await begin(`${origin}-4`)).toBe(`${origin}-4`);
  });
});

describe('tock.changes in SQL', () => {
  it('gives what follows on a cursor, in pages, of some jobs', { tags: 'check' }, async () => {
    await test.tock.enqueueMany([{ job: told }, { job: other }, { job: told }]);
    await drain();
    await test.sql('select tock.number_changes()');
    const page = await test.sql<{ cursor: string; kind: string; job: string }>(
      'select cursor, kind, job from tock.changes(count => 2)',
    );
    expect(page.map(({ kind, job }) => `${kind} ${job}`)).toHaveLength(2);
    const after = page[1]?.cursor;
    expect(await test.sql('select * from tock.changes($1)', [after])).toHaveLength(1);
    expect(await test.sql(`select * from tock.changes(jobs => '{other}')`)).toHaveLength(1);
    await expect(test.sql('select * from tock.changes(count => 0)')).rejects.toThrow('count must be between');
    const [last] = await test.sql<{ cursor: string }>('select tock.changes_cursor() as cursor');
    expect(last?.cursor).toBe(`${after?.slice(0, 8)}-3`);
    expect(await test.sql('select * from tock.changes($1)', [last?.cursor])).toEqual([]);
  });

  it('neither loses nor doubles what a transaction has numbered and undone, which holds up nobody', {
    tags: 'check',
  }, async () => {
    const [early, late] = await test.tock.enqueueMany([{ job: told }, { job: other }]);
    const reader = new pg.Client({ connectionString: test.url });
    await reader.connect();
    try {
      await database.transaction(async session => {
        await cancelRun(session, early, null);
        // Written later, committed first, and numbered by who takes that back.
        await test.tock.runs.cancel(late);
        await reader.query('begin');
        await reader.query('select tock.number_changes()');
        await expect(reader.query('select * from tock.changes()')).rejects.toThrow(/commit that first/);
      });
      await reader.query('rollback; begin');
      await reader.query('select tock.number_changes()');
      // Others go on with what is numbered.
      expect(await test.sql('select tock.number_changes()::int as last')).toEqual([{ last: 0 }]);
      await reader.query('rollback');
      await test.sql('select tock.number_changes()');
      expect(await test.sql('select run_id as id from tock.changes()')).toEqual([
        { id: early },
        { id: late },
      ]);
    } finally {
      await reader.end();
    }
  });
});
