// Instants that every reader can hold: a row written by hand must not break a list.

/** The years 0001 to 9999: the bounds of runs' and definitions' instants, which a Date and ISO text share. */
export const EARLIEST = `'0001-01-01Z'::timestamptz`;
export const AFTER_LATEST = `'10000-01-01Z'::timestamptz`;

/** A column's instant, or the bound if it is out of bounds. */
export const readable = (column: string) =>
  `case when ${column} >= ${AFTER_LATEST} then '9999-12-31T23:59:59Z' when ${column} < ${EARLIEST} then ${EARLIEST} else ${column} end`;

/** An instant in epoch milliseconds. */
export const epochMs = (instant: string) => `(extract(epoch from ${instant}) * 1000)::float8`;

/** In milliseconds. PostgreSQL before 17 cannot subtract infinite instants, but epochs. */
export const msBetween = (from: string, to: string) =>
  `((extract(epoch from ${to}) - extract(epoch from ${from})) * 1000)::float8`;

/**
 * A column of a result that is read as a Date: by its epoch, because the text of an instant is written as the
 * session's DateStyle says. Within JSON it needs none: there the text is ISO always.
 */
export const instant = (expression: string) => `extract(epoch from ${expression})`;
