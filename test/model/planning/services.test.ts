// Which registrations are refused, and what the refusal says.
import { describe, expect, it } from 'vitest';
import {
  checkService,
  nameTakenError,
  takeNames,
  vanishingError,
  wouldLoseMost,
} from '../../../src/model/planning/services.js';

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
])('wouldLoseMost of %i definitions, %i vanish: %s', (present, vanishing, isRefused) => {
  expect(wouldLoseMost(present, vanishing)).toBe(isRefused);
});

describe('vanishingError', () => {
  const found = {
    present: 3,
    vanishing: ['send', 'bill', 'prune'],
    jobs: ['other'],
    jobsModule: '/app/jobs/index.js',
    service: '',
    schema: 'tock',
    database: 'app',
  };

  it('says to a service that has a name which one it is, and does not send it to take one', () => {
    const { message } = vanishingError({
      present: 3,
      vanishing: ['send', 'bill'],
      jobs: ['other'],
      jobsModule: null,
      service: 'billing',
      schema: 'tock',
      database: 'app',
    });
    expect(message).toContain('2 of the 3 definitions of the service billing in the schema tock');
    expect(message).toContain(
      "If they are another application's, which has the name billing too, give one of both another name",
    );
    expect(message).not.toContain('give each a name');
  });

  it('names what would vanish, the likely cause, and the remedy, in one line', () => {
    const { code, message } = vanishingError(found);
    expect(vanishingError({ ...found, service: 'billing' }).message).toContain(
      'all 3 definitions of the service billing in the schema tock',
    );
    expect(code).toBe('TOCK_WOULD_VANISH');
    expect(message).toBe(
      `all 3 definitions in the schema tock of the database app would vanish (bill, prune, send), because this process has other jobs (other, from /app/jobs/index.js). Probably the job module or DATABASE_URL is the wrong one. If two applications share this database, give each a name: createTock({ service: 'billing' }), TOCK_SERVICE; or a schema of its own: TOCK_SCHEMA. If these definitions are to go, run once: tock tick --allow-vanishing (in code: createTock({ allowVanishing: true }))`,
    );
  });

  it('lists ten names at most', () => {
    const names = Array.from({ length: 12 }, (_, index) => `job-${index + 10}`);
    const { message } = vanishingError({ ...found, present: 20, vanishing: names, jobsModule: null });
    expect(message).toContain('12 of the 20 definitions');
    expect(message).toContain('job-19 and 2 more)');
    expect(message).toContain('has other jobs (other). ');
  });
});

describe('takeNames', () => {
  const holders = [
    { name: 'a', service: '' },
    { name: 'b', service: 'billing' },
    { name: 'c', service: 'gone' },
    { name: 'd', service: 'away' },
  ];
  const inForce = [
    { service: '', is_stale: false },
    { service: 'billing', is_stale: false },
    { service: 'gone', is_stale: true },
  ];

  it('takes names from the service without one, and from those that are gone; not from one that lives', () => {
    expect(takeNames(holders, inForce, false)).toEqual({
      refused: [{ name: 'b', service: 'billing' }],
      from: ['', 'away', 'gone'],
    });
  });

  it('takes none from the service without a name for a set that was in force before, unless that is gone', () => {
    const [unnamed] = holders;
    const own = unnamed === undefined ? [] : [unnamed];
    expect(takeNames(own, inForce, true).refused).toEqual(own);
    expect(takeNames(own, [{ service: '', is_stale: true }], true)).toEqual({ refused: [], from: [''] });
  });

  it('takes nothing where nobody else has the names', () => {
    expect(takeNames([], inForce, false)).toEqual({ refused: [], from: [] });
  });
});

describe('nameTakenError', () => {
  it('names who has what, and the ways out, in one line', () => {
    const { code, message } = nameTakenError('shop', [
      { name: 'a', service: 'billing' },
      { name: 'b', service: 'billing' },
    ]);
    expect(code).toBe('TOCK_NAME_TAKEN');
    expect(message).toBe(
      'the service shop defines jobs that another service of this database has: a by billing, b by billing. Nothing is registered. Rename the job here; or deploy billing without it first; or, if billing is to execute it, put declareJob in place of defineJob. If both are one application, give both the same service',
    );
  });

  it('lists ten names at most', () => {
    const refused = Array.from({ length: 12 }, (_, n) => ({ name: `j${n}`, service: 'x' }));
    expect(nameTakenError('', refused).message).toMatch(
      /^this process, of the service without a name, defines jobs .* j9 by x and 2 more\. Nothing/,
    );
  });
});

describe('checkService', () => {
  it('takes names, and none', () => {
    expect(['', 'billing', 'a.b-c:1'].map(checkService)).toEqual(['', 'billing', 'a.b-c:1']);
  });

  it.each([' ', 'a b', '-a', 'é', 'x'.repeat(101)])('refuses %j', service => {
    expect(() => checkService(service)).toThrow(expect.objectContaining({ code: 'TOCK_BAD_OPTION' }));
  });
});
