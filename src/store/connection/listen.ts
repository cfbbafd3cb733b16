// Room: store/connection. LISTEN on the channel on which Tock notifies: it has the schema's name.
// In: a connection that is kept open, the schema. Out: notifications, as events of the client.
import type { ClientBase } from 'pg';

/**
 * Subscribes for as long as the connection lives. Through a pooler in transaction mode, nothing would arrive.
 */
export async function listenToSchema(client: ClientBase, schema: string): Promise<void> {
  await client.query(`listen "${schema}"`);
}
