// What belongs to the pictures of the load: the hours as a table, the busiest minutes, what is left out.

import { MAX_DEFINITIONS, type SimulatedLoad } from '../../answers/schedules/simulate-load.js';
import { dayLabel } from '../../model/occurrences/grid.js';
import type { Load, LoadCurve } from '../../model/planning/load.js';
import type { Zone } from '../../model/schedule/zone/zone.js';
import { Sheet } from '../layout/parts.js';
import { numberText } from '../layout/text.js';
import { cellsOf } from '../pictures/load-heat.js';
import type { View } from '../view.js';
import { zoneTime } from './times.js';

/** A row a day: its starts and its busiest hour. */
export function HourTable({ curve, zone }: { readonly curve: LoadCurve; readonly zone: Zone }) {
  const cells = cellsOf(curve.hours, zone);
  const days = [...new Set(cells.map(({ day }) => day))];
  return (
    <details class="as-table">
      <summary>As a table</summary>
      <div class="scroll" tabindex={0} role="region" aria-label="Hours of the week">
        <table class="hours">
          <thead>
            <tr>
              <th>Day</th>
              {Array.from({ length: 24 }, (_, hour) => (
                <th class="n">{String(hour).padStart(2, '0')}</th>
              ))}
              <th class="n">Starts</th>
            </tr>
          </thead>
          <tbody>
            {days.map(day => {
              const mine = cells.filter(cell => cell.day === day);
              const sum = mine.reduce((total, { count }) => total + count, 0);
              return (
                <tr>
                  <td>{dayLabel(day)}</td>
                  {Array.from({ length: 24 }, (_, hour) => {
                    const peaks = mine
                      .filter(({ from }) => Math.floor(from) === hour)
                      .map(({ peak }) => numberText(peak));
                    return <td class="n">{peaks.length === 0 ? '–' : peaks.join(', ')}</td>;
                  })}
                  <td class="n">{numberText(sum)}</td>
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </details>
  );
}

const MAX_NAMES = 8;

export function Busiest({
  load,
  view,
  zone,
}: {
  readonly load: Load;
  readonly view: View;
  readonly zone: Zone;
}) {
  return (
    <section>
      <h2>The busiest minutes, as defined</h2>
      <Sheet flush>
        <table>
          <thead>
            <tr>
              <th>In {zone.name}</th>
              <th class="n">Starts</th>
              <th>Schedules</th>
            </tr>
          </thead>
          <tbody>
            {load.busiest.map(({ minute, count, definitions }) => (
              <tr>
                <td>{zoneTime(zone, minute.getTime(), view.now.getTime())}</td>
                <td class="n">{numberText(count)}</td>
                <td>
                  {definitions.slice(0, MAX_NAMES).map(({ name, count: times }, index) => (
                    <>
                      {index === 0 ? '' : ', '}
                      <a class="link" href={view.link(`/schedules/${encodeURIComponent(name)}`)}>
                        {name}
                      </a>
                      {times > 1 ? ` × ${times}` : ''}
                    </>
                  ))}
                  {definitions.length > MAX_NAMES
                    ? ` and ${numberText(definitions.length - MAX_NAMES)} more`
                    : ''}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Sheet>
    </section>
  );
}

const MAX_LEFT_OUT = 50;

export function LeftOut({ simulated }: { readonly simulated: SimulatedLoad }) {
  const { leftOut, isCut } = simulated;
  return (
    <>
      {isCut ? (
        <p class="muted">Only the first {numberText(MAX_DEFINITIONS)} schedules by name are counted.</p>
      ) : null}
      {leftOut.length === 0 ? null : (
        <details class="as-table">
          <summary>
            {numberText(leftOut.length)} {leftOut.length === 1 ? 'schedule is' : 'schedules are'} left out
          </summary>
          <ul class="names">
            {leftOut.slice(0, MAX_LEFT_OUT).map(({ name, reason }) => (
              <li>
                {name} <span class="muted">· {reason}</span>
              </li>
            ))}
          </ul>
        </details>
      )}
    </>
  );
}
