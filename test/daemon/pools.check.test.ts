// Pools that are small, or whose connections handlers and the app hold: work goes on, and no lease is lost.
import { type QueryExecutorProvider, sql } from 'kysely';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defineJob, type JobContext, type Tock } from '../../src/index.js';
import { openTestTock, type TestTock, until } from '../support/test-tock.js';

let test: TestTock;
let pool: pg.Pool;
let lines: { event: string; text: string }[];
/** Handlers that have come to the point where they wait. */
let arrived: number;
let gate: { readonly opened: Promise<void>; readonly open: () => void };
beforeEach(async () => {
  test = await openTestTock();
  lines = [];
  arrived = 0;
  let open = () => {};
  const opened = new Promise<void>(resolve => void (open = resolve));
  gate = { opened, open };
});
afterEach(async () => {
  gate.open();
  await test.close();
  if (pool !== undefined && !pool.ending) await pool.end();
});

const note = ({ event = '' }: { event?: string }, text = '') => void lines.push({ event, text });
const logger = { debug: () => {}, info: () => {}, warn: note, error: note, child: () => logger };

const atGate = async () => {
  arrived++;
  await gate.opened;
};
const select = async (db: QueryExecutorProvider) => {
  await sql`select 1`.execute(db);
};

/** The app's Tock, over its own pool, or over one of Tock's. */
function openTock(max: number, owner: 'app' | 'Tock', run: (ctx: JobContext) => Promise<unknown>): Tock {
  pool = new pg.Pool({ connectionString: test.url, max });
  pool.on('error', () => undefined);
  const work = defineJob({ name: 'work', retry: { maxAttempts: 1 }, run });
  const quick = defineJob({ name: 'quick', run: () => null });
  const reach = owner === 'app' ? { pool } : { connections: max };
  return test.another({ jobs: [work, quick], logger, heartbeat: 100, lease: '60s', ...reach });
}

const enqueue = (count: number, job = 'work') =>
  test.sql('select tock.enqueue($1) from generate_series(1, $2::int)', [job, count]);
const ended = async () =>
  await test.sql<{ status: string; attempts: number }>(
    `select status, attempts from tock.job_runs_finished where job = 'work'`,
  );
const untilEnded = (count: number) =>
  until(async () => (await ended()).length === count, `${count} runs to end`);
/** Each run that is executed has had its lease renewed since. */
const untilRenewed = async () => {
  const leases = () =>
    test.sql<{ id: string; until: string }>(
      `select id, locked_until::text as until from tock.job_runs_live where status = 'running'`,
    );
  const before = new Map((await leases()).map(row => [row.id, row.until]));
  await until(
    async () => (await leases()).every(row => before.get(row.id) !== row.until),
    'heartbeats to renew all leases',
  );
};
const ALL = Array.from({ length: 20 }, () => ({ status: 'succeeded', attempts: 1 }));

describe.each(['app', 'Tock'] as const)('a daemon with ten handlers over a pool of the %s', owner => {
  it.each([
    [2, 1],
    [3, 1],
    [10, 7],
  ])('of %i: heartbeats go on while handlers hold all that they may', async (max, holders) => {
    const tock = openTock(max, owner, ctx =>
      ctx.once(ctx.runId, async trx => {
        await atGate();
        await select(trx);
      }),
    );
    await enqueue(20);
    await tock.start();
    await until(async () => arrived >= holders, 'handlers to hold connections');
    await untilRenewed();
    gate.open();
    await untilEnded(20);
    expect(await ended()).toEqual(ALL);
  });

  it.each([
    [3, 1],
    [10, 7],
  ])('of %i: a handler that holds a connection gets a second one', async (max, holders) => {
    const tock = openTock(max, owner, ctx =>
      ctx.once(ctx.runId, async trx => {
        await select(trx);
        await atGate();
        await select(ctx.db);
        await ctx.db.transaction().execute(select);
        await ctx.step('beside', () => ctx.enqueue<string>('quick'));
      }),
    );
    await enqueue(20);
    await tock.start();
    await until(async () => arrived >= holders, 'handlers to hold connections');
    gate.open();
    await untilEnded(20);
    expect(await ended()).toEqual(ALL);
  });

  it('of one: executes all, polls, and says so once', async () => {
    const tock = openTock(1, owner, async ctx => {
      await select(ctx.db);
      await ctx.step('first', () => 1);
      return await ctx.transaction(select);
    });
    await enqueue(20);
    await tock.start();
    await untilEnded(20);
    expect(await ended()).toEqual(ALL);
    expect(lines).toEqual([{ event: 'pool.small', text: expect.stringMatching(/polling.*raise max/) }]);
  });

  it('that has one connection for handlers refuses a second one at once, and advises', async () => {
    const tock = openTock(2, owner, ctx => ctx.once(ctx.runId, () => select(ctx.db)));
    await tock.start();
    await enqueue(1);
    await untilEnded(1);
    const [run] = await tock.runs.list({ job: 'work' });
    expect(run?.errors).toMatchObject([
      { code: 'TOCK_NESTED_CONNECTION', message: expect.stringMatching(/use its trx.*raise max/) },
    ]);
  });
});

describe('a pool of the app', () => {
  it('whose connections the app holds itself: claims, heartbeats and outcomes go on', async () => {
    const tock = openTock(10, 'app', atGate);
    await enqueue(1);
    await tock.start();
    await until(async () => arrived === 1, 'the daemon to be at work');
    const asked = Array.from({ length: 10 }, () => pool.connect());
    await until(async () => pool.waitingCount > 0 && pool.idleCount === 0, 'the pool to be used up');
    await untilRenewed();
    gate.open();
    await enqueue(19);
    await untilEnded(20);
    expect(await ended()).toEqual(ALL);
    for (const each of asked) void each.then(client => client.release());
    await Promise.all(asked);
  });

  it('serves a tick whose handlers nest', async () => {
    const tock = openTock(10, 'app', ctx =>
      ctx.transaction(async () => {
        await atGate();
        await select(ctx.db);
      }),
    );
    await enqueue(20);
    const ticking = tock.tick({ concurrency: 10 });
    await until(async () => arrived >= 8, 'handlers to hold connections');
    await untilRenewed();
    gate.open();
    expect((await ticking).executed).toMatchObject({ succeeded: 20, failed: 0, lost: 0 });
  });

  it('that a daemon of a second Tock shares is counted once', async () => {
    const run = (ctx: JobContext) =>
      ctx.once(ctx.runId, async () => {
        await atGate();
        await select(ctx.db);
      });
    const first = openTock(10, 'app', run);
    const jobs = [defineJob({ name: 'work', retry: { maxAttempts: 1 }, run })];
    const second = test.another({ jobs, logger, pool });
    await Promise.all([first.start(), second.start()]);
    await enqueue(20);
    await until(async () => arrived >= 6, 'handlers to hold connections');
    gate.open();
    await untilEnded(20);
    expect(await ended()).toEqual(ALL);
  });
});

describe('a pool that the app ends', () => {
  it('beside stop: the run at work ends, and its success is written', async () => {
    const tock = openTock(10, 'app', atGate);
    await enqueue(1);
    const daemon = await tock.start();
    await until(async () => arrived === 1, 'a run to be at work');
    const both = Promise.all([pool.end(), daemon.stop()]);
    gate.open();
    await both;
    expect(await ended()).toMatchObject([{ status: 'succeeded' }]);
    expect(lines).toEqual([]);
  });

  it('without a stop: the daemon says so once, stops, and lets the pool end', async () => {
    const tock = openTock(10, 'app', atGate);
    await enqueue(1);
    await tock.start();
    await until(async () => arrived === 1, 'a run to be at work');
    gate.open();
    await pool.end();
    expect(await ended()).toMatchObject([{ status: 'succeeded' }]);
    expect(lines).toEqual([{ event: 'pool.ended', text: expect.stringMatching(/before pool\.end\(\)/) }]);
    expect(await test.sql('select from tock.workers')).toEqual([]);
  });

  it('of one connection: stop says that the outcome is lost, and waits for no lease', async () => {
    const tock = openTock(1, 'app', atGate);
    await enqueue(1);
    const daemon = await tock.start();
    await until(async () => arrived === 1, 'a run to be at work');
    lines.length = 0;
    const both = Promise.all([pool.end(), daemon.stop()]);
    gate.open();
    await both;
    expect(lines).toContainEqual({
      event: 'finalize.lost',
      text: expect.stringMatching(/because the pool was ended/),
    });
    expect(await test.sql('select status from tock.job_runs_live')).toEqual([{ status: 'running' }]);
  });
});
