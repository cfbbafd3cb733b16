// dist/ as other bundlers read it.
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAst } from 'vitest/node';

const DIST = path.join(import.meta.dirname, '..', 'dist');

interface Node {
  readonly type: string;
  readonly start: number;
  readonly end: number;
}

/** The literals, and the parts of templates, that have more than one line. */
function longLiterals(text: string): string[] {
  const found: string[] = [];
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return;
    const { type, start, end } = node as Node;
    if (type === 'Literal' || type === 'TemplateElement') {
      const literal = text.slice(start, end);
      if (literal.includes('\n')) found.push(literal.slice(0, 80));
    } else for (const child of Object.values(node)) visit(child);
  };
  visit(parseAst(text));
  return found;
}

describe('a line of dist/', () => {
  const files = readdirSync(DIST, { recursive: true, encoding: 'utf8' }).filter(name =>
    /\.[cm]?js$/.test(name),
  );

  // Some bundlers indent the lines of what they bundle, literals or not.
  it('never ends inside a literal', { tags: 'check' }, () => {
    expect(files.length).toBeGreaterThan(50);
    const long = files
      .map(name => [name, longLiterals(readFileSync(path.join(DIST, name), 'utf8'))] as const)
      .filter(([, literals]) => literals.length > 0);
    expect(long).toEqual([]);
  });

  it.each(['"a\\\nb"', '`a\nb`', '`a${1}\nb`'])('would be found: %j', text => {
    expect(longLiterals(`f(${text});`)).toHaveLength(1);
  });
});
