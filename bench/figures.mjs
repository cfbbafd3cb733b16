// Medians and plain tables.

export function median(numbers) {
  const sorted = [...numbers].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** The first column to the left, the others to the right. */
export function table(titles, rows) {
  const widths = titles.map((title, column) =>
    Math.max(title.length, ...rows.map(row => String(row[column]).length)),
  );
  const line = cells =>
    cells
      .map((cell, column) =>
        column === 0 ? String(cell).padEnd(widths[column]) : String(cell).padStart(widths[column]),
      )
      .join('  ');
  return [titles, ...rows].map(line).join('\n');
}
