// What the parts of the page Alerts share: the subject of an alert with a link, who was notified, the tables.
import type { Child } from 'hono/jsx';
import type { AlertAbout, AlertDelivery } from '../../answers/alerts.js';
import { type DeliveryState, deliveryState } from '../../model/alerts/delivery-state.js';
import { RunLink, Sheet, Time } from '../layout/parts.js';
import { plainLine } from '../layout/plain-text.js';
import type { View } from '../view.js';

const PATHS: Readonly<Record<AlertAbout, string>> = {
  definition: '/schedules/',
  job: '/jobs/',
  queue: '/queues/',
};

/** The name, with a link to its page where it has one. */
export function Subject({
  view,
  subject,
  about,
}: {
  readonly view: View;
  readonly subject: string;
  readonly about: AlertAbout | null;
}) {
  const text = plainLine(subject, 200);
  if (about === null) return <b>{text}</b>;
  return (
    <a href={view.link(`${PATHS[about]}${encodeURIComponent(subject)}`)}>
      <b>{text}</b>
    </a>
  );
}

/** Each channel with its outcome, a link to the run that delivers, and what went wrong. */
export function Notified({
  view,
  deliveries,
  isMuted = false,
}: {
  readonly view: View;
  readonly deliveries: readonly AlertDelivery[];
  readonly isMuted?: boolean;
}) {
  if (deliveries.length === 0) return <span class="faint">{isMuted ? 'nobody: muted' : 'nobody'}</span>;
  return (
    <ul class="plain">
      {deliveries.map(delivery => (
        <li>
          <Outcome delivery={delivery} />{' '}
          <RunLink view={view} id={delivery.runId}>
            {delivery.channel}
          </RunLink>{' '}
          {delivery.deliveredAt === null ? null : <Time view={view} at={delivery.deliveredAt} relative />}
          {delivery.error === null ? null : <span class="sub bad">{plainLine(delivery.error, 300)}</span>}
        </li>
      ))}
    </ul>
  );
}

const LOOKS: Readonly<Record<DeliveryState, string>> = {
  delivered: 'ok',
  'on its way': 'wait',
  'tried again later': 'retry',
  'not delivered': 'dead',
};

/** A shape, a colour and a word. */
export function Outcome({ delivery }: { readonly delivery: AlertDelivery }) {
  const state = deliveryState(delivery);
  return <span class={`pill ${LOOKS[state]}`}>{state}</span>;
}

/** The run that an alert is about, below other text; nothing where it is about none. */
export function AboutRun({ view, id }: { readonly view: View; readonly id: string | null }) {
  if (id === null) return null;
  return (
    <span class="sub">
      <RunLink view={view} id={id} />
    </span>
  );
}

/** A table of alerts: its columns, and where each row has buttons one for these. */
export function AlertTable({
  columns,
  acts = false,
  children,
}: {
  readonly columns: readonly string[];
  readonly acts?: boolean;
  readonly children: Child;
}) {
  return (
    <Sheet flush>
      <table class="stacked alerts">
        <thead>
          <tr>
            {columns.map(column => (
              <th>{column}</th>
            ))}
            {acts ? (
              <th>
                <span class="unseen">Actions</span>
              </th>
            ) : null}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </Sheet>
  );
}
