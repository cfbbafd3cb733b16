// The instants that a run may have: those that Date, ISO text and PostgreSQL can all represent.
// src/store/connection/values/readable-instant.ts and the migrations have the same bounds.

const FIRST_MS = Date.parse('0001-01-01T00:00:00Z');
const AFTER_LAST_MS = Date.parse('9999-12-31T23:59:59.999Z') + 1;

/** Whether an instant is between the years 0001 and 9999. */
export function isWithinYears(ms: number): boolean {
  return ms >= FIRST_MS && ms < AFTER_LAST_MS;
}
