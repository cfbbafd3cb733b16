// Model: the payloads that jobs get from schedules and dead runs are checked by their schemas.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type AnyJob, defineJob, type OnDeadReference } from '../../../../src/index.js';
import { checkGivenPayloads } from '../../../../src/model/job/payload/given-payloads.js';
import { createRegistry } from '../../../../src/model/job/registry.js';

const check = (...jobs: AnyJob[]) => checkGivenPayloads(createRegistry(jobs));
const refused = (message: string | RegExp) => ({
  code: 'TOCK_BAD_JOB',
  message: expect.stringMatching(message),
});

/** As plain JavaScript defines it: without the compiler. */
const scheduled = (payload: unknown, schema: z.ZodType) =>
  defineJob({
    name: 'sends',
    payload: schema,
    schedule: { cron: '0 7 * * 1', ...(payload === undefined ? {} : { payload }) },
    run: () => null,
  });

describe('the payload of a schedule', () => {
  const schema = z.object({ userId: z.number() });

  it('is refused where it is missing and the schema needs one', async () => {
    await expect(check(scheduled(undefined, schema))).rejects.toMatchObject(
      refused(
        /the schedule of job sends has no payload, and .*userId: .*; write schedule: \{ …, payload: … \}/,
      ),
    );
  });

  it('is refused where the schema does, also one that answers later', async () => {
    const later = schema.refine(
      async ({ userId }) => await Promise.resolve(userId > 1),
      'nobody has this id',
    );
    await expect(check(scheduled({ userId: 'x' }, schema))).rejects.toMatchObject(
      refused(/userId: .*correct it/),
    );
    await expect(check(scheduled({ userId: 1 }, later))).rejects.toMatchObject(refused('nobody has this id'));
    await expect(check(scheduled({ userId: 2 }, later))).resolves.toBeUndefined();
  });

  it('is accepted as it is stored: a Date is text', async () => {
    const dated = scheduled({ at: new Date(0) }, z.object({ at: z.iso.datetime() }));
    await expect(check(dated)).resolves.toBeUndefined();
    await expect(
      check(scheduled(undefined, z.object({ limit: z.number().default(3) }))),
    ).resolves.toBeUndefined();
  });

  it('is left to the run where a function gives it, and where the schema cannot say', async () => {
    const thrower = z.unknown().refine(() => {
      throw new Error('the table of users is not there yet');
    });
    await expect(check(scheduled(() => ({}), schema))).resolves.toBeUndefined();
    await expect(check(scheduled({ userId: 1 }, thrower))).resolves.toBeUndefined();
  });
});

describe('the job of onDead', () => {
  const after = (onDead: OnDeadReference) =>
    defineJob({ name: 'pay', schedule: { every: '1h' }, onDead, run: () => null });
  const named = (payload: z.ZodType) => defineJob({ name: 'support', payload, run: () => null });

  it('is refused where its schema needs what dead runs lack, or takes no more than it names', async () => {
    await expect(check(after('support'), named(z.object({ tenant: z.string() })))).rejects.toMatchObject(
      refused(
        /^onDead of job pay names support, which gets \{ run, job, definition, scheduledFor, payload, errors \}: .*tenant: .*; change that schema/,
      ),
    );
    await expect(check(after('support'), named(z.object({ run: z.number() })))).rejects.toMatchObject(
      refused('run: '),
    );
    await expect(check(after('support'), named(z.strictObject({ run: z.string() })))).rejects.toMatchObject(
      refused('Unrecognized key'),
    );
  });

  it('is accepted where it may fit: what its payload and its errors hold differs from run to run', async () => {
    const fits = z.object({
      run: z.string(),
      job: z.literal('pay'),
      payload: z.object({ userId: z.number() }),
      errors: z.array(z.object({ message: z.string(), code: z.string() })),
    });
    await expect(check(after('support'), named(fits))).resolves.toBeUndefined();
    const ofPayload = z.looseObject({}).refine(({ payload }) => payload === 1, 'only 1');
    await expect(check(after('support'), named(ofPayload))).resolves.toBeUndefined();
    await expect(check(after('old'), defineJob({ name: 'support', aliases: ['old'], run: () => null })))
      .resolves //
      .toBeUndefined();
  });
});
