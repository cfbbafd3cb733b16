// Events, which runs wait for by ctx.waitFor; see waits.ts for how they meet.
import { statement } from '../../connection/statement.js';

interface NewEvent {
  readonly name: string;
  readonly key: string;
  /** JSON. */
  readonly payload: string;
}

/** Notes an event, and that waits are to be looked for once this transaction has committed. */
export const emitEvent = statement<NewEvent, { readonly id: string }>(
  'emit-event',
  'select tock.emit(:name, :key, :payload::jsonb)::text as id',
);
