// The jobs of a process, by name.

import { TockError } from '../errors.js';
import { quote } from '../names.js';
import { didYouMean } from '../nearest.js';
import { checkList } from '../options.js';
import { circleError, definitionsBefore, findCircle, requireTimes } from '../planning/chain.js';
import {
  type DescribedDefinition,
  describeAliases,
  describeDefinition,
  fingerprintOf,
  hasTimes,
} from '../planning/definition.js';
import { DEFAULT_QUEUE, defaultQueue } from '../planning/services.js';
import { type DefinedQueue, queuesByName } from '../queue/define-queue.js';
import type { QueueSettings } from '../queue/queue-limits.js';
import { payloadError } from '../run/decide.js';
import { isJob } from './define-job.js';
import { type FairScope, fairScopeOf } from './fair/fair.js';
import type { AnyJob, Json } from './job.js';
import { checkPayload } from './payload/payload.js';
import type { StandardSchemaV1 } from './payload/standard-schema.js';

export interface Registry {
  readonly jobs: ReadonlyMap<string, AnyJob>;
  /** Jobs that other services execute. */
  readonly declared?: ReadonlyMap<string, AnyJob>;
  /** The jobs by their other names. */
  readonly aliases?: ReadonlyMap<string, AnyJob>;
  readonly definitions: readonly DescribedDefinition[];
  /** What jobs say of their keys, by the names of their runs: those of the jobs, and their aliases. */
  readonly fairScopes?: ReadonlyMap<string, FairScope>;
  /** Of each job, also by its other names, how many of its runs may be at work at once; null: any number. */
  readonly jobLimits?: ReadonlyMap<string, number | null>;
  /** What code states of queues, by their names. */
  readonly queues?: ReadonlyMap<string, QueueSettings>;
  /** Tock's own jobs, which have no definition and are in no list. */
  readonly builtIn?: (name: string) => AnyJob | undefined;
  /** Equal for two processes whose definitions and queues are equal. */
  readonly fingerprint: string;
}

/**
 * The jobs of a service, by their names. Those of a named service that state no queue have its own.
 * @throws TockError TOCK_BAD_JOB for something that defineJob did not make, TOCK_DUPLICATE_JOB with both
 * files, also for an alias; TOCK_BAD_SCHEDULE for definitions that run after each other, or after an alias;
 * TOCK_BAD_OPTION for queues that defineQueue did not make, for two of one name, and for `default` where it
 * would not be the queue of jobs that state none
 */
export function createRegistry(
  jobs: readonly AnyJob[],
  definedQueues: readonly DefinedQueue[] = [],
  service = '',
): Registry {
  const queues = queuesByName(definedQueues);
  const byName = new Map<string, AnyJob>();
  const declared = new Map<string, AnyJob>();
  for (const [index, job] of checkList(jobs, 'jobs').entries()) {
    if (!isJob(job))
      throw new TockError('TOCK_BAD_JOB', `element ${index} of jobs was not made by defineJob`);
    const other = byName.get(job.name) ?? declared.get(job.name);
    if (other) {
      throw new TockError(
        'TOCK_DUPLICATE_JOB',
        `two jobs have the name ${job.name}: one in ${other.file ?? 'an unknown file'}, one in ${job.file ?? 'an unknown file'}; rename one`,
      );
    }
    if (job.isDeclared) declared.set(job.name, job);
    else byName.set(job.name, withQueue(job, service));
  }
  const without = queues.has(DEFAULT_QUEUE)
    ? jobs.find(job => !job.isDeclared && withQueue(job, service) !== job)
    : undefined;
  if (without !== undefined)
    throw new TockError(
      'TOCK_BAD_OPTION',
      `the queue default has settings, but job ${without.name} states no queue, so in the service ${service} it is in the queue ${defaultQueue(service)}: write defineQueue({ name: '${defaultQueue(service)}', … }), or queue: 'default' in the jobs`,
    );
  const aliases = aliasesOf(byName, declared);
  for (const { name, onDead } of byName.values()) {
    const target = typeof onDead === 'object' ? onDead.name : onDead;
    if (target !== undefined && ![byName, aliases, declared].some(known => known.has(target)))
      throw new TockError(
        'TOCK_BAD_JOB',
        `onDead of job ${name} names ${quote(target)}, which is not among the jobs`,
      );
  }
  const definitions = jobs
    .flatMap(job => (job.isDeclared ? [] : describeIn(service, job)))
    .sort((a, b) => (a.columns.name < b.columns.name ? -1 : 1));
  for (const { columns } of definitions) refuseAliases(columns, aliases);
  const timeless = definitions.flatMap(({ columns }) => (hasTimes(columns) ? [] : [columns.name]));
  for (const { columns } of definitions) requireTimes(columns, timeless);
  const circle = findCircle(
    new Map(definitions.map(({ columns }) => [columns.name, definitionsBefore(columns)])),
  );
  if (circle) throw circleError(circle);
  const fairScopes = fairScopesOf(byName);
  const jobLimits = jobLimitsOf(byName);
  const shared = definitions.filter(({ columns }) => service !== '' && columns.queue === DEFAULT_QUEUE);
  const stated = [
    ...fairScopes,
    ...[...jobLimits].flatMap(([name, limit]) => (limit === null ? [] : [['limit', name, limit]])),
    ...[...queues].map(([name, settings]) => ['queue', name, settings]),
    ...shared.map(({ columns }) => [DEFAULT_QUEUE, columns.name]),
  ].map(each => JSON.stringify(each));
  return {
    jobs: byName,
    declared,
    aliases,
    definitions,
    fairScopes,
    jobLimits,
    queues,
    fingerprint: fingerprintOf([...definitions.map(each => each.fingerprint), ...stated]),
  };
}

/** The job in a service: one that states no queue has the service's own. */
export const withQueue = (job: AnyJob, service: string): AnyJob =>
  service === '' || job.queue !== undefined ? job : { ...job, queue: defaultQueue(service) };

/** A definition, and those of the aliases. That a service has a default queue of its own changes none. */
function describeIn(service: string, job: AnyJob): DescribedDefinition[] {
  const queue = withQueue(job, service).queue ?? DEFAULT_QUEUE;
  return [describeDefinition(job), ...describeAliases(job)].map(({ columns, fingerprint }) => ({
    columns: { ...columns, queue },
    fingerprint,
  }));
}

function fairScopesOf(jobs: ReadonlyMap<string, AnyJob>): Map<string, FairScope> {
  const scopes = [...jobs.values()].flatMap(job => {
    const scope = fairScopeOf(job);
    return scope === null ? [] : [job.name, ...(job.aliases ?? [])].map(name => [name, scope] as const);
  });
  return new Map(scopes.sort(([a], [b]) => (a < b ? -1 : 1)));
}

function jobLimitsOf(jobs: ReadonlyMap<string, AnyJob>): Map<string, number | null> {
  const limits = [...jobs.values()].flatMap(({ name, aliases = [], concurrency }) => {
    const limit = concurrency === undefined || concurrency.order === 'strict' ? null : concurrency.limit;
    return [name, ...aliases].map(each => [each, limit] as const);
  });
  return new Map(limits.sort(([a], [b]) => (a < b ? -1 : 1)));
}

const fileOf = ({ file }: AnyJob) => file ?? 'an unknown file';

function aliasesOf(
  jobs: ReadonlyMap<string, AnyJob>,
  declared: ReadonlyMap<string, AnyJob>,
): Map<string, AnyJob> {
  const aliases = new Map<string, AnyJob>();
  for (const job of jobs.values())
    for (const alias of job.aliases ?? []) {
      const named = jobs.get(alias) ?? declared.get(alias);
      const other = named ?? aliases.get(alias);
      if (other !== undefined)
        throw new TockError(
          'TOCK_DUPLICATE_JOB',
          `job ${job.name} in ${fileOf(job)} has the alias ${quote(alias)}, which is ${named ? 'the name of a job' : `an alias of job ${other.name} too,`} in ${fileOf(other)}: runs of that name would have two jobs; remove the alias from one`,
        );
      aliases.set(alias, job);
    }
  return aliases;
}

/** An alias has no occurrences that anything could run after. */
function refuseAliases(columns: DescribedDefinition['columns'], aliases: ReadonlyMap<string, AnyJob>): void {
  const { name } = columns;
  for (const parent of definitionsBefore(columns)) {
    const job = aliases.get(parent);
    if (job !== undefined)
      throw new TockError(
        'TOCK_BAD_SCHEDULE',
        `job ${name} runs after ${quote(parent)}, which is an alias of job ${job.name}: name ${job.name}`,
      );
  }
}

/** The job that executes runs of this name: the one that is called so, or has it as an alias. */
export function knownJob({ jobs, aliases, builtIn }: Registry, name: string): AnyJob | undefined {
  return jobs.get(name) ?? aliases?.get(name) ?? builtIn?.(name);
}

/** The job that a name stands for, also if another service executes it. */
export const namedJob = (registry: Registry, name: string): AnyJob | undefined =>
  knownJob(registry, name) ?? registry.declared?.get(name);

/**
 * Finds a job by object, name or alias, also if another service executes it.
 * @throws TockError TOCK_UNKNOWN_JOB, with the near misses
 */
export function findJob(registry: Registry, job: string | AnyJob): AnyJob {
  const name = typeof job === 'string' ? job : (job as AnyJob | null | undefined)?.name;
  const found = typeof name === 'string' ? namedJob(registry, name) : undefined;
  if (found) return found;
  // One that is declared for this call: what its definition says is read then.
  if (typeof job !== 'string' && isJob(job) && job.isDeclared) return job;
  const known = [...registry.jobs.keys(), ...(registry.declared?.keys() ?? [])];
  const all = known.length === 0 ? '; no jobs are defined' : `; known jobs: ${known.slice(0, 20).join(', ')}`;
  const near = typeof name === 'string' ? didYouMean(name, known) : '';
  const elsewhere = typeof name === 'string' ? '; for one that another service executes, see declareJob' : '';
  throw new TockError('TOCK_UNKNOWN_JOB', `there is no job ${quote(name)}${near || `${all}${elsewhere}`}`);
}

/** Enqueueing needs what the definition of a declared job says, and there is none. */
export const notRegisteredError = (names: readonly string[]) =>
  new TockError(
    'TOCK_UNKNOWN_JOB',
    `${names.length === 1 ? `job ${names[0]} is` : `the jobs ${names.join(', ')} are`} declared here (declareJob), but no service has registered ${names.length === 1 ? 'it' : 'them'}: start or deploy the service that executes ${names.length === 1 ? 'it' : 'them'} first, in this schema, or correct the name`,
  );

/**
 * Checks a payload by the job's schema and as JSON. Returns it unparsed, as it will be stored, because the
 * schema is applied again before the handler.
 */
export async function acceptPayload(job: AnyJob, payload: unknown, maxBytes?: number): Promise<Json> {
  const stored = checkPayload(payload ?? {}, maxBytes);
  await parsePayload(job, stored);
  return stored;
}

/** Applies the job's schema to a stored payload and returns what the handler gets. */
export async function parsePayload(job: AnyJob, payload: unknown): Promise<unknown> {
  return await parsePayloadFor(job, payload, parsed => parsed);
}

/**
 * Like {@link parsePayload}; `use` gets the result. Gives a promise only if the schema does: with thousands
 * of payloads, promises would take longer than everything else.
 */
export function parsePayloadFor<T>(
  job: AnyJob,
  payload: unknown,
  use: (parsed: unknown) => T,
): T | Promise<T> {
  const schema: StandardSchemaV1 | undefined = job.payload;
  if (schema === undefined) return use(payload);
  const useResult = (result: StandardSchemaV1.Result<unknown>) => {
    if (result.issues) throw payloadError(job.name, result.issues);
    return use(result.value);
  };
  const result = schema['~standard'].validate(payload);
  return 'then' in result ? result.then(useResult) : useResult(result);
}
