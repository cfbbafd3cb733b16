// What the adapter reads of the database beside the contestant's own connections. It survives the loss of its
// connection.
// In: a URL, and the contestant's SQL. Out: its tables, its depth, the numbers that are unfinished there.
import pg from 'pg';

const ANSWER_WITHIN_MS = 2000;

export function openObserver(url, contestant) {
  let client;
  const connected = async () => {
    if (client) return client;
    const made = new pg.Client({
      connectionString: url,
      application_name: 'bench',
      connectionTimeoutMillis: ANSWER_WITHIN_MS,
      query_timeout: ANSWER_WITHIN_MS,
    });
    made.on('error', () => undefined);
    await made.connect();
    client = made;
    return client;
  };
  const rows = async (text, values) => {
    try {
      return (await (await connected()).query(text, values)).rows;
    } catch (error) {
      const lost = client;
      client = undefined;
      await lost?.end().catch(() => undefined);
      throw error;
    }
  };
  const { schema, hot, tables, depth, unfinished, schemaVersion } = contestant;
  return {
    depth: async () => (await rows(depth))[0].depth,
    unfinished: async started => (await rows(unfinished, [String(started)])).map(({ n }) => n),
    schemaVersion: async () => (await rows(schemaVersion))[0].version,
    /** Names with the schema; that from which jobs are claimed is the first. */
    eventTables: async () => {
      const found = await rows(
        `select relname as name from pg_stat_user_tables where schemaname = $1 and relname ~ $2
         order by relname <> $3, relname`,
        [schema, `^(${tables})$`, hot],
      );
      return found.map(({ name }) => `${schema}.${name}`);
    },
    close: async () => await client?.end().catch(() => undefined),
  };
}
