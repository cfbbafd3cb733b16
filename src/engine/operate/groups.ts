// What an operator does to a group: continue it, retry what died, cancel it. Each is one act, all or nothing.
import { TockError } from '../../model/errors.js';
import { quote, storableNote } from '../../model/names.js';
import type { GroupActed } from '../../model/run/group-record.js';
import { checkMaxAttempts } from '../../model/run/retry.js';
import type { Session } from '../../store/connection/database.js';
import { isUniqueViolation } from '../../store/connection/errors.js';
import { inSavepoint } from '../../store/connection/savepoint.js';
import { type GroupRow, readGroupRow, readMemberPage } from '../../store/reads/runs/group.js';
import { cancelRuns, retryRuns } from '../../store/runs/operator-moves.js';
import { notifyQueued } from '../../store/runs/outbox.js';
import { isDataError } from '../../store/runs/set-aside.js';
import { waitForCompletion } from '../../store/runs/waits/groups.js';
import { endWaits } from '../../store/runs/waits/waits.js';
import { audit } from '../audit.js';
import type { Engine } from '../engine.js';
import { afterCommit } from '../finalize/after-commit.js';
import { reasonOf } from '../materialize/broken-definition.js';
import { joinToMade } from '../materialize/follow-intervals.js';
import { findRunOrPending } from './runs.js';

const BATCH = 500;
/** So many are read at once: each page looks at all members. */
const PAGE = 20 * BATCH;
/** Of members that could not be retried, these many are named. */
const MAX_FAILURES = 100;

/**
 * Lets a join run once all members have ended, although some did not succeed; at once if they have ended.
 * False: it does not wait. @throws TockError TOCK_NOT_FOUND
 */
export async function continueGroup(engine: Engine, id: string): Promise<boolean> {
  const { id: join } = await findRunOrPending(engine.database, id);
  return await engine.database.transaction(async session => {
    const isJoinedNow = await joinToMade(session, join);
    const members = await waitForCompletion.run(session, { join });
    if (members.length === 0 && !isJoinedNow) return false;
    const ended = await endWaits(session, { runs: members.map(member => member.id) });
    if (ended.length > 0) await notifyQueued(session);
    await audit(session, engine, { action: 'groups.continue', targets: [join] });
    return true;
  });
}

/** The group of a join, or of a member. @throws TockError TOCK_NOT_FOUND */
async function findGroup(engine: Engine, id: string): Promise<GroupRow> {
  const { id: run } = await findRunOrPending(engine.database, id);
  const group = await readGroupRow.first(engine.database, { run });
  if (group) return group;
  throw new TockError('TOCK_NOT_FOUND', `run ${quote(run)} is neither the join nor a member of a group`);
}

/** Ids of members, also of the groups in the group, ascending, in batches. */
async function* membersOf(session: Session, wait: string, isDead: boolean): AsyncGenerator<string[]> {
  for (let after = '0'; ; ) {
    const ids = (await readMemberPage.run(session, { wait, after, limit: PAGE, isDead })).map(row => row.id);
    for (let start = 0; start < ids.length; start += BATCH) yield ids.slice(start, start + BATCH);
    if (ids.length < PAGE) return;
    after = ids.at(-1) ?? after;
  }
}

/**
 * Puts all dead members of a group, and of the groups in it, back into the queue, due now, in one
 * transaction. One that cannot be live again is named, and the others are retried.
 * @throws TockError TOCK_NOT_FOUND, TOCK_BAD_OPTION
 */
export async function retryGroup(
  engine: Engine,
  id: string,
  options: { readonly attempts?: number } = {},
): Promise<GroupActed> {
  const attempts = options.attempts === undefined ? null : checkMaxAttempts(options.attempts);
  const { wait, id: join } = await findGroup(engine, id);
  return await engine.database.transaction(async session => {
    let done = 0;
    const failed: { id: string; code: string; message: string }[] = [];
    const retryAll = async (ids: readonly string[]) => {
      done += (await inSavepoint(session, () => retryRuns(session, ids, attempts))).length;
    };
    const canBeAlone = (error: unknown) => isUniqueViolation(error) || isDataError(error);
    for await (const ids of membersOf(session, wait, true)) {
      try {
        await retryAll(ids);
      } catch (error) {
        if (!canBeAlone(error)) throw error;
        // One of them cannot be live again. The others can.
        for (const each of ids)
          await retryAll([each]).catch((why: unknown) => {
            if (!canBeAlone(why)) throw why;
            if (failed.length < MAX_FAILURES)
              failed.push({ id: each, code: 'TOCK_BAD_STATE', message: reasonOf(why) });
          });
      }
    }
    const details = { runs: done, ...(attempts === null ? {} : { attempts }) };
    await audit(session, engine, {
      action: 'groups.retry',
      targets: [join],
      count: Math.min(done, 1),
      details,
    });
    return { done, asked: 0, failed };
  });
}

/**
 * Cancels a group in one transaction: its join first, so that it cannot start meanwhile, then the members
 * that have not ended, also of the groups in it; the handlers of running ones are asked to stop.
 * @throws TockError TOCK_NOT_FOUND
 */
export async function cancelGroup(
  engine: Engine,
  id: string,
  options: { readonly reason?: string } = {},
): Promise<GroupActed> {
  const reason = storableNote(options.reason);
  const { wait, id: join } = await findGroup(engine, id);
  const freed = new Set<string>();
  const { acted, outboxWritten } = await engine.database.transaction(async session => {
    let [done, asked, outboxWritten] = [0, 0, false];
    const cancel = async (ids: readonly string[]) => {
      const ended = await cancelRuns(session, ids, reason);
      done += ended.cancelled.length;
      asked += ended.asked.length;
      outboxWritten ||= ended.outboxWritten;
      for (const key of ended.freed ?? []) freed.add(key);
    };
    await cancel([join]);
    // Until the joins of the groups in it are cancelled too, members of these may add others.
    for (let pass = 0; pass < 2; pass++)
      for await (const ids of membersOf(session, wait, false)) await cancel(ids);
    const details = { runs: done + asked, ...(reason === null ? {} : { reason }) };
    await audit(session, engine, {
      action: 'groups.cancel',
      targets: [join],
      count: Math.min(done + asked, 1),
      details,
    });
    return { acted: { done, asked, failed: [] }, outboxWritten };
  });
  await afterCommit(engine, { freed: [...freed].sort(), outboxWritten, dead: [] });
  return acted;
}
