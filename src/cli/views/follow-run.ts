// Shell: cli. Follows a run until it has ended: `tock show --follow`.
// In: a run. Out: a line for each attempt and error as it happens, and the progress between them; or a JSON line per change.
import { setTimeout as sleep } from 'node:timers/promises';
import { isFinished } from '../../model/run/states.js';
import type { RunRecord } from '../../store/reads/runs.js';
import type { Tock } from '../../tock/types.js';
import type { Shell } from '../shell.js';
import { cleanLine, jsonText, paint } from '../terminal.js';
import { localTime } from './time-text.js';
import { createWaitView } from './wait-view.js';

const LOOK_EVERY_MS = 250;

/** Resolves to the run when it has ended, was pruned, or `stop` aborted: then as it was seen last. */
export async function followRun(
  shell: Shell,
  tock: Tock,
  first: RunRecord,
  stop: AbortSignal,
): Promise<RunRecord> {
  const view = createWaitView(shell, process.stdout);
  let [run, before, told]: [RunRecord, RunRecord | null, string] = [first, null, ''];
  try {
    for (;;) {
      const text = jsonText({ run: { ...run, lockedUntil: null } });
      // That the lease is renewed is no news.
      if (text !== told) shell.document({ run });
      told = text;
      for (const step of stepsSince(before, run)) shell.say(step);
      view.show(run);
      if (isFinished(run.status) || stop.aborted) return run;
      await sleep(LOOK_EVERY_MS, undefined, { signal: stop }).catch(() => undefined);
      const next = await tock.runs.get(run.id);
      if (next === null) return run;
      before = run;
      run = next;
    }
  } finally {
    view.end();
  }
}

/** The errors and attempts that are new since it was looked at before. */
function stepsSince(before: RunRecord | null, run: RunRecord): string[] {
  if (before === null) return [];
  const known = before.errors.at(-1);
  const fresh = run.errors.filter(
    error => known === undefined || error.attempt > known.attempt || error.at > known.at,
  );
  const steps = fresh.map(({ at, attempt, name, message }) => {
    const what = cleanLine(`${name}: ${message.split('\n')[0] ?? ''}`);
    return `${localTime(new Date(at))}  ${paint('yellow', `attempt ${attempt} of ${run.maxAttempts} failed`)}: ${what}`;
  });
  if (run.attempts > before.attempts && run.startedAt !== null) {
    const on = run.worker === null ? '' : ` on ${cleanLine(run.worker)}`;
    steps.push(
      `${localTime(run.startedAt)}  ${paint('cyan', `attempt ${run.attempts} of ${run.maxAttempts} began`)}${on}`,
    );
  }
  if (run.cancelRequestedAt !== null && before.cancelRequestedAt === null)
    steps.push(`${localTime(run.cancelRequestedAt)}  its handler was asked to stop`);
  return steps;
}
