// Connections of a client or of another system, which may be cut at any time.
// In: a URL. Out: one for each piece of work; it is used again only if all went well.
import type pg from 'pg';
import { openPoolTo } from '../../../src/store/connection/connection.js';

export interface Connections {
  readonly use: <T>(work: (client: pg.PoolClient) => Promise<T>) => Promise<T>;
  readonly close: () => Promise<void>;
}

export function openConnections(url: string, count: number): Connections {
  const pool = openPoolTo({ connectionString: url }, count, { deadlineMs: 5000 });
  return {
    async use(work) {
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
    close: () => pool.end(),
  };
}
