// Retries or cancels all runs that match a filter.

import { TockError } from '../model/errors.js';
import { quote } from '../model/names.js';
import { MAX_COUNTED, type RunMatch } from '../model/run/run-match.js';
import type { ManyResult } from '../model/run/run-methods.js';
import type { RunStatus } from '../model/run/states.js';
import type { Tock } from '../tock/types.js';
import { isConfirmed } from './confirm.js';
import { type CommonOptions, type Shell, withTock } from './shell.js';
import { cleanLine } from './terminal.js';
import { requireKnown } from './unknown-names.js';
import { createProgressView } from './views/progress-view.js';

export interface ManyFlags extends CommonOptions {
  readonly status?: RunStatus[];
  readonly job?: string;
  readonly definition?: string;
  readonly queue?: string;
  readonly error?: string;
  readonly limit?: number;
  readonly yes?: true;
}

/** What an action on many is given besides the filter. */
export interface ManyCall {
  readonly dryRun?: boolean;
  readonly limit?: number;
  readonly onProgress?: (done: number) => void;
}

export interface RunAction {
  readonly verb: 'retry' | 'cancel';
  /** The states in which it is possible. */
  readonly from: readonly RunStatus[];
  /** The states chosen if no --status is given. */
  readonly defaultFrom: readonly RunStatus[];
  readonly act: (tock: Tock, match: RunMatch, call: ManyCall) => Promise<ManyResult>;
}

const FILTERS = ['status', 'job', 'definition', 'queue', 'error'] as const;

/** Whether flags choose the runs. @throws TockError TOCK_BAD_OPTION for ids and flags, or neither */
export function isByFilter(command: string, flags: ManyFlags, ids: readonly string[]): boolean {
  const isFiltered = FILTERS.some(name => flags[name] !== undefined);
  const names = '--status, --job, --definition, --queue or --error';
  if (isFiltered && ids.length > 0) throw usage(`give run ids or a filter (${names}), not both`);
  if (!isFiltered && ids.length === 0)
    throw usage(`give run ids, or a filter: ${names} (see tock ${command} --help)`);
  if (!isFiltered && (flags.limit !== undefined || flags.yes))
    throw usage(`--limit and --yes need a filter: ${names}`);
  return isFiltered;
}

/** Says how many runs match, asks, and acts in batches. Exit code 1 if any run failed. */
export async function actOnMany(shell: Shell, flags: ManyFlags, runAction: RunAction): Promise<number> {
  const { verb, from, defaultFrom, act } = runAction;
  const statuses = flags.status ?? defaultFrom;
  const wrong = statuses.find(status => !from.includes(status));
  if (wrong !== undefined)
    throw usage(`only ${listText(from)} runs can be ${verbed(verb)}, not ${wrong} ones`);
  const match: RunMatch = {
    status: statuses,
    ...Object.fromEntries(
      FILTERS.flatMap(name =>
        name === 'status' || flags[name] === undefined ? [] : [[name, flags[name]] as const],
      ),
    ),
  };
  const limited = flags.limit === undefined ? {} : { limit: flags.limit };
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const { matched } = await act(tock, match, { ...limited, dryRun: true });
    if (matched === 0) await requireKnown(shell, tock, flags);
    const isCapped = matched > MAX_COUNTED;
    const number = isCapped ? `more than ${MAX_COUNTED}` : matched;
    const what = `${number} ${listText(statuses)} ${matched === 1 ? 'run' : 'runs'}${scopeText(flags)}`;
    if (matched > 0 && !(await isConfirmed(shell, flags.yes, `${verb} ${what}`))) {
      shell.note('nothing was changed');
      return 1;
    }
    const view = createProgressView(shell);
    const onProgress = (done: number) =>
      view.show(
        done,
        Math.max(done, matched),
        isCapped ? `${done}` : `${done} of ${Math.max(done, matched)}`,
      );
    const result = await act(tock, match, { ...limited, onProgress }).finally(() => view.end());
    const { done, passed, failed, failedCount } = result;
    shell.document({ matched: result.matched, done, passed, failed });
    if (result.matched === 0) shell.say(`no ${listText(statuses)} runs${scopeText(flags)}`);
    else shell.say(resultText(result, runAction));
    for (const { id, message } of failed.slice(0, 10))
      if (!shell.json) shell.note(message.startsWith(`run ${id} `) ? message : `run ${id}: ${message}`);
    return failedCount === 0 ? 0 : 1;
  });
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

function scopeText({ job, definition, queue, error }: ManyFlags): string {
  const parts = [
    job === undefined ? null : `job ${quote(job)}`,
    definition === undefined ? null : `definition ${quote(definition)}`,
    queue === undefined ? null : `queue ${quote(queue)}`,
    error === undefined ? null : `error ${quote(error)}`,
  ];
  const named = parts.filter(part => part !== null);
  return named.length === 0 ? '' : ` of ${cleanLine(named.join(' and '))}`;
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
