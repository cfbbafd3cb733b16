// Alerts as operators see and change them.
import { testMessage } from '../../model/alerts/message.js';
import type { Channel } from '../../model/alerts/read-alerts.js';
import {
  type AlertChannelRecord,
  type AlertRuleRecord,
  describeChannel,
  describeRule,
} from '../../model/alerts/rule-words.js';
import { TockError } from '../../model/errors.js';
import { quote, storableNote } from '../../model/names.js';
import { didYouMean } from '../../model/nearest.js';
import { readEndTime } from '../../model/planning/end-time.js';
import { readInstant } from '../../store/alerts/deliveries.js';
import {
  type AlertMute,
  isKnownSubject,
  listMutes,
  muteAlerts,
  unmuteAlerts,
} from '../../store/alerts/mutes.js';
import {
  type AlertFlip,
  type AlertRecord,
  type ChannelDelivery,
  listAlerts,
  listDeliveries,
  listFlips,
} from '../../store/alerts/records.js';
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
const MAX_EACH = 100;
const MAX_NAME = 500;

export async function list({ database }: Engine, limit: number): Promise<AlertRecord[]> {
  return await listAlerts(database, { limit: Math.min(limit, MAX_LISTED) });
}

/** The latest first. @param before only flips with a lower id */
export async function flips(
  { database }: Engine,
  { limit = 50, before }: { readonly limit?: number; readonly before?: string },
): Promise<AlertFlip[]> {
  if (before !== undefined && !/^\d{1,18}$/.test(before))
    throw new TockError('TOCK_BAD_OPTION', `before ${quote(before)} is not the id of a flip`);
  return await listFlips(database, { limit: Math.min(limit, MAX_LISTED), before: before ?? null });
}

/** The rules of this process, with their defaults. */
export function rules({ alerting }: Engine): AlertRuleRecord[] {
  return (alerting?.rules ?? []).map(describeRule);
}

/** The channels of this process, without their secrets. */
export function channels({ alerting }: Engine): AlertChannelRecord[] {
  return [...(alerting?.channels.values() ?? [])].map(describeChannel);
}

/** The last messages of each channel, the latest first. */
export async function deliveries({ database }: Engine, each: number): Promise<ChannelDelivery[]> {
  return await listDeliveries(database, Math.min(each, MAX_EACH));
}

export async function mutes({ database }: Engine): Promise<AlertMute[]> {
  return await listMutes.run(database, {});
}

/** @throws TockError TOCK_NOT_FOUND, TOCK_BAD_TIME, TOCK_BAD_DURATION */
export async function mute(
  engine: Engine,
  name: string,
  { until, note }: { readonly until: Date | string; readonly note?: string },
): Promise<AlertMute> {
  const { database, alerting, logger, operator, appName } = engine;
  const end = readEndTime(until, await readNow(database));
  const names = (alerting?.rules ?? []).map(rule => rule.name);
  const isRule = names.includes(name);
  const isSubject = name.length <= MAX_NAME && (await isKnownSubject.first(database, { name })) !== undefined;
  if (!isRule && !isSubject)
    throw new TockError(
      'TOCK_NOT_FOUND',
      `${quote(name)} is neither a rule of alerts nor a definition, a queue or a host${didYouMean(name, names)}`,
    );
  const kept = { until: end.toISOString(), note: storableNote(note) };
  const muted = await database.transaction(async session => {
    const details = { until: kept.until, note: kept.note ?? undefined };
    await audit(session, engine, { action: 'alerts.mute', targets: [name], details });
    return await muteAlerts(session, { name, ...kept, by: operator?.name ?? appName });
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

/**
 * The row of the audit is written before anything is sent, so that no test goes out without one.
 * @throws TockError TOCK_NOT_FOUND
 */
export async function test(engine: Engine, channel?: string): Promise<AlertTest[]> {
  const { database, alerting } = engine;
  const all = [...(alerting?.channels.values() ?? [])];
  const names = all.map(each => each.name);
  if (channel !== undefined && !names.includes(channel))
    throw new TockError(
      'TOCK_NOT_FOUND',
      `alerts have no channel ${quote(channel)}${didYouMean(channel, names) || `; there are ${names.join(', ') || 'none'}`}`,
    );
  const tested = all.filter(({ name }) => channel === undefined || name === channel);
  await database.transaction(async session => {
    await audit(session, engine, { action: 'alerts.test', targets: tested.map(({ name }) => name) });
  });
  const { send } = await import('../alerts/channels/send.js');
  const instant = await readInstant.first(database, {});
  const [at, seconds] = [instant?.iso ?? '', Number(instant?.seconds ?? Number.NaN)];
  const { signal } = new AbortController();
  const sendTo = async (to: Channel): Promise<AlertTest> => {
    try {
      const message = testMessage(`tock-test-${seconds}-${to.name}`, at, {
        timezone: to.timezone,
        dashboard: alerting?.dashboard ?? null,
      });
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
  return await Promise.all(tested.map(sendTo));
}
