// For tests of what the holder of a lease writes: runs that are held, and runs that are not.
import type { RunRow } from '../../support/runs.js';

export const NOW = '2026-03-02T12:00:00Z';
export const SOON = '2026-03-02T12:01:00Z';
export const WORKER = '00000000-0000-4000-8000-000000000001';
export const OTHER = '00000000-0000-4000-8000-000000000002';

/** A run that WORKER holds under fence 3, in its second attempt of four. */
export const held = (row: RunRow = {}): RunRow => ({
  status: 'running',
  attempts: 2,
  max_attempts: 4,
  fence: 3,
  locked_by: WORKER,
  locked_until: SOON,
  started_at: NOW,
  ...row,
});
/** Runs that WORKER does not hold, each for another reason. */
export const NOT_HELD: readonly RunRow[] = [
  held({ fence: 4 }),
  held({ locked_by: OTHER }),
  held({ status: 'failed' }),
  held({ status: 'queued', locked_by: null }),
];
