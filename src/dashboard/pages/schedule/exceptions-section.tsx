// The occurrences of a schedule that are to be skipped, or were moved to a time that is to come.
import type { OpenedSchedule } from '../../../answers/schedules/read-schedule.js';
import { type Exception, occurs } from '../../../model/planning/exceptions.js';
import { Sheet, Time } from '../../layout/parts.js';
import { zoneTime } from '../../schedules/times.js';
import type { View } from '../../view.js';
import { UndoForm } from './exception-forms.js';

const MAX_ROWS = 100;

/** Nothing where there are none. */
export function ExceptionsSection({
  view,
  opened,
}: {
  readonly view: View;
  readonly opened: OpenedSchedule;
}) {
  const { definition, exceptions, zone } = opened;
  const now = view.now.getTime();
  const considered = Math.max(now, definition.cursor.getTime());
  const open = exceptions.filter(({ dueAt }) => dueAt > considered);
  if (open.length === 0) return null;
  return (
    <section aria-labelledby="exceptions">
      <div class="section-head">
        <h2 id="exceptions">Skipped and moved</h2>
        <span class="muted">to come · {zone.name}</span>
      </div>
      <Sheet>
        <div class="scroll" tabindex={0} role="region" aria-label="Skipped and moved occurrences">
          <table>
            <thead>
              <tr>
                <th>Occurrence</th>
                <th>Instead</th>
                <th>By</th>
                <th>Why</th>
                <th>
                  <span class="unseen">Undo</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {open.slice(0, MAX_ROWS).map(exception => {
                const { at, operator, note, madeAt } = exception;
                return (
                  <tr>
                    <td>{zoneTime(zone, at, now)}</td>
                    <td>{insteadText(opened, exception, now)}</td>
                    <td>
                      {operator}, <Time view={view} at={new Date(madeAt)} relative />
                    </td>
                    <td>{note ?? ''}</td>
                    <td>
                      {at > considered ? (
                        <UndoForm view={view} name={definition.name} exception={exception} />
                      ) : null}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        </div>
        {open.length > MAX_ROWS ? (
          <p class="muted">
            Only the first {MAX_ROWS} of {open.length}.
          </p>
        ) : null}
      </Sheet>
    </section>
  );
}

function insteadText(
  { schedule, zone }: OpenedSchedule,
  { at, kind, dueAt }: Exception,
  now: number,
): string {
  const instead = kind === 'skip' ? 'no run' : zoneTime(zone, dueAt, now);
  return schedule === null || !occurs(schedule, at)
    ? `${instead}: without effect, the schedule no longer has it`
    : instead;
}
