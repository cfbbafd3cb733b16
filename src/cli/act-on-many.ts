// Shell: cli. What an operator does to all runs that match a filter.
// In: a filter, and what to do with one run. Out: how many there are, a question, and what became of them.
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

export interface Deed {
  /** `retry`, `cancel`. */
  readonly verb: string;
  /** The states that it can be done to. */
  readonly from: readonly RunStatus[];
  /** Those that are meant where no state is given. */
  readonly usual: readonly RunStatus[];
  readonly act: (tock: Tock, id: string) => Promise<RunRecord>;
}

/** Runs at once; each takes a connection. */
const AT_ONCE = 8;
const PAGE = 1000;

/** Whether the flags choose runs by a filter. @throws TockError TOCK_BAD_OPTION for ids beside it, or for neither */
export function isByFilter(command: string, flags: ManyFlags, ids: readonly string[]): boolean {
  const isFiltered = [flags.status, flags.job, flags.definition].some(each => each !== undefined);
  if (isFiltered && ids.length > 0)
    throw usage('give ids, or a filter (--status, --job, --definition); not both');
  if (!isFiltered && ids.length === 0)
    throw usage(
      `name runs, or choose them with --status, --job or --definition (see tock ${command} --help)`,
    );
  if (!isFiltered && (flags.limit !== undefined || flags.yes))
    throw usage('--limit and --yes go with a filter: --status, --job or --definition');
  return isFiltered;
}

/** Does it to all that match: says how many, asks, and goes on in batches. Exit code 1 if it failed for any. */
export async function actOnMany(shell: Shell, flags: ManyFlags, deed: Deed): Promise<number> {
  const statuses = flags.status ?? deed.usual;
  const wrong = statuses.find(status => !deed.from.includes(status));
  if (wrong !== undefined)
    throw usage(
      `only ${listWords(deed.from)} runs can be ${deed.verb === 'retry' ? 'retried' : 'cancelled'}, not ${wrong} ones`,
    );
  return await withTock(shell, { needsJobs: false }, async ({ tock }) => {
    const ids = await findIds(tock, statuses, flags);
    const what = `${ids.length} ${listWords(statuses)} ${ids.length === 1 ? 'run' : 'runs'}${scopeWords(flags)}`;
    if (ids.length > 0 && !(await isConfirmed(shell, flags.yes, `${deed.verb} ${what}`))) {
      shell.note('nothing was done');
      return 1;
    }
    const tally = await actInBatches(shell, tock, ids, deed);
    shell.document({ matched: ids.length, ...tally });
    if (ids.length === 0) shell.say(`no ${listWords(statuses)} runs${scopeWords(flags)}`);
    else shell.say(tallyWords(tally, deed));
    for (const { id, message } of tally.failed.slice(0, 10))
      if (!shell.json) shell.note(message.startsWith(`run ${id} `) ? message : `run ${id}: ${message}`);
    return tally.failed.length === 0 ? 0 : 1;
  });
}

function usage(message: string): TockError {
  return new TockError('TOCK_BAD_OPTION', message);
}

/** `queued, failed or running` */
function listWords(statuses: readonly RunStatus[]): string {
  return statuses.length < 2
    ? statuses.join()
    : `${statuses.slice(0, -1).join(', ')} or ${statuses.at(-1) ?? ''}`;
}

function scopeWords({ job, definition }: ManyFlags): string {
  const parts = [
    job === undefined ? null : `job ${quote(job)}`,
    definition === undefined ? null : `definition ${quote(definition)}`,
  ];
  const named = parts.filter(part => part !== null);
  return named.length === 0 ? '' : ` of ${cleanLine(named.join(' and '))}`;
}

/** The ids, the oldest first; with a limit the oldest ones. */
async function findIds(tock: Tock, status: readonly RunStatus[], flags: ManyFlags): Promise<string[]> {
  const { job, definition, limit = Number.POSITIVE_INFINITY } = flags;
  const filter = {
    status,
    limit: PAGE,
    ...(job === undefined ? {} : { job }),
    ...(definition === undefined ? {} : { definition }),
  };
  const ids: string[] = [];
  for (let before: string | undefined; ; before = ids.at(-1)) {
    const page = await tock.runs.list({ ...filter, ...(before === undefined ? {} : { before }) });
    ids.push(...page.map(run => run.id));
    if (page.length < PAGE) break;
  }
  return ids.toReversed().slice(0, limit);
}

interface Tally {
  /** By the state that they are in now. */
  readonly done: Readonly<Record<string, number>>;
  /** They had moved on meanwhile, so that there was nothing to be done. */
  readonly passed: number;
  readonly failed: readonly { readonly id: string; readonly code: string; readonly message: string }[];
}

async function actInBatches(
  shell: Shell,
  tock: Tock,
  ids: readonly string[],
  { act, from }: Deed,
): Promise<Tally> {
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
      // Without a database the others cannot succeed either.
      if (exitCode === 3) throw error;
      const run = await tock.runs.get(id);
      if (run === null || !from.includes(run.status)) passed++;
      else failed.push({ id, code, message });
    }
  };
  try {
    for (let at = 0; at < ids.length; at += AT_ONCE) {
      const batch = ids.slice(at, at + AT_ONCE);
      await Promise.all(batch.map(actOnOne));
      view.show(at + batch.length, ids.length, `${at + batch.length} of ${ids.length}`);
    }
  } finally {
    view.end();
  }
  return { done, passed, failed };
}

function tallyWords({ done, passed, failed }: Tally, { verb }: Deed): string {
  const words = Object.entries(done).map(([status, number]) => {
    if (verb === 'cancel' && status === 'running') return `${number} running, asked to stop`;
    return `${number} ${status}${verb === 'retry' ? ' again' : ''}`;
  });
  return [
    ...words,
    ...(passed > 0 ? [`${passed} had moved on meanwhile`] : []),
    ...(failed.length > 0
      ? [`${failed.length} could not be ${verb === 'retry' ? 'retried' : 'cancelled'}`]
      : []),
  ].join(', ');
}
