// Alerts that are down, in a line with a link to their page.
import type { AlertRecord } from '../../answers/alerts.js';
import { plainLine } from '../layout/plain-text.js';
import { numberText, relativeText } from '../layout/text.js';
import type { View } from '../view.js';

/** @param down the latest of them */
export function AlertsLine({ view, down }: { readonly view: View; readonly down: readonly AlertRecord[] }) {
  if (down.length === 0 || !view.pages.has('/alerts')) return null;
  const total = Math.max(view.frame.alertsDown, down.length);
  return (
    <p class="down-now">
      <a href={view.link('/alerts')}>
        <span class="pill dead">
          {total === 1 ? '1 alert is down' : `${numberText(total)} alerts are down`}
        </span>
      </a>{' '}
      {down.map(({ rule, subject, since }, index) => (
        <>
          {index === 0 ? '' : ', '}
          {plainLine(subject, 80)}{' '}
          <span class="muted">
            ({rule}, {relativeText(since, view.now)})
          </span>
        </>
      ))}
      {total > down.length ? ' …' : ''}
    </p>
  );
}
