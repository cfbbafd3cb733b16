// defineQueue: a queue's limits, stated in code. Whatever can be wrong with them is refused here.
import { TockError } from '../errors.js';
import { namingFile } from '../job/define-job.js';
import { checkName, quote } from '../names.js';
import { checkOptions, optionNames } from '../options.js';
import type { QueueLimits, QueueSettings } from './queue-limits.js';
import { NO_SETTINGS, readQueueLimits } from './queue-settings.js';

/** What {@link defineQueue} takes: the limits of `queues.set`. One that is absent, or null, is no limit. */
export interface QueueOptions extends QueueLimits {
  /** As jobs name it: `queue: 'mail'`. */
  readonly name: string;
}

/** A queue, as code states it. */
export interface DefinedQueue {
  readonly kind: 'tock.queue';
  readonly name: string;
  readonly settings: QueueSettings;
  /** Where it was defined; null: not known. */
  readonly file: string | null;
}

const OPTIONS = optionNames<QueueOptions>({
  name: true,
  concurrency: true,
  rate: true,
  window: true,
  timezone: true,
  relay: true,
  fair: true,
});

/**
 * States a queue's limits in code: export them as `queues` beside `jobs`, or give them to createTock. They
 * are registered with the jobs, and hold over all hosts. What an operator sets lies on top, until its end or
 * `queues.reset`.
 * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION, TOCK_BAD_SCHEDULE for a window or zone; the message
 * begins with file, line
 */
export function defineQueue(options: QueueOptions): DefinedQueue {
  return namingFile(
    options,
    file => {
      checkOptions(options, OPTIONS, 'defineQueue');
      const { name, ...limits } = options;
      const settings = { ...NO_SETTINGS, ...readQueueLimits(limits) };
      const checked = checkName(name, 'queue', 'TOCK_BAD_OPTION');
      return Object.freeze({ kind: 'tock.queue', name: checked, settings, file } as const);
    },
    'queue',
  );
}

/** Whether {@link defineQueue} made the value, even in another copy of the package. */
const isDefinedQueue = (value: unknown): value is DefinedQueue =>
  typeof value === 'object' && value !== null && (value as { kind?: unknown }).kind === 'tock.queue';

/**
 * The settings of queues in code by name, sorted.
 * @throws TockError TOCK_BAD_OPTION for what defineQueue did not make, and for two of one name
 */
export function queuesByName(queues: readonly DefinedQueue[]): Map<string, QueueSettings> {
  const form = "write: queues = [defineQueue({ name: 'mail', concurrency: 4 })]";
  if (!Array.isArray(queues))
    throw new TockError('TOCK_BAD_OPTION', `queues is ${quote(queues)}, and no array; ${form}`);
  const byName = new Map<string, DefinedQueue>();
  for (const [index, queue] of (queues as readonly unknown[]).entries()) {
    if (!isDefinedQueue(queue))
      throw new TockError(
        'TOCK_BAD_OPTION',
        `element ${index} of queues was not made by defineQueue: it is ${quote(queue)}; ${form}`,
      );
    const other = byName.get(queue.name);
    if (other !== undefined)
      throw new TockError(
        'TOCK_BAD_OPTION',
        `queue ${queue.name} is defined twice: in ${other.file ?? 'an unknown file'}, and in ${queue.file ?? 'an unknown file'}; remove one`,
      );
    byName.set(queue.name, queue);
  }
  const sorted = [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1));
  return new Map(sorted.map(({ name, settings }) => [name, settings]));
}
