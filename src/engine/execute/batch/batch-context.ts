// The context of a handler that gets a batch. What belongs to a single run is refused, with the remedy.
import { TockError } from '../../../model/errors.js';
import type { BatchContext } from '../../../model/job/batch/batch-job.js';
import type { JobContext } from '../../../model/job/job.js';
import type { Engine } from '../../engine.js';
import { enqueue } from '../../enqueue.js';
import { type Interrupt, signalOf } from '../abort.js';
import type { ActiveRun } from '../active-run.js';
import { type Calls, tracked } from '../calls/calls.js';
import { createBatchLogger } from '../run-logger.js';

const OF_ONE_RUN = 'each run has its own: take it from `runs`';
const WAITS = 'a batch cannot wait: leave `batch` out of the job, or enqueue another job that waits';
const EFFECTS = 'use ctx.transaction, which commits with the success of all runs';
const ELSEWHERE = "use the app's own Tock";

/** The members of another handler's context that this one lacks, and what to do in place of each. */
const REFUSED: Readonly<Record<Exclude<keyof JobContext, keyof BatchContext>, string>> = {
  runId: OF_ONE_RUN,
  definition: OF_ONE_RUN,
  attempt: OF_ONE_RUN,
  maxAttempts: OF_ONE_RUN,
  fence: OF_ONE_RUN,
  scheduledFor: OF_ONE_RUN,
  dataInterval: OF_ONE_RUN,
  occurrenceCount: OF_ONE_RUN,
  idempotencyKey: OF_ONE_RUN,
  trigger: OF_ONE_RUN,
  snoozes: WAITS,
  sleep: WAITS,
  waitFor: WAITS,
  waitForRuns: WAITS,
  handOff: WAITS,
  closeUntil: 'a batch has runs of many keys: leave `batch` out of the job',
  group: WAITS,
  parents: 'leave `batch` out of a job whose runs come after others',
  step: EFFECTS,
  once: EFFECTS,
  cursor: EFFECTS,
  child: 'use ctx.enqueue, with a key made of run.id where it must happen once',
  progress: 'use run.log, or leave `batch` out of the job',
  complete: ELSEWHERE,
  fail: 'use runs.fail(run, error) for a run of the batch',
  extend: ELSEWHERE,
  runs: "the second argument of the handler has the runs of the batch; for others use the app's own Tock",
  queues: ELSEWHERE,
  scheduler: ELSEWHERE,
};

export function createBatchContext(
  engine: Engine,
  job: string,
  actives: readonly ActiveRun[],
  interrupt: Interrupt,
  transaction: BatchContext['transaction'],
  calls: Calls,
): BatchContext {
  let log: BatchContext['log'] | undefined;
  const methods: BatchContext = {
    job,
    transaction,
    get signal() {
      return signalOf(interrupt);
    },
    get log() {
      return (log ??= createBatchLogger(engine, job, actives));
    },
    get db() {
      return engine.database.handlers.db;
    },
    enqueue: (reference, ...[payload, options]) => enqueue(engine, reference, payload, options),
    get enqueueMany() {
      return engine.forHandlers().enqueueMany;
    },
    get emit() {
      return engine.forHandlers().emit;
    },
  };
  return tracked(Object.setPrototypeOf(methods, REFUSING) as BatchContext, calls);
}

/** Its members throw once they are asked for; so they are found in no list of the context's own. */
const REFUSING: object = Object.defineProperties(
  {},
  Object.fromEntries(
    Object.entries(REFUSED).map(([name, remedy]) => [
      name,
      {
        get() {
          throw new TockError('TOCK_BAD_STATE', `the handler of a batch has no ctx.${name}: ${remedy}`);
        },
      },
    ]),
  ),
);
