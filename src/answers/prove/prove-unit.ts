// Decides about one unit: each occurrence that it has, and each row that it should not have. Reads only.

import { withoutExcepted } from '../../model/planning/exceptions.js';
import { wrongCount } from '../../model/prove/counts.js';
import {
  indexOf,
  type Ledger,
  ledgerWithoutVoid,
  matchLedger,
  type Stray,
  type Voided,
  type WideRow,
  withoutLater,
  withoutVoid,
} from '../../model/prove/match.js';
import type { ProofFindingKind, Tally } from '../../model/prove/report.js';
import { secondAfter, type Unit } from '../../model/prove/units.js';
import { type EvaluatedColumns, hasOccurrence, type Timeline } from '../../model/prove/versions.js';
import type { CompiledSchedule } from '../../model/schedule/compile.js';
import { utcText } from '../../model/schedule/instant-text.js';
import type { Session } from '../../store/connection/database.js';
import { readExceptionsIn } from '../../store/definitions/occurrences/exceptions.js';
import { readCounted, readKeysMadeSince, readLater } from '../../store/reads/prove/ledger.js';
import type { ProofTimes, ProvedDefinition } from '../../store/reads/prove/versions.js';
import type { OtherOffsets } from './other-offsets.js';

/** A definition that is being proved. */
export interface Proving {
  readonly definition: ProvedDefinition;
  readonly timeline: Timeline;
  readonly evaluate: (version: EvaluatedColumns) => CompiledSchedule | null;
  readonly times: ProofTimes;
  readonly voided: readonly Voided[];
  readonly tally: Tally;
  /** When stored times may have been computed by other offsets. */
  readonly zones: OtherOffsets;
}

/** Beyond all years in which schedules have occurrences, in epoch seconds. */
const FOREVER = 1e11;

/** Adds to the tally what a unit has. @param ledger of the whole unit */
export async function proveUnit(
  session: Session,
  proving: Proving,
  unit: Unit,
  ledger: Ledger,
): Promise<void> {
  const { definition, tally, times } = proving;
  const matched = matchLedger(unit.expected, ledgerWithoutVoid(ledger, proving.voided));
  const kinds = new Map(matched.kinds);
  const find = (kind: ProofFindingKind, at: number, runs: readonly string[], text: string) =>
    tally.find({ definition: definition.name, kind, at: new Date(at * 1000), runs, text });

  const open = await withoutSpansAfter(session, proving, unit, matched.open, kinds);
  for (const [kind, count] of kinds) tally.explain(kindName(kind), count);
  const missing = await withoutReason(session, proving, unit, open);
  for (const at of await withoutMoved(session, proving, missing))
    if (hadOtherOffset(proving, unit, at))
      tally.cannotProve('zones', 1, tally.unprovable.has('zones') ? 0 : 1);
    else find('missing', at, [], 'the cursor is past it, and nothing is on record');

  const kept = await keptRuns(session, proving, matched.keyOnly);
  for (const { at, run } of matched.keyOnly) {
    if (kept.has(at))
      find('deleted', at, [run], `run ${run} was made for it, and is gone; retention has not deleted it`);
    else tally.explain('pruned');
  }
  for (const { at, runs } of matched.doubled)
    find('doubled', at, runs, `it has ${runs.length} runs: ${runs.join(', ')}`);
  for (const { at, run } of matched.keyless)
    if (times.keys_pruned === null || at * 1000 > times.keys_pruned)
      find(
        'keyless',
        at,
        [run],
        `run ${run} is not under the key of its occurrence, which could be made again`,
      );
  const strays = matched.strays.filter(
    stray => !isKnown(proving, unit, stray) && !hadOtherOffset(proving, unit, stray.at),
  );
  for (const stray of await withoutMovedStrays(session, proving, strays))
    find(
      'unexpected',
      stray.at,
      [stray.run],
      `${strayName(stray)} of a time that no version of the schedule has`,
    );
  for (const row of ledger.wide) {
    const wrong =
      row.at < ledger.end
        ? ((await wrongCountOf(session, proving, unit, row)) ??
          (await overlapsRun(session, proving, unit, row, ledger)))
        : null;
    if (wrong !== null && !hadOtherOffset(proving, unit, row.at))
      find('count', row.at, [row.id], `run ${row.id}: ${wrong}`);
  }
}

/** Whether what was computed then may have another time by the zone data of now. */
function hadOtherOffset({ zones, timeline }: Proving, { segment }: Unit, at: number): boolean {
  const timezone = (segment ?? timeline.segments.at(-1))?.version.timezone ?? 'UTC';
  return zones(timezone, at);
}

function kindName(kind: string): string {
  if (kind === '=stands' || kind === 'stands') return 'stands';
  if (kind.startsWith('=')) return `skipped:${kind.slice(1)}`;
  return kind === 'backfill' ? kind : 'run';
}

const strayName = ({ run, kind }: Stray) =>
  kind === 'key'
    ? `a key, for run ${run},`
    : kind.startsWith('=')
      ? `skipped row ${run} is`
      : `run ${run} is`;

/** A row of a span lies at the end of the span, which may be after the unit. */
async function withoutSpansAfter(
  session: Session,
  { definition, voided }: Proving,
  { segment, schedule, high }: Unit,
  open: readonly number[],
  kinds: Map<string, number>,
): Promise<readonly number[]> {
  if (open.length === 0 || segment === null || schedule === null) return open;
  const end = segment.to === Number.POSITIVE_INFINITY ? FOREVER : secondAfter(segment.to);
  if (high >= end) return open;
  const later = withoutVoid(await readLater(session, definition.id, { low: high, high: end }), voided);
  const spans = later.map(row => standing(row, schedule, open[0] ?? 0));
  return withoutLater(open, spans, kinds);
}

/** A run that stands for others, as a span. */
function standing(row: WideRow, schedule: CompiledSchedule, earliest: number): WideRow {
  if (row.first !== null) return row;
  let first: number | null = row.at * 1000;
  for (let left = row.count - 1; left > 0 && first !== null && first > earliest * 1000; left--)
    first = schedule.previous(first);
  return { ...row, first: first === null ? earliest : first / 1000, reason: 'stands' };
}

/** The occurrences without a record for which there is no reason. The others are added to the tally. */
async function withoutReason(
  session: Session,
  { definition, times, tally }: Proving,
  { segment }: Unit,
  open: readonly number[],
): Promise<readonly number[]> {
  if (open.length === 0 || segment === null) return [];
  const { version, from, to, left } = segment;
  const isLast = to === Number.POSITIVE_INFINITY;
  const considered = isLast ? open.filter(at => at * 1000 <= definition.cursor_ms) : open;
  if (isLast) {
    const ahead = open.filter(at => at * 1000 > definition.cursor_ms);
    const due = ahead.filter(at => at * 1000 <= times.now).length;
    const held = version.stop ?? (definition.remaining_count === 0 ? 'used-up' : null);
    tally.explain(held ?? 'due', due);
    // One that makes no runs has none to come.
    if (held === null) tally.explain('upcoming', ahead.length - due);
  }
  if (version.stop === 'vanished' || version.stop === 'broken') {
    tally.explain(version.stop, considered.length);
    return [];
  }
  const unused = left === 0 ? await afterLastRun(session, definition, segment, considered) : 0;
  tally.explain('used-up', unused);
  const rest = considered.slice(0, considered.length - unused);
  const pruned =
    times.runs_pruned === null ? 0 : rest.filter(at => at * 1000 <= (times.runs_pruned ?? 0)).length;
  if (pruned > 0) tally.cannotProve('retention', pruned, tally.unprovable.has('retention') ? 0 : 1);
  return from < to ? rest.slice(pruned) : [];
}

/** Without those that were moved to a time that is still to come. The others are added to the tally. */
async function withoutMoved(
  session: Session,
  { definition, tally }: Proving,
  missing: readonly number[],
): Promise<readonly number[]> {
  const [first, last] = [missing[0], missing.at(-1)];
  if (first === undefined || last === undefined || !definition.is_excepted) return missing;
  const span = { from: first * 1000, to: last * 1000 + 1 };
  const moved = await readExceptionsIn(session, definition.id, span);
  const isToCome = (at: number) =>
    moved.some(each => each.at === at * 1000 && each.dueAt > definition.cursor_ms);
  const left = missing.filter(at => !isToCome(at));
  const held = definition.stop ?? (definition.remaining_count === 0 ? 'used-up' : null);
  tally.explain(held ?? 'moved', missing.length - left.length);
  return left;
}

/** Without those that were moved, and that the version had which was in force at their new time. */
async function withoutMovedStrays(
  session: Session,
  { definition, timeline, evaluate }: Proving,
  strays: readonly Stray[],
): Promise<readonly Stray[]> {
  const times = strays.map(({ at }) => at * 1000);
  if (times.length === 0) return strays;
  const span = { from: Math.min(...times), to: Math.max(...times) + 1 };
  const moved = await readExceptionsIn(session, definition.id, span);
  const wasMade = (at: number) =>
    moved.some(
      each =>
        each.at === at &&
        [...timeline.segments, ...timeline.superseded].some(
          ({ version, from, to }) =>
            each.dueAt > from && each.dueAt <= to && hasOccurrence(evaluate(version), at),
        ),
    );
  return strays.filter(({ at }) => !wasMade(at * 1000));
}

/** How many of these come after the last run that `remaining` had left. */
async function afterLastRun(
  session: Session,
  { id }: ProvedDefinition,
  { version, from, to }: NonNullable<Unit['segment']>,
  open: readonly number[],
): Promise<number> {
  if (version.remaining_count === 0) return open.length;
  const end = to === Number.POSITIVE_INFINITY ? FOREVER : secondAfter(to);
  const { last } = await readCounted(session, id, { low: secondAfter(from), high: end });
  return open.filter(at => at > (last ?? 0)).length;
}

/** The keys whose runs retention cannot have deleted. */
async function keptRuns(
  session: Session,
  { definition, times }: Proving,
  keys: readonly Stray[],
): Promise<ReadonlySet<number>> {
  const instants = keys.map(({ at }) => at);
  if (instants.length === 0 || times.runs_pruned === null) return new Set(instants);
  return await readKeysMadeSince(session, definition.id, instants, times.runs_pruned);
}

/**
 * Whether something explains a row of an instant that the version in force does not have: a cursor was
 * reset past it since; or, for what a backfill may have made, any version has it.
 */
function isKnown({ timeline, evaluate }: Proving, { segment, schedule }: Unit, { at, kind }: Stray): boolean {
  const [first] = timeline.segments;
  if (first === undefined || (segment !== null && schedule === null && !isPlain(segment.version)))
    return true;
  if (segment === null && first.version.number > 1) return true;
  const has = (each: { readonly version: EvaluatedColumns }) =>
    hasOccurrence(evaluate(each.version), at * 1000);
  const before = timeline.superseded.filter(each => at * 1000 > each.from && at * 1000 <= each.to);
  if (before.some(has)) return true;
  const mayBeBackfilled = kind === 'backfill' || kind === 'key' || kind.startsWith('=');
  return mayBeBackfilled && [...timeline.segments, ...timeline.superseded].some(has);
}

/** Whether it has no schedule at all, rather than one that follows others or cannot be read. */
const isPlain = ({ cron, every_ms, at, after }: EvaluatedColumns) =>
  cron === null && every_ms === null && at === null && after === null;

async function wrongCountOf(
  session: Session,
  { definition, timeline, evaluate }: Proving,
  { segment, schedule }: Unit,
  row: WideRow,
): Promise<string | null> {
  if (segment === null || schedule === null || wrongCount(row, segment, schedule) === null) return null;
  const regular = await withoutExceptionsBefore(session, definition, segment, schedule, row.at);
  const wrong = wrongCount(row, segment, regular);
  if (wrong === null) return null;
  const isOfEarlier = timeline.superseded.some(each => {
    const own = evaluate(each.version);
    return own !== null && row.at * 1000 > each.from && wrongCount(row, { ...each, from: 0 }, own) === null;
  });
  return isOfEarlier ? null : wrong;
}

/** What a run stands for had no run of its own, unless a cursor was reset. */
async function overlapsRun(
  session: Session,
  { definition, voided }: Proving,
  { segment, schedule }: Unit,
  { at, first, count }: WideRow,
  { runs }: Ledger,
): Promise<string | null> {
  if (first !== null || segment === null || schedule === null || voided.length > 0) return null;
  const hasOneBefore = (own: CompiledSchedule) =>
    runs.kind[indexOf(runs.at, (own.previous(at * 1000) ?? 0) / 1000)] === 'cron';
  if (!hasOneBefore(schedule)) return null;
  return hasOneBefore(await withoutExceptionsBefore(session, definition, segment, schedule, at))
    ? `it stands for ${count} occurrences, and the one before it has a run of its own`
    : null;
}

/** The occurrences that a row of several may stand for: it passes over what has an exception. */
async function withoutExceptionsBefore(
  session: Session,
  { id }: ProvedDefinition,
  { from }: NonNullable<Unit['segment']>,
  schedule: CompiledSchedule,
  at: number,
): Promise<CompiledSchedule> {
  return withoutExcepted(schedule, await readExceptionsIn(session, id, { from, to: at * 1000 }));
}

/** What `remaining` and the runs that were made say, where they do not agree; null: they do. */
export async function wrongRemaining(
  session: Session,
  { definition, timeline, times }: Proving,
): Promise<string | null> {
  for (const { version, from, to, left } of timeline.segments) {
    const { remaining_count: asked } = version;
    const isPruned = times.runs_pruned !== null && from <= times.runs_pruned;
    if (asked === null || left === null || asked <= left || isPruned) continue;
    const end = to === Number.POSITIVE_INFINITY ? FOREVER : secondAfter(to);
    const { count } = await readCounted(session, definition.id, { low: secondAfter(from), high: end });
    if (count < asked - left)
      return `${asked - left} runs were made since ${utcText(from)}, and ${count} of them ${count === 1 ? 'is' : 'are'} there (remaining was ${asked}, and is ${left})`;
  }
  return null;
}
