// The rows of queues: what holds, what code states, and what an operator has set on top.
import { firstEnd, isSame, type QueueLayers } from '../../model/queue/layers.js';
import type { QueueOverrides, QueueSettings } from '../../model/queue/queue-limits.js';
import { NO_SETTINGS, QUEUE_SETTINGS } from '../../model/queue/queue-settings.js';
import type { Session } from '../connection/database.js';
import { db, now, runQuery } from '../connection/query.js';
import { statement } from '../connection/statement.js';
import { writeQueueScope } from './fair-scopes.js';

/** As JSON has them. */
export type StoredOverrides = {
  readonly [Setting in keyof QueueOverrides]?: { readonly by: string | null; readonly until: string | null };
};

/** @param stored null: the queue has no row */
export function overridesOf(stored: StoredOverrides | null): QueueOverrides {
  const all = Object.entries(stored ?? {}).map(([name, { by, until }]) => {
    return [name, { by, until: until === null ? null : new Date(until) }] as const;
  });
  return Object.fromEntries(all);
}

/**
 * Writes what is new in a queue, whose row the caller has locked. A new rate begins at once: tokens saved or
 * owed under the old one do not count. A row is removed that says nothing more once code has left it: no
 * limit, no pause, and no closing that holds still.
 */
export async function writeQueue(
  session: Session,
  name: string,
  { before, after }: { readonly before: QueueLayers; readonly after: QueueLayers },
): Promise<void> {
  const isNew = (setting: keyof QueueSettings) => !isSame(before.holds[setting], after.holds[setting]);
  const { concurrency, rate, window, timezone, relay, fair } = after.holds;
  if (isNew('fair')) await writeQueueScope(session, name, fair);
  const query = db
    .updateTable('tock.job_queues')
    .set({
      ...(isNew('concurrency') ? { concurrency } : {}),
      ...(isNew('rate')
        ? { rate_count: rate?.count ?? null, rate_period_ms: rate?.perMs ?? null, rate_next_at: null }
        : {}),
      ...(isNew('window') ? { active_window: window } : {}),
      ...(isNew('timezone') ? { timezone } : {}),
      ...(isNew('relay') ? { relayed_to: relay } : {}),
      in_code: after.inCode === null ? null : JSON.stringify(after.inCode),
      overrides: JSON.stringify(after.overrides),
      override_ends_at: firstEnd(after.overrides)?.toISOString() ?? null,
      updated_at: now,
    })
    .where('name', '=', name);
  await runQuery(session, query);
  if (before.inCode === null || after.inCode !== null) return;
  if (!QUEUE_SETTINGS.every(setting => isSame(after.holds[setting], NO_SETTINGS[setting]))) return;
  const empty = db
    .deleteFrom('tock.job_queues')
    .where('name', '=', name)
    .where('paused_at', 'is', null)
    .where(eb => eb.or([eb('closed_until', 'is', null), eb('closed_until', '<=', now)]));
  await runQuery(session, empty);
}

interface InCode {
  readonly name: string;
  readonly settings: QueueSettings;
}

/** What the code that is in force states of queues. Locks nothing: only who registers writes it. */
export async function readQueuesInCode(session: Session): Promise<Map<string, QueueSettings>> {
  const rows = await READ_IN_CODE.run(session, {});
  return new Map(rows.map(({ name, settings }) => [name, settings]));
}

const READ_IN_CODE = statement<object, InCode>(
  'read-queues-in-code',
  `select q.name, q.in_code as settings from tock.job_queues q where q.in_code is not null order by q.name`,
);

/** The queues in which something that was set has come to its end. */
export async function readEndedOverrides(session: Session): Promise<string[]> {
  return (await READ_ENDED.run(session, {})).map(({ name }) => name);
}

const READ_ENDED = statement<object, { readonly name: string }>(
  'read-ended-overrides',
  `select q.name from tock.job_queues q where q.override_ends_at <= tock.now() order by q.name`,
);
