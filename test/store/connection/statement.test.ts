// Statements: named parameters, and what is refused where a statement is defined or run.
import { describe, expect, it } from 'vitest';
import type { Session } from '../../../src/store/connection/database.js';
import { statement } from '../../../src/store/connection/statement.js';

// All tests of a process share the statements that are defined: by these names, test/store/statements.test.ts leaves them out.
let count = 0;
const textOf = (sql: string) => statement(`test: ${++count}`, sql).text;

/** A session that answers with what it was asked. */
const echo: Session = {
  run: <Row>(...asked: unknown[]) => Promise.resolve([asked] as Row[]),
};

describe('statement', () => {
  it('numbers named parameters by their first occurrence', async () => {
    const made = statement<{ b: number; a: string }, unknown[]>('test: by name', 'select :b, :a::text, :b');
    expect(made.text).toBe('select $1, $2::text, $1');
    expect(made.parameters).toEqual(['b', 'a']);
    expect(await made.first(echo, { a: 'x', b: 1 })).toEqual([made.text, [1, 'x']]);
  });

  it.each([
    `select ':no', 'it''s :no'`,
    'select ":no"',
    'select 1 -- :no',
    'select /* :no */ 1',
    'select $body$ :no $body$',
    `select '1'::text, a[1:2]`,
  ])('leaves alone what is no parameter: %s', sql => {
    expect(textOf(sql)).toBe(sql);
  });

  it('asks for preparation where that was wanted', async () => {
    const made = statement<{ a: number }, unknown[]>('test: prepared', 'select :a', { prepared: true });
    expect(await made.run(echo, { a: 0 })).toEqual([['select $1', [0], 'prepared']]);
  });

  it('refuses a missing value, numbered parameters, and a name that is taken', () => {
    const made = statement<{ a: number | undefined }, unknown>('test: once', 'select :a');
    expect(() => made.run(echo, { a: undefined })).toThrow('statement "test: once" needs a value for :a');
    expect(() => textOf('select :a, $1')).toThrow('has $1 among named parameters');
    expect(() => statement('test: once', 'select 1')).toThrow('two statements named "test: once"');
    // A loader may evaluate a module twice.
    expect(statement('test: once', 'select :a').text).toBe(made.text);
  });
});
