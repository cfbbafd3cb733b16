// The next occurrences of a schedule that is being written, below its fields.

import { findZoneOrUtc } from '../../../answers/schedules/zones.js';
import { relativeText } from '../../layout/text.js';
import { WHEN_EXAMPLES } from '../../schedules/schedule-entries.js';
import type { Preview, ShownStart } from '../../schedules/schedule-preview.js';
import { zoneTime } from '../../schedules/times.js';
import type { View } from '../../view.js';

export function Times({ view, preview }: { readonly view: View; readonly preview: Preview }) {
  switch (preview.kind) {
    case 'empty':
      return <p class="muted">For example {WHEN_EXAMPLES[preview.of]}. Its next five times appear here.</p>;
    case 'faults':
      return (
        <>
          {preview.faults.map(({ message }) => (
            <p class="fault">{message}</p>
          ))}
        </>
      );
    case 'chain':
      return (
        <p>
          <b>{preview.words}</b>, for each of their times.
        </p>
      );
    case 'times':
      return <Shown view={view} {...preview} />;
  }
}

function Shown({
  view,
  words,
  timezone,
  times,
  remarks,
}: Extract<Preview, { kind: 'times' }> & { readonly view: View }) {
  const isLater = times.some(({ at, startsAt }) => startsAt !== at);
  return (
    <>
      <p>
        <b>{words}</b>
        {timezone === 'UTC' ? ', UTC' : `, ${timezone}`}
      </p>
      {times.length === 0 ? (
        <p class="fault">No time is to come: all are in the past, or not within its dates.</p>
      ) : (
        <table class="next-times">
          <thead>
            <tr>
              <th>Next</th>
              {timezone === 'UTC' ? null : <th>UTC</th>}
              {isLater ? <th>Starts</th> : null}
              <th class="wide">
                <span class="unseen">From now</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {times.map(time => (
              <Row view={view} timezone={timezone} time={time} isLater={isLater} />
            ))}
          </tbody>
        </table>
      )}
      {remarks.map(remark => (
        <p class="muted">{remark}</p>
      ))}
    </>
  );
}

function Row({
  view,
  timezone,
  time: { at, startsAt },
  isLater,
}: {
  readonly view: View;
  readonly timezone: string;
  readonly time: ShownStart;
  readonly isLater: boolean;
}) {
  const now = view.now.getTime();
  const [zone, utc] = [findZoneOrUtc(timezone), findZoneOrUtc('UTC')];
  return (
    <tr>
      <td>
        <time datetime={new Date(at).toISOString()}>{zoneTime(zone, at, now)}</time>
      </td>
      {timezone === 'UTC' ? null : <td class="muted">{zoneTime(utc, at, now)}</td>}
      {isLater ? <td>{startsAt === at ? '' : zoneTime(zone, startsAt, now)}</td> : null}
      <td class="wide muted">{relativeText(new Date(at), view.now)}</td>
    </tr>
  );
}
