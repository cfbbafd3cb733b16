// Room: test. The types of the public face, held by the compiler: `tsc -p tsconfig.json` checks what is written here.
// In: jobs with and without a schema. Out: nothing at run time; a type that has changed fails the compilation.

/* oxlint-disable vitest/expect-expect -- the compiler asserts, by `@ts-expect-error` too */
import type { Kysely, Transaction } from 'kysely';
import { describe, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import {
  type AnyJob,
  type Duration,
  defineJob,
  type Job,
  type JobContext,
  type Json,
  type Occurrence,
  type PayloadOf,
  RetryLater,
  type RetryPolicy,
  type RunId,
  type Tock,
  TockError,
  type TockErrorCode,
} from '../src/index.js';

/** A schema whose input and output differ in every way: coerced, defaulted, transformed. */
const schema = z.object({
  userId: z.number(),
  when: z.coerce.date<string>(),
  note: z.string().default(''),
  amount: z.string().transform(text => BigInt(text)),
});
type Input = { userId: number; when: string; note?: string | undefined; amount: string };
type Output = { userId: number; when: Date; note: string; amount: bigint };

const typed = defineJob({
  name: 'typed',
  payload: schema,
  run(_ctx, payload) {
    return payload.userId;
  },
});
const optional = defineJob({
  name: 'optional',
  payload: z.object({ limit: z.number().optional() }),
  run: () => null,
});
const untyped = defineJob({ name: 'untyped', run: () => ({ ok: true }) });

/** What is only compiled, never executed. */
function compiled(_body: (tock: Tock, ctx: JobContext) => void): void {
  // Nothing to do: the compiler has read the body.
}

describe('the payload of a job', () => {
  it('is what the schema takes, for those who enqueue', () => {
    expectTypeOf<PayloadOf<typeof typed>>().toEqualTypeOf<Input>();
  });

  it('is what the schema gives, for the handler', () => {
    expectTypeOf<(typeof typed)['run']>().parameter(1).toEqualTypeOf<Output>();
    expectTypeOf<(typeof typed)['run']>().parameter(0).toEqualTypeOf<JobContext>();
  });

  it('is unknown without a schema, for both', () => {
    expectTypeOf<PayloadOf<typeof untyped>>().toBeUnknown();
    expectTypeOf<(typeof untyped)['run']>().parameter(1).toBeUnknown();
    defineJob({
      name: 'untyped',
      run(_ctx, payload) {
        expectTypeOf(payload).toBeUnknown();
        // @ts-expect-error an unknown payload has no properties
        return (): unknown => payload.userId;
      },
    });
  });

  it('is never any', () => {
    expectTypeOf<PayloadOf<typeof typed>>().not.toBeAny();
    expectTypeOf<PayloadOf<typeof untyped>>().not.toBeAny();
    expectTypeOf<(typeof typed)['run']>().parameter(1).not.toBeAny();
  });
});

describe('the payload of a schedule', () => {
  it('is what the schema takes, or a function of the occurrence that gives it', () => {
    defineJob({
      name: 'constant',
      payload: schema,
      schedule: { cron: '0 7 * * 1', payload: { userId: 1, when: '2026-03-09', amount: '12' } },
      run: (_ctx, payload) => {
        expectTypeOf(payload).toEqualTypeOf<Output>();
      },
    });
    defineJob({
      name: 'computed',
      payload: schema,
      schedule: {
        cron: '0 7 * * 1',
        payload: occurrence => {
          expectTypeOf(occurrence).toEqualTypeOf<Occurrence>();
          return { userId: 1, when: occurrence.scheduledFor.toISOString(), amount: '12' };
        },
      },
      run: () => undefined,
    });
  });

  it('is refused where it does not fit', () => {
    defineJob({
      name: 'constant',
      payload: schema,
      // @ts-expect-error userId is a number
      schedule: { cron: '0 7 * * 1', payload: { userId: '1', when: '2026-03-09', amount: '12' } },
      run: () => undefined,
    });
    defineJob({
      name: 'constant',
      payload: z.object({ userId: z.number() }),
      schedule: {
        cron: '0 7 * * 1',
        // @ts-expect-error the function must give what the schema takes
        payload: () => ({ userId: 'one' }),
      },
      run: () => undefined,
    });
  });

  it('leaves the options of the schedule checked', () => {
    compiled(() => {
      // @ts-expect-error there is no such overlap policy
      defineJob({ name: 'a', schedule: { cron: '0 7 * * 1', overlap: 'sometimes' }, run: () => null });
      // @ts-expect-error there is no such option
      defineJob({ name: 'a', schedule: { cron: '0 7 * * 1', cathcup: 'all' }, run: () => null });
      // @ts-expect-error there is no such mode
      defineJob({ name: 'a', schedule: { cron: '0 7 * * 1', dst: 'twice' }, run: () => null });
    });
  });
});

describe('the handler', () => {
  it('may return a value or a promise of it, and the job remembers which', () => {
    expectTypeOf<(typeof typed)['run']>().returns.toEqualTypeOf<number | Promise<number>>();
    expectTypeOf(typed).toEqualTypeOf<Job<typeof schema, number, 'typed'>>();
    const slow = defineJob({ name: 'slow', run: async () => await Promise.resolve('done' as const) });
    expectTypeOf<(typeof slow)['run']>().returns.toEqualTypeOf<'done' | Promise<'done'>>();
  });

  it('is required, and so is a name', () => {
    compiled(() => {
      // @ts-expect-error a job has a handler
      defineJob({ name: 'idle' });
      // @ts-expect-error a job has a name
      defineJob({ run: () => null });
      // @ts-expect-error a schema is a Standard Schema
      defineJob({ name: 'a', payload: { userId: 'number' }, run: () => null });
    });
  });

  it('gets the kept result of a step and of once with its type', () => {
    compiled((_tock, ctx) => {
      expectTypeOf(ctx.step('read', () => Number('7'))).toEqualTypeOf<Promise<number>>();
      expectTypeOf(ctx.once('charge:812', async () => await Promise.resolve(['a']))).toEqualTypeOf<
        Promise<string[]>
      >();
      void ctx.once('charge:812', trx => expectTypeOf(trx).toExtend<Transaction<unknown>>());
      expectTypeOf(ctx.db.withTables<{ invoices: { id: string } }>()).toExtend<
        Kysely<{ invoices: { id: string } }>
      >();
      // @ts-expect-error a kept result must be JSON
      void ctx.step('read', () => 7n);
      // @ts-expect-error a kept result must be JSON
      void ctx.once('read', () => new Map());
    });
  });

  it('cannot write to its context', () => {
    compiled((_tock, ctx) => {
      // @ts-expect-error the context is read-only
      ctx.attempt = 1;
      // @ts-expect-error the run's id is text, since a bigint does not fit a number
      ctx.runId.toFixed();
    });
  });
});

describe('a job among others', () => {
  it('is an AnyJob, whatever its payload and output', () => {
    expectTypeOf(typed).toExtend<AnyJob>();
    expectTypeOf(untyped).toExtend<AnyJob>();
    expectTypeOf([typed, optional, untyped]).toExtend<readonly AnyJob[]>();
    compiled(() => {
      // @ts-expect-error only defineJob makes jobs
      const job: AnyJob = { name: 'made-by-hand', run: () => null };
      return job;
    });
  });

  it('cannot be changed', () => {
    compiled(() => {
      // @ts-expect-error a job is read-only
      typed.name = 'other';
    });
  });
});

describe('tock.enqueue', () => {
  it('takes what the schema of the job takes', () => {
    compiled(tock => {
      expectTypeOf(tock.enqueue(typed, { userId: 1, when: '2026-03-09', amount: '12' })).toEqualTypeOf<
        Promise<RunId<number | null>>
      >();
      void tock.enqueue(typed, { userId: 1, when: '2026-03-09', amount: '12', note: 'x' }, { key: 'a' });
      void tock.enqueue(optional, { limit: 3 });
      void tock.enqueue(optional);
    });
  });

  it('refuses another payload', () => {
    compiled(tock => {
      // @ts-expect-error userId is a number
      void tock.enqueue(typed, { userId: '1', when: '2026-03-09', amount: '12' });
      // @ts-expect-error amount is missing
      void tock.enqueue(typed, { userId: 1, when: '2026-03-09' });
      // @ts-expect-error the handler's side of the schema is not the caller's
      void tock.enqueue(typed, { userId: 1, when: '2026-03-09', amount: 12n });
      // @ts-expect-error there is no such property
      void tock.enqueue(typed, { userId: 1, when: '2026-03-09', amount: '12', usrId: 2 });
      // @ts-expect-error null is not the object that the schema asks for
      void tock.enqueue(typed, null);
      // @ts-expect-error there is no such option
      void tock.enqueue(optional, {}, { idempotencyKey: 'a' });
    });
  });

  it('refuses to leave out a payload that the schema requires', () => {
    compiled(tock => {
      // @ts-expect-error the payload is required
      void tock.enqueue(typed);
    });
  });

  it('takes any payload for a job without a schema, or named by text', () => {
    compiled(tock => {
      void tock.enqueue(untyped);
      void tock.enqueue(untyped, { anything: true });
      void tock.enqueue('typed', { userId: 'unchecked here, refused when it is enqueued' });
      void tock.enqueue('typed');
      const some: AnyJob = typed;
      void tock.enqueue(some, { userId: 1 });
      void tock.enqueue(some);
    });
  });
});

describe('ctx.enqueue', () => {
  it('is as strict as tock.enqueue', () => {
    compiled((_tock, ctx) => {
      expectTypeOf(ctx.enqueue(typed, { userId: 1, when: '2026-03-09', amount: '12' })).toEqualTypeOf<
        Promise<RunId<number | null>>
      >();
      void ctx.enqueue('typed', { anything: true });
      // @ts-expect-error userId is a number
      void ctx.enqueue(typed, { userId: '1', when: '2026-03-09', amount: '12' });
      // @ts-expect-error the payload is required
      void ctx.enqueue(typed);
    });
  });
});

describe('errors', () => {
  it('have a code from a closed list', () => {
    expectTypeOf(new TockError('TOCK_BAD_JOB', 'x').code).toEqualTypeOf<TockErrorCode>();
    compiled(() => {
      // @ts-expect-error there is no such code
      throw new TockError('TOCK_BAD_LUCK', 'x');
    });
  });

  it('that steer a run take a duration', () => {
    expectTypeOf(new RetryLater('5m').delay).toEqualTypeOf<Duration>();
    compiled(() => {
      // @ts-expect-error the delay is required
      throw new RetryLater();
    });
    compiled(() => {
      // @ts-expect-error a delay is no point in time
      throw new RetryLater(new Date(0));
    });
  });
});

describe('RetryPolicy', () => {
  it('takes a name of a backoff, or a function of the attempt and its error', () => {
    expectTypeOf<'linear'>().toExtend<NonNullable<RetryPolicy['backoff']>>();
    expectTypeOf<(attempt: number, error: unknown) => string>().toExtend<
      NonNullable<RetryPolicy['backoff']>
    >();
    expectTypeOf<'quadratic'>().not.toExtend<NonNullable<RetryPolicy['backoff']>>();
  });
});

describe('Json', () => {
  it('holds what JSON holds', () => {
    expectTypeOf<{ a: [1, 'b', null, true] }>().toExtend<Json>();
    expectTypeOf<Date>().not.toExtend<Json>();
    expectTypeOf<bigint>().not.toExtend<Json>();
    expectTypeOf<undefined>().not.toExtend<Json>();
  });
});
