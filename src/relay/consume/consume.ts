// consume(): executes the jobs of handed-off queues where only the broker is reached, not the database.
//
//   message → checked, in time, not executed before → attempt → answer, confirmed → acknowledged
//
// What fails on this way goes back to the broker. The fence decides in the end: an answer too many, or too
// late, changes nothing.
import { type Duration, parseDuration } from '../../model/duration.js';
import { TockError } from '../../model/errors.js';
import { isJob } from '../../model/job/define-job.js';
import type { AnyJob } from '../../model/job/job.js';
import { findJob } from '../../model/job/registry.js';
import { type Logger, silentLogger } from '../../model/logger.js';
import { checkName, quote } from '../../model/names.js';
import { checkOptions, optionNames } from '../../model/options.js';
import { checkRetryPolicy, type RetryPolicy } from '../../model/run/retry.js';
import { type Broker, isRefused } from '../broker.js';
import { within } from '../driver/deadline.js';
import { messageId, type RelayMessage } from '../messages.js';
import { rememberAnswers } from './answered.js';
import { type FinalAnswer, failed } from './answers.js';
import { type Attempt, beginAttempt, drainReason, type Ending } from './attempt.js';
import { rarely } from './rarely.js';
import { readMessage } from './read-message.js';

/** Options of {@link consume}. */
export interface ConsumeOptions {
  /** `rabbitmq(…)`, `jetstream(…)`, or one of your own. The consumer does not close it. */
  readonly broker: Broker;
  /** Those whose runs are in these queues. */
  readonly jobs: readonly AnyJob[];
  /** The queues that a relay hands off. Default: those of the jobs. */
  readonly queues?: readonly string[];
  /** How many attempts at a time, of all queues together: 1 to 10000. Default 10. */
  readonly concurrency?: number;
  /** Default: warnings and errors as JSON to standard error. `false`: none. */
  readonly logger?: Logger | false;
  /**
   * The backoff of jobs whose own `retry` says nothing of it. Default: as the relay's process has it. How
   * many attempts there are is decided when the run is made.
   */
  readonly retry?: RetryPolicy;
}

/** Options of {@link RunningConsumer.stop}. */
export interface StopConsumerOptions {
  /** How long handlers may go on before their signals abort. Default `20s`. */
  readonly grace?: Duration;
}

/** A consumer at work. */
export interface RunningConsumer {
  /**
   * Receives no more, waits for the handlers for `grace`, and then aborts their signals. What does not end
   * within a second goes back to the broker, unanswered. The broker is to be closed afterwards.
   */
  stop(options?: StopConsumerOptions): Promise<void>;
}

const OPTIONS = optionNames<ConsumeOptions>({
  broker: true,
  jobs: true,
  queues: true,
  concurrency: true,
  logger: true,
  retry: true,
});
const STOP_OPTIONS = optionNames<StopConsumerOptions>({ grace: true });
/** How long a broker that cannot be reached may hold up the end of a drain. */
const MAX_STOP_MS = 5000;

/**
 * Executes the jobs of queues that a relay hands off, without a connection to the database. Handlers are
 * called as in a worker, at least once for each attempt; what needs the database throws TOCK_NEEDS_DATABASE.
 * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_JOB, TOCK_DUPLICATE_JOB
 */
export async function consume(options: ConsumeOptions): Promise<RunningConsumer> {
  const { broker, jobs, queues, concurrency, policyOf } = readOptions(options);
  const logger = await loggerOf(options.logger);
  const answered = rememberAnswers();
  const active = new Map<string, { readonly attempt: Attempt; readonly done: Promise<void> }>();
  let isStopping = false;

  const warnExpired = rarely(({ run, job }: RelayMessage, count) =>
    logger.warn(
      { event: 'consumer.expired', run_id: run, job, count },
      `the lease of ${count === 1 ? 'a message' : `${count} messages`} ended before a handler was free: raise the relay's lease, or add consumers`,
    ),
  );
  const warnBadMessage = rarely((problem: string, count) =>
    logger.warn(
      { event: 'consumer.bad_message', problem, count },
      `${count === 1 ? 'a message was' : `${count} messages were`} dropped: ${problem}`,
    ),
  );

  /** @throws if the broker does not confirm it, so that the message goes back */
  const send = async (message: RelayMessage, answer: FinalAnswer) => {
    const id = messageId(message);
    let sent: FinalAnswer;
    try {
      sent = await sendOrRefuse(broker, message, answer);
    } catch (error) {
      answered.keepUnsent(id, answer);
      logger.warn(
        { event: 'consumer.unanswered', run_id: message.run, job: message.job, error: textOf(error) },
        'an answer was not confirmed by the broker; the message goes back',
      );
      throw error;
    }
    answered.add(id);
    logAnswer(logger, message, sent);
  };

  const conclude = async (message: RelayMessage, ending: Ending) => {
    if (ending.kind === 'answered') await send(message, ending.answer);
    if (ending.kind === 'drained') throw drainReason();
  };

  const onMessage = async (body: unknown): Promise<void> => {
    const read = readMessage(body);
    if ('problem' in read) return warnBadMessage(read.problem);
    const { message } = read;
    const id = messageId(message);
    const same = active.get(id);
    if (same) return await same.done;
    if (answered.has(id)) return;
    const remainingMs = Date.parse(message.publishedAt) + message.leaseMs - Date.now();
    if (remainingMs <= 0) return warnExpired(message);
    const unsent = answered.takeUnsent(id) as FinalAnswer | undefined;
    if (unsent) return await send(message, unsent);
    if (isStopping) throw drainReason();
    const job = jobFor(jobs, message);
    if (job instanceof TockError) return await send(message, failed(message, job, null));
    const attempt = beginAttempt({ broker, job, message, remainingMs, logger, policy: policyOf(job) });
    const done = attempt.ended.then(ending => conclude(message, ending)).finally(() => active.delete(id));
    active.set(id, { attempt, done });
    await done;
  };

  const subscription = await broker.receiveMessages({ queues, concurrency }, onMessage);

  const drain = async (graceMs: number) => {
    isStopping = true;
    const stopped = subscription.stop();
    await within(graceMs, stopped);
    for (const { attempt } of active.values()) attempt.drain();
    await within(MAX_STOP_MS, stopped);
  };
  let draining: Promise<void> | null = null;
  return {
    async stop(stopOptions = {}) {
      checkOptions(stopOptions, STOP_OPTIONS, 'stop');
      const graceMs = parseDuration(stopOptions.grace ?? '20s', 'grace');
      draining ??= drain(graceMs);
      await draining;
    },
  };
}

/** An answer that the broker will never take becomes a failure that says so. Resolves to what was sent. */
async function sendOrRefuse(
  broker: Broker,
  message: RelayMessage,
  answer: FinalAnswer,
): Promise<FinalAnswer> {
  try {
    await broker.answer(answer);
    return answer;
  } catch (error) {
    if (answer.kind !== 'succeeded' || !isRefused(error)) throw error;
    const tooMuch = new TockError('TOCK_BAD_RESULT', error.message, { cause: error });
    const failure = failed(message, tooMuch, null);
    await broker.answer(failure);
    return failure;
  }
}

function logAnswer(logger: Logger, { run, job, attempt }: RelayMessage, answer: FinalAnswer): void {
  const fields = { run_id: run, job, attempt };
  if (answer.kind === 'succeeded') return logger.info({ event: 'run.succeeded', ...fields });
  const { name, code, message } = answer;
  logger.warn({ event: 'run.failed', ...fields, error: { name, code, message } }, message);
}

function jobFor(jobs: ReadonlyMap<string, AnyJob>, { job }: RelayMessage): AnyJob | TockError {
  try {
    return findJob({ jobs, definitions: [], fingerprint: '' }, job);
  } catch (error) {
    return error as TockError;
  }
}

interface CheckedOptions {
  readonly broker: Broker;
  readonly jobs: ReadonlyMap<string, AnyJob>;
  readonly queues: readonly string[];
  readonly concurrency: number;
  readonly policyOf: (job: AnyJob) => RetryPolicy | null;
}

function readOptions(options: ConsumeOptions): CheckedOptions {
  checkOptions(options, OPTIONS, 'consume');
  const { broker, concurrency = 10, retry = {} } = options;
  if (typeof broker?.receiveMessages !== 'function')
    throw new TockError(
      'TOCK_BAD_OPTION',
      'broker is missing: pass rabbitmq({ url }) or jetstream({ servers })',
    );
  if (!Number.isInteger(concurrency) || concurrency < 1 || concurrency > 10_000)
    throw new TockError(
      'TOCK_BAD_OPTION',
      `concurrency ${quote(concurrency)} is not a whole number from 1 to 10000`,
    );
  checkRetryPolicy(retry);
  const jobs = jobsByName(options.jobs);
  const queues = options.queues ?? [...new Set([...jobs.values()].map(job => job.queue ?? 'default'))];
  if (!Array.isArray(queues) || queues.length === 0)
    throw new TockError(
      'TOCK_BAD_OPTION',
      "queues is empty: name those that the relay hands off, as in ['mail']",
    );
  for (const queue of queues) checkName(queue, 'queue', 'TOCK_BAD_OPTION');
  return {
    broker,
    jobs,
    queues: [...new Set(queues)],
    concurrency,
    policyOf(job) {
      const { maxAttempts: _, ...backoff } = { ...retry, ...job.retry };
      return Object.keys(backoff).length === 0 ? null : backoff;
    },
  };
}

function jobsByName(jobs: readonly AnyJob[]): ReadonlyMap<string, AnyJob> {
  if (!Array.isArray(jobs) || jobs.length === 0)
    throw new TockError('TOCK_BAD_OPTION', 'jobs is empty: pass the jobs whose runs are handed off');
  const byName = new Map<string, AnyJob>();
  for (const [index, job] of (jobs as readonly AnyJob[]).entries()) {
    if (!isJob(job))
      throw new TockError('TOCK_BAD_JOB', `element ${index} of jobs was not made by defineJob`);
    // Another service executes it.
    if (job.isDeclared) continue;
    if (job.batch !== undefined)
      throw new TockError(
        'TOCK_BAD_JOB',
        `job ${job.name} has batch, and a consumer gets its runs one by one: leave batch out, or keep the job's queue with the workers`,
      );
    for (const name of [job.name, ...(job.aliases ?? [])]) {
      if (byName.has(name))
        throw new TockError('TOCK_DUPLICATE_JOB', `two jobs have the name or alias ${name}; rename one`);
      byName.set(name, job);
    }
  }
  return byName;
}

async function loggerOf(option: Logger | false | undefined): Promise<Logger> {
  if (option !== undefined) return option || silentLogger;
  return (await import('../../environment/logger.js')).createLogger();
}

const textOf = (error: unknown) => (error instanceof Error ? error.message : String(error));
