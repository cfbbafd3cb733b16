// What holds in a queue: what code states, and on top what an operator has set, until its end.
import { canonical } from '../audit.js';
import type { QueueOverride, QueueOverrides, QueueSetting, QueueSettings } from './queue-limits.js';
import { NO_SETTINGS, QUEUE_SETTINGS } from './queue-settings.js';

/** A queue: what holds, and why. */
export interface QueueLayers {
  readonly holds: QueueSettings;
  /** Null: it is not in code. */
  readonly inCode: QueueSettings | null;
  /** Of a queue that is not in code: what was set with an end when it was. */
  readonly overrides: QueueOverrides;
}

/** Registers what code states; null: it states the queue no more. What an operator has set stays. */
export function withCode(layers: QueueLayers, inCode: QueueSettings | null): QueueLayers {
  const stated = inCode ?? NO_SETTINGS;
  const overrides =
    layers.inCode === null ? { ...setBefore(layers, stated), ...layers.overrides } : layers.overrides;
  return { holds: chosen(name => (overrides[name] ? layers.holds : stated)), inCode, overrides };
}

/** An operator sets something, in place of what code states and of what was set before. */
export function withSet(
  { holds, inCode, overrides }: QueueLayers,
  given: Partial<QueueSettings>,
  override: QueueOverride,
): QueueLayers {
  const named = Object.keys(given) as QueueSetting[];
  const others = without(overrides, name => named.includes(name));
  const made = inCode === null ? {} : Object.fromEntries(named.map(name => [name, override]));
  return { holds: { ...holds, ...given }, inCode, overrides: { ...others, ...made } };
}

/** Resets to the code what an operator has set. @param isEnded of which */
export function withoutOverrides(
  { holds, inCode, overrides }: QueueLayers,
  isEnded: (override: QueueOverride) => boolean,
): QueueLayers {
  const stated = inCode ?? NO_SETTINGS;
  const ends = (name: QueueSetting) => {
    const override = overrides[name];
    return override !== undefined && isEnded(override);
  };
  return {
    holds: chosen(name => (ends(name) ? stated : holds)),
    inCode,
    overrides: without(overrides, ends),
  };
}

/** Whether two settings, or whole layers, say the same. */
export const isSame = (a: unknown, b: unknown): boolean => canonical(a) === canonical(b);

/** When the first of them ends; null: none ends by itself. */
export function firstEnd(overrides: QueueOverrides): Date | null {
  const ends = Object.values(overrides).flatMap(({ until }) => (until === null ? [] : [until.getTime()]));
  return ends.length === 0 ? null : new Date(Math.min(...ends));
}

/** An operator's limits lie on top also where code states the queue only later. */
function setBefore({ holds }: QueueLayers, stated: QueueSettings): QueueOverrides {
  const set = QUEUE_SETTINGS.filter(
    name => !isSame(holds[name], NO_SETTINGS[name]) && !isSame(holds[name], stated[name]),
  );
  return Object.fromEntries(set.map(name => [name, { by: null, until: null }]));
}

const without = (overrides: QueueOverrides, leaves: (name: QueueSetting) => boolean): QueueOverrides =>
  Object.fromEntries(Object.entries(overrides).filter(([name]) => !leaves(name as QueueSetting)));

const chosen = (from: (name: QueueSetting) => QueueSettings): QueueSettings =>
  Object.fromEntries(QUEUE_SETTINGS.map(name => [name, from(name)[name]])) as unknown as QueueSettings;
