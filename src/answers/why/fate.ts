// What became of one occurrence, and which run or row stands for it. Reads only.

import type { Engine } from '../../engine/engine.js';
import type { Timetable } from '../../model/explain/instant.js';
import { instantText } from '../../model/explain/local-clock.js';
import { isSpan } from '../../model/explain/without-row.js';
import { freezeText } from '../../model/freeze/freeze.js';
import type { Exception } from '../../model/planning/exceptions.js';
import type { RunRecord } from '../../model/run/run-record.js';
import { readFreeze } from '../../store/definitions/freeze/freezes.js';
import { getRun } from '../../store/reads/runs.js';
import { readSilence } from '../../store/reads/ticks.js';
import { readBlockers, readOccurrence, type WhyDefinition, type WhyRow } from '../../store/reads/why/why.js';
import { DISPLACED } from '../../store/runs/overlap.js';
import { skipWords } from '../now/skip-words.js';
import { describeExcepted, exceptionSentence, movedHere } from './exceptions.js';
import { describeWaits } from './waits.js';
import {
  describeMissing,
  describeRun,
  describeSpan,
  type Fate,
  isLate,
  overlapWords,
  silenceWords,
} from './words.js';

export interface Asked {
  readonly engine: Engine;
  readonly definition: WhyDefinition;
  readonly table: Timetable;
  readonly rows: readonly WhyRow[];
  /** Of the definition, past ones too. */
  readonly exceptions?: readonly Exception[];
}

/** The exception of an occurrence; undefined: it has none. @param at epoch milliseconds */
export const exceptionAt = ({ exceptions = [] }: Asked, at: number): Exception | undefined =>
  exceptions.find(each => each.at === at);

export type Outcome = {
  readonly verdict: Fate;
  readonly sentences: readonly string[];
  readonly run: RunRecord | null;
};

/** @param at epoch milliseconds */
export async function fate(asked: Asked, at: number, before: readonly string[]): Promise<Outcome> {
  const { engine, definition, rows, table, exceptions = [] } = asked;
  const exception = exceptionAt(asked, at);
  const said = [
    ...before,
    ...movedHere(definition, exceptions, at, table.zone),
    ...(exception === undefined ? [] : [exceptionSentence(exception, table.zone)]),
  ];
  const exact = rows.filter(row => row.scheduled_for.getTime() === at);
  // A span may end here, and a backfill may have made a separate run since.
  const own = exact.find(row => row.status !== 'skipped') ?? exact[0];
  // A span passes over what has an exception.
  const span = rows.find(
    row =>
      row.id !== own?.id &&
      isSpan(row) &&
      (exact.includes(row) || (exception === undefined && coversSpan(row, at))),
  );
  if (own) return await fateOfRow(asked, own, span ? [...said, earlier(span)] : said);
  if (span) return await fateOfRow(asked, span, said);
  const known = await readOccurrence(engine.database, definition.id, new Date(at));
  const open =
    exception === undefined || known !== null ? null : describeExcepted(definition, exception, table.zone);
  const { verdict, sentences } = open ?? describeMissing(definition, at, table.zone, known);
  const frozen = verdict === 'due' || verdict === 'upcoming' ? await readFreeze(engine.database) : null;
  const isHeld = frozen !== null && (verdict === 'due' || at < frozen.until.getTime());
  if (!isHeld) return { verdict, sentences: [...said, ...sentences], run: null };
  const text = freezeText(frozen, definition.now, when => instantText(when.getTime(), table.zone));
  const held = [`everything is ${text}`, `then its catch-up policy applies: ${definition.catchup}`];
  if (verdict === 'upcoming') return { verdict, sentences: [...said, ...sentences, ...held], run: null };
  return { verdict: 'frozen', sentences: [...said, ...held], run: null };
}

/** What became of the occurrences that a row stands for. */
export async function fateOfRow(asked: Asked, row: WhyRow, said: readonly string[]): Promise<Outcome> {
  const { engine, definition, table } = asked;
  const run = await getRun(engine.database, row.id);
  // Pruned between the two reads.
  if (!run)
    return { verdict: 'pruned', sentences: [...said, `run ${row.id} was pruned just now`], run: null };
  const exception = exceptionAt(asked, row.scheduled_for.getTime());
  const { verdict, sentences } = describeRun(run, table.zone, exception?.dueAt);
  const more = [
    ...(isSpan(row) ? describeSpan(run, table.zone) : []),
    ...(await silenceAt(asked, row, run)),
    ...(await causeOf(asked, row, run)),
    ...(await describeWaits(engine, definition, table.zone, run)),
  ];
  return {
    verdict,
    sentences: [...said, ...sentences, ...more, ...editedSince(definition, row, table)],
    run,
  };
}

/** Why its occurrence was not seen in time, if nothing ticked then. */
async function silenceAt(asked: Asked, row: WhyRow, run: RunRecord): Promise<string[]> {
  const { engine, table } = asked;
  const dueAt = exceptionAt(asked, row.scheduled_for.getTime())?.dueAt;
  const isCaughtUp = run.skipReason === 'catchup' || (run.trigger === 'cron' && isLate(run, dueAt));
  if (!isCaughtUp) return [];
  const silence = await readSilence(
    engine.database,
    dueAt === undefined ? row.scheduled_for : new Date(dueAt),
  );
  return silence === null ? [] : [silenceWords(silence, table.zone)];
}

function earlier({ id, skip_reason: reason }: WhyRow): string {
  return `it was first left out (run ${id}: ${skipWords(reason)})`;
}

async function causeOf(asked: Asked, row: WhyRow, run: RunRecord): Promise<string[]> {
  const { definition } = asked;
  if (run.skipReason === DISPLACED) return heirOf(asked, row);
  if (run.status !== 'skipped') return [];
  switch (run.skipReason) {
    case 'catchup':
      return standIn(asked, row);
    case 'overlap':
      return await inTheWay(asked, row, run);
    case 'window':
      return definition.active_window === null
        ? []
        : [
            `the definition's window is ${definition.active_window} (${definition.timezone}), and what is outside it is skipped`,
          ];
    default:
      return [];
  }
}

function standIn({ definition, rows, table }: Asked, row: WhyRow): string[] {
  const heir = rows.find(each => each.scheduled_for > row.scheduled_for);
  const stands = heir && heir.status !== 'skipped' && heir.occurrence_count === row.occurrence_count + 1;
  if (!stands) return [`the definition's catch-up policy is ${definition.catchup}`];
  return [
    `run ${heir.id}, of ${instantText(heir.scheduled_for.getTime(), table.zone)}, stands for it and is ${heir.status}`,
  ];
}

async function inTheWay({ engine, definition }: Asked, row: WhyRow, run: RunRecord): Promise<string[]> {
  const first = row.interval_start ?? row.scheduled_for;
  // A follower's interval_start is where its data begins, not which occurrence was skipped first.
  const since = row.trigger === 'chain' ? row.scheduled_for : first;
  const most = definition.overlap === 'buffer_one' ? 2 : 1;
  const ids = await readBlockers(engine.database, definition.id, since, run.finishedAt ?? first, most);
  const what = ids.length === 1 ? 'the run that was live then' : 'the runs that were live then';
  const said = ids.length === 0 ? [] : [`${what}: ${ids.join(' and ')} (tock show ${ids[0] ?? ''})`];
  return [...overlapWords(definition.overlap), ...said];
}

function heirOf({ definition, rows, table }: Asked, row: WhyRow): string[] {
  const heir = rows.find(each => each.scheduled_for > row.scheduled_for && each.status !== 'skipped');
  const who = heir
    ? `run ${heir.id}, of ${instantText(heir.scheduled_for.getTime(), table.zone)}, took its place`
    : 'a later one takes the place of one that is live';
  return [`the definition's overlap policy is ${definition.overlap}: ${who}`];
}

function editedSince(
  { version, updated_at: updatedAt }: WhyDefinition,
  row: WhyRow,
  { zone }: Timetable,
): string[] {
  if (version === 1 || row.scheduled_for >= updatedAt) return [];
  return [
    `the definition was edited since, at ${instantText(updatedAt.getTime(), zone)} (it is at version ${version})`,
  ];
}

/** Whether a skipped row stands for another occurrence too. @param at epoch milliseconds */
function coversSpan(row: WhyRow, at: number): boolean {
  return isSpan(row) && row.scheduled_for.getTime() > at && (row.interval_start?.getTime() ?? at + 1) <= at;
}
