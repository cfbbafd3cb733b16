// Sizes and counts as people read them.
const UNITS = ['kB', 'MB', 'GB', 'TB', 'PB'] as const;

/** `812 bytes`, `3.1 MB`: powers of 1024, as pg_size_pretty counts. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} bytes`;
  let size = bytes / 1024;
  let unit = 0;
  while (size >= 1023.95 && unit < UNITS.length - 1) {
    size /= 1024;
    unit++;
  }
  return `${size < 9.95 ? size.toFixed(1) : size.toFixed(0)} ${UNITS[unit]}`;
}

/** `1 run`, `1,200 runs`. */
export function counted(count: number, word: string): string {
  return `${count.toLocaleString('en')} ${word}${count === 1 ? '' : 's'}`;
}
