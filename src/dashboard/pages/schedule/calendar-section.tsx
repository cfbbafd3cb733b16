// The calendar of one schedule with what belongs to it: earlier and later, the legend, the table.

import type { OpenedSchedule, ShownCalendar } from '../../../answers/schedules/read-schedule.js';
import { dayText } from '../../../model/explain/asked-time.js';
import { dateOfDay } from '../../../model/occurrences/calendar-span.js';
import { dayLabel, type GridRow, gridOf } from '../../../model/occurrences/grid.js';
import { dayOfInstant } from '../../../model/occurrences/local-days.js';
import { type Occurrence, STATE_WORDS, stateText } from '../../../model/occurrences/occurrence.js';
import { tallyOf, tallyText } from '../../../model/occurrences/tally.js';
import { byWhom } from '../../../model/planning/exception-record.js';
import type { Zone } from '../../../model/schedule/zone/zone.js';
import { markup } from '../../layout/markup.js';
import { Empty, Sheet } from '../../layout/parts.js';
import { numberText, spanText } from '../../layout/text.js';
import { Calendar, type CalendarProps } from '../../pictures/calendar.js';
import { tookMs } from '../../pictures/durations.js';
import { MarkIcon } from '../../pictures/mark.js';
import { zoneTime } from '../../schedules/times.js';
import type { View } from '../../view.js';

export interface CalendarSectionProps {
  readonly view: View;
  readonly opened: OpenedSchedule;
  readonly shown: ShownCalendar;
  /** Epoch milliseconds of the occurrence that is being explained. */
  readonly chosen: number | null;
}

/** With more in an hour, a narrow screen shows counts, and a day leads to its minutes. */
const MAX_NARROW_MARKS = 2;

export function CalendarSection(props: CalendarSectionProps) {
  const { view, opened, shown } = props;
  const { definition, zone, schedule } = opened;
  const { span, occurrences, density } = shown;
  const now = view.now.getTime();
  const tally = tallyOf(occurrences);
  const grid = { span, zone, now, occurrences, since: definition.created_at.getTime() };
  const range = rangeText(span.firstDay, span.lastDay);
  const label = `Every occurrence, ${range}, in ${zone.name}: ${tally.total === 0 ? 'none' : tallyText(tally)}. The same follows as a table.`;
  const links = linksOf(props);
  const wide = gridOf(grid);
  // Where hours have counts on every screen, the grid is the same.
  const narrow = () =>
    span.scale === 'hours' ? wide : gridOf({ ...grid, asCounts: density.perHour > MAX_NARROW_MARKS });
  return (
    <section aria-labelledby="every-occurrence">
      <div class="section-head">
        <h2 id="every-occurrence">Every occurrence</h2>
        <span class="muted">
          {range} · {zone.name}
        </span>
        <Turn {...props} />
      </div>
      <Sheet>
        {schedule === null && occurrences.length === 0 ? (
          <Empty title="It has no occurrences of its own">
            <p>It runs when it is enqueued, by hand or by the app.</p>
          </Empty>
        ) : (
          <>
            {span.scale === 'minutes' ? (
              <div class="scroll" tabindex={0} role="region" aria-label="The day by the minute">
                <Calendar grid={wide} label={label} size="wide" isOnly {...links} />
              </div>
            ) : (
              <Calendar grid={wide} label={label} size="wide" {...links} />
            )}
            {span.scale === 'minutes' ? null : (
              <Calendar grid={narrow()} label={label} size="narrow" {...links} />
            )}
            <div class="legend">
              {tally.counts.map(({ state, count }) => (
                <span>
                  <MarkIcon state={state} /> {STATE_WORDS[state]} <b>{numberText(count)}</b>
                </span>
              ))}
              {tally.total === 0 ? <span>No occurrence in these days.</span> : null}
            </div>
            <OccurrenceTable {...props} />
          </>
        )}
      </Sheet>
    </section>
  );
}

/** `‹ earlier`, today, `later ›`. */
function Turn({ view, opened, shown }: CalendarSectionProps) {
  const { span } = shown;
  const path = `/schedules/${encodeURIComponent(opened.definition.name)}`;
  const to = (day: number) =>
    view.link(path, span.scale === 'minutes' ? { day: dayText(day) } : { from: dayText(day) });
  return (
    <span class="turn">
      {span.earlier === null ? null : (
        <a class="button" href={to(span.earlier)} rel="prev">
          ‹ earlier
        </a>
      )}
      <a class="button" href={view.link(path)}>
        {span.scale === 'minutes' ? 'all days' : 'today'}
      </a>
      {span.later === null ? null : (
        <a class="button" href={to(span.later)} rel="next">
          later ›
        </a>
      )}
    </span>
  );
}

function linksOf({
  view,
  opened,
  shown,
  chosen,
}: CalendarSectionProps): Pick<CalendarProps, 'hrefOf' | 'textOf' | 'hrefOfRow' | 'hrefOfCell' | 'chosen'> {
  const { definition, zone } = opened;
  const { span, density } = shown;
  const exceptionIn = exceptionText(zone, view.now.getTime());
  const path = `/schedules/${encodeURIComponent(definition.name)}`;
  const keep = span.scale === 'minutes' ? { day: dayText(span.firstDay) } : { from: dayText(span.firstDay) };
  const why = (at: string) => `${view.link(`${path}/why`, { at, ...keep })}#why`;
  const now = view.now.getTime();
  const isByDay = span.scale === 'days' || span.scale === 'hours';
  return {
    chosen,
    hrefOf: occurrence => hrefOf(view, definition.name, occurrence, keep),
    textOf: occurrence =>
      `${zoneTime(zone, occurrence.at, now)}: ${longState(occurrence)}${exceptionIn(occurrence)}`,
    hrefOfRow: ({ day }: GridRow) => {
      if (!isByDay) return null;
      return density.perHour > MAX_NARROW_MARKS ? view.link(path, { day: dayText(day) }) : why(dayText(day));
    },
    hrefOfCell: ({ start }) =>
      span.scale === 'minutes'
        ? why(new Date(start).toISOString())
        : view.link(path, { day: dayText(dayOfInstant(zone, start)) }),
  };
}

/** To the run where there is one, and to the reason where there is none. */
export function hrefOf(
  view: View,
  name: string,
  { at, runId, state }: Occurrence,
  keep: Readonly<Record<string, string>> = {},
): string {
  if (runId !== null && state !== 'skipped') return view.link(`/runs/${runId}`);
  const path = `/schedules/${encodeURIComponent(name)}/why`;
  return `${view.link(path, { at: new Date(at).toISOString(), ...keep })}#why`;
}

function longState(occurrence: Occurrence): string {
  const { isExpected, standsFor, attempts, state } = occurrence;
  const took = tookMs(occurrence);
  return [
    stateText(occurrence),
    took === null ? null : spanText(took),
    attempts > 1 && state !== 'skipped' ? `${attempts} attempts` : null,
    standsFor > 1 && state !== 'skipped' ? `stands for ${standsFor} occurrences` : null,
    isExpected ? null : 'not in the schedule as it is now',
  ]
    .filter(part => part !== null)
    .join(', ');
}

/** `, moved to Tue 3 Mar 11:00 by anna: bank holiday`, after the state; empty for what is as scheduled. */
const exceptionText =
  (zone: Zone, now: number) =>
  ({ exception, state }: Occurrence): string => {
    if (exception === undefined) return '';
    const who = byWhom(exception);
    if (exception.kind === 'skip') return state === 'excepted' ? ` ${who}` : `, ${who}`;
    const to = `to ${zoneTime(zone, exception.dueAt, now)} ${who}`;
    return state === 'moved' ? `, ${to}` : `, moved ${to}`;
  };

const MAX_ROWS = 200;

/** The same as a table, newest first. */
function OccurrenceTable({ view, opened, shown }: CalendarSectionProps) {
  const { definition, zone } = opened;
  const rows = shown.occurrences.toReversed().slice(0, MAX_ROWS);
  const exceptionIn = exceptionText(zone, view.now.getTime());
  const now = view.now.getTime();
  const path = `/schedules/${encodeURIComponent(definition.name)}/why`;
  if (rows.length === 0) return null;
  return (
    <details class="as-table">
      <summary>As a table</summary>
      <div class="scroll" tabindex={0} role="region" aria-label="Occurrences">
        <table>
          <thead>
            <tr>
              <th>In {zone.name}</th>
              <th>UTC</th>
              <th>What became of it</th>
              <th class="n">Took</th>
              <th>Run</th>
              <th>
                <span class="unseen">Reason</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {rows.map(occurrence => {
              const { at, runId, state } = occurrence;
              const took = tookMs(occurrence);
              const iso = new Date(at).toISOString();
              const run =
                runId === null
                  ? '–'
                  : markup`<a class="link" href="${view.link(`/runs/${runId}`)}">${runId}</a>`;
              return markup`<tr><td>${zoneTime(zone, at, now)}</td><td><time datetime="${iso}">${iso.slice(0, 19).replace('T', ' ')}</time></td><td>${MarkIcon({ state })} ${stateText(occurrence)}${exceptionIn(occurrence)}</td><td class="n">${took === null ? '–' : spanText(took)}</td><td>${run}</td><td><a class="link" href="${view.link(path, { at: iso })}#why">why</a></td></tr>`;
            })}
          </tbody>
        </table>
      </div>
      {shown.occurrences.length > MAX_ROWS ? (
        <p class="muted">
          Only the latest {MAX_ROWS} of {numberText(shown.occurrences.length)}.
        </p>
      ) : null}
    </details>
  );
}

function rangeText(firstDay: number, lastDay: number): string {
  const [first, last] = [dateOfDay(firstDay), dateOfDay(lastDay)];
  const label = (day: number) => dayLabel(day).split(' ').slice(1).join(' ');
  if (firstDay === lastDay) return `${dayLabel(firstDay)} ${first.year}`;
  return `${label(firstDay)}${first.year === last.year ? '' : ` ${first.year}`} – ${label(lastDay)} ${last.year}`;
}
