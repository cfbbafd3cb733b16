// /healthz, for who watches from outside: one word on what is wrong, and nothing else. Needs no session.
import { parseDuration } from '../model/duration.js';
import { TockError } from '../model/errors.js';
import type { SchedulerStatus } from '../model/scheduler-view.js';
import type { Tock } from '../tock/types.js';
import { cached } from './cached.js';
import { healthOf } from './now/health.js';
import type { App } from './view.js';

/** Anybody may ask, however often: the database is asked once in so long. */
const MAX_AGE_MS = 5000;

/** Adds the address. It must come before whoever asks is asked who they are. */
export function addHealthz(app: App, tock: Tock): void {
  const read = cached(MAX_AGE_MS, async (of: Tock) => await of.status());
  app.get('/healthz', async c => {
    const maxAge = readMaxAge(c.req.query('max_age'));
    if (maxAge === 'bad') return c.text('max_age is not a duration such as 5m\n', 400);
    const reason = await read(tock).then(
      status => failingReason(status, maxAge),
      (error: unknown) =>
        error instanceof TockError && error.code === 'TOCK_CLOSED' ? 'closed' : 'database',
    );
    return reason === null ? c.text('ok\n') : c.text(`failing ${reason}\n`, 503);
  });
}

function readMaxAge(text: string | undefined): number | null | 'bad' {
  if (text === undefined) return null;
  try {
    return parseDuration(text, 'max_age');
  } catch {
    return 'bad';
  }
}

/** Null: nothing fails. A warning, such as a dead run, is no failure of the scheduler. */
export function failingReason(status: SchedulerStatus, maxAgeMs: number | null): string | null {
  if (status.isCopy) return 'copy';
  if (maxAgeMs !== null && status.definitions.overdueMs > maxAgeMs) return 'silent';
  return healthOf(status).level === 'failing' ? 'scheduler' : null;
}
