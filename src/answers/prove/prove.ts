// `tock prove`: computes the occurrences of each definition again, and matches each with what is on record.
// Reads only.
//
// No snapshot is held: it would keep every claim and every ended run from being vacuumed for as long as
// this takes. None is needed either. What the cursor was past when a definition was read has its record
// since; keys and rows of a span are read in one statement. Where something is unexplained and the
// definition, or what retention has deleted, has changed meanwhile, the definition is proved again.

import { TockError } from '../../model/errors.js';
import { quote } from '../../model/names.js';
import { nextDue } from '../../model/planning/exceptions.js';
import { type LedgerSpan } from '../../model/prove/match.js';
import { type Proof, type ProofFindingKind, proofOf, Tally } from '../../model/prove/report.js';
import { restOf, secondAfter, type Unit, unitsOf } from '../../model/prove/units.js';
import { createEvaluator, timelineOf } from '../../model/prove/versions.js';
import { readInstant, utcText } from '../../model/schedule/instant-text.js';
import type { Session } from '../../store/connection/database.js';
import { readExceptions } from '../../store/definitions/occurrences/exceptions.js';
import { readUnknownNames } from '../../store/definitions/stored-definition.js';
import { readLedger } from '../../store/reads/prove/ledger.js';
import {
  type ProofTimes,
  type ProvedDefinition,
  readProofTimes,
  readProvedDefinitions,
  readVersions,
} from '../../store/reads/prove/versions.js';
import { readOtherOffsets } from './other-offsets.js';
import { type Proving, proveUnit, wrongRemaining } from './prove-unit.js';

/** Options of `prove`: the window, half-open. */
export interface ProveOptions {
  /** The first instant that counts: a Date, or ISO text with Z or an offset. Default: a day before `to`. */
  readonly from?: Date | string;
  /** All before this. Default: the database's now. */
  readonly to?: Date | string;
  /** Only these definitions. Default: all, also those that were removed. */
  readonly names?: readonly string[];
  /** Called as it goes on. */
  readonly onProgress?: (progress: ProofProgress) => void;
  /** When it aborts, `prove` rejects with its reason. */
  readonly signal?: AbortSignal;
}

/** How far a proof is. */
export interface ProofProgress {
  /** A part of `total`, which is the number of definitions. */
  readonly done: number;
  readonly total: number;
  readonly occurrences: number;
}

const DAY_MS = 86_400_000;
const PAGE = 500;
/** How many occurrences, and spans, a statement reads. */
const BATCH = { occurrences: 50_000, units: 500 };
/** A definition that changes again and again is taken as it was found. */
const ROUNDS = 3;

/**
 * Proves what became of every occurrence in [from, to).
 * @throws TockError TOCK_NOT_FOUND for a name that no definition has; TOCK_BAD_TIME for a window that is
 * none
 */
export async function prove(session: Session, options: ProveOptions = {}): Promise<Proof> {
  const { names = null, onProgress, signal } = options;
  await requireNames(session, names);
  const times = await readProofTimes(session, names);
  const window = windowOf(options, times.now);
  const span = { low: secondAfter(window.from - 1), high: secondAfter(window.to - 1) };
  const total = new Tally();
  let done = 0;
  for (let after = '0'; ; ) {
    const page = await readProvedDefinitions(session, { after, names, limit: PAGE });
    const last = page.at(-1);
    if (last === undefined) break;
    after = last.id;
    const report = (fraction: number, occurrences: number) =>
      onProgress?.({
        done: done + fraction * page.length,
        total: Math.max(times.definitions, done + page.length),
        occurrences: countOf(total) + occurrences,
      });
    for (const tally of (await provePage(session, page, span, { signal, report })).values()) total.add(tally);
    done += page.length;
    onProgress?.({ done, total: Math.max(times.definitions, done), occurrences: countOf(total) });
  }
  const about = { from: new Date(window.from), to: new Date(window.to), now: new Date(times.now) };
  return proofOf(total, { ...about, definitions: done });
}

const countOf = ({ kinds }: Tally) => [...kinds.values()].reduce((sum, count) => sum + count, 0);

async function requireNames(session: Session, names: readonly string[] | null): Promise<void> {
  const unknown = names === null ? [] : await readUnknownNames(session, names);
  if (unknown.length > 0)
    throw new TockError(
      'TOCK_NOT_FOUND',
      `there is no definition ${unknown.map(quote).join(', ')} (tock jobs lists them)`,
    );
}

function windowOf(options: ProveOptions, now: number): { readonly from: number; readonly to: number } {
  const read = (value: Date | string | undefined, what: string, otherwise: number) => {
    try {
      return value === undefined ? otherwise : readInstant(value, what);
    } catch (error) {
      const text = error instanceof Error ? error.message : String(error);
      throw new TockError('TOCK_BAD_TIME', text, { cause: error });
    }
  };
  const to = read(options.to, 'to', now);
  const from = read(options.from, 'from', to - DAY_MS);
  if (from < to) return { from, to };
  throw new TockError(
    'TOCK_BAD_TIME',
    `the window from ${utcText(from)} to ${utcText(to)} is empty: to must be later`,
  );
}

interface Work {
  readonly signal: AbortSignal | undefined;
  /** @param fraction of the page */
  readonly report: (fraction: number, occurrences: number) => void;
}

/** The tallies of a page, by the ids of its definitions. */
async function provePage(
  session: Session,
  page: readonly ProvedDefinition[],
  span: LedgerSpan,
  work: Work,
): Promise<ReadonlyMap<string, Tally>> {
  const tallies = new Map<string, Tally>();
  let left = page;
  for (let round = 0; left.length > 0; round++) {
    const provings = await begin(session, left);
    await proveAll(session, provings, span, work);
    for (const { definition, tally } of provings) tallies.set(definition.id, tally);
    const doubted = provings.filter(({ tally }) => tally.findings.size > 0);
    left = round < ROUNDS ? await changedOf(session, doubted) : [];
  }
  return tallies;
}

async function begin(session: Session, definitions: readonly ProvedDefinition[]): Promise<Proving[]> {
  const times = await readProofTimes(session, []);
  const zones = await readOtherOffsets(session);
  const versions = await readVersions(
    session,
    definitions.map(({ id }) => id),
  );
  return definitions.map(definition => {
    const own = versions.get(definition.id) ?? [];
    return {
      definition,
      timeline: timelineOf(own, definition.remaining_count),
      evaluate: createEvaluator(),
      times,
      voided: own.flatMap(({ void_until: until, since_ms: since }) =>
        until === null ? [] : [{ since, until }],
      ),
      tally: new Tally(),
      zones,
    };
  });
}

/** Those that have changed since, as they are now: what is unexplained of them may be no more. */
async function changedOf(session: Session, provings: readonly Proving[]): Promise<ProvedDefinition[]> {
  if (provings.length === 0) return [];
  const times = await readProofTimes(session, []);
  const names = provings.map(({ definition }) => definition.name);
  const now = await readProvedDefinitions(session, { after: '0', names, limit: names.length });
  const versions = await readVersions(
    session,
    now.map(({ id }) => id),
  );
  const before = new Map(provings.map(proving => [proving.definition.id, proving]));
  return now.filter(({ id }) => {
    const proving = before.get(id);
    const number = proving?.timeline.segments.at(-1)?.version.number;
    return number !== versions.get(id)?.at(-1)?.number || isPrunedSince(proving?.times, times);
  });
}

const isPrunedSince = (before: ProofTimes | undefined, now: ProofTimes) =>
  before?.runs_pruned !== now.runs_pruned || before.keys_pruned !== now.keys_pruned;

async function proveAll(
  session: Session,
  provings: readonly Proving[],
  span: LedgerSpan,
  work: Work,
): Promise<void> {
  let batch: { proving: Proving; unit: Unit }[] = [];
  let size = 0;
  const flush = async (fraction: number) => {
    work.signal?.throwIfAborted();
    await proveBatch(session, batch);
    batch = [];
    size = 0;
    work.report(
      fraction,
      provings.reduce((sum, { tally }) => sum + countOf(tally), 0),
    );
  };
  for (const [index, proving] of provings.entries()) {
    await proveDefinition(session, proving, span);
    for (const unit of unitsOf(proving.timeline, proving.evaluate, span)) {
      batch.push({ proving, unit });
      size += unit.expected.length;
      const fraction = (unit.high - span.low) / (span.high - span.low);
      if (size >= BATCH.occurrences || batch.length >= BATCH.units)
        await flush((index + fraction) / provings.length);
    }
  }
  await flush(1);
}

/** Proves units. What is too large for one statement is read by several. */
async function proveBatch(
  session: Session,
  batch: readonly { proving: Proving; unit: Unit }[],
): Promise<void> {
  for (let left = batch; left.length > 0; ) {
    const spans = left.map(({ proving, unit: { low, high } }) => ({
      definitionId: proving.definition.id,
      low,
      high,
    }));
    const ledgers = await readLedger(session, spans);
    const rest: { proving: Proving; unit: Unit }[] = [];
    for (const [index, { proving, unit }] of left.entries()) {
      const ledger = ledgers[index];
      if (ledger === undefined) continue;
      const { end } = ledger;
      const whole =
        end >= unit.high ? unit : { ...unit, high: end, expected: unit.expected.filter(at => at < end) };
      await proveUnit(session, proving, whole, ledger);
      if (end < unit.high) rest.push({ proving, unit: restOf(unit, end) });
    }
    left = rest;
  }
}

/** What is not about single occurrences. */
async function proveDefinition(session: Session, proving: Proving, span: LedgerSpan): Promise<void> {
  const { definition, timeline, evaluate, tally } = proving;
  const find = (kind: ProofFindingKind, text: string) =>
    tally.find({ definition: definition.name, kind, at: null, runs: [], text });
  const [first] = timeline.segments;
  if (first === undefined) tally.cannotProve('no-version', 0);
  else if (span.low < secondAfter(first.from))
    tally.cannotProve(first.version.number === 1 ? 'registration' : 'versions', 0);
  const inSpan = timeline.segments.filter(({ from, to }) => from < span.high * 1000 && to > span.low * 1000);
  const without = inSpan.filter(({ version }) => evaluate(version) === null);
  if (without.some(({ version }) => version.after !== null)) tally.cannotProve('chain', 0);
  if (
    without.some(({ version: { cron, every_ms, at } }) => cron !== null || every_ms !== null || at !== null)
  )
    tally.cannotProve('unreadable', 0);
  if (!definition.is_kept) find('changed', `it was changed without a new version (${definition.version})`);
  const next = await stuckAt(session, proving);
  if (next !== null) find('stuck', next);
  const remaining = await wrongRemaining(session, proving);
  if (remaining !== null) find('count', remaining);
}

/** Why a definition that makes runs would not be found due; null: it would. */
async function stuckAt(
  session: Session,
  { definition, timeline, evaluate, zones }: Proving,
): Promise<string | null> {
  const last = timeline.segments.at(-1);
  const { cursor_ms: cursor, next_ms: found, stop, remaining_count: left, is_kept: isKept } = definition;
  if (last === undefined || stop !== null || left === 0 || !isKept) return null;
  const schedule = evaluate(last.version);
  const exceptions = (await readExceptions(session, [definition]))(definition);
  const next = schedule === null ? null : nextDue(schedule, exceptions, cursor);
  if (next === null || (found !== null && found <= next)) return null;
  if (zones(last.version.timezone, next / 1000)) return null;
  const text = found === null ? 'none is noted' : `${utcText(found)} is noted`;
  return `its next occurrence is ${utcText(next)}, and ${text} as the next: no tick would make it`;
}
