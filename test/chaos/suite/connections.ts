// Connections of a client or of another system, which may be cut at any time.
// In: a URL. Out: one for each piece of work; it is used again only if all went well.
import type pg from 'pg';
import { openPoolTo } from '../../../src/store/connection/connection.js';

export function openConnections(url: string, count: number) {
  const pool = openPoolTo({ connectionString: url }, count, { deadlineMs: 5000 });
  let closed: Promise<void> | undefined;
  return {
    async use<T>(work: (client: pg.PoolClient) => Promise<T>): Promise<T> {
      const client = await pool.connect();
      let isWell = false;
      try {
        const result = await work(client);
        isWell = true;
        return result;
      } finally {
        client.release(!isWell);
      }
    },
    close: () => (closed ??= pool.end()),
  };
}
