// Runs that a worker should have taken, in words: a fault of Tock, or a row that another session has locked.
import { formatSpan } from '../duration.js';
import type { Words } from '../problem-words.js';
import type { OverlookedRun } from '../queue/waiting-runs.js';
import { cut } from '../schedule/bad-schedule.js';
import { utcText } from '../schedule/instant-text.js';

/**
 * A run that could be taken for so long, and is not, is overlooked. A worker looks at all that is due every
 * 5 s at the latest, slower where that takes it long. The rest is a margin for slow machines.
 */
export const OVERLOOKED_MS = 30_000;

/** What can be done about an overlooked run. */
export const OVERLOOKED_REMEDY =
  'Restart that worker, and report this with the output of tock doctor; unless another session has locked the run’s row';

/** `worker web-1 pid 812 has had room for it since 2026-03-02T12:00:00Z, for 3m, and does not take it`. */
export function overlookedText({ worker, since }: OverlookedRun, now: Date): string {
  const forMs = Math.max(0, now.getTime() - since.getTime());
  return `worker ${worker.host} pid ${worker.pid} has had room for it since ${utcText(since)}, for ${formatSpan(forMs)}, and does not take it`;
}

export function overlookedRun(run: OverlookedRun, now: Date): Words {
  const of = run.definition ?? run.job;
  return {
    text: `run ${run.id} of ${of}, in queue ${cut(run.queue, 200)}, is due, and ${overlookedText(run, now)}`,
    remedy: OVERLOOKED_REMEDY,
    command: `tock show ${run.id}`,
    link: `/runs/${run.id}`,
  };
}
