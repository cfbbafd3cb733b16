// Why runs start late, in words: a queue that is behind, that is paused, or a limit without a free slot.
import { formatSpan } from '../duration.js';
import { START_TICKING, type Words } from '../problem-words.js';
import type { BlockedRuns } from '../queue/waiting-runs.js';
import { cut } from '../schedule/bad-schedule.js';
import { utcText } from '../schedule/instant-text.js';
import type { SchedulerStatus } from '../scheduler-view.js';
import { shellWord } from '../shell-word.js';
import { keyText } from './slot.js';
import { isAsleep, lastSeenAt } from './tick-state.js';

/** For runs that came from elsewhere while all that executes runs sleeps (`--idle`); null: nothing sleeps. */
function waitsForSleeper(what: string, { at, ticks }: Pick<SchedulerStatus, 'at' | 'ticks'>): Words | null {
  const [first] = ticks
    .filter(tick => isAsleep(tick, at))
    .sort((a, b) => lastSeenAt(a).getTime() - lastSeenAt(b).getTime());
  if (first === undefined) return null;
  return {
    text: `${what}, and what executes runs sleeps until ${utcText(lastSeenAt(first))} (--idle)`,
    remedy: 'tock tick executes it now; with a shorter --idle it would wait for less',
    command: 'tock tick',
    link: '/workers',
  };
}

export function longWait(status: SchedulerStatus, isPaused: boolean): Words {
  const { oldestWaitMs, runs, workers } = status;
  const wait = `the oldest due run has waited for ${formatSpan(oldestWaitMs)} (${runs.waiting} waiting)`;
  const link = '/queues';
  if (isPaused) return { text: `${wait}; a queue is paused`, remedy: null, command: 'tock queue', link };
  if (workers.length === 0)
    return (
      waitsForSleeper(wait, status) ?? {
        text: `${wait}, and no worker claims runs`,
        remedy: START_TICKING,
        command: 'tock tick',
        link,
      }
    );
  return {
    text: `${wait}: the workers do not keep up`,
    remedy: 'Raise --concurrency, or start another worker with tock start',
    command: 'tock start',
    link,
  };
}

type Queue = SchedulerStatus['queues'][number];

/** Of a queue whose oldest due run has waited too long. */
export function lateQueue(
  { queue, waiting, oldestWaitMs, isClaimed }: Queue,
  status: SchedulerStatus,
): Words {
  const hasWorkers = status.workers.length > 0;
  const runs = waiting === 1 ? '1 due run waits' : `${waiting} due runs wait`;
  const late = `queue ${cut(queue, 200)} is ${formatSpan(oldestWaitMs)} behind: ${runs}`;
  const link = `/queues/${encodeURIComponent(queue)}`;
  if (isClaimed)
    return {
      text: `${late}, and its workers do not keep up`,
      remedy:
        'See whether a limit of the queue holds them back; else raise --concurrency, or start another worker with tock start',
      command: 'tock queue',
      link,
    };
  const asleep = hasWorkers ? null : waitsForSleeper(late, status);
  if (asleep !== null) return asleep;
  const start = `tock start --queues ${shellWord(cut(queue, 200))}`;
  return {
    text: `${late}, and no worker claims from it`,
    remedy: hasWorkers ? `Start one that does: ${start}` : START_TICKING,
    command: hasWorkers ? start : 'tock tick',
    link,
  };
}

export function moreLateQueues(count: number): Words {
  const queues = count === 1 ? '1 more queue is' : `${count} more queues are`;
  return { text: `${queues} behind`, remedy: null, command: 'tock status', link: '/queues' };
}

export function blockedRuns({ key, definition, runs, waitMs }: BlockedRuns): Words {
  const wait = runs === 1 ? '1 run waits' : `${runs} runs wait`;
  return {
    text: `${wait} for ${keyText(key, definition)}, the oldest for ${formatSpan(waitMs)}`,
    remedy: 'See which runs hold the slots, and cancel one that hangs; or raise the limit in the job',
    command: 'tock runs --status running',
    link: '/queues',
  };
}

export function pausedQueue(names: readonly string[]): Words {
  const [first = ''] = names;
  const queues = names.length === 1 ? `queue ${first} holds` : `queues ${names.join(', ')} hold`;
  const command = `tock queue resume ${shellWord(first)}`;
  return {
    text: `the paused ${queues} back due runs`,
    remedy: command,
    onPage: null,
    command,
    link: names.length === 1 ? `/queues/${encodeURIComponent(first)}` : '/queues',
  };
}
