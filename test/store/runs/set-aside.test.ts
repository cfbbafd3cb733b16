// Store: which errors tell of a row that makes statements fail, and which of something that passes.
import { expect, it } from 'vitest';
import { isDataError } from '../../../src/store/runs/set-aside.js';

it.each([
  ['a number that does not fit', { code: '22003' }, true],
  ['a constraint', { code: '23514', constraint: 'instant_in_years_1_to_9999' }, true],
  ['a row that is too long for an index', { code: '54000' }, true],
  ['a partition that is being replaced', { code: '23514' }, false],
  ['a key that another has used', { code: '23505', constraint: 'job_runs_live_pkey' }, false],
  ['a deadlock', { code: '40P01' }, false],
  ['a lost connection', { code: 'ECONNRESET' }, false],
  ['a full disk', { code: '53100' }, false],
])('isDataError is or is not %s', (_what, error, isOne) => {
  expect(isDataError(Object.assign(new Error('x'), error))).toBe(isOne);
});
