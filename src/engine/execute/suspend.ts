// How a handler ends to wait: what it waits for is on record first, then the attempt ends by an error that is
// thrown through the handler. It is called again from its top, and comes past each wait that is over.
import { type Duration, parseDuration } from '../../model/duration.js';
import { TockError } from '../../model/errors.js';
import { isWithinYears } from '../../model/instant-bounds.js';
import { isStorable, quote } from '../../model/names.js';
import type { Ending } from '../../model/run/decide.js';
import type { WaitKind } from '../../model/run/run-wait.js';
import { isSuspension, Suspension } from '../../model/run/snooze.js';
import { isTransient } from '../../store/connection/errors.js';
import { openWait } from '../../store/runs/waits.js';
import type { Engine } from '../engine.js';
import { retryUntil } from '../finalize/retry-until.js';
import { type ActiveRun, leaseLost } from './active-run.js';

export interface Waits {
  readonly sleep: (name: string, until: Duration | Date) => Promise<void>;
}

/** The waits of one attempt. Each fails with TOCK_LEASE_LOST once the lease is lost. */
export function createWaits(engine: Engine, active: ActiveRun, workerId: string): Waits {
  const { id, fence } = active.run;
  const used = new Set<string>();
  /** The wait that is being begun. */
  let opening: string | null = null;

  /**
   * Begins a wait, or comes past it if it is over. A wait that was begun by an earlier attempt keeps its
   * time.
   */
  const wait = async (
    kind: WaitKind,
    name: string,
    when: { readonly delayMs: number | null; readonly until: string | null },
  ) => {
    const known = `${kind} ${checkWaitName(name)}`;
    refuseWait(active, opening, `ctx.${kind}`);
    if (used.has(known))
      throw new TockError(
        'TOCK_BAD_STATE',
        `the handler waits twice under the name ${quote(name)}: give each wait its own name`,
      );
    used.add(known);
    opening = known;
    const row = await retryUntil(
      () => openWait.first(engine.database, { id, fence, workerId, kind, name, ...when }),
      error => isTransient(error) && !active.interrupt.isAborted,
    ).finally(() => {
      opening = null;
    });
    if (!row) throw leaseLost(active);
    if (row.outcome !== null) return;
    active.suspension = new Suspension(known, row.until);
    throw active.suspension;
  };

  return {
    async sleep(name, until) {
      const isTime = until instanceof Date;
      if (isTime && !isWithinYears(until.getTime()))
        throw new TockError('TOCK_BAD_TIME', `ctx.sleep ${quote(name)}: ${String(until)} is not a time`);
      await wait('sleep', name, {
        delayMs: isTime ? null : parseDuration(until, `ctx.sleep ${quote(name)}`),
        until: isTime ? until.toISOString() : null,
      });
    },
  };
}

/** A handler cannot end in what would be undone or done twice. @throws TockError TOCK_BAD_STATE */
function refuseWait({ openEffects, suspension }: ActiveRun, opening: string | null, what: string): void {
  if (openEffects > 0)
    throw new TockError(
      'TOCK_BAD_STATE',
      `${what} while ctx.step, ctx.once or ctx.transaction is at work: the handler cannot end there; wait before or after it`,
    );
  const other = suspension?.wait ?? opening;
  if (other !== null)
    throw new TockError(
      'TOCK_BAD_STATE',
      `${what} while the handler waits already (${other}): a handler waits for one thing at a time`,
    );
}

function checkWaitName(name: string): string {
  if (typeof name === 'string' && isStorable(name) && name !== '' && Buffer.byteLength(name) <= 900)
    return name;
  throw new TockError(
    'TOCK_BAD_KEY',
    `${quote(name)} cannot be the name of a wait: it must have 1 to 900 bytes, without NUL`,
  );
}

/** How an attempt ends whose handler threw; `error` undefined: it returned, though it was to end to wait. */
export function endingOfThrown(
  { suspension }: ActiveRun,
  error: unknown,
): Extract<Ending, { kind: 'threw' }> {
  if (suspension === null || isSuspension(error)) return { kind: 'threw', error };
  const caught = new TockError(
    'TOCK_WAIT_CAUGHT',
    `the handler caught the error by which it ends to wait (${suspension.wait}): wait outside of try, or throw the error again if isWait(error)`,
    error === undefined ? undefined : { cause: error },
  );
  return { kind: 'threw', error: caught };
}
