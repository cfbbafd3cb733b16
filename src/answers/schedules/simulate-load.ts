// The load of the coming week as the definitions in the database would cause it, kept for a minute.
import { setImmediate } from 'node:timers/promises';
import { TockError } from '../../model/errors.js';
import type { SimulatedDefinition } from '../../model/plan/walk.js';
import { scheduleOfColumns } from '../../model/planning/definition.js';
import { type Load, loadSteps, MAX_LOAD_OCCURRENCES } from '../../model/planning/load.js';
import { reasonNotSimulated } from '../../model/planning/simulate.js';
import { compileSchedule } from '../../model/schedule/compile.js';
import type { Session } from '../../store/connection/database.js';
import { readExceptions } from '../../store/definitions/occurrences/exceptions.js';
import { type ListedDefinition, readDefinitionPage } from '../../store/reads/definition-pages.js';

export interface SimulatedLoad {
  /** Null: there are too many occurrences to simulate them for a page. */
  readonly load: Load | null;
  readonly leftOut: readonly { readonly name: string; readonly reason: string }[];
  /** There are more definitions than were read. */
  readonly isCut: boolean;
}

export interface LoadQuestion {
  readonly from: Date;
  readonly to: Date;
  readonly timezone: string;
  readonly jitterMs: number;
}

/** For one with more, there is `tock simulate`. */
export const MAX_DEFINITIONS = 20_000;
const KEPT_MS = 60_000;
const MAX_KEPT = 20;
/** How long it goes on before others have their turn. */
const TURN_MS = 10;

interface Kept {
  readonly at: number;
  readonly answer: Promise<SimulatedLoad>;
}

/** Remembers answers by reader of the database and question. */
const kept = new WeakMap<Session, Map<string, Kept>>();

/** @param now epoch milliseconds: an answer older than a minute is computed anew */
export async function simulateLoad(
  reads: Session,
  question: LoadQuestion,
  now: number,
): Promise<SimulatedLoad> {
  const answers = kept.get(reads) ?? new Map<string, Kept>();
  kept.set(reads, answers);
  const key = JSON.stringify(question);
  const known = answers.get(key);
  if (known && Math.abs(now - known.at) < KEPT_MS) return await known.answer;
  const answer = simulate(reads, question);
  answers.delete(key);
  answers.set(key, { at: now, answer });
  for (const old of [...answers.keys()].slice(0, -MAX_KEPT)) answers.delete(old);
  answer.catch(() => answers.delete(key));
  return await answer;
}

async function simulate(reads: Session, question: LoadQuestion): Promise<SimulatedLoad> {
  const found = await readDefinitionPage(reads, { limit: MAX_DEFINITIONS + 1 });
  const exceptionsOf = await readExceptions(reads, found);
  const definitions: SimulatedDefinition[] = [];
  const leftOut: { name: string; reason: string }[] = [];
  for (const definition of found.slice(0, MAX_DEFINITIONS)) {
    const read = simulatedOf(definition);
    if (typeof read === 'string') leftOut.push({ name: definition.name, reason: read });
    else if (read) definitions.push({ ...read, exceptions: exceptionsOf(definition) });
  }
  const isCut = found.length > MAX_DEFINITIONS;
  try {
    return { load: await inTurns(loadSteps(definitions, question)), leftOut, isCut };
  } catch (error) {
    if (!(error instanceof TockError) || error.code !== 'TOCK_BAD_TIME') throw error;
    return { load: null, leftOut, isCut };
  }
}

/** A definition, why it is left out, or null for one without a schedule. */
function simulatedOf(definition: ListedDefinition): SimulatedDefinition | string | null {
  const { name, after, remaining_count: remaining, jitter_ms: jitterMs } = definition;
  const spec = scheduleOfColumns(definition);
  if (spec === null && after === null) return null;
  const reason = reasonNotSimulated({
    isPaused: definition.paused_at !== null,
    isBroken: definition.broken_at !== null,
    isVanished: definition.vanished_at !== null,
    remaining,
    chain: after,
  });
  if (reason !== null || spec === null) return reason;
  try {
    compileSchedule(spec, name);
  } catch {
    return 'its schedule cannot be read';
  }
  const { active_window: window, outside_window: outsideWindow } = definition;
  return { name, spec, jitterMs, remaining, window, outsideWindow };
}

/** Lets other requests have their turn in between. */
async function inTurns<T>(steps: Generator<void, T>): Promise<T> {
  let began = performance.now();
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    if (performance.now() - began < TURN_MS) continue;
    await setImmediate();
    began = performance.now();
  }
}

export { MAX_LOAD_OCCURRENCES };
