// How long the runs of a schedule take: a picture, a sentence, and the same as a table.

import type { OpenedSchedule, Recent } from '../../../answers/schedules/read-schedule.js';
import { type Occurrence, stateText } from '../../../model/occurrences/occurrence.js';
import { Sheet } from '../../layout/parts.js';
import { spanText } from '../../layout/text.js';
import { Durations, tookMs } from '../../pictures/durations.js';
import { MarkIcon } from '../../pictures/mark.js';
import { zoneTime } from '../../schedules/times.js';
import type { View } from '../../view.js';
import { hrefOf } from './calendar-section.js';

export interface DurationsProps {
  readonly view: View;
  readonly opened: OpenedSchedule;
  readonly recent: Recent;
}

export function DurationsSection({ view, opened, recent }: DurationsProps) {
  const { zone, definition } = opened;
  const now = view.now.getTime();
  const timeText = (at: number) => zoneTime(zone, at, now);
  const timed = recent.occurrences.filter(
    ({ startedAt, finishedAt }) => startedAt !== null && finishedAt !== null,
  );
  return (
    <section aria-labelledby="durations">
      <h2 id="durations">How long it takes</h2>
      <Sheet>
        {timed.length === 0 ? (
          <p class="muted">No run has ended yet.</p>
        ) : (
          <>
            <Durations
              occurrences={timed}
              p50={recent.p50}
              p95={recent.p95}
              timeText={timeText}
              hrefOf={occurrence => hrefOf(view, definition.name, occurrence)}
            />
            <p class="muted caption">
              {recent.p50 === null || recent.p95 === null
                ? 'None of the last runs succeeded.'
                : `Half take at most ${spanText(recent.p50)}, 95 of 100 at most ${spanText(recent.p95)}: the last ${timed.length} ${timed.length === 1 ? 'run' : 'runs'}.`}
            </p>
            <DurationTable view={view} opened={opened} timed={timed} />
          </>
        )}
      </Sheet>
    </section>
  );
}

function DurationTable({
  view,
  opened,
  timed,
}: {
  readonly view: View;
  readonly opened: OpenedSchedule;
  readonly timed: readonly Occurrence[];
}) {
  const { zone, definition } = opened;
  const now = view.now.getTime();
  return (
    <details class="as-table">
      <summary>As a table</summary>
      <table>
        <thead>
          <tr>
            <th>In {zone.name}</th>
            <th>What became of it</th>
            <th class="n">Took</th>
          </tr>
        </thead>
        <tbody>
          {timed.toReversed().map(occurrence => (
            <tr>
              <td>
                <a href={hrefOf(view, definition.name, occurrence)}>{zoneTime(zone, occurrence.at, now)}</a>
              </td>
              <td>
                <MarkIcon state={occurrence.state} /> {stateText(occurrence)}
              </td>
              <td class="n">{spanText(tookMs(occurrence) ?? 0)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </details>
  );
}
