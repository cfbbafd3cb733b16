// What changes between two texts, line by line, for people who are asked whether to go on.

export interface LineChange {
  readonly sign: '-' | '+';
  readonly line: string;
}

/** The lines that go and those that come. Lines that stay are left out. */
export function lineChanges(before: string, after: string): LineChange[] {
  const old = linesOf(before);
  const now = linesOf(after);
  if (old.length === now.length) {
    return old.flatMap((line, index) => {
      const other = now[index] ?? '';
      return line === other ? [] : changes([line], [other]);
    });
  }
  let start = 0;
  while (start < Math.min(old.length, now.length) && old[start] === now[start]) start++;
  let end = 0;
  while (end < Math.min(old.length, now.length) - start && old.at(-1 - end) === now.at(-1 - end)) end++;
  return changes(old.slice(start, old.length - end), now.slice(start, now.length - end));
}

function linesOf(text: string): string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  return lines;
}

function changes(gone: readonly string[], come: readonly string[]): LineChange[] {
  return [
    ...gone.map(line => ({ sign: '-' as const, line })),
    ...come.map(line => ({ sign: '+' as const, line })),
  ];
}
