// What becomes of a line of graphile-worker's crontab: a definition that calls the task.

import { uniqueName } from '../code/job-name.js';
import { sameExpression, writtenAnew } from '../crontab/tock-cron.js';
import {
  asName,
  clockOptions,
  type LeftSchedule,
  secondsText,
  type TakenSchedule,
} from '../elsewhere/taken.js';
import { timesOf } from '../elsewhere/times.js';
import type { CronItem } from './cron-item.js';

/** The default of graphile-worker. */
const MAX_ATTEMPTS = 25;

/**
 * Translates one line.
 * @param handlers the code of the handlers, by the task
 * @param names those that are taken, to which the new one is added
 */
export function translateCronItem(
  { line, text, when, times: cronTimes, task, identifier, options, payload }: CronItem,
  handlers: ReadonlyMap<string, string>,
  names: Set<string>,
): TakenSchedule | LeftSchedule {
  const from = `line ${line}`;
  const times = timesOf(cronTimes);
  const cron = sameExpression([when, writtenAnew(cronTimes)], times);
  if (cron === undefined)
    return { from, problem: `it names no date that ever comes: ${when}`, remedy: 'Correct it or delete it' };
  const { fillMs, maxAttempts, queue, jobKey, jobKeyMode, priority } = options;
  const differences: string[] = [];
  if (jobKey !== null)
    differences.push(
      `jobKey ${jobKey} (${jobKeyMode ?? ''}) keeps one waiting job, the newer one; overlap: 'buffer_one' keeps the older one, and waits for the one that runs`,
    );
  if (queue !== null)
    differences.push(
      `the jobs of the queue ${queue} run one at a time: tock queue set ${asName(queue)} --concurrency 1`,
    );
  const policies = {
    overlap: jobKey === null ? 'allow_all' : 'buffer_one',
    ...(fillMs === 0 ? { catchup: 'none' } : { catchup: 'all', catchupWindow: secondsText(fillMs / 1000) }),
  };
  return {
    from,
    differences,
    clock: { times, timezone: 'UTC' },
    job: {
      name: uniqueName(asName(identifier) || 'task', names),
      comments: [`${from}: ${text}`, ...differences.map(each => `Note: ${each}`)],
      schedule: {
        ...clockOptions(cron, 'UTC', times),
        ...policies,
        ...(payload === null ? {} : { payload }),
      },
      shell: null,
      command: null,
      cwd: null,
      env: {},
      stdin: null,
      queue: queue === null ? null : asName(queue),
      timeout: null,
      ...(priority === null || priority === 0 ? {} : { priority }),
      retry: `retry(${maxAttempts ?? MAX_ATTEMPTS})`,
      run: handlers.get(task) ?? '() => null',
    },
  };
}

/** A row of `_private_known_crontabs`. */
export interface KnownCrontab {
  readonly identifier: string;
  readonly lastExecution: Date | null;
}

/** What graphile-worker has run, and the crontab does not hold: items in code, or lines that are gone. */
export function leftOnlyKnown(known: readonly KnownCrontab[], items: readonly CronItem[]): LeftSchedule[] {
  const written = new Set(items.map(({ identifier }) => identifier));
  return known
    .filter(({ identifier }) => !written.has(identifier))
    .map(({ identifier, lastExecution }) => ({
      from: `item ${identifier}`,
      problem: `the database knows it, ${lastExecution === null ? 'never executed' : `last executed for ${lastExecution.toISOString()}`}, but it is not in this crontab`,
      remedy:
        'If it is a cronItem in code (parseCronItems), write its definition by hand; if it is gone, leave it',
    }));
}

/** What the report says of all lines. */
export function graphileNotes(hasTasks: boolean): string[] {
  return [
    ...(hasTasks
      ? [
          'The tasks are called as they are, with what helpersOf gives: job, logger, query, withPgClient, abortSignal. A helper that',
          'is not there is an error that names it. Enqueue what follows by tock.enqueue or ctx.enqueue.',
        ]
      : [
          'The handlers are your own code: each function at the top of the file says what to move there. Until then its runs are dead',
          '(tock retry executes them later), and nothing succeeds in silence. With --tasks DIR the tasks are called as they are.',
        ]),
    'Times are UTC, as in graphile-worker. An attempt that fails waits e, e², … seconds, as there.',
    'Without ?fill, what an outage missed is left out (catchup: none); with it each gets its run, within that time.',
    'When the definitions are in the job module: tock import graphile-worker --switch. It comments out the lines. Then restart the',
    'workers: a worker goes by the crontab that it has read at its start. Jobs that were added before are still executed by them.',
    'On the way back, a worker fills what ?fill names since its own last execution, also what Tock has run meanwhile.',
  ];
}
