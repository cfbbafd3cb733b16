// Room: store/connection. Instants that every reader can hold: a row written by hand must not break a list.
// In: a column. Out: SQL for it.

/**
 * The bounds of instants that runs and definitions may hold, and that a Date and ISO text can: the years 0001
 * to 9999.
 */
export const EARLIEST = `'0001-01-01Z'::timestamptz`;
export const AFTER_LATEST = `'10000-01-01Z'::timestamptz`;

/** The instant of a column; where it is out of bounds, the bound. */
export const readable = (column: string) =>
  `case when ${column} >= ${AFTER_LATEST} then '9999-12-31T23:59:59Z' when ${column} < ${EARLIEST} then ${EARLIEST} else ${column} end`;

/**
 * Milliseconds from one instant to another. PostgreSQL before 17 cannot subtract infinite instants, but
 * epochs.
 */
export const msBetween = (from: string, to: string) =>
  `((extract(epoch from ${to}) - extract(epoch from ${from})) * 1000)::float8`;
