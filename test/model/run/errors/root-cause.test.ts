// An error on one line, with what lies at its root.
import { describe, expect, it } from 'vitest';
import { errorOnOneLine } from '../../../../src/model/run/errors/root-cause.js';
import { describeError } from '../../../../src/model/run/sanitize.js';

const oneLine = (thrown: unknown) => errorOnOneLine(describeError(thrown, 1));

describe('an error on one line', () => {
  it('is its name and the first line of its message', () => {
    expect(oneLine(new TypeError('no such\nthing'))).toBe('TypeError: no such');
  });

  it('has what lies beneath a failed fetch: a cause that is an AggregateError without a message', () => {
    const refused = ['::1', '127.0.0.1'].map(host => new Error(`connect ECONNREFUSED ${host}:9`));
    const cause = Object.assign(new AggregateError(refused), { code: 'ECONNREFUSED' });
    expect(oneLine(new TypeError('fetch failed', { cause }))).toBe(
      'TypeError: fetch failed: connect ECONNREFUSED ::1:9',
    );
  });

  it('has the deepest of the causes that are kept, also one without a message', () => {
    const deep = new Error('outer', { cause: new Error('middle', { cause: new RangeError('inner\nmore') }) });
    expect(oneLine(deep)).toBe('Error: outer: inner');
    expect(oneLine(new Error('outer', { cause: new RangeError('') }))).toBe('Error: outer: RangeError');
    expect(oneLine(new AggregateError([new Error('a'), new Error('b')], 'both'))).toBe(
      'AggregateError: both: a',
    );
    expect(oneLine(new AggregateError([new Error('a')]))).toBe('AggregateError: a');
  });

  it('says nothing twice: a message that has that of its cause stays as it is', () => {
    const cause = new Error('no disk');
    expect(oneLine(new Error('the backup failed: no disk', { cause }))).toBe(
      'Error: the backup failed: no disk',
    );
  });

  it('shows no password', () => {
    const cause = new Error('postgres://ada:hunter2@db/x');
    expect(oneLine(new Error('x', { cause }))).toBe('Error: x: postgres://ada:***@db/x');
  });
});
