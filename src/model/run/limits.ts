// Limits over all hosts: which candidates get a slot, and which slot.
import { TockError } from '../errors.js';
import type { JobConcurrency } from '../job/fair/concurrency.js';
import { isStorable, quote } from '../names.js';
import { checkOptions, optionNames } from '../options.js';

const OPTIONS = optionNames<JobConcurrency>({ limit: true, key: true, order: true });

export interface Limit {
  readonly key: string;
  readonly limit: number;
}

export interface Candidate {
  readonly id: string;
  readonly queue: string;
  /** It needs a slot under each of these limits, all at once. */
  readonly limits: readonly Limit[];
  /** A key under which another run goes first, even if a slot is free; null: none. */
  readonly waitsFor: string | null;
  /** The fair key whose rate says how often its runs start; null: none. */
  readonly pacedBy: string | null;
}

/**
 * Taken slots and remaining tokens, read while no other transaction may admit under the same keys; except
 * under keys of one slot, where the primary key of the slots refuses what was taken meanwhile.
 */
export interface Taken {
  /** By key and slot: the run that holds it. */
  readonly slots: ReadonlyMap<string, ReadonlyMap<number, string>>;
  /** By queue, and fair key, with a rate: how many may start now. */
  readonly tokens: ReadonlyMap<string, number>;
}

export interface SlotGrant {
  readonly id: string;
  readonly key: string;
  readonly slot: number;
}

export interface Admission {
  readonly admitted: readonly string[];
  readonly slots: readonly SlotGrant[];
  /** Candidates for which a key had no slot, and the first such key. */
  readonly blocked: readonly { readonly id: string; readonly key: string }[];
  /** By queue, and fair key, with a rate: how many were admitted. */
  readonly spent: ReadonlyMap<string, number>;
}

/** A run keeps its definition's slot from the first claim until it has ended, over all its attempts. */
export const definitionKey = (definitionId: string) => `definition:${definitionId}`;
export const queueKey = (queue: string) => `queue:${queue}`;
const CODE = 'code:';
/** What a run is blocked on that waits for a worker whose code has the job: no slot, and nobody holds it. */
export const codeKey = (job: string) => `${CODE}${job}`;
/** The job of a {@link codeKey}; null for the key of a slot. */
export const jobOfCodeKey = (key: string) => (key.startsWith(CODE) ? key.slice(CODE.length) : null);
/**
 * The parts of a fair key's name, `~queue/job/key`, or `~!queue/job/key` where the order is strict; the job
 * is null for the queue's key. Null: another key.
 */
export function fairKeyOf(
  name: string,
): { readonly queue: string; readonly job: string | null; readonly key: string } | null {
  const [, queue, job, key] = /^~!?([^/]*)\/([^/]*)\/([\s\S]*)$/.exec(name) ?? [];
  return queue === undefined || key === undefined ? null : { queue, job: job || null, key };
}
/**
 * The limit for runs that may have ended a process and get their own. Low, because that process may have had
 * hundreds of runs, and that many children at once would take all memory.
 */
export const SUSPECTS: Limit = { key: 'isolated', limit: 4 };

/**
 * Admits candidates, in order, that find a free slot under each of their keys, and a token if their queue has
 * a rate. A run that holds a slot from an earlier attempt keeps it. One that lacks only a token, or a slot of
 * its queue, is not blocked: the next claim finds it again. One that its fair key's rate does not let start
 * waits for the turn of that key again.
 */
export function admit(candidates: readonly Candidate[], taken: Taken): Admission {
  const bySlot = new Map([...taken.slots].map(([key, held]) => [key, new Map(held)]));
  const admitted: string[] = [];
  const slots: SlotGrant[] = [];
  const blocked: { id: string; key: string }[] = [];
  const spent = new Map<string, number>();
  for (const { id, queue, limits, waitsFor, pacedBy } of candidates) {
    if (waitsFor !== null) {
      blocked.push({ id, key: waitsFor });
      continue;
    }
    const tokens = taken.tokens.get(queue);
    if (tokens !== undefined && (spent.get(queue) ?? 0) >= tokens) continue;
    if (pacedBy !== null && (spent.get(pacedBy) ?? 0) >= (taken.tokens.get(pacedBy) ?? 0)) {
      blocked.push({ id, key: pacedBy });
      continue;
    }
    const found = limits.map(({ key, limit }) => ({ id, key, slot: freeSlot(bySlot.get(key), id, limit) }));
    const full = found.find(({ slot }) => slot === null);
    if (full) {
      if (!full.key.startsWith('queue:')) blocked.push({ id, key: full.key });
      continue;
    }
    for (const { key, slot } of found) {
      if (slot === null) continue;
      const held = bySlot.get(key) ?? new Map<number, string>();
      held.set(slot, id);
      bySlot.set(key, held);
      slots.push({ id, key, slot });
    }
    admitted.push(id);
    for (const rate of [...(tokens === undefined ? [] : [queue]), ...(pacedBy === null ? [] : [pacedBy])])
      spent.set(rate, (spent.get(rate) ?? 0) + 1);
  }
  return { admitted, slots, blocked, spent };
}

function freeSlot(held: ReadonlyMap<number, string> | undefined, id: string, limit: number): number | null {
  if (held === undefined) return limit > 0 ? 1 : null;
  for (const [slot, holder] of held) if (holder === id) return slot;
  // After a limit was lowered, slots above it count as taken until they are freed.
  if (held.size >= limit) return null;
  for (let slot = 1; slot <= limit; slot++) if (!held.has(slot)) return slot;
  return null;
}

export function checkConcurrencyLimit(concurrency: JobConcurrency | undefined): void {
  if (concurrency === undefined) return;
  checkOptions(concurrency, OPTIONS, 'concurrency', 'TOCK_BAD_JOB', '{ limit: 1 }');
  const { limit, key, order } = concurrency;
  if (!Number.isInteger(limit) || limit < 1 || limit > 10_000)
    throw new TockError(
      'TOCK_BAD_JOB',
      `concurrency.limit ${quote(limit)} is not a whole number from 1 to 10000`,
    );
  if (order !== undefined && order !== 'strict')
    throw new TockError('TOCK_BAD_JOB', `concurrency.order ${quote(order)} is not 'strict'`);
  if (order === 'strict') {
    if (limit !== 1)
      throw new TockError(
        'TOCK_BAD_JOB',
        `concurrency.limit is ${limit}: with order 'strict' runs start one after another, so it is 1`,
      );
    return;
  }
  if (key !== undefined && typeof key !== 'function')
    throw new TockError('TOCK_BAD_JOB', `concurrency.key ${quote(key)} is not a function of the payload`);
}

/**
 * The limit for a run with this payload; null if the job has none, or a strict order: the database reads the
 * key of these from the payload. Jobs do not share keys: the name of a job
 * may hold a colon, and never a slash.
 * @throws TockError TOCK_BAD_KEY if the job's function returns an invalid key
 */
export function jobLimit(
  job: { readonly name: string; readonly concurrency?: JobConcurrency },
  payload: unknown,
): Limit | null {
  const { concurrency } = job;
  if (concurrency === undefined || concurrency.order === 'strict') return null;
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
  return { key: `job:${job.name}/${text}`, limit };
}

/**
 * All limits for a run with this payload: also those that count under the job's other names, for as long as
 * older code counts there.
 * @throws TockError TOCK_BAD_KEY as {@link jobLimit}
 */
export function jobLimits(
  job: { readonly name: string; readonly aliases?: readonly string[]; readonly concurrency?: JobConcurrency },
  payload: unknown,
): readonly Limit[] {
  const own = jobLimit(job, payload);
  if (own === null) return [];
  const prefix = `job:${job.name}`;
  return [
    own,
    ...(job.aliases ?? []).map(alias => ({ ...own, key: `job:${alias}${own.key.slice(prefix.length)}` })),
  ];
}

/** The part of a key of {@link jobLimit} after the job's name; null if there is none. */
export function slotOf(jobName: string, key: string): string | null {
  return key.slice(`job:${jobName}/`.length) || null;
}
