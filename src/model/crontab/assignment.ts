// A crontab's line that sets a variable for the lines below it: `NAME = value`, `"NAME"='a value'`.

export interface Assignment {
  readonly name: string;
  /** Literal: cron expands nothing. */
  readonly value: string;
}

/** Null: the line is no assignment. Blanks around name and value are dropped, and one pair of quotes. */
export function readAssignment(line: string): Assignment | null {
  const name = readWord(line.trimStart(), true);
  if (name === null || name.text === '') return null;
  const equals = /^\s*=\s*/.exec(name.rest);
  if (equals === null) return null;
  const value = readWord(name.rest.slice(equals[0].length), false);
  // After a closing quote there may be blanks only.
  return value === null || value.rest.trim() !== '' ? null : { name: name.text, value: value.text };
}

interface Word {
  readonly text: string;
  readonly rest: string;
}

function readWord(text: string, isName: boolean): Word | null {
  const [quote] = /^['"]/.exec(text) ?? [];
  if (quote === undefined) {
    const length = isName ? text.search(/[\s=]/) : text.length;
    if (length < 0) return null;
    return { text: text.slice(0, length).trimEnd(), rest: text.slice(length) };
  }
  const end = text.indexOf(quote, 1);
  if (end < 0) return null;
  const quoted = text.slice(1, end);
  return isName && quoted.includes('=') ? null : { text: quoted, rest: text.slice(end + 1) };
}
