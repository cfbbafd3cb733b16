// Compiles a schedule into two pure functions: the next and the previous occurrence of an instant.
import { TockError } from '../errors.js';
import { nextInstant, previousInstant } from './civil.js';
import { type CivilSet } from './civil-walk.js';
import { readCron } from './cron-fields.js';
import { EARLIEST_MS, LATEST_MS } from './instant-text.js';
import { type ReadSpec, readSpec, type ScheduleSpec } from './spec.js';

/** A set of instants, all of them whole seconds, between the years 1900 and 2200. */
export interface CompiledSchedule {
  /** The least occurrence > `after`, or null. Epoch milliseconds. @throws TockError TOCK_BAD_TIME on NaN */
  readonly next: (after: number) => number | null;
  /** The greatest occurrence < `before`, or null. Epoch ms. @throws TockError TOCK_BAD_TIME on NaN */
  readonly previous: (before: number) => number | null;
}

type Step = (second: number) => number | null;

/** Inclusive, in seconds, without startAt and endAt. */
interface Instants {
  readonly atOrAfter: Step;
  readonly atOrBefore: Step;
}

/** After this many excluded intervals, an `every` counts as excluded for good. */
const MAX_EXCLUDED = 200_000;

/**
 * Compiles a schedule. Cheap to repeat: expressions and zones are cached, within bounds.
 * @param seed the definition's name, which decides what `H` stands for. Without it H is the same for all.
 * @throws TockError TOCK_BAD_SCHEDULE; the message names the option, what is wrong and how to fix it
 */
export function compileSchedule(spec: ScheduleSpec, seed?: string): CompiledSchedule {
  const read = readSpec(spec, seed);
  let compiled: Instants | undefined;
  // Compiled on first use: checking a schedule does not need it.
  const instants = () => {
    compiled ??= instantsOf(read);
    return compiled;
  };
  const first = Math.ceil((read.startAt ?? EARLIEST_MS) / 1000);
  const last = Math.floor((read.endAt ?? LATEST_MS) / 1000);
  return {
    next(after) {
      const from = Math.max(Math.floor(checkTime(after) / 1000) + 1, first);
      if (from > last) return null;
      const found = instants().atOrAfter(from);
      return found === null || found > last ? null : found * 1000;
    },
    previous(before) {
      const to = Math.min(Math.ceil(checkTime(before) / 1000) - 1, last);
      if (to < first) return null;
      const found = instants().atOrBefore(to);
      return found === null || found < first ? null : found * 1000;
    },
  };
}

function checkTime(ms: number): number {
  if (!Number.isNaN(ms)) return ms;
  throw new TockError(
    'TOCK_BAD_TIME',
    'the time is NaN; pass epoch milliseconds, as Date.getTime() gives for a valid date',
  );
}

function instantsOf({ timing, zone, dst, exclusions }: ReadSpec): Instants {
  if (timing.kind === 'cron') {
    const set: CivilSet = { fields: timing.fields, exclusions };
    const mapping = timing.fields.everyHour ? 'literal' : dst;
    return {
      atOrAfter: second => nextInstant(set, zone, mapping, second),
      atOrBefore: second => previousInstant(set, zone, mapping, second),
    };
  }
  const grid = timing.kind === 'every' ? everyGrid(timing.every, timing.phase) : oneInstant(timing.at);
  if (exclusions === null) return grid;
  const open: CivilSet = { fields: readCron('* * * * * *'), exclusions };
  return {
    atOrAfter: second => meet(second, grid.atOrAfter, from => nextInstant(open, zone, 'literal', from)),
    atOrBefore: second => meet(second, grid.atOrBefore, to => previousInstant(open, zone, 'literal', to)),
  };
}

function everyGrid(every: number, phase: number): Instants {
  return {
    atOrAfter: second => phase + Math.ceil((second - phase) / every) * every,
    atOrBefore: second => phase + Math.floor((second - phase) / every) * every,
  };
}

function oneInstant(ms: number): Instants {
  // Rounded up: a future time must not fall before the cursor.
  const at = Math.ceil(ms / 1000);
  return {
    atOrAfter: second => (second <= at ? at : null),
    atOrBefore: second => (second >= at ? at : null),
  };
}

/** The nearest instant in both sets, found by asking them in turn. */
function meet(second: number, grid: Step, open: Step): number | null {
  let at: number | null = second;
  for (let step = 0; step < MAX_EXCLUDED; step++) {
    const candidate: number | null = grid(at);
    if (candidate === null) return null;
    at = open(candidate);
    if (at === null || at === candidate) return at;
  }
  return null;
}
