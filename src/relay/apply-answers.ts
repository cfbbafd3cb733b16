// Writes a batch of answers: what they decide is committed when it resolves. Most successes have ended their
// runs then; other decisions are kept with the handoffs, to be written as outcomes.
import type { Engine } from '../engine/engine.js';
import { endCompleted } from '../engine/finalize/completed.js';
import type { Session } from '../store/connection/database.js';
import { messageOf } from '../store/connection/errors.js';
import {
  completeEach,
  extendEach,
  type Failure,
  failEach,
  progressEach,
  type Success,
} from '../store/runs/hand-off/answers.js';
import { isDataError } from '../store/runs/set-aside.js';
import type { FailedAnswer, RelayAnswer } from './messages.js';

/** How many held, and how many came too late. */
export interface Applied {
  completed: number;
  failed: number;
  extended: number;
  refused: number;
  /** How many of `completed` and `failed` are decided, and their outcomes are not written yet. */
  unwritten: number;
  /** What PostgreSQL takes in no form, and why. */
  readonly unusable: string[];
}

type Kind = RelayAnswer['kind'];
type Of<K extends Kind> = Extract<RelayAnswer, { readonly kind: K }>;

/**
 * Decides successes by one statement, and gives the rest to the functions of the schema. Of two decisions of
 * one attempt the first holds. One answer that the database refuses fails its own run only.
 * @throws if the database cannot be reached: then the batch is to come again
 */
export async function applyAnswers(engine: Engine, answers: readonly RelayAnswer[]): Promise<Applied> {
  const applied: Applied = { completed: 0, failed: 0, extended: 0, refused: 0, unwritten: 0, unusable: [] };
  const of = <K extends Kind>(kind: K, from: readonly RelayAnswer[] = answers) =>
    from.filter((answer): answer is Of<K> => answer.kind === kind);
  const apply = new Batches(engine, applied);

  await apply.extend(of('extend').map(({ run, fence, leaseMs }) => ({ id: run, fence, leaseMs })));
  await apply.progress(
    of('progress').map(({ run, fence, fraction, stage = null }) => ({ id: run, fence, fraction, stage })),
  );
  const { first, later } = firstDecisions(answers);
  await apply.succeed(of('succeeded', first).map(successOf));
  await apply.fail(of('failed', first).map(failureOf));
  await apply.succeedEach(of('succeeded', later).map(successOf));
  await apply.fail(of('failed', later).map(failureOf));
  engine.wakeHost();
  return applied;
}

/** The first decision of each run, and the others: no statement may name a run twice. */
function firstDecisions(answers: readonly RelayAnswer[]) {
  const first = new Map<string, RelayAnswer>();
  const later: RelayAnswer[] = [];
  for (const answer of answers) {
    if (answer.kind !== 'succeeded' && answer.kind !== 'failed') continue;
    const before = first.get(answer.run);
    if (before === undefined) first.set(answer.run, answer);
    // That of an older attempt is refused anyway.
    else if (before.fence < answer.fence) {
      first.set(answer.run, answer);
      later.push(before);
    } else later.push(answer);
  }
  return { first: [...first.values()], later };
}

const successOf = ({ run, fence, result }: Of<'succeeded'>): Success => ({
  id: run,
  fence,
  result: result === null || result === undefined ? null : JSON.stringify(result),
});

function failureOf({ run, fence, message, retry = true, retryAt, name, code, stack }: FailedAnswer): Failure {
  const details = JSON.stringify({ name, code, stack });
  return { id: run, fence, message, isRetried: retry, retryAt: retryAt ?? null, details };
}

/** Sends batches, and halves those that the database refuses for what one of them holds. */
class Batches {
  private readonly engine: Engine;
  private readonly applied: Applied;

  constructor(engine: Engine, applied: Applied) {
    this.engine = engine;
    this.applied = applied;
  }

  async succeed(successes: readonly Success[]): Promise<void> {
    const { applied, engine } = this;
    const send = async (batch: readonly Success[]) => {
      const held = await endCompleted(engine, batch);
      applied.completed += held.size;
      await this.succeedEach(batch.filter(({ id }) => !held.has(id)));
    };
    await inHalves(successes, send, (success, error) => this.refuseResult(success, error));
  }

  async succeedEach(successes: readonly Success[]): Promise<void> {
    const send = (batch: readonly Success[]) => this.sendEach(batch, completeEach, 'completed');
    await inHalves(successes, send, (success, error) => this.refuseResult(success, error));
  }

  async fail(failures: readonly Failure[]): Promise<void> {
    const send = (batch: readonly Failure[]) => this.sendEach(batch, failEach, 'failed');
    // Without what the database may refuse: a time too far ahead.
    const plainly = async (failure: Failure) => await send([{ ...failure, retryAt: null, details: null }]);
    await inHalves(failures, send, failure =>
      inHalves([failure], batch => Promise.all(batch.map(plainly)), this.giveUp),
    );
  }

  async extend(extensions: Parameters<typeof extendEach>[1]): Promise<void> {
    const send = (batch: typeof extensions) => this.sendEach(batch, extendEach, 'extended');
    await inHalves(extensions, send, this.giveUp);
  }

  async progress(reports: Parameters<typeof progressEach>[1]): Promise<void> {
    await inHalves(reports, batch => this.sendEach(batch, progressEach, null), this.giveUp);
  }

  /** An output that no run can have: too large, or with numbers that would lose digits. */
  private async refuseResult({ id, fence }: Success, error: unknown): Promise<void> {
    await this.fail([
      {
        id,
        fence,
        message: messageOf(error),
        isRetried: false,
        retryAt: null,
        details: JSON.stringify({ name: 'TockError', code: 'TOCK_BAD_RESULT' }),
      },
    ]);
  }

  private readonly giveUp = (answer: { readonly id: string }, error: unknown) => {
    this.applied.unusable.push(`run ${answer.id}: ${messageOf(error)}`);
    return Promise.resolve();
  };

  private async sendEach<Item>(
    batch: readonly Item[],
    each: (session: Session, batch: readonly Item[]) => Promise<number>,
    figure: 'completed' | 'failed' | 'extended' | null,
  ): Promise<void> {
    if (batch.length === 0) return;
    const held = await this.engine.database.transaction(session => each(session, batch));
    if (figure !== null) this.applied[figure] += held;
    if (figure === 'completed' || figure === 'failed') this.applied.unwritten += held;
    this.applied.refused += batch.length - held;
  }
}

/** Sends a batch; if its data are refused, its halves; and one that is refused alone is given to `alone`. */
async function inHalves<Item>(
  batch: readonly Item[],
  send: (batch: readonly Item[]) => Promise<unknown>,
  alone: (item: Item, error: unknown) => Promise<void>,
): Promise<void> {
  const [only] = batch;
  if (only === undefined) return;
  try {
    await send(batch);
  } catch (error) {
    if (!isDataError(error)) throw error;
    if (batch.length === 1) return await alone(only, error);
    const half = Math.ceil(batch.length / 2);
    await inHalves(batch.slice(0, half), send, alone);
    await inHalves(batch.slice(half), send, alone);
  }
}
