// Which registrations are refused, and what the refusal says.
import { describe, expect, it } from 'vitest';
import { vanishingError, wouldLoseMost } from '../../../src/model/planning/vanishing.js';

describe('wouldLoseMost', () => {
  it.each([
    [1, 1, false],
    [2, 1, false],
    [2, 2, true],
    [3, 2, true],
    [4, 2, false],
    [5, 3, true],
    [100, 50, false],
    [100, 51, true],
    [0, 0, false],
  ])('of %i definitions, %i vanish: %s', (present, vanishing, isRefused) => {
    expect(wouldLoseMost(present, vanishing)).toBe(isRefused);
  });
});

describe('vanishingError', () => {
  const found = {
    present: 3,
    vanishing: ['send', 'bill', 'prune'],
    jobs: ['other'],
    jobsModule: '/app/jobs/index.js',
    schema: 'tock',
    database: 'app',
  };

  it('names what would vanish, the likely cause, and the remedy, in one line', () => {
    const { code, message } = vanishingError(found);
    expect(code).toBe('TOCK_WOULD_VANISH');
    expect(message).toBe(
      'all 3 definitions in the schema tock of the database app would vanish (bill, prune, send), because this process has other jobs (other, from /app/jobs/index.js): probably the job module or DATABASE_URL is the wrong one. If it is right, run once: tock tick --allow-vanishing (in code: createTock({ allowVanishing: true }))',
    );
  });

  it('lists ten names at most', () => {
    const names = Array.from({ length: 12 }, (_, index) => `job-${index + 10}`);
    const { message } = vanishingError({ ...found, present: 20, vanishing: names, jobsModule: null });
    expect(message).toContain('12 of the 20 definitions');
    expect(message).toContain('job-19 and 2 more)');
    expect(message).toContain('has other jobs (other):');
  });
});
