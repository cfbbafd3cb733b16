// Clients: they enqueue, and note what was confirmed to them.
// In: orders, and a database URL that may fail them. Out: a note for each run that was asked for, per call.
import type pg from 'pg';
import type { Tock } from '../../../src/tock/types.js';
import { openConnections } from './connections.js';
import { isKnownByKey, type Order, type Wanted } from './load.js';
import { sleep } from './loop.js';
import type { Pace } from './pace.js';
import { ENQUEUE, ENQUEUE_GROUP } from './statements.js';

/** What a client was told. `unknown`: the connection was lost; the run may be there or not. */
export type Told = 'ok' | 'fail' | 'unknown';

export interface Note {
  readonly wanted: Wanted;
  readonly told: Told;
  /** Null also where nobody says it: of a member of a group that was enqueued in SQL. */
  readonly runId: string | null;
  /** A run that was there before, and that this one comes after too. */
  readonly older: string | null;
  /** Notes of one statement: all of its runs are there, or none. */
  readonly call: number;
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
}) {
  const { tock, url, orders, durationMs, pace, signal } = options;
  const notes: Note[] = [];
  const sql = openSql(url);
  let calls = 0;

  let newest: string | null = null;

  const attempt = async (
    wanted: readonly Wanted[],
    work: (older: string | null) => Promise<readonly string[]>,
  ): Promise<Told> => {
    const call = calls++;
    const older = newest;
    const note = (told: Told, ids: readonly string[]) => {
      for (const [index, each] of wanted.entries())
        notes.push({
          wanted: each,
          told,
          runId: ids[index] ?? null,
          older: each.after?.alsoOlder ? older : null,
          call,
        });
      newest = ids.at(-1) ?? newest;
      return told;
    };
    try {
      return note('ok', await work(older));
    } catch (error) {
      return note(isRefusal(error) ? 'fail' : 'unknown', []);
    }
  };

  /** Who has a key may ask again as often as he likes. */
  const untilKnown = async (order: Order, work: () => Promise<readonly string[]>) => {
    while ((await attempt(order.wanted, work)) === 'unknown' && isKnownByKey(order)) {
      if (signal.aborted) return;
      await sleep(PAUSE_MS, signal);
    }
  };

  const place = async (order: Order): Promise<void> => {
    const { way, wanted, isTwice } = order;
    const [first, ...others] = wanted;
    if (first === undefined) return;
    /** Two clients, where two are to ask at once. */
    const ask = async (work: () => Promise<readonly string[]>) =>
      void (await Promise.all([untilKnown(order, work), isTwice ? untilKnown(order, work) : null]));
    switch (way) {
      case 'library':
        return await ask(async () => [await tock.enqueue(first.job, first.payload, optionsOf(first))]);
      case 'sql':
        return await ask(() =>
          sql.query(ENQUEUE, [first.job, JSON.stringify(first.payload), first.key, first.queue]),
        );
      case 'many':
        return await ask(() => tock.enqueueMany(wanted.map(newRunOf)));
      case 'commit':
        return await ask(() => sql.within('commit', client => enqueueWith(tock, client, first)));
      case 'rollback':
        // Nobody has sent a commit: however it ends, nothing may be there.
        await sql.within('rollback', client => enqueueWith(tock, client, first)).catch(() => undefined);
        notes.push({ wanted: first, told: 'fail', runId: null, older: null, call: calls++ });
        return;
      case 'refused':
        await attempt(wanted, async () => {
          if (first.n % 2 === 0) return await sql.query(ENQUEUE, ['not a job', '{}', first.key, null]);
          const payload = { ...first.payload, text: '\u0000' };
          return [await tock.enqueue(first.job, payload, { ...optionsOf(first), priority: 0.5 })];
        });
        return;
      case 'group':
        return await ask(async () => {
          const { id, runs } = await tock.enqueueGroup(others.map(newRunOf), {
            then: { job: first.job, payload: first.payload },
            on: onOf(first),
            ...(first.key === null ? {} : { key: first.key }),
          });
          return [id, ...runs];
        });
      case 'sql group': {
        const members = JSON.stringify(others.map(({ job, payload }) => ({ job, payload })));
        const join = [first.job, JSON.stringify(first.payload), onOf(first), first.key];
        return await ask(() => sql.query(ENQUEUE_GROUP, [members, ...join]));
      }
      case 'flow':
        await attempt(wanted, async older => idsOf(wanted, await tock.enqueueFlow(flowOf(wanted, older))));
        return;
      case 'flow in a transaction':
        await attempt(wanted, older =>
          sql.within('commit', async client =>
            idsOf(wanted, await tock.enqueueFlow(flowOf(wanted, older), { client })),
          ),
        );
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
  return {
    notes,
    /** Resolves when every order has been placed. */
    done: liveAll(),
  };
}

const optionsOf = ({ key, queue }: Wanted) => ({
  ...(key === null ? {} : { key }),
  ...(queue === null ? {} : { queue }),
});

const newRunOf = (wanted: Wanted) => ({ job: wanted.job, payload: wanted.payload, ...optionsOf(wanted) });
const onOf = ({ after }: Wanted) => (after?.ifParentFails === 'run' ? 'completion' : 'success');

const nameOf = (n: number) => `wish-${n}`;
const flowOf = (wanted: readonly Wanted[], older: string | null) =>
  Object.fromEntries(
    wanted.map(({ after, ...each }) => {
      const parents = after?.parents.map(nameOf) ?? [];
      const all = after?.alsoOlder && older !== null ? [...parents, older] : parents;
      const waiting = after === undefined ? {} : { after: all, ifParentFails: after.ifParentFails };
      return [nameOf(each.n), { ...newRunOf(each), ...waiting }];
    }),
  );
const idsOf = (wanted: readonly Wanted[], ids: Readonly<Record<string, string>>) =>
  wanted.map(({ n }) => ids[nameOf(n)] ?? '');

async function enqueueWith(tock: Tock, client: pg.PoolClient, wanted: Wanted): Promise<string[]> {
  return [await tock.enqueue(wanted.job, wanted.payload, { ...optionsOf(wanted), client })];
}

/** Clients that speak SQL, as an app in any language does. */
function openSql(url: string) {
  const connections = openConnections(url, CLIENTS);
  return {
    query: (text: string, values: readonly unknown[]) =>
      connections.use(async client => {
        const { rows } = await client.query<{ id: string }>(text, [...values]);
        return rows.map(row => row.id);
      }),
    within: (end: 'commit' | 'rollback', work: (client: pg.PoolClient) => Promise<string[]>) =>
      connections.use(async client => {
        await client.query('begin');
        const ids = await work(client);
        await client.query(end);
        return ids;
      }),
    close: () => connections.close(),
  };
}
