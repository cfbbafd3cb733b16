// Test support for figures: runs that end, by SQL, beside a list of what was committed; sums of that list to compare with.
import pg from 'pg';
import { expect } from 'vitest';
import { rollUp } from '../../../src/engine/metrics/roll-up.js';
import type { FinishedStatus } from '../../../src/model/run/states.js';
import type { Database } from '../../../src/store/connection/database.js';
import { createTotalsReader, readTotals } from '../../../src/store/reads/metrics/totals.js';
import { openDatabase } from '../../support/database.js';
import { reuseTestTock, type TestTock } from '../../support/test-tock.js';

export const START = '2026-03-01T12:00:00Z';

/** An end of a run. Durations in milliseconds. */
export interface End {
  readonly id: string;
  readonly at: number;
  readonly job: string;
  readonly queue: string;
  readonly status: FinishedStatus;
  readonly reason: string;
  readonly occurrences: number;
  /** Null: it never began. */
  readonly durationMs: number | null;
  readonly waitMs: number;
}

export type NewEnd = Partial<Omit<End, 'id' | 'at'>>;

export interface OpenTransaction {
  /** What becomes an end at the commit. */
  readonly end: End;
  commit(): Promise<void>;
  rollback(): Promise<void>;
}

export interface FiguresKit {
  readonly test: TestTock;
  readonly database: Database;
  /** Every end that was committed. */
  readonly ends: End[];
  now(): number;
  advance(ms: number): Promise<void>;
  setNow(ms: number): Promise<void>;
  /** A run ends now. */
  end(end?: NewEnd): Promise<End>;
  /** A run ends now, in a transaction that stays open. */
  endLater(end?: NewEnd): Promise<OpenTransaction>;
  rollUp(): Promise<number>;
  progress(): Promise<{ final: number; counted: number; hours: number }>;
  close(): Promise<void>;
}

const INSERT = `
insert into tock.job_runs_finished (id, job, queue, status, skip_reason, occurrence_count, run_at, started_at, finished_at)
values (nextval('tock.job_runs_id_seq'), $1, $2, $3, $4, $5, $6, $7, $8) returning id::text`;

export async function openFiguresKit(start = START): Promise<FiguresKit> {
  const test = await reuseTestTock();
  const database = openDatabase({ connectionString: test.url });
  const clients: pg.Client[] = [];
  const ends: End[] = [];
  let now = Date.parse(start);
  const setNow = async (ms: number) => {
    now = ms;
    await test.setClock(new Date(ms).toISOString());
  };
  await setNow(now);
  // As if the schema had been made now.
  await test.sql(
    `update tock.figures_progress p set final_until = tock.now(), counted_until = tock.now(),
      hours_until = date_bin('1 hour', tock.now(), 'epoch')`,
  );

  const insert = async (client: Pick<pg.Client, 'query'>, given: NewEnd): Promise<End> => {
    const {
      job = 'mail',
      queue = 'default',
      status = 'succeeded',
      occurrences = 1,
      durationMs = 100,
      waitMs = 0,
    } = given;
    const reason = status === 'skipped' ? (given.reason ?? 'overlap') : '';
    const startedAt = durationMs === null ? null : now - durationMs;
    const { rows } = await client.query<{ id: string }>(INSERT, [
      job,
      queue,
      status,
      reason === '' ? null : reason,
      occurrences,
      new Date((startedAt ?? now) - waitMs),
      startedAt === null ? null : new Date(startedAt),
      new Date(now),
    ]);
    return { id: rows[0]?.id ?? '', at: now, job, queue, status, reason, occurrences, durationMs, waitMs };
  };
  return {
    test,
    database,
    ends,
    now: () => now,
    setNow,
    advance: ms => setNow(now + ms),
    async end(given = {}) {
      const end = await insert(
        {
          query: (text: string, values: unknown[]) => test.sql(text, values).then(rows => ({ rows })),
        } as never,
        given,
      );
      ends.push(end);
      return end;
    },
    async endLater(given = {}) {
      const client = new pg.Client({ connectionString: test.url });
      clients.push(client);
      await client.connect();
      await client.query('begin');
      const end = await insert(client, given);
      const finish = async (how: 'commit' | 'rollback') => {
        await client.query(how);
        await client.end();
        clients.splice(clients.indexOf(client), 1);
      };
      return {
        end,
        async commit() {
          await finish('commit');
          ends.push(end);
        },
        rollback: async () => await finish('rollback'),
      };
    },
    rollUp: async () => await rollUp(database, { budgetMs: 60_000 }),
    async progress() {
      const [row] = await test.sql<{ final: Date; counted: Date; hours: Date }>(
        'select final_until as final, counted_until as counted, hours_until as hours from tock.figures_progress',
      );
      if (!row) throw new Error('no progress');
      return { final: row.final.getTime(), counted: row.counted.getTime(), hours: row.hours.getTime() };
    },
    async close() {
      await Promise.all(clients.map(client => client.end()));
      await database.close();
      await test.close();
    },
  };
}

/** Sums by job, queue, status and reason: runs, occurrences, milliseconds. */
export type Sums = Readonly<Record<string, readonly number[]>>;

export function sumsOf(ends: readonly End[]): Sums {
  const sums: Record<string, number[]> = {};
  for (const { job, queue, status, reason, occurrences, durationMs, waitMs } of ends) {
    const sum = (sums[[job, queue, status, reason].join(' ')] ??= [0, 0, 0, 0]);
    const isMeasured = durationMs !== null && (status === 'succeeded' || status === 'dead');
    for (const [index, value] of [
      1,
      occurrences,
      isMeasured ? durationMs : 0,
      isMeasured ? waitMs : 0,
    ].entries())
      sum[index] = (sum[index] ?? 0) + value;
  }
  return sums;
}

const kept = new WeakMap<Database, ReturnType<typeof createTotalsReader>>();

/**
 * The counters as they are published, in the same form: by a reader that has read them before too, which must
 * find the same.
 */
export async function countedSums(database: Database): Promise<Sums> {
  const reader = kept.get(database) ?? createTotalsReader();
  kept.set(database, reader);
  const totals = await readTotals(database);
  expect(await reader(database)).toEqual(totals);
  return sumsOfTotals(totals);
}

function sumsOfTotals(totals: Awaited<ReturnType<typeof readTotals>>): Sums {
  return Object.fromEntries(
    totals.map(({ job, queue, status, reason, runs, occurrences, durationSeconds, waitSeconds }) => [
      [job, queue, status, reason].join(' '),
      [runs, occurrences, Math.round(durationSeconds * 1000), Math.round(waitSeconds * 1000)],
    ]),
  );
}
