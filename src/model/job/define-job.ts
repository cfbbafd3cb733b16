// defineJob: the one way to make a job; declareJob: to name that of another service. Whatever can be wrong
// with a job is refused here.

import { readChangesOption } from '../changes/changes-option.js';
import { parseDuration } from '../duration.js';
import { TockError } from '../errors.js';
import { checkName, quote } from '../names.js';
import { checkOptions, optionNames } from '../options.js';
import { describeDefinition } from '../planning/definition.js';
import { checkConcurrencyLimit } from '../run/limits.js';
import { checkRetryPolicy } from '../run/retry.js';
import { joinTags } from '../run/tags.js';
import { badJob } from './bad-job.js';
import type { BatchJob, BatchJobOptions } from './batch/batch-job.js';
import { type BatchOptions, readBatch } from './batch/batch-option.js';
import type { OnDeadReference } from './dead-run.js';
import { fairScopeOf } from './fair/fair.js';
import { readIsolate } from './isolate.js';
import type { AnyJob, Job, JobOptions } from './job.js';
import { readLogsOption } from './logs-option.js';
import type { StandardSchemaV1 } from './payload/standard-schema.js';
import { isTypeOnly } from './type-only.js';

/** A job's options, and what defineJob adds, since one job may be spread into another. */
export const JOB_OPTIONS: ReadonlySet<string> = optionNames<AnyJob>({
  name: true,
  description: true,
  aliases: true,
  payload: true,
  schedule: true,
  retry: true,
  timeout: true,
  isolate: true,
  batch: true,
  queue: true,
  priority: true,
  tags: true,
  concurrency: true,
  fair: true,
  rate: true,
  logs: true,
  changes: true,
  expect: true,
  onDead: true,
  run: true,
  kind: true,
  file: true,
  isDeclared: true,
});
const DECLARED_OPTIONS = optionNames<DeclaredJobOptions>({ name: true, description: true, payload: true });

/**
 * Defines a job. Checks the name, the schedule, the retry policy and the limits when the module is loaded, so
 * that no mistake waits for the first run. With `batch`, the handler is called for several runs at once.
 * @throws TockError TOCK_BAD_JOB, TOCK_BAD_SCHEDULE or TOCK_BAD_DURATION; the message begins with file, line
 */
export function defineJob<
  const Schema extends StandardSchemaV1 = StandardSchemaV1,
  const Name extends string = string,
  OnDead extends OnDeadReference = OnDeadReference,
>(options: BatchJobOptions<Schema, Name, OnDead>): BatchJob<Schema, Name>;
export function defineJob<
  const Schema extends StandardSchemaV1 = StandardSchemaV1,
  Output = unknown,
  const Name extends string = string,
  OnDead extends OnDeadReference = OnDeadReference,
>(options: JobOptions<Schema, Output, Name, OnDead>): Job<Schema, Output, Name>;
export function defineJob(options: object): Job {
  return namingFile(options, file => makeJob(options as JobOptions, file));
}

/** What {@link declareJob} takes. */
export interface DeclaredJobOptions<
  Schema extends StandardSchemaV1 = StandardSchemaV1,
  Name extends string = string,
> {
  /** As the other service defines it. */
  readonly name: Name;
  readonly description?: string;
  /** Checked when a run is enqueued here. Default: any JSON. */
  readonly payload?: Schema;
}

/**
 * Names a job that another service of the same schema executes, so that this one can enqueue it, with the
 * types and checks of its payload. It goes into `jobs`, so that its name will do in calls, or into the call
 * itself; this process neither registers nor claims it.
 * Queue, priority, attempts and tags are those of the other service's definition, unless `enqueue` gives
 * them; its limits hold. Before the other service has registered it, enqueueing throws TOCK_UNKNOWN_JOB.
 * `Output` is what its handler returns: `declareJob<typeof schema, Output>` types `runs.wait`.
 * @throws TockError TOCK_BAD_JOB; the message begins with file, line
 */
export function declareJob<
  const Schema extends StandardSchemaV1 = StandardSchemaV1,
  Output = unknown,
  const Name extends string = string,
>(options: DeclaredJobOptions<Schema, Name>): Job<Schema, Output, Name> {
  return namingFile(options, file => {
    if (typeof options !== 'object' || options === null)
      throw badJob('declareJob takes an object with the name of a job of another service');
    checkOptions(options, DECLARED_OPTIONS, 'declareJob', 'TOCK_BAD_JOB');
    checkName(options.name, 'job');
    checkSchema(options.name, options.payload);
    const run = () => {
      throw badJob(`job ${options.name} is only declared here: another service executes it`);
    };
    return Object.freeze({ ...withoutTypeOnly(options), run, kind: 'tock.job', file, isDeclared: true });
  });
}

/**
 * Calls `make`; its errors begin with the file that called defineJob or another of its kind, and the name.
 * @param kind what has the name
 */
export function namingFile<Made>(options: unknown, make: (file: string | null) => Made, kind = 'job'): Made {
  const { file, line } = callerPlace();
  try {
    return make(file);
  } catch (error) {
    if (error instanceof TockError)
      throw new TockError(
        error.code,
        `${where(file === null ? null : `${file}:${line}`, options, kind)}${error.message}`,
        { cause: error },
      );
    throw error;
  }
}

/** Checks the options of a job, and makes it. @throws TockError as {@link defineJob}, without the file */
export function makeJob<Schema extends StandardSchemaV1, Output, Name extends string>(
  options: JobOptions<Schema, Output, Name>,
  file: string | null,
): Job<Schema, Output, Name> {
  if (typeof options !== 'object' || options === null)
    throw badJob('defineJob takes an object with a name and a run function');
  checkOptions(options, JOB_OPTIONS, 'defineJob', 'TOCK_BAD_JOB');
  checkName(options.name, 'job');
  checkAliases(options.name, options.aliases);
  if (typeof options.run !== 'function') throw badJob(`job ${options.name} has no run function`);
  checkSchema(options.name, options.payload);
  if (options.retry !== undefined) checkRetryPolicy(options.retry);
  if (options.timeout !== undefined && parseDuration(options.timeout, 'timeout') === 0)
    throw badJob('timeout must be longer than 0');
  const isolate = readIsolate(options.isolate);
  checkBatch(options, isolate !== null);
  readLogsOption(options.logs, null, 'TOCK_BAD_JOB');
  readChangesOption(options.changes, options.name);
  if (options.queue !== undefined) checkName(options.queue, 'queue');
  checkPriority(options.priority);
  joinTags(options.tags);
  checkConcurrencyLimit(options.concurrency);
  fairScopeOf(options);
  checkOnDead(options, options.onDead);
  const { isDeclared: _isDeclared, ...own } = options as Job<Schema, Output, Name>;
  const job: Job<Schema, Output, Name> = Object.freeze({
    ...withoutTypeOnly(own),
    kind: 'tock.job',
    file,
  });
  describeDefinition(job);
  return job;
}

/** Drops a schema that checks nothing, so that enqueueing takes the short path without a schema. */
function withoutTypeOnly<Options extends { readonly payload?: unknown }>(options: Options): Options {
  if (!isTypeOnly(options.payload)) return options;
  const { payload: _typeOnly, ...others } = options;
  return others as Options;
}

/** Whether {@link defineJob} made the value, even in another copy of the package. */
export function isJob(value: unknown): value is Job {
  return typeof value === 'object' && value !== null && (value as { kind?: unknown }).kind === 'tock.job';
}

function checkSchema(
  name: string,
  schema: { readonly '~standard'?: { readonly validate?: unknown } } | null | undefined,
): void {
  if (schema === undefined) return;
  const standard = schema?.['~standard'];
  if (typeof standard?.validate !== 'function') {
    throw badJob(
      `the payload of job ${name} is not a Standard Schema; use zod 3.24+, valibot 1, arktype 2 or another that implements it`,
    );
  }
}

/** Checks a priority: a 32-bit whole number; lower goes first. */
export function checkPriority(priority: number | undefined): void {
  if (priority === undefined || (Number.isInteger(priority) && Math.abs(priority) <= 2_147_483_647)) return;
  throw badJob(`priority ${quote(priority)} is not a whole number of 32 bits; lower goes first`);
}

function checkBatch(
  { batch: option, concurrency }: { readonly batch?: BatchOptions } & Pick<AnyJob, 'concurrency'>,
  isIsolated: boolean,
): void {
  const batch = readBatch(option);
  if (batch === null) return;
  if (isIsolated)
    throw badJob(
      'batch and isolate do not go together: isolate gives each attempt a process of its own; leave out one of both',
    );
  if (concurrency !== undefined && concurrency.key === undefined && concurrency.limit < batch.size)
    throw badJob(
      `concurrency.limit (${concurrency.limit}) is under batch.size (${batch.size}), and counts runs, not batches: no batch could be full; raise the limit, or lower the size`,
    );
}

function checkOnDead(
  { name, aliases }: Pick<AnyJob, 'name' | 'aliases'>,
  onDead: string | { readonly name: string } | undefined,
): void {
  if (onDead === undefined) return;
  const target = checkName(typeof onDead === 'object' ? onDead?.name : onDead, 'job');
  if (target === name || aliases?.includes(target))
    throw badJob(`onDead of job ${name} is the job itself; name another, or raise retry.maxAttempts`);
}

function checkAliases(name: string, aliases: readonly string[] | undefined): void {
  if (aliases === undefined) return;
  if (!Array.isArray(aliases)) throw badJob(`aliases of job ${name} is no array of names`);
  for (const [index, alias] of aliases.entries()) {
    checkName(alias, 'job');
    if (alias === name) throw badJob(`job ${name} has its own name as an alias; leave it out`);
    if (aliases.indexOf(alias) < index) throw badJob(`job ${name} has the alias ${quote(alias)} twice`);
  }
}

function where(place: string | null, options: unknown, kind: string): string {
  const name = (options as { name?: unknown } | null)?.name;
  return [place, typeof name === 'string' ? `${kind} ${quote(name)}` : null]
    .filter(Boolean)
    .map(part => `${part}: `)
    .join('');
}

const HERE = /[\\/](define-(?:(?:shell-|http-)?job|queue)\.[jt]s|chunk-[^\\/]+\.js)/;

interface Place {
  readonly file: string | null;
  readonly line: string;
}

/** Where defineJob was called, from the call stack without Tock's own frames. */
function callerPlace(): Place {
  const lines = (new Error().stack ?? '').split('\n').slice(1);
  for (const line of lines) {
    const [, file, at = ''] =
      /(?:\(|at (?:async )?)((?:file:\/\/)?[^()\s][^()]*?):(\d+):\d+\)?$/.exec(line) ?? [];
    if (file && !HERE.test(file) && !file.startsWith('node:'))
      return {
        file: file.startsWith('file://') ? decodeURIComponent(file.slice('file://'.length)) : file,
        line: at,
      };
  }
  return { file: null, line: '' };
}
