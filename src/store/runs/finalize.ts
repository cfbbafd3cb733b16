// Writes the outcomes of a batch of attempts, with at most eight statements; see finish.ts, give-back.ts,
// hand-off/hand-off.ts, claim/pass-on.ts.
import type { Outcome } from '../../model/run/decide.js';
import type { Session } from '../connection/database.js';
import { isConnectionFailure } from '../connection/errors.js';
import { statement } from '../connection/statement.js';
import type { ClaimedRun } from './claim/claimed-run.js';
import { finishAndPassOn, type Recipients } from './claim/pass-on.js';
import { type CarryOut, type Finalization, finish, type Moved } from './finish.js';
import { defer, fail, release, suspend } from './give-back.js';
import { handOff } from './hand-off/hand-off.js';
import { offer } from './hand-off/offer.js';
import {
  type AfterMove,
  type FencedBatch,
  fencedBatch,
  type Held,
  isUnderItsFence,
  sortedById,
} from './transition.js';

export type { Finalization } from './finish.js';

/** A part of a batch whose statement failed, and why. The other parts were written. */
export interface FailedPart<Run> {
  readonly part: readonly Run[];
  readonly error: unknown;
}

/** What became of a batch, and what is left to do. */
export interface Finalized<Run> extends AfterMove {
  /** Ids that did not move, because their lease had expired and they were reaped. Usually empty. */
  readonly lost: ReadonlySet<string>;
  readonly failed: readonly FailedPart<Run>[];
  readonly freed: readonly string[];
  /** Runs that were claimed under the slots of runs that ended. */
  readonly claimed: readonly ClaimedRun[];
}

/** Which runs of a batch may pass on their slots, and to which runs. */
export interface PassingOn<Run> extends Recipients {
  readonly holdsSlot: (run: Run) => boolean;
}

const NONE_MOVED: Moved = { ids: [], freed: null, outboxWritten: false };

/**
 * Writes the outcomes of a batch: eight statements at most, however large the batch. Each commits on its own,
 * unless `session` is a transaction. Does not throw: an error concerns one part, and is in `failed`.
 *
 * @param passingOn whose slots may be passed on; not within a transaction
 */
export async function finalizeRuns<Run extends Finalization>(
  session: Session,
  batch: readonly Run[],
  workerId: string,
  passingOn: PassingOn<Run> | null = null,
): Promise<Finalized<Run>> {
  const claimed: ClaimedRun[] = [];
  const passOn: CarryOut = async (_, sorted) => {
    const { holdsSlot: _holdsSlot, ...recipients } = passingOn as PassingOn<Run>;
    const done = await finishAndPassOn(session, sorted, workerId, recipients);
    claimed.push(...done.claimed);
    return done.moved;
  };
  const lost = new Set<string>();
  const failed: FailedPart<Run>[] = [];
  const freed = new Set<string>();
  let outboxWritten = false;
  let unreachable: { readonly error: unknown } | null = null;
  const parts = partsOf(sortedById(batch), passingOn === null ? null : { ...passingOn, passOn });
  for (const [carryOut, part] of parts) {
    if (part.length === 0) continue;
    let moved: Moved;
    try {
      // A server that cannot be reached is tried once.
      if (unreachable !== null) throw unreachable.error;
      moved = (await carryOut(session, part, workerId)) ?? NONE_MOVED;
    } catch (error) {
      failed.push({ part, error });
      if (isConnectionFailure(error)) unreachable = { error };
      continue;
    }
    if (moved.ids !== null) {
      const ids = new Set(moved.ids);
      for (const { id } of part) if (!ids.has(id)) lost.add(id);
    }
    for (const key of moved.freed ?? []) freed.add(key);
    outboxWritten ||= moved.outboxWritten;
  }
  return { lost, failed, freed: [...freed].sort(), outboxWritten, claimed };
}

/** A batch by the statements that carry it out. */
function partsOf<Run extends Finalization>(
  batch: readonly Run[],
  passing: (Pick<PassingOn<Run>, 'holdsSlot'> & { readonly passOn: CarryOut }) | null,
): [CarryOut, readonly Run[]][] {
  const of = (transition: Outcome['transition']) =>
    batch.filter(run => run.outcome.transition === transition);
  const handedOff = of('handOff');
  const others: [CarryOut, readonly Run[]][] = [
    [fail, of('fail')],
    [release, of('release')],
    [suspend, of('suspend')],
    [defer, of('defer')],
    [handOff, handedOff.filter(run => run.outcome.handOff?.offer === undefined)],
    [offer, handedOff.filter(run => run.outcome.handOff?.offer !== undefined)],
  ];
  const givenBack = new Set(others.flatMap(([, part]) => part));
  if (passing !== null) {
    const holders = batch.filter(run => !givenBack.has(run) && passing.holdsSlot(run));
    others.push([passing.passOn, holders]);
  }
  const taken = new Set(others.flatMap(([, part]) => part));
  return [[finish, taken.size === 0 ? batch : batch.filter(run => !taken.has(run))], ...others];
}

// An attempt that was given back left its run live, without a holder, under its own fence. So did a reaped
// one, but with an error that says so. A run that was handed off may be anywhere since: the handoff is on
// record.
const ENDED_ATTEMPTS = statement<FencedBatch, { readonly id: string }>(
  'ended-attempts',
  `
select id from tock.job_runs_finished r where ${isUnderItsFence('r')} and locked_by = :workerId
union all
select id from tock.job_runs_live r
where ${isUnderItsFence('r')} and locked_by is null and status <> 'running'
  and errors -> -1 ->> 'code' is distinct from 'TOCK_LEASE_LOST'
union
select r.id from (select h.run_id as id, h.fence, h.worker_id from tock.job_hand_offs h where h.run_id = any(:ids::bigint[])) r
where ${isUnderItsFence('r')} and r.worker_id = :workerId`,
);

/**
 * Which of these runs had their attempt ended by its holder. For an outcome whose reply was lost: the state
 * is read back, never guessed.
 */
export async function readEndedAttempts(
  session: Session,
  held: readonly Held[],
  workerId: string,
): Promise<Set<string>> {
  const rows = await ENDED_ATTEMPTS.run(session, fencedBatch(held, workerId));
  return new Set(rows.map(row => row.id));
}
