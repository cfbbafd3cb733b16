// What lies beneath an error: its causes, and the members of an AggregateError, indented by level.
import type { ErrorDescription } from '../../model/run/sanitize.js';
import { cleanBlock, cleanLine, paint } from '../terminal.js';

/** `TypeError (E_CODE): the message`, over as many lines as the message has. */
export function errorText({ name, code, message }: ErrorDescription): string[] {
  const [first = '', ...others] = cleanBlock(message).split('\n');
  return [
    `${cleanLine(name)}${typeof code === 'string' ? ` (${cleanLine(code)})` : ''}: ${first}`,
    ...others,
  ];
}

/** The frames: the first line of a stack repeats the message. */
export function stackLines(stack: string | null, indent: string): string[] {
  const frames = cleanBlock(stack ?? '')
    .split('\n')
    .filter(line => /^\s+at /.test(line));
  return frames.map(line => paint('dim', `${indent}${line.trim()}`));
}

/** Without stacks, the first members say enough. */
const MAX_MEMBERS = 5;

/** `caused by …` and `1 of 3: …`, with what lies beneath them; with their stacks if so wished. */
export function nestedLines(
  { cause, errors = [], leftOut = 0 }: ErrorDescription,
  indent: string,
  withStacks: boolean,
): string[] {
  const describe = (nested: ErrorDescription, label: string) => {
    const [first = '', ...others] = errorText(nested);
    return [
      `${indent}${paint('yellow', label)} ${first}`,
      ...others.map(line => `${indent}  ${line}`),
      ...(withStacks ? stackLines(nested.stack, `${indent}  `) : []),
      ...nestedLines(nested, `${indent}  `, withStacks),
    ];
  };
  const members = withStacks ? errors : errors.slice(0, MAX_MEMBERS);
  const hidden = errors.length - members.length;
  return [
    ...members.flatMap((member, index) => describe(member, `${index + 1} of ${errors.length}:`)),
    ...(hidden === 0 ? [] : [paint('dim', `${indent}… and ${hidden} more (--stack)`)]),
    ...(cause === undefined ? [] : describe(cause, 'caused by')),
    ...(leftOut === 0 ? [] : [paint('dim', `${indent}(${leftOut} more not kept)`)]),
  ];
}
