// Alerts as operators see and change them.
import { testMessage } from '../../model/alerts/message.js';
import type { Alerting, Channel } from '../../model/alerts/read-alerts.js';
import { TockError } from '../../model/errors.js';
import { quote, storableNote } from '../../model/names.js';
import { didYouMean } from '../../model/nearest.js';
import { readInstant as readTime } from '../../model/schedule/instant-text.js';
import {
  type AlertMute,
  type AlertRecord,
  isKnownSubject,
  listAlerts,
  listMutes,
  muteAlerts,
  readInstant,
  unmuteAlerts,
} from '../../store/alerts/deliveries.js';
import { readNow } from '../../store/connection/clock.js';
import { audit } from '../audit.js';
import type { Engine } from '../engine.js';

/** What became of a test message. */
export interface AlertTest {
  readonly channel: string;
  readonly isDelivered: boolean;
  /** What the other side answered, or what went wrong. */
  readonly answer: string;
}

const MAX_LISTED = 10_000;
const MAX_NAME = 500;

export async function list({ database }: Engine, limit: number): Promise<AlertRecord[]> {
  return await listAlerts(database, Math.min(limit, MAX_LISTED));
}

export async function mutes({ database }: Engine): Promise<AlertMute[]> {
  return await listMutes.run(database, {});
}

/** @throws TockError TOCK_NOT_FOUND, TOCK_BAD_TIME */
export async function mute(
  engine: Engine,
  name: string,
  { until, note }: { readonly until: Date | string; readonly note?: string },
): Promise<AlertMute> {
  const { database, alerting, logger } = engine;
  const ms = timeOf(until);
  if (ms <= (await readNow(database)))
    throw new TockError('TOCK_BAD_TIME', `until ${new Date(ms).toISOString()} is not in the future`);
  const rules = namesOfRules(alerting);
  const isRule = rules.includes(name);
  const isSubject = name.length <= MAX_NAME && (await isKnownSubject.first(database, { name })) !== undefined;
  if (!isRule && !isSubject)
    throw new TockError(
      'TOCK_NOT_FOUND',
      `${quote(name)} is neither a rule of alerts nor a definition, a queue or a host${didYouMean(name, rules)}`,
    );
  const kept = { until: new Date(ms).toISOString(), note: storableNote(note) };
  const muted = await database.transaction(async session => {
    const details = { until: kept.until, note: kept.note ?? undefined };
    await audit(session, engine, { action: 'alerts.mute', targets: [name], details });
    return await muteAlerts(session, { name, ...kept });
  });
  logger.info(
    { event: 'alerts.muted', name, until: muted.until.toISOString() },
    `alerts of ${name} are muted`,
  );
  return muted;
}

export async function unmute(engine: Engine, name: string): Promise<boolean> {
  const { database, logger } = engine;
  const row = await database.transaction(async session => {
    const ended = await unmuteAlerts.first(session, { name });
    if (ended) await audit(session, engine, { action: 'alerts.unmute', targets: [name] });
    return ended;
  });
  if (row) logger.info({ event: 'alerts.unmuted', name }, `alerts of ${name} are no longer muted`);
  return row !== undefined;
}

/** @throws TockError TOCK_NOT_FOUND */
export async function test({ database, alerting }: Engine, channel?: string): Promise<AlertTest[]> {
  const channels = [...(alerting?.channels.values() ?? [])];
  const names = channels.map(each => each.name);
  if (channel !== undefined && !names.includes(channel))
    throw new TockError(
      'TOCK_NOT_FOUND',
      `alerts have no channel ${quote(channel)}${didYouMean(channel, names) || `; there are ${names.join(', ') || 'none'}`}`,
    );
  const { send } = await import('../alerts/channels/send.js');
  const instant = await readInstant.first(database, {});
  const [at, seconds] = [instant?.iso ?? '', Number(instant?.seconds ?? Number.NaN)];
  const { signal } = new AbortController();
  const sendTo = async (to: Channel): Promise<AlertTest> => {
    try {
      const message = testMessage(`tock-test-${seconds}-${to.name}`, at);
      return {
        channel: to.name,
        isDelivered: true,
        answer: await send(to, message, { signal, at, seconds }),
      };
    } catch (error) {
      return {
        channel: to.name,
        isDelivered: false,
        answer: error instanceof Error ? error.message : String(error),
      };
    }
  };
  return await Promise.all(
    channels.filter(({ name }) => channel === undefined || name === channel).map(sendTo),
  );
}

function timeOf(until: Date | string): number {
  try {
    return readTime(until, 'until');
  } catch (error) {
    throw new TockError('TOCK_BAD_TIME', error instanceof Error ? error.message : String(error));
  }
}

const namesOfRules = (alerting: Alerting | undefined) => (alerting?.rules ?? []).map(rule => rule.name);
