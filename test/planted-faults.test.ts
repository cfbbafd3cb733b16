// The faults that test/chaos plants in Tock are found in the source as it is now: else they would be tried for minutes, and
// say only then that they must be written anew.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { PLANTED } from './chaos/planted-faults.js';
import { STORIES } from './chaos/stories.js';

const ROOT = path.join(import.meta.dirname, '..');
const SCHEMA = readFileSync(path.join(ROOT, 'migrations', '0001_the_ledger.sql'), 'utf8');

/** The text of a function of the schema, from its name to the end of its body. */
function textOf(name: string): string {
  return (
    new RegExp(`^create (?:or replace )?function ${name.replace('.', '\\.')}\\([^]*?^end \\$\\$;`, 'm').exec(
      SCHEMA,
    )?.[0] ?? ''
  );
}

describe('what a planted fault changes is there', () => {
  it.each(PLANTED)('$name', ({ how, changes, alterations }) => {
    expect([...Object.keys(STORIES), 'suite', 'silence']).toContain(how);
    const textIn = (place: string) => readFileSync(path.join(ROOT, 'src', place), 'utf8');
    expect(changes.filter(({ place, from }) => !textIn(place).includes(from))).toEqual([]);
    expect(alterations.filter(({ place, from }) => !textOf(place).includes(from))).toEqual([]);
  });

  it('and each story finds one', () => {
    expect(Object.keys(STORIES).filter(name => !PLANTED.some(({ how }) => how === name))).toEqual([]);
  });
});
