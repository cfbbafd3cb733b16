// What was missed while nothing ticked: due occurrences that have no run yet.
import { withoutExcepted } from '../../model/planning/exceptions.js';
import type { MissedOccurrences } from '../../model/scheduler-view.js';
import type { Session } from '../../store/connection/database.js';
import { readExceptions } from '../../store/definitions/occurrences/exceptions.js';
import { readDueDefinitions } from '../../store/definitions/stored-definition.js';
import { workingSchedule } from '../materialize/locked-definition.js';

const MAX_DEFINITIONS = 10;
const MAX_COUNTED = 1000;

/** Those of the longest due definitions. `now` in epoch milliseconds, by the database's clock. */
export async function findMissed(session: Session, now: number): Promise<MissedOccurrences[]> {
  const due = await readDueDefinitions(session, MAX_DEFINITIONS);
  const exceptionsOf = await readExceptions(session, due);
  return due.flatMap(row => {
    const all = workingSchedule(row);
    const schedule = all === null ? null : withoutExcepted(all, exceptionsOf(row));
    const first = schedule?.next(row.cursor_ms) ?? null;
    if (schedule === null || first === null || first > now) return [];
    const most = Math.min(row.remaining_count ?? MAX_COUNTED, MAX_COUNTED);
    let count = 0;
    for (let at: number | null = first; at !== null && at <= now && count < most; at = schedule.next(at))
      count++;
    const last = schedule.previous(now + 1) ?? first;
    return [
      {
        definition: row.name,
        count,
        isCapped: count === MAX_COUNTED,
        first: new Date(first),
        last: new Date(last),
      },
    ];
  });
}
