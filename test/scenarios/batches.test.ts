// Jobs with `batch`: one call of the handler for several runs, each with its own attempts and outcome.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import {
  type AnyJob,
  type BatchContext,
  type BatchRuns,
  Dead,
  defineJob,
  type RunRecord,
  Snooze,
  type TockError,
} from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock, until } from '../support/test-tock.js';

interface Payload {
  readonly n: number;
  readonly tenant: string;
}
type Handler = (ctx: BatchContext, runs: BatchRuns<Payload>) => unknown;

/** What the handler does; and the runs of each call, by their `n`. */
let handle: Handler = () => undefined;
let calls: number[][] = [];
const run: Handler = async (ctx, runs) => {
  calls.push(runs.map(({ payload }) => payload.n));
  return await handle(ctx, runs);
};
const payload = z.object({ n: z.number(), tenant: z.string().default('a') });
const retry = { maxAttempts: 3, base: '10s', jitter: 0 } as const;

// A tick does not wait for it.
const within = '1m';
const index = defineJob({ name: 'index', payload, retry, batch: { size: 8, within }, run });
const soon = defineJob({ name: 'soon', payload, retry, batch: { size: 8, within: '20ms' }, run });
const byTenant = defineJob({
  name: 'by-tenant',
  payload,
  batch: { size: 8, within, key: ({ tenant }) => (tenant === 'odd' ? (null as never) : tenant) },
  run,
});
const quick = defineJob({ name: 'quick', payload, retry, batch: { size: 8, within }, timeout: '50ms', run });
const limited = defineJob({
  name: 'limited',
  payload,
  concurrency: { limit: 2, key: ({ tenant }) => tenant },
  batch: { size: 8, within },
  run,
});
const plain = defineJob({ name: 'plain', run: () => 'plain' });
const jobs = [index, soon, byTenant, quick, limited, plain];

const test = openForEach(() => reuseTestTock(jobs, { grace: '1s', heartbeat: '50ms' }));
beforeEach(async () => {
  calls = [];
  handle = () => undefined;
  await test.setClock('2026-03-01T12:00:00Z');
});
const daemons: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  await Promise.all(daemons.splice(0).map(daemon => daemon.stop()));
});

const enqueue = async (count: number, job: AnyJob = index, more: object = {}) =>
  await test.tock.enqueueMany(
    Array.from({ length: count }, (_, n) => ({ job, payload: { n: n + 1, ...more } })),
  );
const tick = async () => (await test.tock.tick()).executed;
const read = async (ids: readonly string[]) => {
  const runs = await Promise.all(ids.map(id => test.tock.runs.get(id)));
  return runs as RunRecord[];
};
const statuses = async (ids: readonly string[]) => (await read(ids)).map(({ status }) => status);
const sorted = (all: readonly number[][]) => all.map(call => call.toSorted(byNumber));
const byNumber = (a: number, b: number) => a - b;
const sizes = () => calls.map(({ length }) => length);
const wait = async (signal: AbortSignal) =>
  await new Promise<void>(resolve => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
  });

describe('a batch', () => {
  it('is one call for the runs that are due, each with its own output', async () => {
    handle = (ctx, runs) => {
      expect([ctx.job, runs.length, Array.isArray(runs)]).toEqual(['index', 5, true]);
      for (const one of runs) runs.succeed(one, { n: one.payload.n, attempt: one.attempt, fence: one.fence });
    };
    const ids = await enqueue(5);
    expect(await tick()).toMatchObject({ claimed: 5, succeeded: 5 });
    expect(sorted(calls)).toEqual([[1, 2, 3, 4, 5]]);
    expect((await read(ids)).map(({ output }) => output)).toEqual(
      [1, 2, 3, 4, 5].map(n => ({ n, attempt: 1, fence: 1 })),
    );
  });

  it('has as many runs as its size at most, and more than the worker has places', {
    tags: 'check',
  }, async () => {
    await enqueue(20);
    expect((await test.tock.tick({ concurrency: 1 })).executed).toMatchObject({ claimed: 20, succeeded: 20 });
    expect(sizes().toSorted(byNumber)).toEqual([4, 8, 8]);
  });

  it('goes beside runs of other jobs', { tags: 'check' }, async () => {
    const others = await test.tock.enqueueMany(Array.from({ length: 15 }, () => ({ job: plain })));
    const ids = await enqueue(9);
    expect(await tick()).toMatchObject({ succeeded: 24 });
    expect(new Set(await statuses([...others, ...ids]))).toEqual(new Set(['succeeded']));
    expect(calls.flat()).toHaveLength(9);
  });

  it('has only runs of one key; a bad key fails its run alone', { tags: 'check' }, async () => {
    const odd = await test.tock.enqueue(byTenant.name, { n: 9, tenant: 'odd' });
    await enqueue(3, byTenant, { tenant: 'a' });
    await enqueue(2, byTenant, { tenant: 'b' });
    await tick();
    expect(sorted(calls).toSorted((a, b) => a.length - b.length)).toEqual([
      [1, 2],
      [1, 2, 3],
    ]);
    const [failed] = await read([odd]);
    expect(failed?.errors.at(-1)).toMatchObject({ code: 'TOCK_BAD_KEY' });
  });

  it('leaves out a payload that does not fit the schema, which fails alone', { tags: 'check' }, async () => {
    const ids = await enqueue(3);
    await test.sql(`update tock.job_runs set payload = '{"n": "two"}' where id = $1`, [ids[1]]);
    await tick();
    expect(sorted(calls)).toEqual([[1, 3]]);
    expect(await statuses(ids)).toEqual(['succeeded', 'failed', 'succeeded']);
    expect((await read(ids))[1]?.errors[0]).toMatchObject({ code: 'TOCK_BAD_PAYLOAD' });
  });

  it('takes large payloads too', async () => {
    const text = 'x'.repeat(60_000);
    let lengths: number[] = [];
    handle = (_, runs) => {
      lengths = runs.map(one => one.payload.tenant.length);
    };
    await enqueue(3, index, { tenant: text });
    await tick();
    expect(lengths).toEqual([60_000, 60_000, 60_000]);
  });

  it('counts each of its runs under a limit', async () => {
    await enqueue(5, limited);
    expect(await tick()).toMatchObject({ succeeded: 5 });
    expect(sizes().toSorted(byNumber)).toEqual([1, 2, 2]);
  });
});

describe('outcomes', () => {
  it('are those that the handler gives, and success for the others', async () => {
    handle = (_, runs) => {
      const [one, two, three] = runs;
      if (!one || !two || !three) throw new Error('too few');
      runs.fail(one, new Error('not this one'));
      runs.fail(two, new Dead('never'));
      runs.fail(three, new Error('a mistake'));
      runs.succeed(three, 'after all');
    };
    const ids = await enqueue(4);
    await tick();
    expect(await statuses(ids)).toEqual(['failed', 'dead', 'succeeded', 'succeeded']);
    const [one, , three] = await read(ids);
    expect(one?.errors[0]).toMatchObject({ message: 'not this one', attempt: 1, batch: 4 });
    expect(three?.output).toBe('after all');
  });

  it('are failures, also if the handler throws null', async () => {
    handle = () => {
      throw null;
    };
    const ids = await enqueue(2);
    expect(await tick()).toMatchObject({ claimed: 2, failed: 2, released: 0 });
    expect(await read(ids)).toMatchObject([{ attempts: 1 }, { attempts: 1 }]);
  });

  it('are failures for all of which nothing was said, if the handler throws', async () => {
    handle = (_, runs) => {
      if (runs[1]) runs.succeed(runs[1], 'done');
      throw new Error('the index is away');
    };
    const ids = await enqueue(3);
    await tick();
    expect(await statuses(ids)).toEqual(['failed', 'succeeded', 'failed']);
  });

  it('of what fails come in smaller batches, and the last attempt alone', { tags: 'check' }, async () => {
    handle = (_, runs) => {
      if (runs.some(one => one.payload.n === 7)) throw new Error('poison');
    };
    const ids = await enqueue(8);
    for (const pause of ['0s', '10s', '20s']) {
      await test.advance(pause);
      await tick();
    }
    expect(calls.slice(0, 1).map(({ length }) => length)).toEqual([8]);
    expect(calls.slice(1, 3).map(({ length }) => length)).toEqual([4, 4]);
    expect(calls.slice(3).map(({ length }) => length)).toEqual([1, 1, 1, 1]);
    const expected = ids.map((_, at) => (at === 6 ? 'dead' : 'succeeded'));
    expect(await statuses(ids)).toEqual(expected);
  });

  it('cannot be a wait', { tags: 'check' }, async () => {
    handle = (_, runs) => {
      if (runs[0]) runs.fail(runs[0], new Snooze('5m'));
      throw new Snooze('5m');
    };
    const ids = await enqueue(2);
    await tick();
    for (const { status, errors } of await read(ids)) {
      expect(status).toBe('failed');
      expect(errors[0]).toMatchObject({ code: 'TOCK_BAD_STATE' });
      expect(errors[0]?.message).toContain('RetryLater');
    }
  });

  it('are said of runs of this batch only, and in time', async () => {
    const errors: unknown[] = [];
    let late: (() => void) | undefined;
    handle = (_, runs) => {
      const [one] = runs;
      if (!one) return;
      late = () => runs.fail(one, new Error('late'));
      try {
        runs.fail({ ...one }, new Error('a copy'));
      } catch (error) {
        errors.push(error);
      }
    };
    const ids = await enqueue(1);
    await tick();
    expect(errors).toEqual([expect.objectContaining({ code: 'TOCK_BAD_OPTION' })]);
    expect(late).toThrow(expect.objectContaining({ code: 'TOCK_BAD_STATE' }));
    expect(await statuses(ids)).toEqual(['succeeded']);
  });
});

describe('the context', () => {
  it.each([
    'step',
    'once',
    'sleep',
    'waitFor',
    'waitForRuns',
    'cursor',
    'child',
    'group',
    'progress',
    'handOff',
    'runId',
    'fail',
    'runs',
  ])('has no %s, and says what to do', { tags: 'check' }, async name => {
    handle = ctx => (ctx as unknown as Record<string, unknown>)[name];
    const [id = ''] = await enqueue(1);
    await tick();
    const [found] = await read([id]);
    expect(found?.errors[0]).toMatchObject({ code: 'TOCK_BAD_STATE' });
    expect(found?.errors[0]?.message).toMatch(new RegExp(`no ctx\\.${name}: .+`));
  });

  it('enqueues, emits and logs; lines are kept with each run, those of one run with that alone', async () => {
    handle = async (ctx, runs) => {
      ctx.log.info({ count: runs.length }, 'indexing');
      runs[0]?.log.info({}, 'the first');
      await ctx.enqueue(plain);
      await ctx.emit('indexed');
    };
    const ids = await enqueue(2);
    expect(await tick()).toMatchObject({ succeeded: 3 });
    const texts = await Promise.all(
      ids.map(async id =>
        (await test.tock.runs.log(id)).flatMap(({ lines }) => lines.map(({ text }) => text)),
      ),
    );
    expect(texts).toEqual([['indexing', 'the first'], ['indexing']]);
  });
});

describe('ctx.transaction', () => {
  beforeEach(async () => {
    await test.sql('create table if not exists public.indexed (n integer)');
    await test.sql('truncate public.indexed');
  });
  const write: Handler = async (ctx, runs) =>
    await ctx.transaction(async trx => {
      for (const {
        payload: { n },
      } of runs)
        await trx.withTables<{ indexed: { n: number } }>().insertInto('indexed').values({ n }).execute();
      for (const one of runs) runs.succeed(one, one.payload.n);
    });
  const written = async () =>
    (await test.sql<{ n: number }>('select n from public.indexed order by n')).map(({ n }) => n);

  it('commits what is written with the success of all', { tags: 'check' }, async () => {
    handle = write;
    const ids = await enqueue(3);
    await tick();
    expect(await written()).toEqual([1, 2, 3]);
    expect((await read(ids)).map(({ status, output }) => [status, output])).toEqual([
      ['succeeded', 1],
      ['succeeded', 2],
      ['succeeded', 3],
    ]);
  });

  it('leaves out the runs that have failed before it', { tags: 'check' }, async () => {
    handle = async (ctx, runs) => {
      const [one, ...others] = runs;
      if (one) runs.fail(one, new Error('bad'));
      await ctx.transaction(async trx => {
        for (const {
          payload: { n },
        } of others)
          await trx.withTables<{ indexed: { n: number } }>().insertInto('indexed').values({ n }).execute();
      });
      throw new Error('too late');
    };
    const ids = await enqueue(3);
    await tick();
    expect(await written()).toEqual([2, 3]);
    expect(await statuses(ids)).toEqual(['failed', 'succeeded', 'succeeded']);
  });

  it('commits nothing if a single lease is lost: the others are given back, and go without it', {
    tags: 'check',
  }, async () => {
    let isFirst = true;
    const errors: TockError[] = [];
    let lost = '';
    handle = async (ctx, runs) => {
      if (isFirst) {
        isFirst = false;
        lost = runs[1]?.id ?? '';
        // As if another worker had taken it.
        await test.sql('update tock.job_runs_live set fence = fence + 1, locked_by = null where id = $1', [
          lost,
        ]);
      }
      try {
        await write(ctx, runs);
      } catch (error) {
        errors.push(error as TockError);
        throw error;
      }
    };
    const ids = await enqueue(3);
    await tick();
    expect(errors).toEqual([expect.objectContaining({ code: 'TOCK_LEASE_LOST' })]);
    expect(errors[0]?.message).toContain(lost);
    expect(sorted(calls)).toEqual([
      [1, 2, 3],
      [1, 3],
    ]);
    expect(await written()).toEqual([1, 3]);
    const [one, two, three] = await read(ids);
    // Not even an attempt was counted.
    expect([one, three].map(each => [each?.status, each?.attempts])).toEqual([
      ['succeeded', 1],
      ['succeeded', 1],
    ]);
    expect(two?.status).toBe('running');
  });

  it('forgets what was said within it, if it is rolled back', { tags: 'check' }, async () => {
    handle = async (ctx, runs) => {
      await ctx
        .transaction(async () => {
          for (const one of runs) runs.succeed(one, 'said too soon');
          throw new Error('no');
        })
        .catch(() => undefined);
      throw new Error('the batch failed');
    };
    const ids = await enqueue(2);
    await tick();
    expect(await statuses(ids)).toEqual(['failed', 'failed']);
  });

  it('is called once', { tags: 'check' }, async () => {
    const errors: TockError[] = [];
    handle = async (ctx, runs) => {
      await write(ctx, runs);
      await ctx.transaction(() => undefined).catch((error: TockError) => errors.push(error));
    };
    await enqueue(2);
    await tick();
    expect(errors).toEqual([expect.objectContaining({ code: 'TOCK_BAD_STATE' })]);
  });
});

describe('runs of a batch', () => {
  it('that lose their lease or are cancelled do not stop the others', { tags: 'check' }, async () => {
    const seen: unknown[] = [];
    handle = async (ctx, runs) => {
      const [one, two] = runs;
      if (!one || !two) return;
      await test.sql('update tock.job_runs_live set fence = fence + 1, locked_by = null where id = $1', [
        one.id,
      ]);
      await test.tock.runs.cancel(two.id);
      await Promise.all([wait(one.signal), wait(two.signal)]);
      seen.push((one.signal.reason as TockError).code, (two.signal.reason as Error).name, ctx.signal.aborted);
      runs.fail(two, two.signal.reason);
    };
    const ids = await enqueue(3);
    expect(await tick()).toMatchObject({ lost: 1, cancelled: 1, succeeded: 1 });
    expect(seen).toEqual(['TOCK_LEASE_LOST', 'Cancel', false]);
    expect((await statuses(ids)).slice(1)).toEqual(['cancelled', 'succeeded']);
  });

  it('abort the signal of all, once all are cancelled', { tags: 'check' }, async () => {
    handle = async (ctx, runs) => {
      for (const { id } of runs) await test.tock.runs.cancel(id);
      await wait(ctx.signal);
      throw ctx.signal.reason;
    };
    const ids = await enqueue(2);
    await tick();
    expect(await statuses(ids)).toEqual(['cancelled', 'cancelled']);
  });

  it('fail together when their timeout is over', { tags: 'check' }, async () => {
    handle = async (ctx, runs) => {
      if (runs[0]) runs.succeed(runs[0], 'in time');
      await wait(ctx.signal);
      throw ctx.signal.reason;
    };
    const ids = await enqueue(3, quick);
    await tick();
    expect(await statuses(ids)).toEqual(['succeeded', 'failed', 'failed']);
    expect((await read(ids))[1]?.errors[0]).toMatchObject({ code: 'TOCK_TIMEOUT', batch: 3 });
  });

  it('go by themselves after their process was killed', { tags: 'check' }, async () => {
    const ids = await enqueue(4);
    await test.sql(
      `update tock.job_runs_live set status = 'running', attempts = 1, fence = 1, locked_by = gen_random_uuid(), locked_until = tock.now() - interval '1s'`,
    );
    expect((await test.tock.tick()).reaped).toMatchObject({ failed: 4 });
    await test.advance('1h');
    await tick();
    expect(calls.map(({ length }) => length)).toEqual([1, 1, 1, 1]);
    expect(new Set(await statuses(ids))).toEqual(new Set(['succeeded']));
  });
});

describe('a daemon', () => {
  const start = async () => {
    const daemon = await test.tock.start();
    daemons.push(daemon);
    return daemon;
  };

  it('calls a full batch at once, and another when its time is over', { tags: 'check' }, async () => {
    await start();
    await enqueue(10, soon);
    await until(async () => calls.flat().length === 10, 'all runs');
    expect(Math.max(...calls.map(({ length }) => length))).toBe(8);
  });

  it('gives back what gathers when it drains, and lets a batch at work end', { tags: 'check' }, async () => {
    let isReleased = false;
    handle = async ctx => {
      if (calls.length === 1) await wait(ctx.signal);
      isReleased = true;
      throw ctx.signal.reason;
    };
    const daemon = await test.another({ jobs, drain: '10ms', grace: '1s' }).start();
    const ids = await enqueue(3, soon);
    await until(async () => calls.length === 1, 'the batch');
    await daemon.stop();
    expect(isReleased).toBe(true);
    const runs = await read(ids);
    expect(runs.map(({ status, attempts }) => [status, attempts])).toEqual(ids.map(() => ['queued', 0]));
  });

  it('executes one by its id alone', async () => {
    const [, id = ''] = await enqueue(3);
    await test.tock.runs.wait(id, { execute: true });
    expect(calls).toEqual([[2]]);
  });
});
