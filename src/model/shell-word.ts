// Words of commands that people copy into a shell.

/** A text as one word: as it is where a shell reads it so, otherwise in single quotes. */
export function shellWord(text: string): string {
  return /^[\w./:@%+,-]+$/.test(text) && !text.startsWith('-') ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}
