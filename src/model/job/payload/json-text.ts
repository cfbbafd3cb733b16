// Reads JSON from people; an error says where, with line and column. JSON.parse itself gives the place only
// sometimes, and in words that differ between versions of Node.
import { TockError } from '../../errors.js';
import { quote } from '../../names.js';
import { inexactNumber } from './exact-numbers.js';

/**
 * Refuses numbers that would lose digits too.
 * @param what names the source in the error
 * @throws TockError TOCK_BAD_PAYLOAD
 */
export function readJson(text: string, what: string): unknown {
  const value = parse(text, what);
  const inexact = inexactNumber(text);
  if (inexact === null) return value;
  throw new TockError(
    'TOCK_BAD_PAYLOAD',
    `${what} holds the number ${inexact}, which would lose digits on the way; pass it as text, if the job takes that`,
  );
}

function parse(text: string, what: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    const { at, expected } = findFault(text);
    const before = text.slice(0, at).split('\n');
    const found = at >= text.length ? 'the text ends' : `there is ${quote(text.slice(at, at + 12))}`;
    const place = `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
    throw new TockError(
      'TOCK_BAD_PAYLOAD',
      `${what} is not JSON: at ${place} ${found}, where ${expected} should be`,
      { cause: error },
    );
  }
}

interface Fault {
  readonly at: number;
  readonly expected: string;
}

// oxlint-disable-next-line no-control-regex
const STRING = /"(?:[^"\\\u0000-\u001F]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y;
const SCALAR = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y;
const SPACE = /[ \t\n\r]*/y;

/** Walks the text with a stack of what is open, and stops at the first thing that cannot be there. */
function findFault(text: string): Fault {
  const open: string[] = [];
  let at = 0;
  let next: 'value' | 'value or end' | 'key' | 'key or end' | 'colon' | 'comma or end' = 'value';
  const match = (pattern: RegExp) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found) at += found[0].length;
    return found !== null;
  };
  const fault = (expected: string): Fault => ({ at, expected });
  for (;;) {
    match(SPACE);
    const char = text[at] ?? '';
    const closes = open.at(-1) === '{' ? '}' : ']';
    if (char === closes && open.length > 0 && next.endsWith('or end')) {
      at++;
      open.pop();
      next = 'comma or end';
    } else if (next === 'value' || next === 'value or end') {
      if (char === '{' || char === '[') {
        at++;
        open.push(char);
        next = char === '{' ? 'key or end' : 'value or end';
      } else if (match(STRING) || match(SCALAR)) next = 'comma or end';
      else if (char === '"') return fault('a string that is closed, with \\n for line ends,');
      else return fault(next === 'value' ? 'a value' : 'a value or ]');
    } else if (next === 'key' || next === 'key or end') {
      if (!match(STRING))
        return fault(next === 'key' ? 'a key in double quotes' : 'a key in double quotes or }');
      next = 'colon';
    } else if (next === 'colon') {
      if (char !== ':') return fault('a colon');
      at++;
      next = 'value';
    } else {
      if (char !== ',' || open.length === 0)
        return fault(open.length === 0 ? 'the end' : `a comma or ${closes}`);
      at++;
      next = open.at(-1) === '{' ? 'key' : 'value';
    }
  }
}
