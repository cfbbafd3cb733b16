// The definitions as they are in the database, and as registering other code would leave them.
import { calendarsLacking, withDates, withoutDates } from '../calendar/calendar-entries.js';
import { knownJob, type Registry } from '../job/registry.js';
import { chainWords } from '../planning/chain.js';
import { type DescribedDefinition, isAlias, scheduleOfColumns } from '../planning/definition.js';
import { type DefinitionColumns, leftOf, type Option, optionsOf } from '../planning/definition-columns.js';
import type { Exception } from '../planning/exceptions.js';
import { scheduleWords } from '../planning/schedule-words.js';
import { reasonNotSimulated } from '../planning/simulate.js';
import { isSame, type QueueLayers, withCode } from '../queue/layers.js';
import { jobLimit, type Limit } from '../run/limits.js';
import { compileSchedule } from '../schedule/compile.js';
import type { PlannedQueue } from './slot-keys.js';
import type { DurationSample, SimulatedDefinition } from './walk.js';

/** A definition as it is stored, with what stops it. */
export interface StoredDefinition extends DefinitionColumns {
  readonly id: string;
  readonly origin: 'code' | 'runtime';
  readonly service: string;
  readonly fingerprint: string | null;
  readonly remaining_stated: number | null;
  readonly paused_at: Date | null;
  readonly paused_until: Date | null;
  readonly broken_reason: string | null;
  readonly vanished_at: Date | null;
  readonly exceptions: readonly Exception[];
}

/** A queue's layers, and its pause. */
export interface StoredQueue extends QueueLayers {
  readonly name: string;
  readonly pausedAt: Date | null;
  readonly pausedUntil: Date | null;
}

/** What a plan is made of, as it is in the database. */
export interface PlanFacts {
  /** The database's time. */
  readonly now: Date;
  readonly definitions: readonly StoredDefinition[];
  /** Whose code is looked at; empty: that of the service without a name. */
  readonly service: string;
  /** The queues that other services state. */
  readonly queuesElsewhere: readonly string[];
  /** The dates of calendars, by their names. */
  readonly calendars: ReadonlyMap<string, readonly string[]>;
  readonly queues: readonly StoredQueue[];
  /** How many runs the daemons that are alive take at once; null: there are none. */
  readonly workers: number | null;
  /** Finished runs of definitions, by their names. */
  readonly samples: ReadonlyMap<string, DurationSample>;
}

/** Without a database. */
export const noFacts = (now: Date): PlanFacts => ({
  now,
  definitions: [],
  service: '',
  queuesElsewhere: [],
  calendars: new Map(),
  queues: [],
  workers: null,
  samples: new Map(),
});

/** A definition before, and with the code; null where it is not there. The same object: nothing changes. */
export interface PlannedPair {
  /** With the code; that before where it is removed. */
  readonly name: string;
  readonly before: PlannedDefinition | null;
  readonly after: PlannedDefinition | null;
  /** What the code states in another way. */
  readonly options: readonly Option[];
}

export interface PlannedDefinition {
  readonly name: string;
  /** What it does, in words. */
  readonly words: string;
  readonly timezone: string;
  /** Null: it makes no runs by itself or after others, for the reason; or it has no schedule. */
  readonly simulated: SimulatedDefinition | null;
  readonly reason: string | null;
}

/** Pairs of all definitions that are there before, or with the code, by name. */
export function withCodeOf(facts: PlanFacts, registry: Registry): PlannedPair[] {
  const rows = facts.definitions.filter(row => row.vanished_at === null);
  const byName = new Map(rows.map(row => [row.name, row]));
  const makeSample = samplesOf(facts);
  const stored = (row: StoredDefinition) => plannedOf(row, row, registry, makeSample(row));
  // A process without jobs registers nothing.
  const described = registry.definitions.filter(each => !isAlias(each));
  if (described.length === 0) return rows.map(row => unchanged(stored(row))).sort(byPairName);
  const pairs: PlannedPair[] = [];
  const taken = new Set<string>();
  for (const each of described) {
    const { columns } = each;
    const row = byName.get(columns.name) ?? renamedFrom(columns.name, registry, byName);
    if (row !== undefined) taken.add(row.name);
    const before = row === undefined ? null : stored(row);
    if (before !== null && row?.fingerprint === each.fingerprint && row.origin === 'code') {
      pairs.push(unchanged(before));
      continue;
    }
    const dated = {
      ...columns,
      remaining_count: leftOf(columns.remaining_count, row ?? null),
      exclude: withDates(columns.exclude, name => facts.calendars.get(name)),
    };
    // An edit repairs what is broken, and keeps a pause.
    const state = row === undefined ? null : { ...row, broken_reason: null };
    const after = plannedOf(dated, state, registry, makeSample(row ?? columns));
    pairs.push({ name: columns.name, before, after, options: row === undefined ? [] : edited(row, each) });
  }
  for (const row of rows.filter(({ name }) => !taken.has(name)))
    pairs.push(
      row.origin === 'runtime' || row.service !== facts.service
        ? unchanged(stored(row))
        : { name: row.name, before: stored(row), after: null, options: [] },
    );
  return pairs.sort(byPairName);
}

/** All as they are in the database. */
export function storedOf(facts: PlanFacts, registry: Registry): PlannedDefinition[] {
  const makeSample = samplesOf(facts);
  const rows = facts.definitions.filter(row => row.vanished_at === null);
  return rows.map(row => plannedOf(row, row, registry, makeSample(row)));
}

const byPairName = (one: PlannedPair, other: PlannedPair) => (one.name < other.name ? -1 : 1);

const unchanged = (planned: PlannedDefinition): PlannedPair => ({
  name: planned.name,
  before: planned,
  after: planned,
  options: [],
});

/** The definition that registering gives another name: one of an alias of the job. */
function renamedFrom(
  name: string,
  { jobs }: Registry,
  byName: ReadonlyMap<string, StoredDefinition>,
): StoredDefinition | undefined {
  const aliases = jobs.get(name)?.aliases ?? [];
  return aliases.map(alias => byName.get(alias)).find(row => row?.origin === 'code' && hasSchedule(row));
}

const hasSchedule = (row: DefinitionColumns) => row.after !== null || scheduleOfColumns(row) !== null;

function edited(row: StoredDefinition, { columns }: DescribedDefinition): Option[] {
  const stated = optionsOf({ ...columns, exclude: withoutDates(columns.exclude) });
  const { remaining_stated: remaining_count } = row;
  const before = optionsOf({ ...row, remaining_count, exclude: withoutDates(row.exclude) });
  const names = Object.keys(stated) as (keyof typeof stated)[];
  return names.filter(option => !isSame(stated[option], before[option]));
}

function plannedOf(
  columns: DefinitionColumns,
  state: StoredDefinition | null,
  registry: Registry,
  sample: DurationSample | undefined,
): PlannedDefinition {
  const { name, after, timezone } = columns;
  const spec = scheduleOfColumns(columns);
  const planned = { name, words: wordsOf(columns), timezone };
  if (spec === null && after === null) return { ...planned, simulated: null, reason: null };
  const [missing] = calendarsLacking(columns.exclude);
  const pausedUntil = state?.paused_until ?? null;
  const reason =
    reasonNotSimulated({
      isPaused: state !== null && state.paused_at !== null && pausedUntil === null,
      isBroken: state !== null && state.broken_reason !== null,
      isVanished: false,
      remaining: columns.remaining_count,
      chain: null,
    }) ?? (missing === undefined ? null : `its calendar ${missing} is not known`);
  if (reason !== null) return { ...planned, simulated: null, reason };
  try {
    if (spec !== null) compileSchedule(spec, name);
  } catch {
    return { ...planned, simulated: null, reason: 'its schedule cannot be read' };
  }
  const simulated: SimulatedDefinition = {
    name,
    spec,
    after,
    timezone,
    jitterMs: columns.jitter_ms,
    remaining: columns.remaining_count,
    window: columns.active_window,
    outsideWindow: columns.outside_window,
    overlap: columns.overlap,
    startDeadlineMs: columns.start_deadline_ms,
    queue: columns.queue,
    priority: columns.priority,
    exceptions: state?.exceptions ?? [],
    pausedUntil: pausedUntil?.getTime() ?? null,
    limits: limitsOf(columns, registry),
    ...(sample && { sample }),
  };
  return { ...planned, simulated, reason: null };
}

/** A key that is computed from each occurrence's payload is not known. */
function limitsOf({ job, payload }: DefinitionColumns, registry: Registry): readonly Limit[] {
  const known = knownJob(registry, job);
  if (known?.concurrency === undefined) return [];
  try {
    const limit = jobLimit(known, payload ?? {});
    return limit === null ? [] : [limit];
  } catch {
    return [];
  }
}

function wordsOf(columns: DefinitionColumns): string {
  const { after, active_window: window, outside_window: outside } = columns;
  const when = after === null ? scheduleWords(scheduleOfColumns(columns)) : chainWords(after);
  return `${when}${window === null ? '' : `, only ${window}${outside === 'skip' ? ' (else skipped)' : ''}`}`;
}

/** A definition's own runs; for one that had none yet, those of its job. */
function samplesOf({ definitions, samples }: PlanFacts) {
  const ofJobs = new Map<string, { durationsMs: number[]; died: boolean[] }>();
  for (const { name, job } of definitions) {
    const own = samples.get(name);
    if (own === undefined) continue;
    const known = ofJobs.get(job) ?? { durationsMs: [], died: [] };
    ofJobs.set(job, known);
    if (known.durationsMs.length >= MOST_OF_A_JOB) continue;
    known.durationsMs.push(...own.durationsMs);
    known.died.push(...own.died);
  }
  return ({ name, job }: Pick<DefinitionColumns, 'name' | 'job'>): DurationSample | undefined =>
    samples.get(name) ?? ofJobs.get(job);
}

const MOST_OF_A_JOB = 200;

/** The queues before, and with the code, with what holds in them. */
export function queuesWithCode(
  { queues, queuesElsewhere }: PlanFacts,
  registry: Registry,
): { readonly before: PlannedQueue[]; readonly after: PlannedQueue[] } {
  const inCode = registry.queues ?? new Map();
  const known = new Set(queues.map(({ name }) => name));
  const added = [...inCode].filter(([name]) => !known.has(name));
  return {
    before: queues.map(queue => plannedQueue(queue, queue)),
    after: [
      ...queues.map(queue =>
        plannedQueue(
          queue,
          registry.definitions.length === 0 ||
            (!inCode.has(queue.name) && queuesElsewhere.includes(queue.name))
            ? queue
            : withCode(queue, inCode.get(queue.name) ?? null),
        ),
      ),
      ...added.map(([name, holds]) => plannedQueue({ name, pausedAt: null, pausedUntil: null }, { holds })),
    ],
  };
}

function plannedQueue(
  { name, pausedAt, pausedUntil }: Pick<StoredQueue, 'name' | 'pausedAt' | 'pausedUntil'>,
  { holds }: Pick<QueueLayers, 'holds'>,
): PlannedQueue {
  const { concurrency, rate, window, timezone } = holds;
  const until = pausedAt === null ? null : (pausedUntil?.getTime() ?? Number.POSITIVE_INFINITY);
  return { name, concurrency, rate, window, timezone, pausedUntil: until };
}
