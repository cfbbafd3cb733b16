// The types of the public face, held by the compiler: `tsc -p tsconfig.json` checks what is written here.
// In: jobs with and without a schema. Out: nothing at run time; a type that has changed fails the compilation.

/* oxlint-disable vitest/expect-expect -- the compiler asserts, by `@ts-expect-error` too */
import type { Generated, Kysely, Transaction } from 'kysely';
import { describe, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { fromKysely } from '../src/adapters.js';
import {
  type AnyJob,
  type BatchContext,
  type BatchRun,
  type BatchRuns,
  type CatchupPolicy,
  createTock,
  type DeadRun,
  type DefinitionRecord,
  type Dst,
  type Duration,
  defineJob,
  defineShellJob,
  type Enqueued,
  type HandOff,
  type Job,
  type JobContext,
  type JobName,
  type Json,
  type Occurrence,
  type OutputOf,
  type OutsideWindow,
  type OverlapPolicy,
  type Parents,
  type PayloadOf,
  RetryLater,
  type RetryPolicy,
  type RunId,
  type RunRecord,
  type RunStatus,
  type Tock,
  TockError,
  type TockErrorCode,
  type Trigger,
  typeOnly,
} from '../src/index.js';
import type { TestTock } from '../src/testing.js';

/** An app's tables, as an interface: it has no index signature. */
interface DB {
  invoices: { id: Generated<string>; cents: number };
}

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
function compiled(_body: (tock: Tock, ctx: JobContext) => unknown): void {
  // Nothing to do: the compiler has read the body.
}

const mail = defineJob({
  name: 'mail',
  payload: typeOnly<{ userId: number; at?: Date }>(),
  run: (_ctx, { at }) => ({ sentAt: new Date(at ?? 0), tries: [1, undefined] }),
});
const jobs = [typed, optional, untyped, mail] as const;

/** The same with a Tock that knows its jobs. */
function compiledWithJobs(_body: (tock: Tock<typeof jobs>) => unknown): void {
  // Nothing to do: the compiler has read the body.
}

describe('a run that is handed off', () => {
  const hands = defineJob({ name: 'hands', run: ctx => ctx.handOff({ lease: '1h' }) });
  const mayHand = defineJob({
    name: 'may-hand',
    run: async (ctx): Promise<HandOff | { sent: Date }> =>
      ctx.attempt > 1 ? { sent: new Date() } : ctx.handOff({ lease: '1h', to: 'finance' }),
  });

  it('has any JSON as its output: another system gives it', () => {
    expectTypeOf<OutputOf<typeof hands>>().toEqualTypeOf<Json | null>();
    expectTypeOf<{ sent: string }>().toExtend<OutputOf<typeof mayHand>>();
    expectTypeOf<'paid'>().toExtend<OutputOf<typeof mayHand>>();
  });

  it('is no result of a step, an effect or a transaction, and nothing else is a handoff', () => {
    compiled((tock, ctx) => {
      // @ts-expect-error -- a handoff is no JSON
      void ctx.step('send', () => ctx.handOff({ lease: '1h' }));
      // @ts-expect-error -- a handoff is no JSON
      void ctx.transaction(() => ctx.handOff({ lease: '1h' }));
      // @ts-expect-error -- without a lease
      void ctx.handOff({ to: 'finance' });
      // @ts-expect-error -- only ctx.handOff makes one
      const made: HandOff = { kind: 'tock.hand-off', leaseMs: 1, to: null, toJSON: () => undefined as never };
      expectTypeOf(tock.complete('1', 1, made)).toEqualTypeOf<Promise<boolean>>();
    });
  });
});

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

  it('is required where the schema refuses {}, at run time too', () => {
    defineJob({
      name: 'forgotten',
      payload: z.object({ userId: z.number() }),
      // @ts-expect-error the payload is required
      schedule: { cron: '0 7 * * 1' },
      run: () => undefined,
    });
    defineShellJob({
      name: 'forgotten',
      payload: typeOnly<{ tenant: string }>(),
      // @ts-expect-error the payload is required
      schedule: { after: 'report' },
      shell: 'true',
    });
    defineJob({
      name: 'defaulted',
      payload: z.object({ limit: z.number().default(3) }),
      schedule: { cron: '0 7 * * 1' },
      run: () => undefined,
    });
    compiledWithJobs(tock => {
      // @ts-expect-error the payload is required
      void tock.schedules.upsert({ name: 'a', job: 'mail', cron: '0 7 * * 1' });
      // @ts-expect-error the payload is required
      void tock.schedules.upsert({ name: 'a', job: typed, cron: '0 7 * * 1' });
      void tock.schedules.upsert({ name: 'a', job: 'mail', cron: '0 7 * * 1', payload: { userId: 1 } });
      void tock.schedules.upsert({ name: 'a', job: 'optional', cron: '0 7 * * 1' });
      // @ts-expect-error there is no such option
      void tock.schedules.upsert({ name: 'a', job: 'mail', corn: '0 7 * * 1', payload: { userId: 1 } });
    });
    compiled(tock => {
      // @ts-expect-error the payload is required
      void tock.schedules.upsert({ name: 'a', job: mail, cron: '0 7 * * 1' });
      void tock.schedules.upsert({ name: 'a', job: 'mail', cron: '0 7 * * 1' });
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
      // @ts-expect-error a kept result must be JSON
      void ctx.step('read', () => 7n);
      // @ts-expect-error a kept result must be JSON
      void ctx.once('read', () => new Map());
    });
  });

  it('gets the tables that it names, and no other', () => {
    compiled((tock, ctx) => {
      expectTypeOf(ctx.db.withTables<DB>()).toEqualTypeOf<Kysely<DB>>();
      const note = async (trx: Transaction<DB>) => {
        await trx.insertInto('invoices').values({ cents: 1 }).execute();
        await tock.enqueue('optional', {}, { client: fromKysely(trx) });
      };
      void ctx.once('charge:812', trx => note(trx.withTables<DB>()));
      void ctx.transaction(trx => note(trx.withTables<DB>()));
      void ctx.db.withTables<DB>().transaction().execute(note);
      // @ts-expect-error it has named no table
      void ctx.db.selectFrom('invoices');
      // @ts-expect-error it has named other tables
      void ctx.db.withTables<DB>().selectFrom('reminders');
      void ctx.transaction(async trx => {
        // @ts-expect-error it has named no table
        trx.insertInto('invoices');
        // @ts-expect-error the table has other columns
        await trx.withTables<DB>().insertInto('invoices').values({ euros: 1 }).execute();
      });
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

describe('a Tock that knows its jobs', () => {
  it('is what createTock gives for a literal array, or for a constant one', () => {
    compiled(() => {
      expectTypeOf(createTock({ jobs: [typed, mail] })).toEqualTypeOf<
        Tock<readonly [typeof typed, typeof mail]>
      >();
      const list = [typed, mail];
      expectTypeOf<JobName<typeof list>>().toEqualTypeOf<'typed' | 'mail'>();
      void createTock({ jobs: list }).enqueue('mail', { userId: 1 });
      // @ts-expect-error there is no such job
      void createTock({ jobs: list }).enqueue('mial', { userId: 1 });
    });
  });

  it('is a Tock, wherever one is asked for', () => {
    expectTypeOf<Tock<typeof jobs>>().toExtend<Tock>();
    expectTypeOf<TestTock<typeof jobs>>().toExtend<TestTock>();
    compiled(() => {
      const plain: Tock = createTock({ jobs: [typed] });
      void plain.enqueue('any', 'thing');
    });
  });

  it('allows any name where its jobs are a plain array, or none', () => {
    compiled(() => {
      const some: AnyJob[] = [typed];
      void createTock({ jobs: some }).enqueue('any', { anything: true });
      void createTock({ connectionString: 'postgres://localhost/app' }).enqueue('any');
      void createTock({ jobs: [...some, mail] }).enqueue('any', { anything: true });
    });
  });

  it('knows them by object and by name', () => {
    compiledWithJobs(tock => {
      void tock.enqueue('typed', { userId: 1, when: '2026-03-09', amount: '12' }, { key: 'a' });
      void tock.enqueue(typed, { userId: 1, when: '2026-03-09', amount: '12' });
      void tock.enqueue('optional');
      void tock.enqueue('untyped', { anything: true });
      void tock.enqueue('mail', { userId: 1, at: new Date(0) });
      const either = [].length === 0 ? 'mail' : 'optional';
      void tock.enqueue(either, { userId: 1 });
    });
  });

  it('refuses a name that none of them has, and a job that is none of them', () => {
    compiledWithJobs(tock => {
      // @ts-expect-error there is no such job
      void tock.enqueue('mial', { userId: 1 });
      const other = defineJob({ name: 'other', run: () => null });
      // @ts-expect-error it is not among the jobs of this Tock
      void tock.enqueue(other);
      // @ts-expect-error a schedule is for one of the jobs too
      void tock.schedules.upsert({ name: 'a', job: 'mial', cron: '0 7 * * 1' });
      // @ts-expect-error this Tock has no jobs at all
      void createTock({ jobs: [] }).enqueue('mail');
    });
  });

  it('refuses a wrong payload by name', () => {
    compiledWithJobs(tock => {
      // @ts-expect-error userId is a number
      void tock.enqueue('mail', { userId: '1' });
      // @ts-expect-error the payload is required
      void tock.enqueue('mail');
      // @ts-expect-error there is no such property
      void tock.enqueue('mail', { userId: 1, to: 'a@example.org' });
      // @ts-expect-error there is no such option
      void tock.enqueue('mail', { userId: 1 }, { dealy: '5m' });
      // @ts-expect-error userId is a number
      void tock.schedules.upsert({ name: 'a', job: 'mail', cron: '0 7 * * 1', payload: { userId: '1' } });
    });
  });

  it('takes for one of two jobs what both take, and nothing else', () => {
    compiledWithJobs(tock => {
      const either = [].length === 0 ? 'mail' : 'typed';
      const payload = { userId: 1, when: '2026-03-09', amount: '12' };
      void tock.enqueue(either, payload);
      void tock.enqueueMany([{ job: either, payload }]);
      void tock.enqueueGroup([{ job: either, payload }], { then: { job: 'optional' } });
      void tock.schedules.upsert({ name: 'a', job: either, every: '1h', payload });
      // @ts-expect-error typed needs when and amount
      void tock.enqueue(either, { userId: 1 });
      // @ts-expect-error typed needs when and amount
      void tock.enqueueMany([{ job: either, payload: { userId: 1 } }]);
      // @ts-expect-error typed needs when and amount
      void tock.enqueueGroup([{ job: either, payload: { userId: 1 } }], { then: { job: 'optional' } });
      // @ts-expect-error typed needs when and amount
      void tock.enqueueFlow({ first: { job: either, payload: { userId: 1 } } });
      // @ts-expect-error typed needs when and amount
      void tock.schedules.upsert({ name: 'a', job: either, every: '1h', payload: { userId: 1 } });
    });
    compiled((_tock, ctx) => {
      // @ts-expect-error typed needs when and amount
      void ctx.enqueue<typeof mail | typeof typed>('mail', { userId: 1 });
    });
  });

  it('knows them in enqueueMany, each with its own payload', () => {
    compiledWithJobs(tock => {
      void tock.enqueueMany([
        { job: 'mail', payload: { userId: 1 }, key: 'a', delay: '5m' },
        { job: typed, payload: { userId: 1, when: '2026-03-09', amount: '12' } },
        { job: 'optional' },
      ]);
      void tock.enqueueMany([1, 2].map(userId => ({ job: mail, payload: { userId } })));
      void tock.enqueueMany([1, 2].map(userId => ({ job: 'mail', payload: { userId } })));
    });
  });

  it('refuses in enqueueMany what it refuses in enqueue', () => {
    compiledWithJobs(tock => {
      // @ts-expect-error there is no such job
      void tock.enqueueMany([{ job: 'mial' }]);
      // @ts-expect-error userId is a number
      void tock.enqueueMany([{ job: 'optional' }, { job: 'mail', payload: { userId: '1' } }]);
      // @ts-expect-error userId is a number
      void tock.enqueueMany([{ job: mail, payload: { userId: '1' } }]);
      // @ts-expect-error the payload is required
      void tock.enqueueMany([{ job: 'mail' }]);
      // @ts-expect-error there is no such option
      void tock.enqueueMany([{ job: 'optional', dealy: '5m' }]);
      // @ts-expect-error the client is one for all, and follows the runs
      void tock.enqueueMany([{ job: 'optional', client: { query: () => null } }]);
      // @ts-expect-error userId is a number
      void tock.enqueueMany(['1', '2'].map(userId => ({ job: mail, payload: { userId } })));
    });
    compiled(tock => {
      // @ts-expect-error a job that is named by its object is checked by any Tock
      void tock.enqueueMany([{ job: mail, payload: { userId: '1' } }]);
    });
  });
});

describe('the output of a run', () => {
  it('has the type of what its job returns, as it comes back from JSON, by the id that enqueue gave', () => {
    type Sent = { sentAt: string; tries: (number | null)[] } | null;
    compiledWithJobs(async tock => {
      const id = await tock.enqueue('mail', { userId: 1 });
      expectTypeOf((await tock.runs.wait(id)).output).toEqualTypeOf<Sent>();
      expectTypeOf((await tock.runs.get(id))?.output).toEqualTypeOf<Sent | undefined>();
      const [first, second] = await tock.enqueueMany([
        { job: 'mail', payload: { userId: 1 } },
        { job: optional },
      ]);
      expectTypeOf((await tock.runs.wait(first)).output).toEqualTypeOf<Sent>();
      expectTypeOf((await tock.runs.wait(second)).output).toEqualTypeOf<null>();
      const [told] = await tock.enqueueMany([{ job: mail, payload: { userId: 1 } }], { details: true });
      expectTypeOf(told).toEqualTypeOf<Enqueued<Sent>>();
    });
    compiled(async tock => {
      const id = await tock.enqueue(mail, { userId: 1 });
      expectTypeOf((await tock.runs.wait(id)).output).toEqualTypeOf<Sent>();
      // @ts-expect-error it may be null: the run may have died
      void (await tock.runs.wait(id)).output.sentAt;
    });
  });

  it('is unknown where the id is only text, or the job only a name', () => {
    compiled(async tock => {
      expectTypeOf((await tock.runs.wait('812')).output).toBeUnknown();
      expectTypeOf((await tock.runs.get(String(812)))?.output).toBeUnknown();
      expectTypeOf((await tock.runs.wait(await tock.enqueue('mail', {}))).output).toBeUnknown();
    });
  });

  it('of an id from elsewhere is what its type says', () => {
    compiled(async tock => {
      const id: RunId<OutputOf<typeof typed>> = String(812);
      expectTypeOf((await tock.runs.wait(id)).output).toEqualTypeOf<number | null>();
    });
  });

  it('leaves the id a text', () => {
    expectTypeOf<RunId<number>>().toExtend<string>();
    compiled(tock => {
      const ids: Promise<string[]> = tock.enqueueMany([{ job: mail, payload: { userId: 1 } }]);
      return ids;
    });
  });

  it('is null for a handler that returns nothing', () => {
    const silent = defineJob({ name: 'silent', run: async () => await Promise.resolve() });
    expectTypeOf<OutputOf<typeof silent>>().toEqualTypeOf<null>();
    expectTypeOf<OutputOf<AnyJob>>().toBeUnknown();
  });
});

describe('typeOnly', () => {
  it('gives a payload its type without a schema', () => {
    expectTypeOf<PayloadOf<typeof mail>>().toEqualTypeOf<{ userId: number; at?: Date }>();
    expectTypeOf<(typeof mail)['run']>().parameter(1).toEqualTypeOf<{ userId: number; at?: string }>();
    defineJob({
      name: 'limited',
      payload: typeOnly<{ tenant: string }>(),
      concurrency: { limit: 1, key: ({ tenant }) => tenant },
      schedule: { cron: '0 7 * * 1', payload: { tenant: 'a' } },
      run: () => null,
    });
  });

  it('takes what JSON holds, and a Date; nothing else compiles', () => {
    interface Tree {
      readonly name: string;
      readonly kind: 'leaf' | 'branch' | null;
      readonly children?: readonly Tree[];
      readonly at: Date;
      readonly more?: Record<string, unknown> | undefined;
    }
    expectTypeOf(typeOnly<Tree>()).not.toBeAny();
    expectTypeOf(typeOnly<{ kind: 'a'; n: number } | { kind: 'b'; at: Date }>()).not.toBeAny();
    expectTypeOf(typeOnly<string[]>()).not.toBeAny();
    // @ts-expect-error JSON has no bigint
    typeOnly<{ lines: { cents: bigint }[] }>();
    // @ts-expect-error a Map would lose what it holds
    typeOnly<{ shops: Map<string, number> | null }>();
    // @ts-expect-error a Set too
    typeOnly<{ shops: Set<string> }>();
    // @ts-expect-error an object of a class is refused when it is enqueued
    typeOnly<{ link: URL }>();
    // @ts-expect-error bytes too
    typeOnly<{ file: Buffer }>();
    // @ts-expect-error a function cannot be stored
    typeOnly<{ then(): void }>();
  });

  it('is as strict as a schema', () => {
    compiled(tock => {
      // @ts-expect-error userId is a number
      void tock.enqueue(mail, { userId: '1' });
      defineJob({
        name: 'scheduled',
        payload: typeOnly<{ tenant: string }>(),
        // @ts-expect-error tenant is text
        schedule: { cron: '0 7 * * 1', payload: { tenant: 1 } },
        run: () => null,
      });
    });
  });
});

it('a record has unions where there are few words', () => {
  expectTypeOf<DefinitionRecord['overlap']>().toEqualTypeOf<OverlapPolicy>();
  expectTypeOf<DefinitionRecord['catchup']>().toEqualTypeOf<CatchupPolicy>();
  expectTypeOf<DefinitionRecord['dst']>().toEqualTypeOf<Dst>();
  expectTypeOf<DefinitionRecord['outsideWindow']>().toEqualTypeOf<OutsideWindow>();
  expectTypeOf<RunRecord['status']>().toEqualTypeOf<RunStatus>();
  expectTypeOf<RunRecord['trigger']>().toEqualTypeOf<Trigger>();
  compiled((_tock, ctx) => {
    // @ts-expect-error there is no such trigger
    return ctx.trigger === 'crom';
  });
});

describe('onDead', () => {
  const job = { name: 'pay', payload: z.object({ userId: z.number() }), run: () => null };

  it('takes a job that takes dead runs, one without a schema, and any name', () => {
    const opens = defineJob({
      name: 'opens',
      payload: z.object({
        run: z.string(),
        definition: z.string().nullable(),
        payload: z.object({ userId: z.number() }),
        errors: z.array(z.object({ message: z.string() })),
      }),
      run: () => null,
    });
    const knows = defineJob({ name: 'knows', payload: typeOnly<DeadRun>(), run: () => null });
    const some: AnyJob = opens;
    for (const onDead of [opens, knows, untyped, 'opens', some]) expectTypeOf(onDead).not.toBeNever();
    defineJob({ ...job, onDead: opens });
    defineJob({ ...job, onDead: knows });
    defineJob({ ...job, onDead: untyped });
    defineJob({ ...job, onDead: 'opens' });
    defineJob({ ...job, onDead: some });
    defineJob({ name: 'pay', onDead: opens, run: () => null });
    defineJob({ ...defineJob({ ...job, onDead: opens }), name: 'other' });
    defineShellJob({ name: 'pay', shell: 'true', onDead: knows });
  });

  it('refuses a job whose payload is another', () => {
    // @ts-expect-error a dead run has no userId
    defineJob({ ...job, onDead: mail });
    // @ts-expect-error a dead run has no userId
    defineShellJob({ name: 'pay', shell: 'true', onDead: mail });
    const texts = defineJob({
      name: 'texts',
      payload: z.object({ payload: z.object({ userId: z.string() }) }),
      run: () => null,
    });
    // @ts-expect-error userId of the job that died is a number
    defineJob({ ...job, onDead: texts });
    const planned = defineJob({
      name: 'planned',
      payload: typeOnly<{ definition: string }>(),
      run: () => null,
    });
    // @ts-expect-error a one-off run has no definition
    defineJob({ ...job, onDead: planned });
  });
});

describe('ctx.enqueue', () => {
  it('is as strict as tock.enqueue', () => {
    compiled((_tock, ctx) => {
      expectTypeOf(ctx.enqueue(typed, { userId: 1, when: '2026-03-09', amount: '12' })).toEqualTypeOf<
        Promise<RunId<number | null>>
      >();
      // @ts-expect-error userId is a number
      void ctx.enqueue(typed, { userId: '1', when: '2026-03-09', amount: '12' });
      // @ts-expect-error the payload is required
      void ctx.enqueue(typed);
    });
  });

  it('takes a name with the type of its job, and refuses any other that is written out', () => {
    compiled((_tock, ctx) => {
      // @ts-expect-error nothing says that there is such a job
      void ctx.enqueue('no-such-job');
      // @ts-expect-error nothing says what its payload is
      void ctx.enqueue('typed', { anything: true });
      void ctx.enqueue<typeof mail>('mail', { userId: 1 });
      void ctx.enqueue<typeof mail, true>('mail', { userId: 1 }, { details: true });
      // @ts-expect-error the job has another name
      void ctx.enqueue<typeof mail>('mial', { userId: 1 });
      // @ts-expect-error userId is a number
      void ctx.enqueue<typeof mail>('mail', { userId: '1' });
      void ctx.enqueue(ctx.job, { known: 'at run time' });
    });
    const again = defineJob({
      name: 'again',
      payload: typeOnly<{ left: number }>(),
      run: async (ctx, { left }) => {
        if (left > 0) await ctx.enqueue<typeof again>('again', { left: left - 1 });
      },
    });
    expectTypeOf<PayloadOf<typeof again>>().toEqualTypeOf<{ left: number }>();
  });
});

it('the methods of a Tock in a context are as strict as those of a Tock', () => {
  compiled(async (_tock, ctx) => {
    expectTypeOf(ctx.runs).toEqualTypeOf<Omit<Tock['runs'], 'wait'>>();
    expectTypeOf(ctx.queues).toEqualTypeOf<Tock['queues']>();
    expectTypeOf(ctx.complete).toEqualTypeOf<Tock['complete']>();
    const [first, second] = await ctx.enqueueMany([
      { job: mail, payload: { userId: 1 } },
      { job: 'typed', payload: { anything: true } },
    ]);
    expectTypeOf((await ctx.runs.get(first))?.output).toEqualTypeOf<OutputOf<typeof mail> | undefined>();
    expectTypeOf((await ctx.runs.get(second))?.output).toBeUnknown();
    // @ts-expect-error userId is a number
    void ctx.enqueueMany([{ job: mail, payload: { userId: '1' } }]);
    // @ts-expect-error the payload is required
    void ctx.enqueueMany([{ job: mail }]);
    // @ts-expect-error a handler that waits keeps the place that the other run may need
    void ctx.runs.wait(first);
  });
});

describe('enqueueFlow and enqueueGroup', () => {
  it('take each run with the payload of its own job, and give ids with its output', () => {
    compiledWithJobs(async tock => {
      const flow = await tock.enqueueFlow({
        first: { job: 'mail', payload: { userId: 1 } },
        second: { job: optional, after: ['first', '812'], ifParentFails: 'cancel' },
      });
      expectTypeOf(Object.keys(flow)).toEqualTypeOf<string[]>();
      expectTypeOf((await tock.runs.wait(flow.first)).output).toEqualTypeOf<OutputOf<typeof mail>>();
      expectTypeOf((await tock.runs.wait(flow.second)).output).toEqualTypeOf<null>();
      // @ts-expect-error there is no such run
      void flow.third;
      // @ts-expect-error userId is a number
      void tock.enqueueFlow({ first: { job: 'mail', payload: { userId: '1' } } });
      // @ts-expect-error the payload is required
      void tock.enqueueFlow({ first: { job: mail } });
      // @ts-expect-error there is no such job
      void tock.enqueueFlow({ first: { job: 'mial' } });
      // @ts-expect-error there is no such option
      void tock.enqueueFlow({ first: { job: optional, unique: 'live', key: 'k' } });
      // @ts-expect-error there is no such policy
      void tock.enqueueFlow({ first: { job: optional }, next: { job: optional, ifParentFails: 'no' } });
      void tock.enqueueGroup(
        [
          { job: 'mail', payload: { userId: 1 } },
          { runs: [{ job: 'optional' }], then: { job: optional } },
        ],
        { then: { job: 'optional' } },
      );
      void tock.enqueueGroup(
        [1, 2].map(userId => ({ job: mail, payload: { userId } })),
        {
          then: { job: 'optional' },
        },
      );
      // @ts-expect-error userId is a number
      void tock.enqueueGroup([{ job: 'mail', payload: { userId: '1' } }], { then: { job: 'optional' } });
      // @ts-expect-error the payload is required
      void tock.enqueueGroup([{ job: mail }], { then: { job: 'optional' } });
      const nested = { runs: [{ job: 'optional' }], then: { job: optional } };
      // @ts-expect-error userId is a number, also beside a group
      void tock.enqueueGroup([{ job: 'mail', payload: { userId: '1' } }, nested], {
        then: { job: optional },
      });
    });
  });

  it('give handlers what became of their parents, typed where their jobs are known', () => {
    compiled((_tock, ctx) => {
      expectTypeOf(ctx.parents['fetch']?.output).toBeUnknown();
      const { sent } = ctx.parents as Parents<{ sent: typeof mail }>;
      expectTypeOf(sent.output).toEqualTypeOf<OutputOf<typeof mail> | null>();
    });
  });
});

it('schedules.upsertMany checks each schedule by its own job', () => {
  compiledWithJobs(async tock => {
    const cron = '0 7 * * 1';
    const made = await tock.schedules.upsertMany([
      { name: 'a', job: 'mail', cron, payload: { userId: 1 } },
      { name: 'b', job: typed, cron, payload: { userId: 1, when: '2026-03-09', amount: '12' } },
      { name: 'c', job: 'optional', every: '1h' },
    ]);
    expectTypeOf(made).toEqualTypeOf<DefinitionRecord[]>();
    void tock.schedules.upsertMany(
      [1, 2].map(userId => ({ name: `t-${userId}`, job: mail, cron, payload: { userId } })),
    );
    // @ts-expect-error there is no such job
    void tock.schedules.upsertMany([{ name: 'a', job: 'mial', cron }]);
    // @ts-expect-error userId is a number
    void tock.schedules.upsertMany([{ name: 'a', job: 'mail', cron, payload: { userId: '1' } }]);
    // @ts-expect-error there is no such option of a schedule
    void tock.schedules.upsertMany([{ name: 'a', job: 'optional', corn: cron }]);
    // @ts-expect-error a client has query
    void tock.schedules.upsertMany([], { client: 'app' });
    // @ts-expect-error versions guard one schedule
    void tock.schedules.upsertMany([], { ifVersion: 1 });
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

it('RetryPolicy takes a name of a backoff, or a function of the attempt and its error', () => {
  expectTypeOf<'linear'>().toExtend<NonNullable<RetryPolicy['backoff']>>();
  expectTypeOf<(attempt: number, error: unknown) => string>().toExtend<NonNullable<RetryPolicy['backoff']>>();
  expectTypeOf<'quadratic'>().not.toExtend<NonNullable<RetryPolicy['backoff']>>();
});

it('Json holds what JSON holds', () => {
  expectTypeOf<{ a: [1, 'b', null, true] }>().toExtend<Json>();
  expectTypeOf<Date>().not.toExtend<Json>();
  expectTypeOf<bigint>().not.toExtend<Json>();
  expectTypeOf<undefined>().not.toExtend<Json>();
});

describe('a job with batch', () => {
  it('gets runs with its payload, and a context without what belongs to one run', () => {
    const job = defineJob({
      name: 'index',
      payload: schema,
      batch: { size: 100, within: '200ms', key: payload => payload.userId },
      async run(ctx, runs) {
        expectTypeOf(ctx).toEqualTypeOf<BatchContext>();
        expectTypeOf(runs).toEqualTypeOf<BatchRuns<Output>>();
        expectTypeOf(runs.map(({ payload }) => payload)).toEqualTypeOf<Output[]>();
        for (const run of runs) {
          expectTypeOf(run).toEqualTypeOf<BatchRun<Output>>();
          runs.fail(run, new Error('no'));
          runs.succeed(run);
          runs.succeed(run, { id: run.id });
          // @ts-expect-error: no JSON
          runs.succeed(run, new Date());
        }
        expectTypeOf(await ctx.transaction(async () => 1)).toEqualTypeOf<number>();
        // @ts-expect-error: of a single run
        void ctx.step;
        // @ts-expect-error: of a single run
        void ctx.runId;
      },
    });
    expectTypeOf<PayloadOf<typeof job>>().toEqualTypeOf<Input>();
    expectTypeOf<OutputOf<typeof job>>().toEqualTypeOf<Json | null>();
    const enqueue = (tock: Tock<readonly [typeof job, typeof typed]>) => [
      tock.enqueue(job, { userId: 1, when: '', amount: '1' }),
      tock.enqueue('index', { userId: 1, when: '', amount: '1' }),
      // @ts-expect-error: no such payload
      tock.enqueue(job, { user: 1 }),
    ];
    void enqueue;
  });

  it('takes no isolate, and its handler no single payload', () => {
    const refused = () => [
      // @ts-expect-error: they do not go together
      defineJob({ name: 'a', batch: { size: 2 }, isolate: true, run: () => null }),
      // @ts-expect-error: it gets runs
      defineJob({ name: 'b', batch: { size: 2 }, run: (_, payload: { readonly id: number }) => payload.id }),
    ];
    void refused;
  });
});
