// Pauses many definitions together, and resumes what one act has paused: how many, the question, the act.

import type { Tock } from '../tock/types.js';
import { isConfirmed } from './confirm.js';
import { type CommonOptions, type Shell, withTock } from './shell.js';
import { cleanLine, paint } from './terminal.js';
import { requireKnown } from './unknown-names.js';
import { localTime } from './views/time-text.js';

export interface ManyPauseFlags extends CommonOptions {
  readonly job?: string;
  readonly note?: string;
  readonly until?: string | Date;
  readonly yes?: true;
}

/** Those of a job, or all. */
export async function pauseMany(shell: Shell, { job, note, until, yes }: ManyPauseFlags): Promise<number> {
  const match = job === undefined ? {} : { job };
  const ofJob = job === undefined ? '' : ` of ${cleanLine(job)}`;
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const { paused: count, pausedAlready } = await tock.schedules.pauseMany(match, { dryRun: true });
    if (count + pausedAlready === 0) await requireKnown(shell, tock, { job });
    const stay = pausedAlready === 0 ? '' : ` (${alreadyText(pausedAlready)})`;
    if (count > 0 && !(await isConfirmed(shell, yes, `pause ${definitions(count)}${ofJob}${stay}`))) {
      shell.note('nothing was changed');
      return 1;
    }
    const result = await tock.schedules.pauseMany(match, {
      ...(note === undefined ? {} : { note }),
      ...(until === undefined ? {} : { until }),
    });
    shell.document(result);
    const { pause, paused } = result;
    shell.say(
      `${paused === 0 ? 'nothing' : definitions(paused)} paused${result.pausedAlready === 0 ? '' : `; ${alreadyText(result.pausedAlready)}`}`,
    );
    if (pause !== null) shell.say(paint('dim', `to resume just these: tock resume --pause ${pause}`));
    return 0;
  });
}

/** @param pause the id of the act */
export async function resumeMany(shell: Shell, { yes }: ManyPauseFlags, pause: string): Promise<number> {
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const { resumed: count } = await tock.schedules.resumeMany({ pause }, { dryRun: true });
    if (!(await isConfirmed(shell, yes, `resume ${definitions(count)} that were paused together`))) {
      shell.note('nothing was changed');
      return 1;
    }
    const result = await tock.schedules.resumeMany({ pause });
    shell.document(result);
    const { resumed, skipped } = result;
    shell.say(`${definitions(resumed)} resumed`);
    if (skipped > 0)
      shell.say(
        `${skipped} occurrence${skipped === 1 ? '' : 's'} came due during the pauses and were skipped`,
      );
    return 0;
  });
}

/** The acts of which pauses hold, as they can be resumed. */
export async function sharedPausesText(tock: Tock): Promise<string> {
  const pauses = await tock.schedules.pauses();
  if (pauses.length === 0) return 'the id of what was paused together (--pause); nothing is at the moment';
  const lines = pauses.slice(0, 10).map(({ id, count, pausedAt, operator, note }) => {
    const by = operator === null ? '' : ` by ${cleanLine(operator)}`;
    return `--pause ${id} (${definitions(count)}, since ${localTime(pausedAt)}${by}${note === null ? '' : `: ${cleanLine(note)}`})`;
  });
  return `what was paused together: ${lines.join(', ')}`;
}

const definitions = (count: number) => `${count} definition${count === 1 ? '' : 's'}`;

const alreadyText = (count: number) =>
  count === 1 ? '1 is paused already and stays as it is' : `${count} are paused already and stay as they are`;
