// What groups and flows share: runs that are enqueued together, of which some wait for others from the start.
import { TockError } from '../model/errors.js';
import type { IfParentFails } from '../model/flow/flow-run.js';
import type { QueryClient } from '../model/job/enqueue-options.js';
import type { NewRun } from '../model/job/job.js';
import type { Enqueued } from '../model/job/run-id.js';
import { quote } from '../model/names.js';
import { NEVER_MS } from '../model/run/run-wait.js';
import type { Session } from '../store/connection/database.js';
import { inSavepoint } from '../store/connection/savepoint.js';
import { joinRuns } from '../store/runs/waits/groups.js';
import { audit } from './audit.js';
import type { Engine } from './engine.js';
import { sessionOfClient } from './enqueue.js';

/** A run that waits, and for which: each by its place among the runs that are enqueued. */
export interface Join {
  readonly place: number;
  readonly policy: IfParentFails;
  readonly awaited: readonly Awaited[];
}

/** A run that is awaited, with the name that it has for the one that waits. */
export interface Awaited {
  /** Its place; or the id of a run that was there before. */
  readonly run: number | string;
  readonly name?: string;
}

/** A run as one that waits is enqueued: nothing claims it. */
export const waitingRun = <Run extends NewRun>(run: Run): Run => ({ ...run, runAt: new Date(NEVER_MS) });

/** Does the work in the transaction of a client, of which it may fail alone; or in one of its own. */
export async function inTransactionOf<T>(
  engine: Engine,
  client: QueryClient | undefined,
  work: (session: Session) => Promise<T>,
): Promise<T> {
  if (client === undefined) return await engine.database.transaction(work);
  const session = sessionOfClient(engine, client);
  return await inSavepoint(session, () => work(session));
}

/** @throws TockError TOCK_BAD_KEY where the key of one was used before */
export function requireNew(made: readonly Enqueued[], runs: readonly NewRun[], whose: string): string[] {
  const old = made.findIndex(({ isNew }) => !isNew);
  if (old < 0) return made.map(({ id }) => id);
  throw new TockError(
    'TOCK_BAD_KEY',
    `the key ${quote(runs[old]?.key)} was used by run ${made[old]?.id ?? ''}: ${whose} are new runs`,
  );
}

/**
 * Makes those of the runs that this transaction has enqueued wait. @throws TockError TOCK_NOT_FOUND
 * @param ids of the runs, by their places
 */
export async function writeJoins(
  session: Session,
  ids: readonly string[],
  joins: readonly Join[],
): Promise<void> {
  if (joins.length === 0) return;
  const edges = joins.flatMap(({ place, awaited }) => awaited.map(each => ({ place, ...each })));
  const idOf = (run: number | string) => (typeof run === 'string' ? run : (ids[run] ?? ''));
  const others = [...new Set(edges.map(({ run }) => run).filter(run => typeof run === 'string'))];
  const list = (values: readonly string[]) => `{${values.join()}}`;
  const result = await joinRuns.first(session, {
    joins: list(joins.map(({ place }) => idOf(place))),
    policies: joins.map(({ policy }) => policy),
    waiting: list(edges.map(({ place }) => idOf(place))),
    awaited: list(edges.map(({ run }) => idOf(run))),
    names: edges.some(({ name }) => name !== undefined) ? edges.map(({ name }) => name ?? '') : null,
    others: list(others),
  });
  const unknown = result?.unknown ?? [];
  if (unknown.length === 0) return;
  throw new TockError(
    'TOCK_NOT_FOUND',
    `there ${unknown.length === 1 ? 'is no run' : 'are no runs'} ${unknown.slice(0, 5).join(', ')}${unknown.length > 5 ? ' …' : ''} to come after: mistyped, or removed by retention`,
  );
}

/** What an operator enqueues is in the audit; what an app enqueues by itself is not. */
export async function auditEnqueued(
  session: Session,
  engine: Engine,
  runs: readonly NewRun[],
  ids: readonly string[],
): Promise<void> {
  if (engine.operator === null) return;
  const jobs = [...new Set(runs.map(({ job }) => (typeof job === 'string' ? job : job.name)))];
  await audit(session, engine, {
    action: 'enqueue',
    targets: [...ids],
    details: { job: jobs.slice(0, 10).join(', ') },
  });
}
