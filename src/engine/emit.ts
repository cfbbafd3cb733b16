// Emits an event, perhaps in the caller's own transaction. Runs that wait for it go on after the commit.

import { payloadText } from '../model/job/payload/payload.js';
import type { EmitOptions } from '../model/job/wait-methods.js';
import { checkEventKey, checkName, quote } from '../model/names.js';
import { checkOptions, optionNames } from '../model/options.js';
import type { Session } from '../store/connection/database.js';
import { emitEvent } from '../store/runs/waits/events.js';
import { audit } from './audit.js';
import type { Engine } from './engine.js';
import { sessionOfClient } from './enqueue.js';

const EMIT_OPTIONS = optionNames<EmitOptions>({ key: true, payload: true, client: true });
const MAX_BYTES = 1024 * 1024;

/**
 * Emits an event and returns its id. With `client` in the caller's transaction, after whose commit it counts.
 * @throws TockError TOCK_BAD_KEY, TOCK_BAD_PAYLOAD, TOCK_BAD_OPTION
 */
export async function emit(engine: Engine, event: string, options: EmitOptions = {}): Promise<string> {
  const name = checkName(event, 'event', 'TOCK_BAD_KEY');
  checkOptions(options, EMIT_OPTIONS, `emit of event ${quote(event)}`);
  const { payload = null, client } = options;
  const values = { name, key: checkEventKey(options.key ?? ''), payload: payloadText(payload, MAX_BYTES) };
  const write = async (session: Session) => {
    const row = await emitEvent.first(session, values);
    if (engine.operator !== null)
      await audit(session, engine, { action: 'emit', targets: [name], details: { key: values.key } });
    return row?.id ?? '';
  };
  if (client !== undefined) return await write(sessionOfClient(engine, client));
  return engine.operator === null ? await write(engine.database) : await engine.database.transaction(write);
}
