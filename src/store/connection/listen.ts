// LISTEN on the channel on which Tock notifies, named after the schema.
import type { ClientBase } from 'pg';

/** Subscribes as long as the connection lives. Through a pooler in transaction mode, nothing would arrive. */
export async function listenToSchema(client: ClientBase, schema: string): Promise<void> {
  await client.query(`listen "${schema}"`);
}
