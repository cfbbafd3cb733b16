// Room: engine, last of a tick. Writes the outcomes of attempts, many in one statement.
// In: outcomes, one at a time as handlers end. Out: finished rows, or rows that wait for their next attempt.
import type { ErrorEntry } from '../model/sanitize.js';
import { isConnectionFailure, sqlState } from '../store/database-errors.js';
import { type Finalization, finalizeRuns, readSettled } from '../store/finalize-runs.js';
import { settle } from './aftermath.js';
import type { Engine } from './engine.js';

const MOST_IN_A_BATCH = 2000;
const FLUSH_AFTER_MS = 3;
const LONGEST_PAUSE_MS = 5000;

export interface Finalizer<Entry extends Finalization> {
  /** Takes an outcome; `done` is called when it is written. */
  add(entry: Entry): void;
  /** Nothing else is coming soon: writes what has gathered as soon as the batch before is written. */
  hurry(): void;
}

/**
 * Gathers outcomes and writes them in batches: at 2,000, or when the batch before is written, or 3 ms after the first, or
 * when told that nothing else is coming.
 *
 * A batch that the database does not take because it is away is sent again, with growing pauses, for as long as
 * `mayStillWrite` says; the fence makes a repetition harmless, and an outcome that was written though the reply
 * was lost is found by reading it back. A batch that holds something PostgreSQL refuses to store is written one
 * by one, the refused one with a constant error in its place.
 *
 * @param done called for each, in the end: with true when it is written, with false where the lease was lost
 */
export function createFinalizer<Entry extends Finalization>(
  engine: Engine,
  workerId: string,
  mayStillWrite: () => boolean,
  done: (entry: Entry, isWritten: boolean) => void,
): Finalizer<Entry> {
  let waiting: Entry[] = [];
  let timer: NodeJS.Timeout | undefined;
  let underWay = 0;

  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    const batch = waiting;
    waiting = [];
    if (batch.length === 0) return;
    underWay++;
    void writeBatch(batch).finally(() => {
      underWay--;
      // What has gathered meanwhile: the slower the database, the larger the batches.
      if (underWay === 0) flush();
    });
  };

  const writeBatch = async (batch: readonly Entry[]) => {
    let lost: ReadonlySet<string> | null = null;
    try {
      lost = await write(batch);
    } catch (error) {
      engine.logger.error(
        { event: 'finalize.failed', runs: batch.length, error: String(error) },
        'outcomes could not be written; the leases will expire',
      );
    }
    for (const entry of batch) done(entry, lost !== null && !lost.has(entry.id));
  };

  /** Writes a batch, and does what follows from it. Returns the ids that did not move. */
  const finalizeBatch = async (batch: readonly Finalization[]): Promise<ReadonlySet<string>> => {
    const { lost, freed, told } = await finalizeRuns(engine.database, batch, workerId);
    const dead = batch.filter(each => each.outcome.transition === 'exhaust' && !lost.has(each.id));
    if (freed.length > 0 || told || dead.length > 0)
      await settle(engine, { freed, told, dead: dead.map(each => each.id) });
    return lost;
  };

  const write = async (batch: readonly Finalization[]): Promise<ReadonlySet<string>> => {
    let mayBeWritten = false;
    for (let pause = 50; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
      try {
        const lost = await finalizeBatch(batch);
        return mayBeWritten && lost.size > 0 ? await withoutSettled(batch, lost) : lost;
      } catch (error) {
        if (isConnectionFailure(error) && mayStillWrite()) {
          mayBeWritten = true;
          engine.logger.warn(
            { event: 'finalize.waiting', runs: batch.length, error: String(error) },
            'the database is away; outcomes are kept and sent again',
          );
          await new Promise(resolve => setTimeout(resolve, pause));
        } else {
          return await writeSingly(batch, error);
        }
      }
    }
  };

  const withoutSettled = async (batch: readonly Finalization[], lost: ReadonlySet<string>) => {
    const settled = await readSettled(engine.database, batch, workerId);
    return new Set([...lost].filter(id => !settled.has(id)));
  };

  const writeSingly = async (
    batch: readonly Finalization[],
    error: unknown,
  ): Promise<ReadonlySet<string>> => {
    const [first] = batch;
    if (first === undefined) return new Set();
    if (isConnectionFailure(error)) {
      engine.logger.error(
        { event: 'finalize.lost', runs: batch.length, error: String(error) },
        'outcomes could not be written; the leases will expire and the runs be tried again',
      );
      return new Set(batch.map(each => each.id));
    }
    if (batch.length > 1) {
      const lost = await Promise.all(batch.map(each => write([each])));
      return new Set(lost.flatMap(each => [...each]));
    }
    engine.logger.error(
      { event: 'finalize.refused', run_id: first.id, error: String(error), code: sqlState(error) },
      'PostgreSQL refused the outcome; a constant text takes its place',
    );
    const { outcome } = first;
    const constant = {
      ...outcome,
      output: null,
      error: outcome.error && { ...UNSTORABLE, attempt: outcome.error.attempt },
    };
    return await finalizeBatch([{ ...first, outcome: constant }]);
  };

  return {
    add(entry) {
      waiting.push(entry);
      if (waiting.length >= MOST_IN_A_BATCH) flush();
      else if (underWay === 0) timer ??= setTimeout(flush, FLUSH_AFTER_MS);
    },
    hurry() {
      if (underWay === 0) flush();
    },
  };
}

const UNSTORABLE: ErrorEntry = {
  attempt: 0,
  name: 'Error',
  code: null,
  message: 'the error could not be stored',
  stack: null,
};
