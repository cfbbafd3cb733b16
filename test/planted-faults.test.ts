// The faults that test/chaos plants in Tock are found in the source as it is now: else they would be tried for minutes, and
// say only then that they must be written anew.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { MUTANTS } from './chaos/mutants.js';
import { MUTANTS as MUTANTS_OF_SILENCE } from './chaos/silence/mutants.js';
import { MUTANTS as MUTANTS_OF_THE_SUITE } from './chaos/suite/mutants.js';

const ROOT = path.join(import.meta.dirname, '..');
const SCHEMA = readFileSync(path.join(ROOT, 'migrations', '0001_the_ledger.sql'), 'utf8');

/** The text of a function of the schema, from its name to the end of its body. */
function textOf(name: string): string {
  return (
    new RegExp(`^create (?:or replace )?function tock\\.${name}\\([^]*?^end \\$\\$;`, 'm').exec(
      SCHEMA,
    )?.[0] ?? ''
  );
}

describe('what a planted fault changes is there', () => {
  it.each([...MUTANTS, ...MUTANTS_OF_SILENCE, ...MUTANTS_OF_THE_SUITE])('$name', mutant => {
    const missing = (mutant.changes ?? []).filter(
      ({ file, from }) => !readFileSync(path.join(ROOT, 'src', file), 'utf8').includes(from),
    );
    expect(missing).toEqual([]);
    const alterations = 'alterations' in mutant ? (mutant.alterations ?? []) : [];
    expect(alterations.filter(each => !textOf(each.function).includes(each.from))).toEqual([]);
  });
});
