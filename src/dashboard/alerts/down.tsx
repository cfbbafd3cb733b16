// What is down now: since when, what is wrong, who was told.
import type { AlertRecord } from '../../answers/alerts.js';
import { Empty, Time } from '../layout/parts.js';
import { plainLine } from '../layout/plain-text.js';
import { numberText } from '../layout/text.js';
import type { View } from '../view.js';
import { MuteButton } from './mutes.js';
import { AboutRun, AlertTable, Notified, Subject } from './subject.js';

export function Down({
  view,
  alerts,
  total,
}: {
  readonly view: View;
  readonly alerts: readonly AlertRecord[];
  readonly total: number;
}) {
  if (alerts.length === 0) return <Empty title="Nothing is down" />;
  return (
    <>
      <h2>Down now</h2>
      <AlertTable columns={['What', 'Since', 'What is wrong', 'Notified']} acts>
        {alerts.map(alert => (
          <Row view={view} alert={alert} />
        ))}
      </AlertTable>
      {total > alerts.length ? (
        <p class="more">
          and {numberText(total - alerts.length)} more: <code>tock alerts</code>
        </p>
      ) : null}
    </>
  );
}

function Row({ view, alert }: { readonly view: View; readonly alert: AlertRecord }) {
  const { rule, subject, about, since, detail, runId, mutedUntil, lastFlip } = alert;
  return (
    <tr>
      <td class="head">
        <Subject view={view} subject={subject} about={about} />
        <span class="sub">
          <span class="pill dead">{rule}</span>
        </span>
      </td>
      <td class="nowrap" data-label="Since">
        <Time view={view} at={since} relative />
        <span class="sub">
          <Time view={view} at={since} />
        </span>
      </td>
      <td data-label="What is wrong">
        {plainLine(detail, 500)}
        <AboutRun view={view} id={runId} />
      </td>
      <td data-label="Notified">
        <Notified view={view} deliveries={lastFlip?.deliveries ?? []} isMuted={mutedUntil !== null} />
      </td>
      <td class="acts" data-label="">
        {mutedUntil === null ? (
          <MuteButton view={view} name={subject} />
        ) : (
          <span class="muted">
            muted, ends <Time view={view} at={mutedUntil} relative />
          </span>
        )}
      </td>
    </tr>
  );
}
