// Where the fair key of a run is in its payload: a path that the database can follow, so that SQL and other
// languages enqueue as TypeScript does.
import { TockError, type TockErrorCode } from '../../errors.js';
import { quote } from '../../names.js';

const IDENTIFIER = '[A-Za-z_$][A-Za-z0-9_$]*';
const MEMBER = `(?:\\.[A-Za-z_][A-Za-z0-9_]*|\\."[^"\\\\\\0]+"|\\[\\d{1,4}\\])`;
const PATH = new RegExp(`^\\$${MEMBER}+$`);

/**
 * A path as PostgreSQL's jsonpath has it, of members and places only: `$.tenant`, `$.customer.id`, `$."a b"`,
 * `$.ids[0]`. A function is turned into one if it only picks a member: `({ tenant }) => tenant`,
 * `p => p.customer.id`.
 * @throws TockError of this code, with the form to write
 */
export function readKeyPath(key: unknown, what: string, code: TockErrorCode = 'TOCK_BAD_JOB'): string {
  if (typeof key === 'string') {
    if (PATH.test(key) && key.length <= 500) return key;
    throw new TockError(
      code,
      `${what} ${quote(key)} is not a path into the payload: write it as '$.tenant' or '$.customer.id'`,
    );
  }
  if (typeof key !== 'function')
    throw new TockError(code, `${what} ${quote(key)} is neither a path such as '$.tenant' nor a function`);
  const path = pathOfFunction(String(key));
  if (path !== null) return path;
  throw new TockError(
    code,
    `${what} is a function that the database cannot evaluate: let it pick one member, ({ tenant }) => tenant or p => p.customer.id, or write the path, '$.customer.id'`,
  );
}

const ARROW = new RegExp(`^\\(?\\s*(${IDENTIFIER}|\\{[^()]*\\})\\s*,?\\s*\\)?\\s*=>\\s*([\\s\\S]*)$`);
const CLASSIC = new RegExp(
  `^(?:function\\s*(?:${IDENTIFIER})?|${IDENTIFIER})\\s*\\(\\s*(${IDENTIFIER}|\\{[^()]*\\})\\s*,?\\s*\\)\\s*(\\{[\\s\\S]*\\})$`,
);

function pathOfFunction(text: string): string | null {
  const [, parameter, body] = ARROW.exec(text) ?? CLASSIC.exec(text) ?? [];
  if (parameter === undefined || body === undefined) return null;
  const [, returned = body] = /^\{\s*return\s+([\s\S]*?);?\s*\}$/.exec(body) ?? [];
  const [, variable = '', members = ''] =
    new RegExp(`^(${IDENTIFIER})([\\s\\S]*)$`).exec(returned.trim()) ?? [];
  const start = parameter.startsWith('{') ? destructured(parameter, variable) : rootOf(parameter, variable);
  const rest = pathOfMembers(members);
  if (start === null || rest === null) return null;
  const path = `${start}${rest}`;
  return PATH.test(path) ? path : null;
}

const rootOf = (parameter: string, variable: string) => (parameter === variable ? '$' : null);

/** `?.tenant`, `.a['b c'][0]` as members of a path; null: something else. */
function pathOfMembers(text: string): string | null {
  let path = '';
  let rest = text.trim();
  while (rest !== '') {
    const [all, name, quoted, place] =
      /^\??\.\s*([A-Za-z_$][A-Za-z0-9_$]*)\s*|^(?:\?\.)?\[\s*(?:'([^'\\"]+)'|"([^"\\]+)")\s*\]\s*/.exec(
        rest,
      ) ?? [];
    if (all === undefined) {
      const [whole, index] = /^(?:\?\.)?\[\s*(\d{1,4})\s*\]\s*/.exec(rest) ?? [];
      if (whole === undefined) return null;
      path += `[${index}]`;
      rest = rest.slice(whole.length);
      continue;
    }
    path += member(name ?? quoted ?? place ?? '');
    rest = rest.slice(all.length);
  }
  return path;
}

const member = (name: string) => (/^[A-Za-z_][A-Za-z0-9_]*$/.test(name) ? `.${name}` : `."${name}"`);

/**
 * The path of a variable that a pattern such as `{ customer: { id } }` binds; null: it binds none of the
 * name.
 */
function destructured(pattern: string, variable: string): string | null {
  const inside = pattern.trim().slice(1, -1);
  for (const part of splitAtTop(inside)) {
    const [, name = '', target = name] =
      new RegExp(`^\\s*(${IDENTIFIER})\\s*(?::\\s*([\\s\\S]+?))?\\s*$`).exec(part) ?? [];
    if (name === '') continue;
    if (target === variable) return `$${member(name)}`;
    if (!target.startsWith('{')) continue;
    const deeper = destructured(target, variable);
    if (deeper !== null) return `$${member(name)}${deeper.slice(1)}`;
  }
  return null;
}

function splitAtTop(text: string): string[] {
  const parts = [''];
  let depth = 0;
  for (const character of text) {
    if (character === '{') depth += 1;
    if (character === '}') depth -= 1;
    if (character === ',' && depth === 0) parts.push('');
    else parts[parts.length - 1] += character;
  }
  return parts;
}
