// Retries or cancels all runs that match a filter.

import { readClock } from '../answers/reads.js';
import { formatSpan, parseDuration } from '../model/duration.js';
import { TockError } from '../model/errors.js';
import { cappedText, MAX_COUNTED, type RunMatch, withInstants } from '../model/run/match/run-match.js';
import type { ManyResult, RetryRate } from '../model/run/run-methods.js';
import type { RunStatus } from '../model/run/states.js';
import { stopSignal } from '../runtime/stop-signal.js';
import { databaseOf } from '../tock/database-of.js';
import type { Tock } from '../tock/types.js';
import { isConfirmed } from './confirm.js';
import { FILTER_NAMES, type FilterFlags, isFiltered, matchOfFlags, scopeText } from './flags/filter-flags.js';
import { type CommonOptions, type Shell, withTock } from './shell.js';
import { cleanLine } from './terminal.js';
import { requireKnown } from './unknown-names.js';
import { createProgressView } from './views/progress-view.js';
import { localTime, relative } from './views/time-text.js';

export interface ManyFlags extends CommonOptions, FilterFlags {
  readonly limit?: number;
  readonly yes?: true;
}

/** What an action on many is given besides the filter. */
export interface ManyCall {
  readonly dryRun?: boolean;
  readonly limit?: number;
  readonly upTo?: string;
  readonly onProgress?: (done: number) => void;
  readonly signal?: AbortSignal;
}

export interface RunAction {
  readonly verb: 'retry' | 'cancel';
  /** The states in which it is possible. */
  readonly from: readonly RunStatus[];
  /** The states chosen if no --status is given. */
  readonly defaultFrom: readonly RunStatus[];
  /** At which rate they start; undefined: at once. */
  readonly rate?: RetryRate;
  readonly act: (tock: Tock, match: RunMatch, call: ManyCall) => Promise<ManyResult>;
}

/** Whether flags choose the runs. @throws TockError TOCK_BAD_OPTION for ids and flags, or neither */
export function isByFilter(command: string, flags: ManyFlags, ids: readonly string[]): boolean {
  const isByFlags = isFiltered(flags);
  const names = `${FILTER_NAMES.slice(0, -1).join(', ')} or ${FILTER_NAMES.at(-1) ?? ''}`;
  if (isByFlags && ids.length > 0) throw usage(`give run ids or a filter (${names}), not both`);
  if (!isByFlags && ids.length === 0)
    throw usage(`give run ids, or a filter: ${names} (see tock ${command} --help)`);
  if (!isByFlags && (flags.limit !== undefined || flags.yes))
    throw usage(`--limit and --yes need a filter: ${names}`);
  return isByFlags;
}

/** Says how many runs match, asks, and acts in batches. Exit code 1 if any run failed. */
export async function actOnMany(shell: Shell, flags: ManyFlags, runAction: RunAction): Promise<number> {
  const { verb, from, defaultFrom, rate, act } = runAction;
  const statuses = flags.status ?? defaultFrom;
  const wrong = statuses.find(status => !from.includes(status));
  if (wrong !== undefined)
    throw usage(`only ${listText(from)} runs can be ${verbed(verb)}, not ${wrong} ones`);
  const asked: RunMatch = { ...matchOfFlags(flags), status: statuses };
  const scope = scopeText(flags);
  const limited = flags.limit === undefined ? {} : { limit: flags.limit };
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    // What is asked about is what is done, whatever is enqueued before the answer.
    const match = withInstants(asked, await readClock(await databaseOf(tock)));
    const { matched, pausedQueues, upTo } = await act(tock, match, { ...limited, dryRun: true });
    if (matched === 0) await requireKnown(shell, tock, flags);
    const isCapped = matched > MAX_COUNTED;
    const number = isCapped ? `more than ${MAX_COUNTED}` : matched;
    const what = `${number} ${listText(statuses)} ${matched === 1 ? 'run' : 'runs'}${scope}${pausedText(pausedQueues)}${paceText(rate, Math.min(matched, MAX_COUNTED))}`;
    if (matched > 0 && !(await isConfirmed(shell, flags.yes, `${verb} ${what}`))) {
      shell.note('nothing was changed');
      return 1;
    }
    // From here on, Ctrl-C ends the work between two batches.
    const stop = stopSignal();
    const view = createProgressView(shell);
    const onProgress = (done: number) =>
      view.show(
        done,
        Math.max(done, matched),
        isCapped ? `${done}` : `${done} of ${Math.max(done, matched)}`,
      );
    const result = await act(tock, match, { ...limited, upTo, onProgress, signal: stop }).finally(() =>
      view.end(),
    );
    const { done, passed, failed, failedCount } = result;
    const { isStopped, lastDueAt } = result;
    const left = isStopped ? (await act(tock, match, { upTo, dryRun: true })).matched : 0;
    shell.document({
      matched: result.matched,
      done,
      passed,
      failed,
      ...(isStopped ? { stopped: true, left } : {}),
      ...(lastDueAt === undefined ? {} : { lastDueAt }),
    });
    if (result.matched === 0) {
      const others = flags.status === undefined ? from.filter(status => !statuses.includes(status)) : [];
      const other =
        others.length === 0
          ? 0
          : (await act(tock, { ...match, status: others }, { ...limited, dryRun: true })).matched;
      const those = `; ${cappedText(other)} ${other === 1 ? 'is' : 'are'} ${listText(others)}, which --status ${others.join()} chooses`;
      shell.say(`no ${listText(statuses)} runs${scope}${other === 0 ? '' : those}`);
    } else shell.say(resultText(result, runAction));
    if (lastDueAt)
      shell.say(
        `the last of them is due at ${localTime(lastDueAt)}, ${relative(lastDueAt)}; to stop those that have not started: tock cancel --status queued, with the same filter`,
      );
    if (isStopped) shell.note(leftText(left, verb));
    for (const { id, message } of failed.slice(0, 10))
      if (!shell.json) shell.note(message.startsWith(`run ${id} `) ? message : `run ${id}: ${message}`);
    return failedCount === 0 && !isStopped ? 0 : 1;
  });
}

const leftText = (left: number, verb: RunAction['verb']) =>
  left === 0
    ? 'stopped; none is left'
    : `stopped; ${cappedText(left)} are left as they were: the same tock ${verb} again goes on with them`;

/** How long they take to start. */
function paceText(rate: RetryRate | undefined, matched: number): string {
  if (rate === undefined) return '';
  const ms = (matched / rate.count) * parseDuration(rate.per);
  return `, at most ${rate.count} per ${rate.per}${ms < 2000 ? '' : `: that takes ${formatSpan(ms)}`}`;
}

const verbed = (verb: RunAction['verb']) => (verb === 'retry' ? 'retried' : 'cancelled');

function usage(message: string): TockError {
  return new TockError('TOCK_BAD_OPTION', message);
}

function listText(statuses: readonly RunStatus[]): string {
  return statuses.length < 2
    ? statuses.join()
    : `${statuses.slice(0, -1).join(', ')} or ${statuses.at(-1) ?? ''}`;
}

/** Retried runs of a paused queue do not start. */
function pausedText(paused: ManyResult['pausedQueues']): string {
  const each = paused.map(
    ({ queue, runs }) => `${cappedText(runs)} in the queue ${cleanLine(queue)}, which is paused`,
  );
  return each.length === 0 ? '' : ` (${each.join('; ')})`;
}

function resultText({ done, passed, failedCount }: ManyResult, { verb }: RunAction): string {
  const words = Object.entries(done).map(([status, number]) => {
    if (verb === 'cancel' && status === 'running') return `${number} running, asked to stop`;
    return `${number} ${status}${verb === 'retry' ? ' again' : ''}`;
  });
  return [
    ...words,
    ...(passed > 0 ? [`${passed} left: their state has changed, or they were asked before`] : []),
    ...(failedCount > 0 ? [`${failedCount} could not be ${verbed(verb)}`] : []),
  ].join(', ');
}
