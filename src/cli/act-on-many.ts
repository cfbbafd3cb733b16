// Retries or cancels all runs that match a filter.
import { TockError } from '../model/errors.js';
import { quote } from '../model/names.js';
import type { RunStatus } from '../model/run/states.js';
import { judgeError } from '../runtime/exit-codes.js';
import type { RunRecord } from '../store/reads/runs.js';
import type { Tock } from '../tock/types.js';
import { isConfirmed } from './confirm.js';
import { type CommonOptions, type Shell, withTock } from './shell.js';
import { cleanLine } from './terminal.js';
import { createProgressView } from './views/progress-view.js';

export interface ManyFlags extends CommonOptions {
  readonly status?: RunStatus[];
  readonly job?: string;
  readonly definition?: string;
  readonly limit?: number;
  readonly yes?: true;
}

export interface RunAction {
  readonly verb: string;
  /** The states in which it is possible. */
  readonly from: readonly RunStatus[];
  /** The states chosen if no --status is given. */
  readonly defaultFrom: readonly RunStatus[];
  readonly act: (tock: Tock, id: string) => Promise<RunRecord>;
}

/** How many runs are changed at once; each takes a connection. */
const BATCH_SIZE = 8;
const PAGE_SIZE = 1000;

/** Whether flags choose the runs. @throws TockError TOCK_BAD_OPTION for ids and flags, or neither */
export function isByFilter(command: string, flags: ManyFlags, ids: readonly string[]): boolean {
  const isFiltered = [flags.status, flags.job, flags.definition].some(value => value !== undefined);
  if (isFiltered && ids.length > 0)
    throw usage('give run ids or a filter (--status, --job, --definition), not both');
  if (!isFiltered && ids.length === 0)
    throw usage(`give run ids, or a filter: --status, --job or --definition (see tock ${command} --help)`);
  if (!isFiltered && (flags.limit !== undefined || flags.yes))
    throw usage('--limit and --yes need a filter: --status, --job or --definition');
  return isFiltered;
}

/** Says how many runs match, asks, and acts in batches. Exit code 1 if any run failed. */
export async function actOnMany(shell: Shell, flags: ManyFlags, runAction: RunAction): Promise<number> {
  const statuses = flags.status ?? runAction.defaultFrom;
  const wrong = statuses.find(status => !runAction.from.includes(status));
  if (wrong !== undefined)
    throw usage(
      `only ${listText(runAction.from)} runs can be ${runAction.verb === 'retry' ? 'retried' : 'cancelled'}, not ${wrong} ones`,
    );
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const ids = await findIds(tock, statuses, flags);
    const what = `${ids.length} ${listText(statuses)} ${ids.length === 1 ? 'run' : 'runs'}${scopeText(flags)}`;
    if (ids.length > 0 && !(await isConfirmed(shell, flags.yes, `${runAction.verb} ${what}`))) {
      shell.note('nothing was changed');
      return 1;
    }
    const results = await actInBatches(shell, tock, ids, runAction);
    shell.document({ matched: ids.length, ...results });
    if (ids.length === 0) shell.say(`no ${listText(statuses)} runs${scopeText(flags)}`);
    else shell.say(resultText(results, runAction));
    for (const { id, message } of results.failed.slice(0, 10))
      if (!shell.json) shell.note(message.startsWith(`run ${id} `) ? message : `run ${id}: ${message}`);
    return results.failed.length === 0 ? 0 : 1;
  });
}

function usage(message: string): TockError {
  return new TockError('TOCK_BAD_OPTION', message);
}

function listText(statuses: readonly RunStatus[]): string {
  return statuses.length < 2
    ? statuses.join()
    : `${statuses.slice(0, -1).join(', ')} or ${statuses.at(-1) ?? ''}`;
}

function scopeText({ job, definition }: ManyFlags): string {
  const parts = [
    job === undefined ? null : `job ${quote(job)}`,
    definition === undefined ? null : `definition ${quote(definition)}`,
  ];
  const named = parts.filter(part => part !== null);
  return named.length === 0 ? '' : ` of ${cleanLine(named.join(' and '))}`;
}

/** The ids, oldest first; a limit keeps the oldest. */
async function findIds(tock: Tock, status: readonly RunStatus[], flags: ManyFlags): Promise<string[]> {
  const { job, definition, limit = Number.POSITIVE_INFINITY } = flags;
  const filter = {
    status,
    limit: PAGE_SIZE,
    ...(job === undefined ? {} : { job }),
    ...(definition === undefined ? {} : { definition }),
  };
  const ids: string[] = [];
  for (let before: string | undefined; ; before = ids.at(-1)) {
    const page = await tock.runs.list({ ...filter, ...(before === undefined ? {} : { before }) });
    ids.push(...page.map(run => run.id));
    if (page.length < PAGE_SIZE) break;
  }
  return ids.toReversed().slice(0, limit);
}

interface Results {
  /** By the state they are in now. */
  readonly done: Readonly<Record<string, number>>;
  /** Skipped: they had changed state meanwhile. JSON output has this name. */
  readonly passed: number;
  readonly failed: readonly { readonly id: string; readonly code: string; readonly message: string }[];
}

async function actInBatches(
  shell: Shell,
  tock: Tock,
  ids: readonly string[],
  { act, from }: RunAction,
): Promise<Results> {
  const view = createProgressView(shell);
  const done: Record<string, number> = {};
  const failed: { id: string; code: string; message: string }[] = [];
  let passed = 0;
  const actOnOne = async (id: string) => {
    try {
      const { status } = await act(tock, id);
      done[status] = (done[status] ?? 0) + 1;
    } catch (error) {
      const { code, message, exitCode } = judgeError(error, shell.config.schema);
      // Without a database the other runs would fail too.
      if (exitCode === 3) throw error;
      const run = await tock.runs.get(id);
      if (run === null || !from.includes(run.status)) passed++;
      else failed.push({ id, code, message });
    }
  };
  try {
    for (let at = 0; at < ids.length; at += BATCH_SIZE) {
      const batch = ids.slice(at, at + BATCH_SIZE);
      await Promise.all(batch.map(actOnOne));
      view.show(at + batch.length, ids.length, `${at + batch.length} of ${ids.length}`);
    }
  } finally {
    view.end();
  }
  return { done, passed, failed };
}

function resultText({ done, passed, failed }: Results, { verb }: RunAction): string {
  const words = Object.entries(done).map(([status, number]) => {
    if (verb === 'cancel' && status === 'running') return `${number} running, asked to stop`;
    return `${number} ${status}${verb === 'retry' ? ' again' : ''}`;
  });
  return [
    ...words,
    ...(passed > 0 ? [`${passed} skipped: their state has changed`] : []),
    ...(failed.length > 0
      ? [`${failed.length} could not be ${verb === 'retry' ? 'retried' : 'cancelled'}`]
      : []),
  ].join(', ');
}
