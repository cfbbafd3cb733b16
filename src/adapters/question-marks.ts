// Rewrites a statement with `$1` for Knex, which wants `?` in the order of appearance.
import { TockError } from '../model/errors.js';

/**
 * The tokens of a statement: text, names and comments, in which `$1` is no parameter; and parameters. Names
 * come before parameters, since `a$1` is one. Nested comments are counted by hand.
 */
const TOKEN = new RegExp(
  [
    String.raw`(?<parameter>\$\d+)`,
    String.raw`(?<comment>\/\*)`,
    String.raw`[eE]'(?:[^'\\]|\\[\s\S]|'')*'`,
    String.raw`'[^']*'`,
    String.raw`"[^"]*"`,
    String.raw`\$(?<tag>(?:[A-Za-z_\u0080-\uffff][\w\u0080-\uffff]*)?)\$[\s\S]*?\$\k<tag>\$`,
    String.raw`--[^\r\n]*`,
    String.raw`[A-Za-z_\u0080-\uffff][\w$\u0080-\uffff]*`,
    String.raw`[\s\S]`,
  ].join('|'),
  'gy',
);

/**
 * Rewrites `$1, $2, …` to `?`, one binding for each. Escapes a `?` of the statement itself, in an operator or
 * in text; Knex undoes that.
 * @throws TockError TOCK_BAD_OPTION for a parameter without a value, and for `\?`, which Knex cannot express
 */
export function questionMarks(
  text: string,
  values: readonly unknown[],
): { readonly sql: string; readonly bindings: readonly unknown[] } {
  if (text.includes('\\?'))
    throw new TockError(
      'TOCK_BAD_OPTION',
      'Knex cannot send \\?; write the statement without a backslash before ?',
    );
  const bindings: unknown[] = [];
  let sql = '';
  TOKEN.lastIndex = 0;
  for (let match = TOKEN.exec(text); match !== null; match = TOKEN.exec(text)) {
    const token = match[0];
    if (match.groups?.['parameter'] !== undefined) {
      const place = Number(token.slice(1));
      if (place < 1 || place > values.length)
        throw new TockError(
          'TOCK_BAD_OPTION',
          `the statement has ${token}, but ${values.length} values are given`,
        );
      bindings.push(values[place - 1]);
      sql += '?';
    } else if (match.groups?.['comment'] === undefined) {
      sql += token.replaceAll('?', '\\?');
    } else {
      TOKEN.lastIndex = endOfComment(text, match.index);
      sql += text.slice(match.index, TOKEN.lastIndex).replaceAll('?', '\\?');
    }
  }
  return { sql, bindings };
}

/** Where the comment that begins at `from` ends. Comments nest. */
function endOfComment(text: string, from: number): number {
  const mark = /\/\*|\*\//g;
  mark.lastIndex = from;
  let depth = 0;
  for (let match = mark.exec(text); match !== null; match = mark.exec(text)) {
    depth += match[0] === '/*' ? 1 : -1;
    if (depth === 0) return mark.lastIndex;
  }
  return text.length;
}
