// What the measures share: filling a backlog, draining it in a process of its own, variants in turn.
// In: variants. Out: rows with each round, median, spread and ratio.
import { setTimeout as sleep } from 'node:timers/promises';
import { contestant } from '../contestants/index.mjs';
import { median } from '../figures.mjs';
import { runChild, startChild } from './child.mjs';
import { settle } from './database.mjs';

const FILL_BATCH = 5000;
/** Without any progress for so long, a measurement fails. */
const STUCK_MS = 120_000;

/** Enqueues a backlog, unmeasured. `payloadOf` gives what a run carries; `jobs` are settings of the producer's. */
export async function fill(who, url, count, { payloadOf = n => ({ n }), jobs, ...options } = {}) {
  const { producer } = await contestant(who);
  const producing = await producer(url, jobs);
  for (let from = 0; from < count; from += FILL_BATCH) {
    const size = Math.min(FILL_BATCH, count - from);
    await producing.addMany(
      Array.from({ length: size }, (_, index) => payloadOf(from + index)),
      options,
    );
  }
  await producing.close();
}

/** Throws unless everything that was enqueued has been executed and is written so. */
export async function demandFinished(who, sql, { handled, expected, before = 0, waiting = 0, keeps }) {
  const { counts, name, keepsHistory } = await contestant(who);
  const found = await sql.one(counts);
  const finished = (keeps ?? keepsHistory) ? found.finished - before : handled + (found.finished ?? 0);
  if (handled !== expected || finished !== expected || found.waiting !== waiting)
    throw new Error(
      `${name}: of ${expected}, ${handled} were handled, ${finished} are finished, ${found.waiting} are left in place of ${waiting}`,
    );
}

/** Settles, drains `count` in a process of its own, and checks the database. Returns what the process reports. */
export async function drain({ who, settings, url, sql, count, before, waiting, keeps, ...options }) {
  await settle(sql);
  const report = await runChild({ role: 'drain', who, settings, url, count, ...options });
  await demandFinished(who, sql, { handled: report.handled, expected: count, before, waiting, keeps });
  return report;
}

/**
 * The same by several processes at once; `meanwhile` may enqueue more, and gives how many. They stop after
 * `atMostSeconds`; then what they have not executed must still wait. `warmPerSecond`: runs per second from when a
 * quarter of all was executed, which leaves out the start of the processes. `settings`: of all, or a list with those of
 * each.
 */
export async function drainTogether({
  who,
  url,
  sql,
  count,
  processes,
  settings,
  meanwhile,
  atMostSeconds,
  ...options
}) {
  await settle(sql);
  const children = Array.from({ length: processes }, (_, place) => {
    const own = Array.isArray(settings) ? settings[place] : settings;
    return startChild({ role: 'serve', who, url, settings: own, ...options, waits: true });
  });
  await Promise.all(children.map(({ next }) => next('ready')));
  const results = Promise.all(children.map(({ result }) => result));
  results.catch(() => undefined);
  const done = () => children.reduce((sum, { latest }) => sum + (latest.done ?? 0), 0);
  const began = performance.now();
  for (const child of children) child.tell('go');
  const expected = count + ((await meanwhile?.(done)) ?? 0);
  let warm;
  const counted = () => {
    const executed = done();
    if (executed >= expected / 4) warm ??= { executed, at: performance.now() };
    return executed;
  };
  await untilDone(counted, expected, results, atMostSeconds);
  for (const child of children) child.tell('stop');
  const found = await results;
  const ended = performance.now();
  const seconds = (ended - began) / 1000;
  const shares = found.map(({ handled }) => handled);
  const handled = shares.reduce((sum, each) => sum + each, 0);
  const warmPerSecond = warm && (handled - warm.executed) / ((ended - warm.at) / 1000);
  const waiting = atMostSeconds === undefined ? 0 : expected - handled;
  await demandFinished(who, sql, { handled, expected: expected - waiting, waiting });
  const handlersMs = found.reduce((sum, each) => sum + each.handlersMs, 0);
  const latencies = found.flatMap(each => each.latencies);
  const handlerMs = handlersMs / Math.max(1, handled);
  const cpuSeconds = found.reduce((sum, each) => sum + each.cpuSeconds, 0);
  return { seconds, handled, shares, latencies, handlerMs, warmPerSecond, cpuSeconds };
}

/** Waits until `done()` says so many, or for so long; fails with `ended`, and where nothing moves any more. */
export async function untilDone(done, expected, ended, atMostSeconds = Number.POSITIVE_INFINITY) {
  const until = performance.now() + atMostSeconds * 1000;
  let last = { count: done(), at: performance.now() };
  while (done() < expected && performance.now() < until) {
    await Promise.race([sleep(5), ...(ended ? [ended] : [])]);
    const count = done();
    if (count > last.count) last = { count, at: performance.now() };
    else if (performance.now() - last.at > STUCK_MS)
      throw new Error(`nothing was executed for ${STUCK_MS / 1000} s, after ${count} of ${expected}`);
  }
}

/** Median, p99 and most of some latencies. */
export function percentiles(latencies) {
  const sorted = latencies.toSorted((a, b) => a - b);
  const at = share => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))];
  return { value: at(0.5), p50: at(0.5), p99: at(0.99), most: sorted.at(-1), count: sorted.length };
}

/** How many times the idlest process's runs the busiest one executed. */
export const unevenness = rounds =>
  `${figure(median(rounds.map(({ shares }) => Math.max(...shares) / Math.max(1, Math.min(...shares)))), 2)} x`;

/** Runs per second once warm. */
export const warmRate = rounds => median(rounds.map(({ warmPerSecond }) => warmPerSecond));

/** What `drainTogether` measures. */
export const TOGETHER_NOTES = [
  'from when they are told to go, with their modules loaded, until the last has stopped',
  'once warm: from when a quarter of the runs was executed',
];

/**
 * Measures each variant once a round, the order turning with the rounds. `measure(variant)` gives a number, or an
 * object with `value` and whatever else is worth keeping. A contestant that fails, as graphile-worker does where it
 * stops before all its jobs are completed, is measured once more; ours is not.
 */
export async function inTurn({ variants, rounds, measure, say, unit, digits = 0 }) {
  const found = new Map(variants.map(variant => [variant.label, []]));
  const total = variants.length * rounds;
  let done = 0;
  for (let round = 0; round < rounds; round++) {
    for (let turn = 0; turn < variants.length; turn++) {
      const variant = variants[(round + turn) % variants.length];
      const measured = await measure(variant, round).catch(error => {
        if (variant.who === 'tock' || variant.who === undefined) throw error;
        say.line(`  ${variant.label} failed, and is measured again: ${error.message}`);
        return measure(variant, round);
      });
      const each = typeof measured === 'number' ? { value: measured } : measured;
      found.get(variant.label).push(each);
      say.progress(++done, total, `${variant.label}: ${figure(each.value, digits)} ${unit}`);
    }
  }
  return variants.map(({ label, who, own = who === 'tock', config }) =>
    rowOf({ label, own, config }, found.get(label)),
  );
}

export function rowOf(row, rounds) {
  const values = rounds.map(each => each.value);
  return { ...row, median: median(values), low: Math.min(...values), high: Math.max(...values), rounds };
}

/** Ratios to the best of ours: above 1 is better than we are. */
export function withRatios(rows, better = 'higher') {
  const best = rows
    .filter(row => row.own)
    .reduce((sofar, row) => (isBetter(row.median, sofar, better) ? row.median : sofar), null);
  if (best === null) return rows;
  return rows.map(row => ({ ...row, ratio: row.median / best }));
}

const isBetter = (value, than, better) =>
  than === null || (better === 'higher' ? value > than : value < than);

export function figure(value, digits = 0) {
  return value.toLocaleString('en', { minimumFractionDigits: digits, maximumFractionDigits: digits });
}
