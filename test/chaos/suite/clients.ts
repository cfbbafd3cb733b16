// Clients: they enqueue, and note what was confirmed to them.
// In: orders, and a database URL that may fail them. Out: a note for each run that was asked for, per call.
import type pg from 'pg';
import { openPoolTo } from '../../../src/store/connection/connection.js';
import type { Tock } from '../../../src/tock/types.js';
import type { Order, Wanted } from './load.js';
import type { Pace } from './pace.js';
import { sleep } from './sleep.js';
import { ENQUEUE } from './statements.js';

/** What a client was told. `unknown`: the connection was lost; the run may be there or not. */
export type Told = 'ok' | 'fail' | 'unknown';

export interface Note {
  readonly wanted: Wanted;
  readonly told: Told;
  readonly runId: string | null;
  /** Notes of one statement: all of its runs are there, or none. */
  readonly call: number;
}

export interface Clients {
  readonly notes: readonly Note[];
  /** Resolves when every order has been placed. */
  readonly done: Promise<void>;
}

const CLIENTS = 4;
/** A client with a key asks again until it knows. */
const PAUSE_MS = 200;

/** Whether an error says that the server refused; otherwise nobody knows. */
function isRefusal(error: unknown): boolean {
  const code = (error as { readonly code?: unknown }).code;
  if (typeof code !== 'string' || code === 'TOCK_DATABASE_UNREACHABLE') return false;
  return code.startsWith('TOCK_') || (/^[0-9A-Z]{5}$/.test(code) && !/^(08|57|53|25006)/.test(code));
}

/** Starts the clients: orders are placed at even intervals, and late ones as soon as there is a client for them. */
export function startClients(options: {
  readonly tock: Tock;
  readonly url: string;
  readonly orders: readonly Order[];
  readonly durationMs: number;
  readonly pace: Pace;
  readonly signal: AbortSignal;
}): Clients {
  const { tock, url, orders, durationMs, pace, signal } = options;
  const notes: Note[] = [];
  const sql = openSql(url);
  let calls = 0;

  const attempt = async (
    wanted: readonly Wanted[],
    work: () => Promise<readonly string[]>,
  ): Promise<Told> => {
    const call = calls++;
    const note = (told: Told, ids: readonly string[]) => {
      for (const [index, each] of wanted.entries())
        notes.push({ wanted: each, told, runId: ids[index] ?? null, call });
      return told;
    };
    try {
      return note('ok', await work());
    } catch (error) {
      return note(isRefusal(error) ? 'fail' : 'unknown', []);
    }
  };

  /** Who has a key may ask again as often as he likes. */
  const untilKnown = async (wanted: readonly Wanted[], work: () => Promise<readonly string[]>) => {
    while ((await attempt(wanted, work)) === 'unknown' && wanted.every(each => each.key !== null)) {
      if (signal.aborted) return;
      await sleep(PAUSE_MS, signal);
    }
  };

  const place = async ({ way, wanted, isTwice }: Order): Promise<void> => {
    const [first] = wanted;
    if (first === undefined) return;
    const one = async () => [await tock.enqueue(first.job, first.payload, optionsOf(first))];
    switch (way) {
      case 'library':
        await Promise.all([untilKnown(wanted, one), isTwice ? untilKnown(wanted, one) : null]);
        return;
      case 'sql':
        await untilKnown(wanted, () => sql.query(ENQUEUE, first));
        return;
      case 'many':
        await untilKnown(wanted, () =>
          tock.enqueueMany(
            wanted.map(each => ({ job: each.job, payload: each.payload, ...optionsOf(each) })),
          ),
        );
        return;
      case 'commit':
        await untilKnown(wanted, () => sql.within('commit', client => enqueueWith(tock, client, first)));
        return;
      case 'rollback':
        // Nobody has sent a commit: however it ends, nothing may be there.
        await sql.within('rollback', client => enqueueWith(tock, client, first)).catch(() => undefined);
        notes.push({ wanted: first, told: 'fail', runId: null, call: calls++ });
        return;
      case 'refused':
        await attempt(wanted, async () => [
          await tock.enqueue(
            first.job,
            { ...first.payload, text: '\u0000' },
            { ...optionsOf(first), priority: 0.5 },
          ),
        ]);
    }
  };

  const live = async (client: number) => {
    for (let index = client; index < orders.length && !signal.aborted; index += CLIENTS) {
      const order = orders[index];
      const atMs = (index / orders.length) * durationMs;
      await pace.order(atMs, signal);
      if (order && !signal.aborted) await place(order);
      pace.reach(atMs);
    }
  };
  const liveAll = async () => {
    try {
      await Promise.all(Array.from({ length: CLIENTS }, (_, client) => live(client)));
    } finally {
      await sql.close();
      pace.reach(Number.POSITIVE_INFINITY);
    }
  };
  return { notes, done: liveAll() };
}

const optionsOf = ({ key, queue }: Wanted) => ({
  ...(key === null ? {} : { key }),
  ...(queue === null ? {} : { queue }),
});

async function enqueueWith(tock: Tock, client: pg.PoolClient, wanted: Wanted): Promise<string[]> {
  return [await tock.enqueue(wanted.job, wanted.payload, { ...optionsOf(wanted), client })];
}

/** Clients that speak SQL, as an app in any language does. */
function openSql(url: string) {
  const pool = openPoolTo({ connectionString: url }, CLIENTS, { deadlineMs: 5000 });
  const withClient = async <T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> => {
    const client = await pool.connect();
    let isWell = false;
    try {
      const result = await work(client);
      isWell = true;
      return result;
    } finally {
      client.release(!isWell);
    }
  };
  return {
    query: (text: string, wanted: Wanted) =>
      withClient(async client => {
        const values = [wanted.job, JSON.stringify(wanted.payload), wanted.key, wanted.queue];
        const { rows } = await client.query<{ id: string }>(text, values);
        return rows.map(row => row.id);
      }),
    within: (end: 'commit' | 'rollback', work: (client: pg.PoolClient) => Promise<string[]>) =>
      withClient(async client => {
        await client.query('begin');
        const ids = await work(client);
        await client.query(end);
        return ids;
      }),
    close: () => pool.end(),
  };
}
