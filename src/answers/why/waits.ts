// What a live run waits for: a slot under a limit, the opening of a window, its queue. Reads only.

import type { Engine } from '../../engine/engine.js';
import { formatDuration } from '../../model/duration.js';
import { missingJobRemedy } from '../../model/explain/awaited.js';
import { instantText } from '../../model/explain/local-clock.js';
import { relayedText } from '../../model/explain/relayed.js';
import { slotText } from '../../model/explain/slot.js';
import { windowIn } from '../../model/planning/window.js';
import type { QueueRecord } from '../../model/queue-methods.js';
import { jobOfCodeKey } from '../../model/run/limits.js';
import type { RunRecord } from '../../model/run/run-record.js';
import { currentWait, waitText } from '../../model/run/run-wait.js';
import type { Zone } from '../../model/schedule/zone/zone.js';
import { isQueueNamed, listQueues } from '../../store/reads/queues.js';
import { readHolders, type WhyDefinition } from '../../store/reads/why/why.js';

/** Empty if it only waits for its time, or for a worker. */
export async function describeWaits(
  engine: Engine,
  definition: WhyDefinition,
  zone: Zone,
  run: RunRecord,
): Promise<string[]> {
  if (run.status !== 'queued' && run.status !== 'failed') return [];
  if (run.blockedOn !== null) return [await describeBlocked(engine, run, run.blockedOn)];
  const wait = currentWait(run, definition.now);
  if (wait) return [`its handler waits ${waitText(wait, run.snoozes, definition.now)}`];
  if (run.runAt > definition.now) return describeDeferred(definition, run);
  const [queue] = await listQueues(engine.database, run.queue);
  if (queue === undefined) return [];
  const waits = describeQueue(queue, definition.now, zone);
  const { name, relayedTo } = queue;
  if (relayedTo === null || queue.pausedAt !== null) return waits;
  const isAtWork = await isQueueNamed(engine.database, name);
  return [`its ${relayedText(name, relayedTo, isAtWork)}`, ...waits];
}

async function describeBlocked(engine: Engine, run: RunRecord, key: string): Promise<string> {
  const what = `it waits for ${slotText(key, run)}`;
  const job = jobOfCodeKey(key);
  if (job !== null) return `${what}: the one that claimed it does not. ${missingJobRemedy(job)}`;
  const { ids, count } = await readHolders(engine.database, key);
  if (count === 0) return `${what}, which is free: the next tick unblocks it`;
  const more = count > ids.length ? ` and ${count - ids.length} more` : '';
  return `${what}, which ${count === 1 ? `run ${ids.join()} has` : `runs ${ids.join(', ')}${more} have`} (tock show ${ids[0] ?? ''})`;
}

function describeDeferred({ active_window: hours, timezone }: WhyDefinition, { runAt }: RunRecord): string[] {
  if (hours === null) return [];
  const window = windowIn(hours, timezone);
  const at = runAt.getTime();
  // It is due in the very second in which the window opens.
  if (!window.isOpen(at) || window.isOpen(at - 1000)) return [];
  return [`it waits for the definition's window to open: ${hours} (${timezone})`];
}

function describeQueue(queue: QueueRecord, now: Date, zone: Zone): string[] {
  const { name, pausedAt, pauseReason, concurrency, running, window, timezone, rate } = queue;
  if (pausedAt) {
    const note = pauseReason === null ? '' : ` (${pauseReason})`;
    return [
      `its queue ${name} is paused since ${instantText(pausedAt.getTime(), zone)}${note} (tock queue resume ${name})`,
    ];
  }
  const open = window === null ? null : windowIn(window, timezone);
  if (open && !open.isOpen(now.getTime())) {
    const opening = instantText(open.opening(now.getTime()), zone);
    return [`its queue ${name} is outside its window ${window} (${timezone}), which opens at ${opening}`];
  }
  if (concurrency !== null && running >= concurrency)
    return [`its queue ${name} is full: ${running} running, ${concurrency} at once at most`];
  if (rate === null) return [];
  return [`its queue ${name} starts at most ${rate.count} runs per ${formatDuration(rate.perMs)}`];
}
