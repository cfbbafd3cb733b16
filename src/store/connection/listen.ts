// LISTEN on the channel on which Tock notifies, named after the schema.

import { randomBytes } from 'node:crypto';
import type { ClientBase, Pool, PoolClient } from 'pg';
import type { Clock, Timer } from '../../model/clock.js';
import type { Database } from './database.js';
import { queryClientWithin, queryWithin } from './deadline.js';
import { asIs } from './shares/kept-connection.js';
import { sharesOf } from './shares/pool-shares.js';

/** Subscribes as long as the connection lives. Through a pooler in transaction mode, nothing would arrive. */
export async function listenToSchema(client: ClientBase, schema: string): Promise<void> {
  await client.query(`listen "${schema}"`);
}

export interface HeardNotification {
  /** From sending it until it was heard, in milliseconds; null: it was not. */
  readonly heardMs: number | null;
  /** The process that serves the connection is not the one that it was opened to: there is a pooler. */
  readonly isPooled: boolean;
}

const WAIT_MS = 1000;
const DEADLINE_MS = 10_000;

/** Sends a notification over one connection and waits for it on another, on a channel of its own. */
export async function hearOwnNotification({
  clock,
  pool,
}: Pick<Database, 'clock' | 'pool'>): Promise<HeardNotification> {
  const channel = `tock_doctor_${randomBytes(8).toString('hex')}`;
  const connect = () => sharesOf(pool).connect(DEADLINE_MS);
  const client = await connect();
  try {
    return await hearOn(clock, client, channel, pool, connect);
  } finally {
    // Destroyed, not returned: it listens.
    client.release(true);
  }
}

async function hearOn(
  clock: Clock,
  client: PoolClient,
  channel: string,
  pool: Pool,
  connect: () => Promise<PoolClient>,
): Promise<HeardNotification> {
  const heard = new Promise<true>(resolve => {
    client.on('notification', notification => {
      if (notification.channel === channel) resolve(true);
    });
  });
  const ask = async (text: string) =>
    await queryClientWithin(clock, client, { name: null, text }, [], DEADLINE_MS);
  await ask(`listen ${channel}`);
  const [row] = (await ask('select pg_backend_pid() as pid')) as { pid: number }[];
  const isPooled = row?.pid !== (client as unknown as { readonly processID: number | null }).processID;
  const sentAt = clock.now();
  const text = `notify ${channel}`;
  // A pool of one has no other connection to send it over.
  if ((pool.options.max ?? 2) < 2) await ask(text);
  else await queryWithin(clock, async () => asIs(await connect()), { name: null, text }, [], DEADLINE_MS);
  let timer: Timer | undefined;
  const late = new Promise<false>(resolve => {
    timer = clock.setTimeout(() => resolve(false), WAIT_MS);
  });
  const isHeard = await Promise.race([heard, late]).finally(() => clock.clear(timer));
  return { heardMs: isHeard ? Math.round(clock.now() - sentAt) : null, isPooled };
}
