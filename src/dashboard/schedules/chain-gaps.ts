// The latest occurrences of a chain that have no row yet: `why` knows what each waits for.

import type { OpenedSchedule, ShownCalendar } from '../../answers/schedules/read-schedule.js';
import type { Why, WhyVerdict } from '../../answers/why/why.js';
import type { Occurrence, OccurrenceState } from '../../model/occurrences/occurrence.js';
import type { View } from '../view.js';

/** Each is asked for by itself. */
const MAX_ASKED = 4;

const STATES: Readonly<Partial<Record<WhyVerdict, OccurrenceState>>> = {
  waiting: 'queued',
  due: 'due',
  'no-record': 'lost',
  paused: 'held',
  broken: 'held',
  vanished: 'held',
  'used-up': 'held',
};

/** The calendar with the latest gaps of a chain filled; any other calendar as it is. */
export async function withChainGaps(
  view: View,
  { definition, schedule }: OpenedSchedule,
  shown: ShownCalendar,
): Promise<ShownCalendar> {
  if (!definition.after || schedule === null) return shown;
  const { from, to } = shown.span;
  const least = Math.max(from, definition.created_at.getTime());
  const known = new Set(shown.occurrences.map(({ at }) => at));
  const gaps: number[] = [];
  let at = schedule.previous(Math.min(to, definition.now.getTime() + 1));
  for (let step = 0; at !== null && at >= least && step < MAX_ASKED; step++) {
    if (!known.has(at)) gaps.unshift(at);
    at = schedule.previous(at);
  }
  const found: Occurrence[] = [];
  for (const gap of gaps) {
    const why = await view.tock.why(definition.name, new Date(gap));
    const state = STATES[why.verdict];
    if (state !== undefined) found.push(occurrenceOf(gap, state, why));
  }
  const occurrences = [...shown.occurrences, ...found].sort((a, b) => a.at - b.at);
  return { ...shown, occurrences };
}

function occurrenceOf(at: number, state: OccurrenceState, { sentences }: Why): Occurrence {
  const bare = {
    at,
    runId: null,
    isExpected: true,
    standsFor: 1,
    attempts: 0,
    startedAt: null,
    finishedAt: null,
  };
  return { ...bare, state, reason: state === 'queued' ? (sentences.at(-1) ?? null) : null };
}
