// Arrays of numbers as parameters.

/** An array of what `numberOf` gives for each row: an id, a count, milliseconds; null for none. */
export function numberArray<Row>(
  rows: readonly Row[],
  numberOf: (row: Row) => number | string | null,
): string {
  let text = '{';
  for (const row of rows) text += `${text.length > 1 ? ',' : ''}${numberOf(row) ?? 'null'}`;
  return `${text}}`;
}
