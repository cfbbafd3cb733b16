// Room: store/connection. Arrays of numbers as parameters.
// In: rows, and the number of each. Out: the array as PostgreSQL writes it: the driver would look for quotes
// in each element.

/** An array of what `numberOf` gives for each row: an id, a count, milliseconds; null for none. */
export function numberArray<Row>(
  rows: readonly Row[],
  numberOf: (row: Row) => number | string | null,
): string {
  let text = '{';
  for (const row of rows) text += `${text.length > 1 ? ',' : ''}${numberOf(row) ?? 'null'}`;
  return `${text}}`;
}
