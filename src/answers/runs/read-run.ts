// All that a page about one run shows, read at once.

import type { FlowRecord } from '../../model/flow/flow-record.js';
import type { AttemptLog } from '../../model/run/log/attempt-log.js';
import { lifeOf, type RunLife } from '../../model/run/run-life.js';
import type { RunRecord } from '../../model/run/run-record.js';
import { isFinished } from '../../model/run/states.js';
import type { Session } from '../../store/connection/database.js';
import { readFreeze } from '../../store/definitions/freeze/freezes.js';
import { readJoinsOf } from '../../store/reads/runs/group.js';
import { readOverlooked } from '../../store/reads/runs/overlooked.js';
import {
  type RunDocuments,
  type RunEffect,
  type RunReference,
  type RunRelations,
  readDocuments,
  readEffects,
  readHeldSlots,
  readHoldingQueue,
  readRedirects,
  readReferences,
  readRelations,
  readWorkersSeen,
} from '../../store/reads/runs/run-detail.js';
import { readLog } from '../../store/reads/runs/run-log.js';
import { getRun } from '../../store/reads/runs.js';
import { readHolders } from '../../store/reads/why/why.js';
import { readTurn } from '../../store/runs/fair/key-settings.js';
import { explainRun, type RunNow, type Surroundings } from '../now/run-now.js';
import { exceptionOf } from './read-exception.js';
import { readFlow } from './read-flow.js';
import { type DrawnGroup, readDrawnGroup } from './read-group.js';

export interface ReadRun {
  readonly run: RunRecord;
  readonly now: RunNow;
  readonly life: RunLife;
  /** Null: not for this reader. */
  readonly documents: RunDocuments | null;
  readonly effects: readonly RunEffect[];
  readonly hasMoreEffects: boolean;
  /** Null: not for this reader. */
  readonly logs: readonly AttemptLog[] | null;
  readonly slots: readonly { readonly key: string; readonly slot: number }[];
  /** The runs that have what it waits for. */
  readonly holders: readonly RunReference[];
  readonly relations: RunRelations | null;
  /** Runs that were enqueued because this one died. */
  readonly redirects: readonly RunReference[];
  /** The dead run because of which this one was enqueued. */
  readonly origin: RunReference | null;
  /** The group whose join it is. */
  readonly group: DrawnGroup | null;
  /** The flow to which it belongs. */
  readonly flow: FlowRecord | null;
  /** Who has skipped or moved its occurrence, and why; null: it is as scheduled. */
  readonly exception: string | null;
  /** The joins of the groups of which it is a member. */
  readonly joins: readonly RunReference[];
}

/** What a run may wait for. Of one that has ended, nothing is read. */
export async function readSurroundings(session: Session, run: RunRecord, now: Date): Promise<Surroundings> {
  const holders = { ids: [], count: 0 };
  if (isFinished(run.status)) return { now, queue: null, holders, workerSeenAt: null, frozen: null };
  const [found, turn, queue, seen, frozen, overlooked] = await Promise.all([
    run.blockedOn === null ? holders : readHolders(session, run.blockedOn),
    readTurn(session, run.blockedOn),
    readHoldingQueue(session, run.queue),
    readWorkersSeen(session),
    readFreeze(session),
    readOverlooked(session, run.id),
  ]);
  const { at: workerSeenAt, asleepUntil } = seen;
  return { now, queue, holders: found, turn, workerSeenAt, asleepUntil, frozen, overlooked };
}

/** Null if there is no such run. */
export async function readRun(
  session: Session,
  id: string,
  { now, seesPayloads }: { readonly now: Date; readonly seesPayloads: boolean },
): Promise<ReadRun | null> {
  const run = await getRun(session, id);
  if (run === null) return null;
  const isLive = !isFinished(run.status);
  const [
    documents,
    { effects, hasMore },
    slots,
    around,
    relations,
    redirects,
    origins,
    logs,
    group,
    flow,
    joins,
    exception,
  ] = await Promise.all([
    seesPayloads ? readDocuments(session, id) : null,
    readEffects(session, id),
    isLive ? readHeldSlots(session, id) : [],
    readSurroundings(session, run, now),
    run.definition === null || run.scheduledFor === null
      ? null
      : readRelations(session, run.definition, run.scheduledFor),
    run.status === 'dead' || run.generation > 1 ? readRedirects(session, run) : [],
    readReferences(session, originOf(run)),
    seesPayloads ? readLog(session, id) : null,
    run.waits.some(({ kind }) => kind === 'group') ? readDrawnGroup(session, id) : null,
    readFlow(session, id),
    readJoinsOf.run(session, { run: id }),
    exceptionOf(session, run),
  ]);
  return {
    run,
    now: explainRun(run, around),
    life: lifeOf(run, now.getTime()),
    documents,
    effects,
    hasMoreEffects: hasMore,
    logs,
    slots,
    holders: await readReferences(session, around.holders.ids),
    relations,
    redirects,
    origin: origins[0] ?? null,
    group,
    flow,
    exception,
    joins: await readReferences(
      session,
      joins.map(join => join.id),
    ),
  };
}

/** A run of an `onDead` job has the dead run in its key. */
function originOf({ trigger, idempotencyKey }: RunRecord): string[] {
  const id = trigger === 'chain' ? /^dead:(\d{1,18}):\d+$/.exec(idempotencyKey ?? '')?.[1] : undefined;
  return id === undefined ? [] : [id];
}
