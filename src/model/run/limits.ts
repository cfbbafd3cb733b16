// Room: model. Limits over all hosts: which of several candidates get a place, and which one.
// In: candidates in the order in which they would go, and what is taken. Out: who is admitted, and who waits for what.
import { TockError } from '../errors.js';
import type { JobConcurrency } from '../job/job.js';
import { isStorable, quote } from '../names.js';
import { checkOptions, optionNames } from '../options.js';

const OPTIONS = optionNames<JobConcurrency>({ limit: true, key: true });

/** A key and how many places there are under it. */
export interface Limit {
  readonly key: string;
  readonly limit: number;
}

export interface Candidate {
  readonly id: string;
  readonly queue: string;
  /** The limits that it needs a place under, all at once. */
  readonly limits: readonly Limit[];
  /** A key under which somebody else goes first, even if there is a place; null: nobody. */
  readonly waitsFor: string | null;
}

/** What is taken and what is left, read while nobody else may admit under the same keys. */
export interface Taken {
  /** By key: the run that holds each place. */
  readonly slots: ReadonlyMap<string, ReadonlyMap<number, string>>;
  /** By queue with a rate limit: how many may start now. */
  readonly tokens: ReadonlyMap<string, number>;
}

export interface Place {
  readonly id: string;
  readonly key: string;
  readonly slot: number;
}

export interface Admission {
  readonly admitted: readonly string[];
  readonly places: readonly Place[];
  /** Candidates that a key had no place for, and the first such key. */
  readonly blocked: readonly { readonly id: string; readonly key: string }[];
  /** By queue with a rate limit: how many were admitted. */
  readonly spent: ReadonlyMap<string, number>;
}

/** The serial place of a definition is kept from the first claim until the run has ended, over all its attempts. */
export const definitionKey = (definitionId: string) => `definition:${definitionId}`;
export const queueKey = (queue: string) => `queue:${queue}`;
/**
 * What a run needs a place under once it may have ended a process: its attempts get processes of their own. There are
 * few places, since hundreds of runs may have been at work in that process, and as many children at once would take
 * all memory.
 */
export const SUSPECTS: Limit = { key: 'isolated', limit: 4 };

/**
 * Admits candidates in their order: each that finds a free place under every one of its keys, and a token where its
 * queue has a rate. A run that holds a place already, from an earlier attempt, keeps it. One that is left out for
 * want of a token, or of a place in its queue, is not blocked: it is looked at again with the next claim.
 */
export function admit(candidates: readonly Candidate[], taken: Taken): Admission {
  const slots = new Map([...taken.slots].map(([key, places]) => [key, new Map(places)]));
  const admitted: string[] = [];
  const places: Place[] = [];
  const blocked: { id: string; key: string }[] = [];
  const spent = new Map<string, number>();
  for (const { id, queue, limits, waitsFor } of candidates) {
    if (waitsFor !== null) {
      blocked.push({ id, key: waitsFor });
      continue;
    }
    const tokens = taken.tokens.get(queue);
    if (tokens !== undefined && (spent.get(queue) ?? 0) >= tokens) continue;
    const found = limits.map(({ key, limit }) => ({ id, key, slot: freeSlot(slots.get(key), id, limit) }));
    const full = found.find(each => each.slot === null);
    if (full) {
      if (!full.key.startsWith('queue:')) blocked.push({ id, key: full.key });
      continue;
    }
    for (const { key, slot } of found) {
      if (slot === null) continue;
      const held = slots.get(key) ?? new Map<number, string>();
      held.set(slot, id);
      slots.set(key, held);
      places.push({ id, key, slot });
    }
    admitted.push(id);
    if (tokens !== undefined) spent.set(queue, (spent.get(queue) ?? 0) + 1);
  }
  return { admitted, places, blocked, spent };
}

function freeSlot(held: ReadonlyMap<number, string> | undefined, id: string, limit: number): number | null {
  if (held === undefined) return limit > 0 ? 1 : null;
  for (const [slot, holder] of held) if (holder === id) return slot;
  // Places above a limit that was lowered count as taken until they are given back.
  if (held.size >= limit) return null;
  for (let slot = 1; slot <= limit; slot++) if (!held.has(slot)) return slot;
  return null;
}

/** Checks a job's `concurrency`. */
export function checkConcurrencyLimit(concurrency: JobConcurrency | undefined): void {
  if (concurrency === undefined) return;
  checkOptions(concurrency, OPTIONS, 'concurrency', 'TOCK_BAD_JOB');
  const { limit, key } = concurrency;
  if (!Number.isInteger(limit) || limit < 1 || limit > 10_000)
    throw new TockError(
      'TOCK_BAD_JOB',
      `concurrency.limit ${quote(limit)} is not a whole number from 1 to 10000`,
    );
  if (key !== undefined && typeof key !== 'function')
    throw new TockError('TOCK_BAD_JOB', `concurrency.key ${quote(key)} is not a function of the payload`);
}

/**
 * The limit of a job's run with this payload; null where the job has none. Jobs do not share keys.
 *
 * @throws TockError TOCK_BAD_KEY when the job's function gives something that cannot be a key
 */
export function jobLimit(
  job: { readonly name: string; readonly concurrency?: JobConcurrency },
  payload: unknown,
): Limit | null {
  const { concurrency } = job;
  if (concurrency === undefined) return null;
  const { limit, key } = concurrency;
  if (key === undefined) return { key: `job:${job.name}`, limit };
  const value = (key as (payload: unknown) => unknown)(payload);
  const text = typeof value === 'string' || typeof value === 'number' ? String(value) : '';
  if (text === '' || !isStorable(text) || Buffer.byteLength(text) > 300) {
    throw new TockError(
      'TOCK_BAD_KEY',
      `concurrency.key of job ${job.name} gave ${quote(value)}; it must give text of 1 to 300 bytes, or a number`,
    );
  }
  return { key: `job:${job.name}:${text}`, limit };
}

/** What comes after the job's name in a key of {@link jobLimit}; null: nothing does. */
export function slotOf(jobName: string, key: string): string | null {
  return key.slice(`job:${jobName}:`.length) || null;
}
