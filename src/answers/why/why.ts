// `tock why`: why a definition did, or did not, run at a time: from the schedule (model/explain/instant.ts)
// and from the tables (words.ts). Reads only.

import type { Engine } from '../../engine/engine.js';
import { TockError } from '../../model/errors.js';
import { civilText, dayText, readAskedTime } from '../../model/explain/asked-time.js';
import { explainDay } from '../../model/explain/day.js';
import {
  type Explained,
  explainCivil,
  explainInstant,
  neighbours,
  openTimetable,
  type Timetable,
} from '../../model/explain/instant.js';
import { instantText } from '../../model/explain/local-clock.js';
import { quote } from '../../model/names.js';
import { scheduleOfColumns } from '../../model/planning/definition.js';
import type { Exception } from '../../model/planning/exceptions.js';
import type { ScheduleSpec } from '../../model/schedule/spec.js';
import { readExceptions } from '../../store/definitions/occurrences/exceptions.js';
import {
  readWhyDefinition,
  readWhyRows,
  type WhyDefinition,
  type WhyRow,
} from '../../store/reads/why/why.js';
import { isExecName } from '../../store/runs/exec/begin.js';
import { answer, answerDay, MAX_ANSWERS_OF_A_DAY, type Why } from './answer.js';
import { whyChain } from './chain.js';
import { movedHere, withoutEffect } from './exceptions.js';
import { type Asked, exceptionAt, fate, fateOfRow } from './fate.js';

export type { Why, WhyVerdict } from './answer.js';

/** A stand-in for a missing schedule, so that the time is checked all the same. */
const NO_SCHEDULE: ScheduleSpec = { at: new Date(0) };

/**
 * Explains why a definition ran, or did not, at a time.
 * @param time a Date; an ISO instant; or local time in the definition's zone: `2026-03-08T02:30`,
 * `2026-03-08` (the whole day, up to 100 occurrences) or `02:30` (today by the database's clock)
 * @throws TockError TOCK_UNKNOWN_JOB, TOCK_BAD_TIME
 */
export async function why(engine: Engine, name: string, time: Date | string): Promise<Why> {
  return await whyOf(engine, name, time, new Map());
}

/** @param known answers by name and instant: chains may meet again in one definition */
async function whyOf(
  engine: Engine,
  name: string,
  time: Date | string,
  known: Map<string, Promise<Why>>,
): Promise<Why> {
  const definition = await readWhyDefinition(engine.database, name);
  if (!definition) throw await unknown(engine, name);
  const spec = scheduleOfColumns(definition);
  const table = timetableOf(definition, spec ?? { ...NO_SCHEDULE, timezone: definition.timezone });
  if (typeof table === 'string') {
    const sentences = [`its schedule cannot be read, so it makes no runs: ${table}`];
    return answer(definition, { local: String(time), verdict: 'broken', sentences });
  }
  const asked = readAskedTime(time, table.zone, definition.now.getTime());
  if (definition.after) {
    const ask = async (parent: string, at: Date) => {
      const key = `${parent} ${at.getTime()}`;
      const answered = known.get(key) ?? whyOf(engine, parent, at, known);
      known.set(key, answered);
      return await answered;
    };
    return await whyChain({ engine, definition, chain: definition.after, table, ask }, asked);
  }
  if (spec === null) {
    const sentences = [
      `the definition has no schedule: it runs when it is enqueued (tock runs --job ${definition.job})`,
    ];
    return answer(definition, { local: String(time), verdict: 'no-schedule', sentences });
  }
  const exceptions = (await readExceptions(engine.database, [definition], { isAll: true }))(definition);
  if (asked.kind === 'day') return await whyDay(engine, definition, table, asked.day, exceptions);
  const explained =
    asked.kind === 'instant' ? explainInstant(table, asked.at) : explainCivil(table, asked.civil);
  const rows = await rowsFor(engine, definition, [explained]);
  return await whyTime({ engine, definition, table, rows, exceptions }, explained);
}

async function unknown(engine: Engine, name: string): Promise<TockError> {
  if (await isExecName(engine.database, name))
    return new TockError(
      'TOCK_UNKNOWN_JOB',
      `${quote(name)} is executed by tock exec, whose schedule is not known here, as in a crontab: tock runs --job ${name} lists its runs`,
    );
  const remedy = engine.registry.jobs.has(name)
    ? 'it is in code, and the next tick registers it'
    : 'tock jobs lists them';
  return new TockError(
    'TOCK_UNKNOWN_JOB',
    `there is no definition ${quote(name)} in the database (${remedy})`,
  );
}

function timetableOf(definition: WhyDefinition, spec: ScheduleSpec): Timetable | string {
  try {
    return openTimetable(spec, definition.name);
  } catch (error) {
    if (error instanceof TockError) return error.message;
    throw error;
  }
}

async function whyDay(
  engine: Engine,
  definition: WhyDefinition,
  table: Timetable,
  day: number,
  exceptions: readonly Exception[],
): Promise<Why> {
  const { explained, isCut } = explainDay(table, day, MAX_ANSWERS_OF_A_DAY);
  const rows = await rowsFor(engine, definition, explained);
  const asked = { engine, definition, table, rows, exceptions };
  const occurrences: Why[] = [];
  for (const each of explained) occurrences.push(await whyTime(asked, each));
  const local = dayText(day);
  if (occurrences.length === 0) {
    const start = explainCivil(table, day * 86_400).instant ?? day * 86_400_000;
    const sentences = [`there is no occurrence on ${local} in ${table.zone.name}`, neighbours(table, start)];
    return answer(definition, { local, verdict: 'no-occurrence', sentences });
  }
  return answerDay(definition, local, table.zone.name, occurrences, isCut);
}

async function whyTime(asked: Asked, explained: Explained): Promise<Why> {
  const { definition, table } = asked;
  const local = civilText(explained.civil);
  const [first, second] = explained.occurrences;
  if (second !== undefined) {
    const occurrences: Why[] = [];
    for (const at of explained.occurrences) {
      occurrences.push(
        answer(definition, {
          local,
          instant: new Date(at),
          ...(await fate(asked, at, [instantText(at, table.zone)])),
        }),
      );
    }
    return answer(definition, { local, verdict: 'several', sentences: explained.sentences, occurrences });
  }
  if (first !== undefined) {
    return answer(definition, {
      local,
      instant: new Date(first),
      ...(await fate(asked, first, explained.sentences)),
    });
  }
  return await whyNone(asked, explained, local);
}

/** Not an occurrence of the current schedule; an earlier version may have left a run. */
async function whyNone(asked: Asked, explained: Explained, local: string): Promise<Why> {
  const { definition } = asked;
  const instant = explained.instant === null ? null : new Date(explained.instant);
  const verdict = explained.verdict === 'occurrence' ? 'no-occurrence' : explained.verdict;
  const { table, exceptions = [] } = asked;
  const exception = instant === null ? undefined : exceptionAt(asked, instant.getTime());
  const said = [
    ...explained.sentences,
    ...movedHere(definition, exceptions, explained.instant, table.zone),
    ...(exception === undefined ? [] : [withoutEffect(exception, table.zone)]),
  ];
  const plain = { local, instant, verdict, sentences: said };
  const row = asked.rows.find(each => each.scheduled_for.getTime() === explained.instant);
  if (!row) return answer(definition, plain);
  const sentences = [
    ...said,
    'by the schedule as it is now; yet an earlier version, or a backfill, left a run',
  ];
  return answer(definition, { ...plain, ...(await fateOfRow(asked, row, sentences)) });
}

async function rowsFor(
  { database }: Engine,
  { id }: WhyDefinition,
  explained: readonly Explained[],
): Promise<WhyRow[]> {
  const instants = explained.flatMap(({ instant, occurrences }) => [
    ...occurrences,
    ...(instant === null ? [] : [instant]),
  ]);
  if (instants.length === 0) return [];
  return await readWhyRows(database, id, new Date(Math.min(...instants)), new Date(Math.max(...instants)));
}
