// I17: whatever could start does start. Looks at the tables all the time, while no fault is near.
// In: the database and the workers. Out: how long each run was seen waiting though a worker had room for it.
//
// A run is ready if it is due, its queue is open, and each of its keys has a free slot, whether it is
// blocked or not. It waits for nothing but a worker. Its wait is counted look by look, each of which counts for a
// bounded time: on a machine that stands still, nobody waits.
import { NEWER_JOBS } from './load.js';
import { startLoop } from './loop.js';
import type { Query } from './stage.js';
import { READY, type ReadyRow } from './statements.js';
import { type Crew, hasOlderCode, listens } from './workers.js';

/** A daemon that listens is woken; what it is not woken for, a look of its own finds. */
const WAKES_WITHIN_MS = 3000;
/** The others look each second. */
const POLLS_WITHIN_MS = 2000;
/** Whether runs wait for code is seen with each poll of an idle daemon, and with each reaping of a busy one. */
const REAPS_WITHIN_MS = 7000;
/** After a fault connections are made anew, and leases run out. */
const CALM_AFTER_MS = 5000;
/** A worker of this age has registered its jobs, and looked. */
const SETTLED_AFTER_MS = 3000;
const LOOK_EVERY_MS = 100;
/** The most that one look counts. */
const LOOK_COUNTS_MS = 250;

interface Wait {
  /** Beside a worker that listens, and beside one that polls. */
  woken: number;
  polled: number;
}

/** @param faultAt when the last fault was under way, by `performance.now()` */
export function watchLiveness(options: {
  readonly query: Query;
  readonly crew: Crew;
  readonly faultAt: () => number;
  readonly signal: AbortSignal;
}) {
  const { query, crew, faultAt, signal } = options;
  const waiting = new Map<string, Wait>();
  const ended: number[] = [];
  const wrong = new Map<string, string>();
  let looks = 0;
  let lookedAt = performance.now();

  const look = async () => {
    const rows = await query<ReadyRow>(READY);
    const now = performance.now();
    const passed = Math.min(now - lookedAt, LOOK_COUNTS_MS);
    lookedAt = now;
    if (now - faultAt() < CALM_AFTER_MS) return waiting.clear();
    looks++;
    const fit = crew.fit().filter(each => now - each.startedAt > SETTLED_AFTER_MS);
    const ready = new Set<string>();
    for (const { id, job, queue, rooms, state } of rows) {
      const servers = fit.filter(({ target }) => !(hasOlderCode(target) && NEWER_JOBS.includes(job)));
      const roomOf = (pid: number | undefined) => rooms.find(each => each.pid === pid)?.room ?? 0;
      const free = servers.filter(({ pid }) => roomOf(pid) > 0);
      // In a backlog, runs wait for each other.
      if (free.reduce((sum, { pid }) => sum + roomOf(pid), 0) < rows.length) continue;
      ready.add(id);
      const wait = waiting.get(id) ?? { woken: 0, polled: 0 };
      // The look that finds it first says only that it waits from now on.
      const more = waiting.has(id) ? passed : 0;
      wait.woken = free.some(each => listens(each.target)) ? wait.woken + more : 0;
      wait.polled = free.some(each => !listens(each.target)) ? wait.polled + more : 0;
      waiting.set(id, wait);
      const isOfCode = state.startsWith('blocked on code:');
      if (
        wait.woken > (isOfCode ? REAPS_WITHIN_MS : WAKES_WITHIN_MS) ||
        wait.polled > (isOfCode ? REAPS_WITHIN_MS : POLLS_WITHIN_MS)
      ) {
        const by = free.map(each => each.target).join(' and ');
        const ms = Math.round(Math.max(wait.woken, wait.polled));
        wrong.set(
          id,
          `I17 run ${id} of ${job} in ${queue} (${state}) has waited ${ms} ms beside ${by} with room`,
        );
      }
    }
    for (const [id, wait] of waiting) {
      if (ready.has(id)) continue;
      waiting.delete(id);
      ended.push(Math.max(wait.woken, wait.polled));
    }
  };
  const loop = startLoop(
    signal,
    () => LOOK_EVERY_MS,
    // The server may be away.
    () => look().catch(() => waiting.clear()),
  );
  return {
    stop: loop.stop,
    wrong: () => [...wrong.values()],
    /** How long each run was seen waiting, in milliseconds, longest first. */
    waits: () =>
      [...ended, ...[...waiting.values()].map(each => Math.max(each.woken, each.polled))].toSorted(
        (a, b) => b - a,
      ),
    looks: () => looks,
  };
}
