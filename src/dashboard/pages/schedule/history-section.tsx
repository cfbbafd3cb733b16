// Who changed a schedule, and when: its rows of the audit.

import type { OpenedSchedule } from '../../../answers/schedules/read-schedule.js';
import type { AuditRecord } from '../../../model/audit.js';
import { Sheet, Time } from '../../layout/parts.js';
import type { View } from '../../view.js';
import { AuditList } from '../operate-parts.js';

export interface HistorySectionProps {
  readonly view: View;
  readonly opened: OpenedSchedule;
  /** Newest first. */
  readonly records: readonly AuditRecord[];
}

export const MAX_HISTORY = 15;

export function HistorySection({ view, opened, records }: HistorySectionProps) {
  const { name, origin, version, created_at: created, updated_at: updated } = opened.definition;
  return (
    <section aria-labelledby="history">
      <h2 id="history">History</h2>
      <Sheet>
        {records.length === 0 ? (
          <p class="muted">
            It has not been paused, edited or backfilled.{' '}
            {origin === 'code' ? 'It was registered from code' : 'It was made'}{' '}
            <Time view={view} at={created} relative />
            {version === 1 ? (
              '.'
            ) : (
              <>
                , and changed last <Time view={view} at={updated} relative /> (version {version}).
              </>
            )}
          </p>
        ) : (
          <>
            <AuditList view={view} records={records} />
            {records.length < MAX_HISTORY ? null : (
              <p>
                <a href={view.link('/audit', { target: name, action: 'schedules' })}>All of them</a>
              </p>
            )}
          </>
        )}
      </Sheet>
    </section>
  );
}
