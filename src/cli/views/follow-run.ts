// Follows a run until it has ended: `tock show --follow`.
import { setTimeout as sleep } from 'node:timers/promises';
import { errorOnOneLine } from '../../model/run/errors/root-cause.js';
import type { RunRecord } from '../../model/run/run-record.js';
import { isFinished } from '../../model/run/states.js';
import type { Tock } from '../../tock/types.js';
import type { Shell } from '../shell.js';
import { cleanLine, jsonText, paint } from '../terminal.js';
import { LogFollower } from './run-log.js';
import { localTime } from './time-text.js';
import { createWaitView } from './wait-view.js';

const POLL_MS = 250;
/** Workers write lines with their heartbeats, so looking for them once a second is often enough. */
const LOOKS_PER_LOG = 4;

/**
 * Prints each step, and with `withLog` the lines of the run's log. Under --json, a document for each change:
 * `{ run }`, or `{ log }` with the new lines of each attempt that has some.
 *
 * Resolves when the run has ended, was pruned, or `stop` aborted: to the run as it was last read.
 */
export async function followRun(
  shell: Shell,
  tock: Tock,
  first: RunRecord,
  stop: AbortSignal,
  withLog: boolean,
): Promise<RunRecord> {
  const view = createWaitView(shell, process.stdout);
  let run = first;
  let before: RunRecord | null = null;
  let lastText = '';
  let looks = 0;
  const shown = new LogFollower();
  try {
    for (;;) {
      // Before the run's end is shown, after which there may be no reader.
      if (withLog && (looks++ % LOOKS_PER_LOG === 0 || isFinished(run.status)))
        await showLog(shell, tock, run, shown);
      const text = jsonText({ run: { ...run, lockedUntil: null } });
      // A renewed lease is not a change.
      if (text !== lastText) shell.document({ run });
      lastText = text;
      for (const step of stepsSince(before, run)) shell.say(step);
      view.show(run);
      if (isFinished(run.status) || stop.aborted) return run;
      await sleep(POLL_MS, undefined, { signal: stop }).catch(() => undefined);
      const next = await tock.runs.get(run.id);
      if (next === null) return run;
      before = run;
      run = next;
    }
  } finally {
    view.end();
  }
}

async function showLog(shell: Shell, tock: Tock, { id }: RunRecord, shown: LogFollower): Promise<void> {
  const logs = await tock.runs.log(id);
  if (!shell.json) {
    for (const line of shown.nextLines(logs)) shell.print(line);
    return;
  }
  const log = shown.next(logs);
  if (log.length > 0) shell.document({ log });
}

function stepsSince(before: RunRecord | null, run: RunRecord): string[] {
  if (before === null) return [];
  const known = before.errors.at(-1);
  const fresh = run.errors.filter(
    error => known === undefined || error.attempt > known.attempt || error.at > known.at,
  );
  const steps = fresh.map(error => {
    const failed = paint('yellow', `attempt ${error.attempt} of ${run.maxAttempts} failed`);
    return `${localTime(new Date(error.at))}  ${failed}: ${cleanLine(errorOnOneLine(error))}`;
  });
  if (run.attempts > before.attempts && run.startedAt !== null) {
    const on = run.worker === null ? '' : ` on ${cleanLine(run.worker)}`;
    steps.push(
      `${localTime(run.startedAt)}  ${paint('cyan', `attempt ${run.attempts} of ${run.maxAttempts} started`)}${on}`,
    );
  }
  if (run.cancelRequestedAt !== null && before.cancelRequestedAt === null)
    steps.push(
      `${localTime(run.cancelRequestedAt)}  ${run.handOff === null ? 'its handler was asked to stop' : 'it was cancelled'}`,
    );
  return steps;
}
