// What a live run waits for: a slot under a limit, the opening of a window, its queue. Reads only.

import type { Engine } from '../../engine/engine.js';
import { ALERT_QUEUE } from '../../model/alerts/alert-queue.js';
import { formatDuration, formatSpan } from '../../model/duration.js';
import { missingJobRemedy } from '../../model/explain/awaited.js';
import { holdText, turnText } from '../../model/explain/fair-turn.js';
import { instantText } from '../../model/explain/local-clock.js';
import { OVERLOOKED_REMEDY, overlookedText } from '../../model/explain/overlooked.js';
import { flowWords, isMoving } from '../../model/explain/queue-flow.js';
import { LATE_MS, queueState } from '../../model/explain/queue-state.js';
import { relayedText } from '../../model/explain/relayed.js';
import { slotText } from '../../model/explain/slot.js';
import { freezeText } from '../../model/freeze/freeze.js';
import { windowIn } from '../../model/planning/window.js';
import type { QueueRecord } from '../../model/queue-methods.js';
import { fairKeyOf, jobOfCodeKey } from '../../model/run/limits.js';
import type { RunRecord } from '../../model/run/run-record.js';
import { currentWait, isNever, waitText } from '../../model/run/run-wait.js';
import type { Zone } from '../../model/schedule/zone/zone.js';
import { readFreeze } from '../../store/definitions/freeze/freezes.js';
import { readQueueLoad } from '../../store/reads/queue-load.js';
import { isQueueNamed, listQueues } from '../../store/reads/queues.js';
import { readOverlooked } from '../../store/reads/runs/overlooked.js';
import { readHolders, type WhyDefinition } from '../../store/reads/why/why.js';
import { readTurn } from '../../store/runs/fair/key-settings.js';
import { readQueueFlow } from '../queue-flow.js';
import { describeInterval } from './interval.js';

/** Empty if it only waits for its time, or for a worker. */
export async function describeWaits(
  engine: Engine,
  definition: WhyDefinition,
  zone: Zone,
  run: RunRecord,
): Promise<string[]> {
  if (run.status !== 'queued' && run.status !== 'failed') return [];
  const frozen =
    run.runAt <= definition.now && run.queue !== ALERT_QUEUE ? await readFreeze(engine.database) : null;
  const held =
    frozen === null
      ? []
      : [`everything is ${freezeText(frozen, definition.now, at => instantText(at.getTime(), zone))}`];
  return [...held, ...(await describeOthers(engine, definition, zone, run))];
}

/** What holds it besides a freeze. */
async function describeOthers(
  engine: Engine,
  definition: WhyDefinition,
  zone: Zone,
  run: RunRecord,
): Promise<string[]> {
  const interval =
    definition.waits_for !== null && isNever(run.runAt) ? await describeInterval(engine, zone, run.id) : [];
  if (interval.length > 0) return interval;
  const wait = currentWait(run, definition.now);
  if (wait)
    return [
      `${wait.kind === 'group' ? 'it' : 'its handler'} waits ${waitText(wait, run.snoozes, definition.now)}`,
    ];
  if (run.runAt > definition.now) return describeDeferred(definition, run);
  const overlooked = await readOverlooked(engine.database, run.id);
  if (overlooked !== null) return [overlookedText(overlooked, definition.now), OVERLOOKED_REMEDY];
  const blocked = run.blockedOn === null ? [] : [await describeBlocked(engine, run, run.blockedOn, zone)];
  const [queue] = await listQueues(engine.database, run.queue);
  if (queue === undefined) return blocked;
  const holds = [...describeQueue(queue, definition.now, zone), ...blocked];
  // What holds it says more than how fast it was.
  const flow = holds.length === 0 ? await describeFlow(engine, queue, definition.now) : [];
  const waits = [...holds, ...flow];
  const { name, relayedTo } = queue;
  if (relayedTo === null || queue.pausedAt !== null) return waits;
  const isAtWork = await isQueueNamed(engine.database, name);
  return [`its ${relayedText(name, relayedTo, isAtWork)}`, ...waits];
}

async function describeBlocked(engine: Engine, run: RunRecord, key: string, zone: Zone): Promise<string> {
  const what = `it waits for ${slotText(key, run)}`;
  const job = jobOfCodeKey(key);
  if (job !== null) return `${what}: the one that claimed it does not. ${missingJobRemedy(job)}`;
  if (fairKeyOf(key) !== null) {
    const turn = await readTurn(engine.database, key);
    return `${what}${holdText(turn, at => `at ${instantText(at.getTime(), zone)}`) ?? turnText(turn)}`;
  }
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

/** Why, and until when, a queue is behind. */
async function describeFlow({ database }: Engine, { name }: QueueRecord, now: Date): Promise<string[]> {
  const [load] = await readQueueLoad(database, { name });
  const age = now.getTime() - (load?.oldestAt ?? now).getTime();
  if (load === undefined || age < LATE_MS) return [];
  const flow = await readQueueFlow(database, load, { now });
  const behind = `its queue ${name} is ${formatSpan(age)} behind`;
  const moves = isMoving(queueState(load, now));
  return [flow === null ? behind : `${behind}: ${flowWords(flow, moves)}`];
}

function describeQueue(queue: QueueRecord, now: Date, zone: Zone): string[] {
  const {
    name,
    pausedAt,
    pausedUntil,
    pauseReason,
    closedUntil,
    concurrency,
    running,
    window,
    timezone,
    rate,
  } = queue;
  if (pausedAt) {
    const note = pauseReason === null ? '' : ` (${pauseReason})`;
    return [
      `its queue ${name} is paused since ${instantText(pausedAt.getTime(), zone)}${pausedUntil === null ? '' : ` until ${instantText(pausedUntil.getTime(), zone)}`}${note} (tock queue resume ${name})`,
    ];
  }
  if (closedUntil)
    return [
      `its queue ${name} was closed by a handler until ${instantText(closedUntil.getTime(), zone)} (tock queue resume ${name})`,
    ];
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
