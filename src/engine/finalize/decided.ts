// Writes the outcomes of runs that were handed off, once the other side has decided them: with the rules and
// statements for the outcomes of workers.
import { type IsOver, NEVER_OVER } from '../../model/clock.js';
import { MAX_DURATION_MS } from '../../model/duration.js';
import { Dead } from '../../model/errors.js';
import { decideOutcome, type Ending } from '../../model/run/decide.js';
import { RetryLater } from '../../model/run/retry.js';
import { HANDED_OFF } from '../../model/run/states.js';
import { isUnstorable, sqlState } from '../../store/connection/errors.js';
import { type Finalization, finalizeRuns } from '../../store/runs/finalize.js';
import { type Decided, FIRST_DECIDED, markWritten, readDecided } from '../../store/runs/hand-off/decided.js';
import { type Engine, retryPolicyOf } from '../engine.js';
import { afterCommit } from './after-commit.js';
import { notifyOutcome } from './hooks.js';
import { logOutcome, wordFor } from './log-outcome.js';
import { refusedOutcome } from './outcome-of.js';

const BATCH_SIZE = 1000;
/** Outputs may have 1 MiB each. */
const MAX_BATCH_BYTES = 8 * 1024 * 1024;

interface Entry extends Finalization {
  readonly run: Decided & { readonly job: string };
  /** PostgreSQL has refused the outcome, and a constant text replaces it. */
  readonly isRefused?: boolean;
}

/**
 * Writes until none is left, or until its bound is over. Never throws: a failure is logged, and the next
 * reaping writes the rest.
 */
export async function writeDecided(engine: Engine, isOver: IsOver = NEVER_OVER): Promise<void> {
  try {
    await writeAll(engine, isOver);
  } catch (error) {
    engine.logger.error(
      { event: 'hand_off.unwritten', error: String(error), code: sqlState(error) },
      'outcomes of runs that were handed off could not be written now; the next reaping tries again',
    );
  }
}

async function writeAll(engine: Engine, isOver: IsOver): Promise<void> {
  let after = FIRST_DECIDED;
  let refused: Failure = null;
  for (;;) {
    const page = { limit: BATCH_SIZE, maxBytes: MAX_BATCH_BYTES, after };
    const decided = await readDecided(engine.database, page);
    const last = decided.at(-1);
    if (last === undefined) break;
    // The others were written by a process that died before it marked them, or their runs are gone.
    const held = decided.filter((row): row is Entry['run'] => row.job !== null);
    await markWritten(
      engine.database,
      decided.filter(({ job }) => job === null),
    );
    const failure = await writeBatch(
      engine,
      held.map(run => entryOf(engine, run)),
    );
    if (failure === null && isOver()) break;
    if (failure === null) continue;
    if (!isUnstorable(failure.error)) throw failure.error;
    // What PostgreSQL refuses, even with a constant text, does not hold up what comes after it: nor does the
    // bound, since the next call begins with it again.
    refused = failure;
    after = last;
  }
  if (refused !== null) throw refused.error;
}

function entryOf(engine: Engine, run: Entry['run']): Entry {
  const attempts = { attempt: run.attempts, maxAttempts: run.max_attempts };
  const outcome = decideOutcome(endingOf(run), attempts, retryPolicyOf(engine, run.job), Math.random());
  return { id: run.id, fence: run.fence, outcome, run };
}

/** The ending of a handler that corresponds to the decision. */
function endingOf({ decision, output, error, retry_in_ms: retryInMs }: Decided): Ending {
  if (decision === 'succeeded') return { kind: 'returned', value: output };
  const given: Readonly<Record<string, unknown>> = error ?? {};
  const { message, name, code, stack } = given;
  const text = typeof message === 'string' ? message : 'the other side says that it has failed';
  const thrown =
    decision === 'dead'
      ? new Dead(text)
      : retryInMs === null
        ? new Error(text)
        : new RetryLater(Math.min(retryInMs, MAX_DURATION_MS), text);
  // The error comes from the other side, so it has the stack of that side or none.
  return {
    kind: 'threw',
    error: Object.assign(thrown, { name: name ?? 'Error', code, stack: stack ?? null }),
  };
}

/** Why some of a batch could not be written; null: all were, or their runs are gone. */
type Failure = { readonly error: unknown } | null;

async function writeBatch(engine: Engine, entries: readonly Entry[]): Promise<Failure> {
  if (entries.length === 0) return null;
  const { lost, failed, freed, outboxWritten } = await finalizeRuns(engine.database, entries, HANDED_OFF);
  const unwritten = new Set(failed.flatMap(({ part }) => part.map(({ id }) => id)));
  const done = entries.filter(({ id }) => !unwritten.has(id));
  await markWritten(engine.database, done);
  const written = done.filter(({ id }) => !lost.has(id));
  const dead = written.filter(({ outcome }) => outcome.transition === 'exhaust').map(({ id }) => id);
  await afterCommit(engine, { freed, outboxWritten, dead });
  for (const { run, outcome } of written) {
    logOutcome(engine, run, wordFor(outcome.transition), outcome, run.duration_ms);
    notifyOutcome(engine, run, outcome, run.duration_ms);
  }
  let failure: Failure = null;
  for (const { part, error } of failed) failure = (await writeOtherwise(engine, part, error)) ?? failure;
  return failure;
}

/** Writes singly, and then without what PostgreSQL refuses, so that one row does not hold up the others. */
async function writeOtherwise(engine: Engine, part: readonly Entry[], error: unknown): Promise<Failure> {
  if (!isUnstorable(error)) return { error };
  let failure: Failure = null;
  for (const entry of part) {
    const { id, outcome, isRefused = false } = entry;
    if (part.length === 1 && isRefused) return { error };
    const sent =
      part.length > 1
        ? entry
        : { ...entry, isRefused: true, outcome: refusedOutcome(engine, id, outcome, error) };
    failure = (await writeBatch(engine, [sent])) ?? failure;
  }
  return failure;
}
