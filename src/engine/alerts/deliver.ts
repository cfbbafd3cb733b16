// Sends the flips of a run to its channel. They are the same in each of its attempts, and so is the message's
// id: a receiver that got it before a crash can recognize it.
import { CompiledQuery } from 'kysely';
import { composeMessage } from '../../model/alerts/message.js';
import type { Channel } from '../../model/alerts/read-alerts.js';
import type { JobContext, Json } from '../../model/job/job.js';
import { noteDelivered, readInstant, readUndelivered } from '../../store/alerts/deliveries.js';
import type { Session } from '../../store/connection/database.js';
import { inSchema } from '../../store/connection/schema-name.js';
import { send } from './channels/send.js';

const MAX_ANSWER = 500;

export async function deliverFlips(
  ctx: JobContext,
  channel: Channel,
  { schema, dashboard }: { readonly schema: string; readonly dashboard: string | null },
): Promise<Json> {
  const session = sessionOf(ctx, schema);
  const flips = await readUndelivered.run(session, { runId: ctx.runId });
  if (flips.length === 0) return { delivered: 0 };
  // Runs of other databases have the same ids.
  const first = Date.parse(flips[0]?.at ?? '').toString(36);
  const message = composeMessage(`tock-alert-${ctx.runId}-${first}`, flips, {
    timezone: channel.timezone,
    dashboard,
  });
  const instant = await readInstant.first(session, {});
  const answer = await send(channel, message, {
    signal: ctx.signal,
    at: instant?.iso ?? '',
    seconds: Number(instant?.seconds ?? Number.NaN),
  });
  await noteDelivered.run(session, { runId: ctx.runId, answer: answer.slice(0, MAX_ANSWER) });
  return { delivered: flips.length, answer };
}

function sessionOf({ db }: JobContext, schema: string): Session {
  return {
    async run<Row>(text: string, values: readonly unknown[] = []) {
      const result = await db.executeQuery(CompiledQuery.raw(inSchema(text, schema), [...values]));
      return result.rows as Row[];
    },
  };
}
