// A daemon's steps that the server may refuse by themselves.
import { DatabaseError } from 'pg';
import { beforeEach, describe, expect, it } from 'vitest';
import { refusableStep } from '../../src/daemon/steps.js';
import type { Engine } from '../../src/engine/engine.js';
import { TockError } from '../../src/model/errors.js';

let lines: string[];
let thrown: unknown;
let step: () => Promise<string | null>;
beforeEach(() => {
  lines = [];
  thrown = null;
  const note = (level: string) => (fields: { event: string }, message: string) =>
    lines.push(`${level} ${fields.event}: ${message}`);
  const logger = { info: note('info'), error: note('error') };
  step = refusableStep(
    { logger } as unknown as Engine,
    { name: 'sweep', consequence: 'nothing is swept now' },
    async () => {
      if (thrown !== null) throw thrown;
      return 'swept';
    },
  );
});

const refusal = (code: string) => Object.assign(new DatabaseError('no', 1, 'error'), { code });

describe('refusableStep', () => {
  it('says once that it is refused, and once that it works again', async () => {
    expect(await step()).toEqual('swept');
    expect(lines).toEqual([]);
    thrown = refusal('55P03');
    expect([await step(), await step()]).toEqual([null, null]);
    thrown = null;
    expect([await step(), await step()]).toEqual(['swept', 'swept']);
    expect(lines).toEqual([
      'error sweep.failed: nothing is swept now: error: no; it is tried again, and claiming goes on',
      'info sweep.resumed: sweep works again',
    ]);
  });

  it('takes a server that does not answer in time for one that waits for a lock', async () => {
    thrown = new TockError('TOCK_DATABASE_UNREACHABLE', 'no answer');
    expect(await step()).toBe(null);
  });

  it.each([
    ['a lost connection', refusal('57P01')],
    ['a copied database', new TockError('TOCK_DATABASE_COPIED', 'a copy')],
  ])('throws %s', async (_what, error) => {
    thrown = error;
    await expect(step()).rejects.toBe(error);
    expect(lines).toEqual([]);
  });
});
