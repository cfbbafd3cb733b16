// What an operator has set on top of a queue's code, in words: `concurrency 4 · set to 2 by ana until 14:20`.
import type { FairScope } from '../job/fair/fair.js';
import type { QueueOverrides, QueueSetting, QueueSettings } from '../queue/queue-limits.js';
import { NO_SETTINGS, QUEUE_SETTINGS } from '../queue/queue-settings.js';
import { rateText } from './queue-state.js';

export interface LayeredQueue extends Omit<QueueSettings, 'relay'> {
  readonly relayedTo: string | null;
  readonly inCode: QueueSettings | null;
  readonly overrides: QueueOverrides;
}

export interface OverrideWords {
  /** What code states: `concurrency 4`. */
  readonly stated: string;
  /** `set to 2 by ana`. */
  readonly set: string;
  /** Null: until it is reset. */
  readonly until: Date | null;
}

/** Of what holds in place of what code states. Code that has left the queue states nothing. */
export function overrideWords(queue: LayeredQueue): OverrideWords[] {
  const { inCode, overrides } = queue;
  return QUEUE_SETTINGS.flatMap(name => {
    const override = overrides[name];
    if (override === undefined || (inCode === null && override.until === null)) return [];
    const by = override.by === null ? 'before it was in code' : `by ${override.by}`;
    return [
      {
        stated: `${name} ${settingText(name, inCode ?? NO_SETTINGS)}`,
        set: `set to ${settingText(name, { ...queue, relay: queue.relayedTo })} ${by}`,
        until: override.until,
      },
    ];
  });
}

/** As it can be typed in: `4`, `100/1m`, `none`. */
function settingText(name: QueueSetting, settings: QueueSettings): string {
  if (name === 'rate') return rateText(settings.rate) || 'none';
  if (name === 'fair') return settings.fair === null ? 'none' : fairText(settings.fair);
  return String(settings[name] ?? 'none');
}

function fairText({ path, limit, rate }: FairScope): string {
  const each = [
    limit === null ? '' : `limit ${limit}`,
    rate === null ? '' : `rate ${rateText({ count: rate.limit, perMs: rate.perMs })}`,
  ].filter(part => part !== '');
  return each.length === 0 ? path : `${path} (${each.join(', ')})`;
}
