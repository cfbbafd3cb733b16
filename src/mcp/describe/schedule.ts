// Everything that explains a definition without a time: what holds it, what became of its last
// occurrences, what comes next.

import { conditionOf } from '../../answers/schedules/condition.js';
import { readNextAt } from '../../answers/schedules/lists.js';
import { type OpenedSchedule, openSchedule, readRecent } from '../../answers/schedules/read-schedule.js';
import { blockedBy } from '../../answers/why/words.js';
import { TockError } from '../../model/errors.js';
import { instantText } from '../../model/explain/local-clock.js';
import { freezeText } from '../../model/freeze/freeze.js';
import { quote } from '../../model/names.js';
import { didYouMean } from '../../model/nearest.js';
import { type Occurrence, stateText } from '../../model/occurrences/occurrence.js';
import { chainWords } from '../../model/planning/chain.js';
import { scheduleOfColumns } from '../../model/planning/definition.js';
import { exceptionWords } from '../../model/planning/exception-record.js';
import { scheduleWords } from '../../model/planning/schedule-words.js';
import type { Agent } from '../tool.js';

const RECENT = 10;
const MAX_NAMES = 1000;
const FINE: readonly Occurrence['state'][] = ['succeeded', 'retried', 'upcoming'];

/** @throws TockError TOCK_NOT_FOUND with the names that are near */
export async function openNamed({ reads, tock }: Agent, name: string): Promise<OpenedSchedule> {
  const opened = await openSchedule(reads, name);
  if (opened !== null) return opened;
  const known = await tock.schedules.list({ limit: MAX_NAMES });
  const near = didYouMean(
    name,
    known.map(each => each.name),
  );
  throw new TockError('TOCK_NOT_FOUND', `there is no definition ${quote(name)}${near}`);
}

export async function describeSchedule(agent: Agent, name: string): Promise<string[]> {
  const { reads, tock } = agent;
  const opened = await openNamed(agent, name);
  const { definition, zone, schedule, exceptions, problem } = opened;
  const text = (date: Date) => instantText(date.getTime(), zone);
  const [recents, next, frozen] = await Promise.all([
    readRecent(reads, [{ definition, schedule: definition.after ? null : schedule }], RECENT),
    readNextAt(reads, definition.id),
    tock.frozen(),
  ]);
  const occurrences = recents.get(definition.id)?.occurrences ?? [];
  const condition = conditionOf(definition, occurrences, next !== null);
  const hold = blockedBy(definition, text);
  const odd = occurrences.findLast(({ state }) => !FINE.includes(state));
  const why = odd === undefined ? null : await tock.why(name, new Date(odd.at));
  return [
    `definition ${name}${definition.job === name ? '' : ` of job ${definition.job}`}: ${condition.word}; ${wordsOf(opened)}`,
    ...(problem === null ? [] : [`its schedule cannot be read, so it makes no runs: ${problem}`]),
    ...(hold === null ? [] : [hold.sentence]),
    ...(frozen === null ? [] : [`everything is ${freezeText(frozen, definition.now, text)}`]),
    next === null ? noNext(opened, text) : `its next occurrence is at ${text(next)}`,
    ...exceptions
      .filter(({ at }) => at > definition.now.getTime())
      .slice(0, RECENT)
      .map(each => `an exception: ${exceptionWords(each, zone)}`),
    ...(occurrences.length === 0 ? ['no occurrence is on record'] : ['its last occurrences:']),
    ...occurrences.map(each => occurrenceLine(each, text)),
    ...(why === null ? [] : [`of the last one that did not go well, ${why.local}:`, ...why.sentences]),
  ];
}

export function wordsOf({ definition }: Pick<OpenedSchedule, 'definition'>): string {
  if (definition.after) return chainWords(definition.after);
  return scheduleWords(scheduleOfColumns(definition)) || 'no schedule: it runs when it is enqueued';
}

function noNext({ definition }: OpenedSchedule, text: (date: Date) => string): string {
  const { end_at: end, now, after } = definition;
  if (after) return 'its next occurrence follows those of what it runs after';
  if (end !== null && end <= now) return `it has no next occurrence: its end (endAt) was at ${text(end)}`;
  return 'it has no next occurrence';
}

function occurrenceLine(each: Occurrence, text: (date: Date) => string): string {
  const run = each.runId === null ? '' : ` (run ${each.runId})`;
  const many = each.standsFor > 1 ? `, which stands for ${each.standsFor}` : '';
  return `${text(new Date(each.at))}: ${stateText(each)}${run}${many}`;
}
