// Where malformed JSON is malformed.
import { describe, expect, it } from 'vitest';
import { inexactNumber } from '../../../../src/model/job/payload/exact-numbers.js';
import { readJson } from '../../../../src/model/job/payload/json-text.js';
import { rounds } from '../../../support/rounds.js';
import { fc } from '../../../support/seed.js';

/** The value, or that there is none; our errors name a place. */
function outcomeOf(read: () => unknown): unknown {
  try {
    return { value: read() };
  } catch (error) {
    const message = error instanceof Error ? error.message : '';
    return {
      isPlaced: error instanceof SyntaxError || /^it is not JSON: at line \d+, column \d+ /.test(message),
    };
  }
}

describe('readJson', () => {
  it.each([
    ['', 'line 1, column 1 the text ends, where a value should be'],
    ['[1 2]', 'line 1, column 4 there is "2]", where a comma or ] should be'],
    ['[1,]', 'line 1, column 4 there is "]", where a value should be'],
    ['{"a":1,}', 'line 1, column 8 there is "}", where a key in double quotes should be'],
    ['{a:1}', 'line 1, column 2 there is "a:1}", where a key in double quotes or } should be'],
    ['{"a" 1}', 'line 1, column 6 there is "1}", where a colon should be'],
    ["'a'", 'line 1, column 1 there is "\'a\'", where a value should be'],
    ['"abc', 'line 1, column 1 there is "\\"abc", where a string that is closed'],
    ['{}\n{}', 'line 2, column 1 there is "{}", where the end should be'],
    ['[01]', 'line 1, column 2 there is "01]", where a value or ] should be'],
    ['\n\n  nul', 'line 3, column 3 there is "nul", where a value should be'],
  ])('%j: %s', (text, place) => {
    expect(() => readJson(text, 'it')).toThrow(`it is not JSON: at ${place}`);
  });

  it('refuses a number that would lose digits, wherever it stands', () => {
    for (const text of ['0.1234567890123456789012', '{"a": [12345678901234567890]}'])
      expect(() => readJson(text, 'it')).toThrow(/^it holds the number .*, which would lose digits/);
    expect(readJson('["0.1234567890123456789012", 1.50]', 'it')).toEqual(['0.1234567890123456789012', 1.5]);
  });

  it('for any text, gives what JSON.parse gives, or else a place', () => {
    const token = fc.constantFrom(...'{}[]:,"\\ \n'.split(''), '1', '-0.5e3', 'true', 'null', '"a"', 'x');
    fc.assert(
      fc.property(
        fc.oneof(
          fc.array(token).map(all => all.join('')),
          fc.json(),
          fc.string(),
        ),
        text => {
          fc.pre(inexactNumber(text) === null);
          expect(outcomeOf(() => readJson(text, 'it'))).toEqual(outcomeOf(() => JSON.parse(text)));
        },
      ),
      { numRuns: rounds(200, 2000) },
    );
  });
});
