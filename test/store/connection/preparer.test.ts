// Store: prepared statements get new plans once the tables have grown, and no names where a pooler lacks them.
import pg from 'pg';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/environment/system-clock.js';
import { createPreparer } from '../../../src/store/connection/preparer.js';
import { finalizeRuns } from '../../../src/store/runs/finalize.js';
import { migrate } from '../../../src/store/schema/migrate.js';
import { openDatabase } from '../../support/database.js';
import { createTestDatabase } from '../../support/embedded-database.js';
import { until } from '../../support/until.js';

const MiB = 2 ** 20;
const WORKER = '00000000-0000-4000-8000-000000000001';

/** A preparer whose statements take as long as the test says, over tables that are as large as it says. */
function preparing() {
  let now = 0;
  const sizes = { runs: 0, slots: 0 };
  let looks = 0;
  const prepare = createPreparer(
    async () => {
      looks++;
      return { ...sizes };
    },
    { now: () => now },
  );
  const made = {
    sizes,
    looks: () => looks,
    /** The name under which the statement was executed. */
    execute: async (ms = 0, text = 'select 1') => {
      const name = await prepare(text, async given => {
        now += ms;
        return given;
      });
      await Promise.resolve();
      return name;
    },
    /** Some executions that take long, a second after others. */
    executeSlowly: async () => {
      now += 1000;
      for (let execution = 0; execution < 5; execution++) await made.execute(10);
    },
  };
  return made;
}

/** Until PostgreSQL keeps a plan, and the preparer has read for which sizes. */
async function warmUp({ execute }: ReturnType<typeof preparing>) {
  for (let execution = 0; execution < 6; execution++) await execute();
}

describe('the preparer', () => {
  it('does not ask for sizes where a process executes little', async () => {
    const { execute, looks } = preparing();
    for (let execution = 0; execution < 4; execution++) await execute(100);
    expect(looks()).toBe(0);
  });

  it('asks once before a plan is kept, and then only where statements take long, once a second', async () => {
    const made = preparing();
    await warmUp(made);
    expect(made.looks()).toBe(1);
    for (let execution = 0; execution < 100; execution++) await made.execute(1);
    expect(made.looks()).toBe(1);
    // A single one may have waited for the network.
    for (let execution = 0; execution < 4; execution++) await made.execute(300);
    expect(made.looks()).toBe(1);
    await made.execute(10);
    expect(made.looks()).toBe(2);
    for (let execution = 0; execution < 50; execution++) await made.execute(10);
    expect(made.looks()).toBe(2);
    await made.executeSlowly();
    expect(made.looks()).toBe(3);
  });

  it('names all statements anew once a table has grown out of what they were planned for', async () => {
    const made = preparing();
    await warmUp(made);
    const [before, other] = [await made.execute(), await made.execute(0, 'select 2')];
    made.sizes.runs = 20 * MiB;
    await made.executeSlowly();
    const after = await made.execute();
    expect(after).not.toBe(before);
    expect(await made.execute(0, 'select 2')).not.toBe(other);
    // As large as it was planned for, or smaller: no reason.
    made.sizes.runs = 0;
    await made.executeSlowly();
    made.sizes.runs = 30 * MiB;
    await made.executeSlowly();
    expect(await made.execute()).toBe(after);
    made.sizes.slots = MiB;
    await made.executeSlowly();
    expect(await made.execute()).not.toBe(after);
  });

  it('keeps the names of a process that began with large tables', async () => {
    const made = preparing();
    made.sizes.runs = 500 * MiB;
    const before = await made.execute();
    await warmUp(made);
    await made.executeSlowly();
    expect(await made.execute()).toBe(before);
  });

  it('keeps the names if the sizes cannot be read', async () => {
    const prepare = createPreparer(() => Promise.reject(new Error('away')), systemClock);
    const names = [];
    for (let execution = 0; execution < 8; execution++)
      names.push(await prepare('select 1', async name => name));
    expect(new Set(names).size).toBe(1);
  });

  it('stops to name statements where a pooler has given the connection to others', async () => {
    const prepare = createPreparer(async () => undefined, systemClock);
    const names: (string | null)[] = [];
    const run = async (name: string | null) => {
      names.push(name);
      if (name !== null) throw Object.assign(new Error('does not exist'), { code: '26000' });
    };
    await prepare('select 1', run);
    await prepare('select 2', run);
    expect(names.map(name => name !== null)).toEqual([true, false, false]);
  });
});

it('a flood after a quiet time is not ended by plans that read the whole table', {
  tags: 'check',
}, async () => {
  const home = await createTestDatabase();
  const database = openDatabase({ connectionString: home.url, connections: 1 });
  const watching = new pg.Client({ connectionString: home.url });
  const end = async (ids: readonly number[]) => {
    const outcome = {
      transition: 'succeed',
      output: null,
      error: null,
      delayMs: 0,
      skipReason: null,
    } as const;
    const { failed, lost } = await finalizeRuns(
      database,
      ids.map(id => ({ id: String(id), fence: 1, outcome })),
      WORKER,
    );
    expect([failed, lost.size]).toEqual([[], 0]);
  };
  const running = (from: number, to: number) =>
    watching.query(
      `insert into tock.job_runs_live (id, job, status, fence, attempts, locked_by, locked_until)
         select n, 'noop', 'running', 1, 1, '${WORKER}', now() + interval '1 h' from generate_series(${from}, ${to}) n`,
    );
  /** How many rows of the live runs were read without an index so far. */
  const read = async () => {
    await database.run('select pg_stat_force_next_flush()');
    const { rows } = await watching.query(
      `select seq_tup_read::int as read from pg_stat_user_tables where relname = 'job_runs_live'`,
    );
    return rows[0].read;
  };
  try {
    await migrate(database);
    await watching.connect();
    // As where autovacuum has found it empty, and does not come again at once.
    await watching.query('alter table tock.job_runs_live set (autovacuum_enabled = false)');
    await watching.query('vacuum analyze tock.job_runs_live');
    await running(1, 20);
    for (let id = 1; id <= 20; id++) await end([id]);
    await running(1001, 100_000);
    // The first has the plan of the quiet time, and takes long. Once the sizes are read, the next is another.
    let next = 1001;
    await until(async () => {
      const from = await read();
      await end([next++]);
      return (await read()) === from;
    }, 'a plan that reads no whole table');
  } finally {
    await watching.end();
    await database.close();
    await home.drop();
  }
});
