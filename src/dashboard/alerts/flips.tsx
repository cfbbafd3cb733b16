// Each time that an alert went down, was repeated or recovered, the latest first.
import type { AlertFlip } from '../../answers/alerts.js';
import { formatSpan } from '../../model/duration.js';
import { Empty, Time } from '../layout/parts.js';
import { plainLine } from '../layout/plain-text.js';
import type { View } from '../view.js';
import { AboutRun, AlertTable, Notified, Subject } from './subject.js';

export function Flips({
  view,
  flips,
  older,
  isFirst,
}: {
  readonly view: View;
  readonly flips: readonly AlertFlip[];
  /** The id after which the next page begins; null: there is none. */
  readonly older: string | null;
  readonly isFirst: boolean;
}) {
  return (
    <>
      <h2 id="history">
        What happened <small>kept for 90 days</small>
      </h2>
      {flips.length === 0 ? (
        <Empty title={isFirst ? 'No alert has gone down yet' : 'Nothing is older'} />
      ) : (
        <AlertTable columns={['When', 'What', 'Why', 'Notified']}>
          {flips.map(flip => (
            <tr>
              <td class="nowrap" data-label="When">
                <Time view={view} at={flip.at} />
                <span class="sub">
                  <Time view={view} at={flip.at} relative />
                </span>
              </td>
              <td class="head">
                <Subject view={view} subject={flip.subject} about={flip.about} />
                <span class="sub">
                  <Kind flip={flip} /> · {flip.rule}
                </span>
              </td>
              <td data-label="Why">
                {plainLine(flip.detail, 500)}
                <AboutRun view={view} id={flip.runId} />
              </td>
              <td data-label="Notified">
                <Notified view={view} deliveries={flip.deliveries} />
              </td>
            </tr>
          ))}
        </AlertTable>
      )}
      <p class="pager">
        {isFirst ? null : <a href={view.link('/alerts')}>Newest</a>}
        {older === null ? null : <a href={`${view.link('/alerts', { before: older })}#history`}>Older</a>}
      </p>
    </>
  );
}

function Kind({ flip: { kind, at, since } }: { readonly flip: AlertFlip }) {
  const lasted = formatSpan(Math.max(0, at.getTime() - since.getTime()));
  if (kind === 'up') return <span class="pill ok">recovered after {lasted}</span>;
  return (
    <span class={kind === 'down' ? 'pill dead' : 'pill retry'}>
      {kind === 'down' ? 'down' : `still, for ${lasted}`}
    </span>
  );
}
