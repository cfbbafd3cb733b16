// Engine: what is enqueued last under a live key is executed last, whatever state the key's run is in.
import { beforeEach, describe, expect, it } from 'vitest';
import { Dead, defineJob, type JobContext } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { otherSessions } from '../support/runs.js';
import { reuseTestTock } from '../support/test-tock.js';

const test = openForEach(() => reuseTestTock([sync, other]));
const { open } = otherSessions(test);
const seen: unknown[] = [];
/** What the handler does with a payload, besides noting it. */
let work: (ctx: JobContext, payload: unknown) => unknown;
const sync = defineJob({
  name: 'sync',
  retry: { maxAttempts: 3, backoff: 'fixed', base: '10m', jitter: 0 },
  run: async (ctx, payload: unknown) => {
    seen.push(payload);
    return (await work(ctx, payload)) as null;
  },
});
const other = defineJob({ name: 'other', run: (_ctx, payload: unknown) => void seen.push(payload) });
const NOW = '2026-03-01T12:00:00Z';

beforeEach(async () => {
  seen.length = 0;
  work = () => null;
  await test.setClock(NOW);
});

const live = { key: 'user:7', unique: 'live' } as const;
const replace = { ...live, replace: true } as const;
const details = { details: true } as const;
const enqueue = async (payload: unknown, options: object = replace) =>
  await test.tock.enqueue(sync, payload, { ...options, ...details });
const runOf = async (id: string) => {
  const run = await test.tock.runs.get(id);
  if (run === null) throw new Error(`there is no run ${id}`);
  return run;
};
const liveRuns = async () => await test.sql('select id, status, payload from tock.job_runs_live order by id');
const pending = async () => await test.sql('select run_id as id, payload from tock.job_successors');
/** Executes what is due, and does something while the handler of the first run executes. */
async function whileRunning<T>(meanwhile: () => Promise<T>, end: typeof work = () => null): Promise<T> {
  let result: T | undefined;
  work = async (ctx, payload) => {
    work = () => null;
    result = await meanwhile();
    return await end(ctx, payload);
  };
  await test.tock.tick();
  expect(result, 'the handler was called').toBeDefined();
  return result as T;
}

it('enqueue with details says what became of the call, and without them gives the id as before', async () => {
  expect(await enqueue(1, {})).toEqual({ id: '1', isNew: true, isReplaced: false });
  expect(await enqueue(2, live)).toEqual({ id: '2', isNew: true, isReplaced: false });
  expect(await enqueue(3, live)).toEqual({ id: '2', isNew: false, isReplaced: false });
  expect(await enqueue(4)).toEqual({ id: '2', isNew: false, isReplaced: true });
  expect(await test.tock.enqueue(sync, 5, replace)).toBe('2');
  expect(await runOf('2')).toMatchObject({ payload: 5 });
});

it('a call that replaces, while the run of the key is queued gives it all that the call says, and wakes what executes it', async () => {
  const { id } = await enqueue(1);
  const again = await enqueue(2, { ...replace, queue: 'slow', priority: 4, maxAttempts: 7, delay: '5m' });
  expect(again).toEqual({ id, isNew: false, isReplaced: true });
  expect(await runOf(id)).toMatchObject({
    payload: 2,
    queue: 'slow',
    priority: 4,
    maxAttempts: 7,
    runAt: new Date('2026-03-01T12:05:00Z'),
  });
});

describe('a call that replaces, while the run of the key is running', () => {
  it('leaves a successor, which starts when the run has ended, under the id that the caller got', async () => {
    const { id } = await enqueue(1);
    const successor = await whileRunning(async () => {
      const left = await enqueue(2);
      expect(await liveRuns()).toMatchObject([{ id, status: 'running', payload: 1 }]);
      expect(await test.tock.runs.get(left.id)).toBeNull();
      expect(await runOf(id)).toMatchObject({ successor: left.id });
      return left;
    });
    expect(successor).toEqual({ id: expect.not.stringMatching(`^${id}$`), isNew: true, isReplaced: false });
    expect(seen).toEqual([1, 2]);
    expect(await runOf(id)).toMatchObject({ status: 'succeeded', payload: 1, successor: null });
    expect(await runOf(successor.id)).toMatchObject({
      status: 'succeeded',
      payload: 2,
      idempotencyKey: 'user:7',
    });
    expect(await pending()).toEqual([]);
  });

  it('leaves one successor: the last call counts, with all that it says', async () => {
    await enqueue(1);
    const [second, third] = await whileRunning(async () => [
      await enqueue(2, { ...replace, delay: '1h' }),
      await enqueue(3, { ...replace, queue: 'slow', priority: 2, maxAttempts: 7 }),
    ]);
    expect(third).toEqual({ id: second?.id, isNew: false, isReplaced: true });
    expect(seen).toEqual([1, 3]);
    expect(await runOf(third?.id ?? '')).toMatchObject({ queue: 'slow', priority: 2, maxAttempts: 7 });
  });

  it('of a batch takes the last, and answers each row', async () => {
    await enqueue(1);
    const answers = await whileRunning(() =>
      test.tock.enqueueMany(
        [
          { job: sync, payload: 2, ...replace },
          { job: sync, payload: 'free', key: 'user:8', unique: 'live', replace: true },
          { job: sync, payload: 3, ...replace },
          { job: sync, payload: 'plain' },
        ],
        details,
      ),
    );
    const [second, free, third, plain] = answers;
    expect(second).toEqual({ id: third?.id, isNew: false, isReplaced: false });
    expect(third).toMatchObject({ isNew: true, isReplaced: false });
    expect([free, plain]).toMatchObject([{ isNew: true }, { isNew: true }]);
    expect(seen.filter(payload => typeof payload === 'number')).toEqual([1, 3]);
    expect(seen).toHaveLength(4);
  });

  it('gives the running run to a call that does not replace', async () => {
    const { id } = await enqueue(1);
    const kept = await whileRunning(async () => {
      await enqueue(2);
      return await enqueue('kept', live);
    });
    expect(kept).toEqual({ id, isNew: false, isReplaced: false });
    expect(seen).toEqual([1, 2]);
  });

  it('follows the successor too, once that is running', async () => {
    await enqueue(1);
    const nested = (payload: number) => async () => {
      await enqueue(payload + 1);
      work = payload === 3 ? () => null : nested(payload + 1);
      return null;
    };
    work = nested(1);
    await test.tock.tick();
    expect(seen).toEqual([1, 2, 3, 4]);
    expect(await liveRuns()).toEqual([]);
  });

  it('takes what a transaction commits, and nothing of one that rolls back', async () => {
    await enqueue(1);
    const client = await open();
    await whileRunning(async () => {
      await client.query('begin');
      await enqueue(2, { ...replace, client });
      await client.query('rollback');
      expect(await pending()).toEqual([]);
      await client.query('begin');
      await enqueue(3, { ...replace, client });
      await enqueue(4, { ...replace, client });
      expect(await pending()).toEqual([]);
      await client.query('commit');
      return await pending();
    });
    expect(seen).toEqual([1, 4]);
  });

  it('waits behind another job’s run, which it does not replace', async () => {
    const foreign = await test.tock.enqueue(other, 'foreign', { ...live, delay: '5m' });
    const left = await enqueue(1);
    expect(left).toEqual({ id: expect.any(String), isNew: true, isReplaced: false });
    await test.tock.tick();
    expect(seen).toEqual([]);
    expect(await runOf(foreign)).toMatchObject({ status: 'queued', successor: left.id });
    await test.advance('5m');
    await test.tock.tick();
    expect(seen).toEqual(['foreign', 1]);
  });
});

describe('debounce', () => {
  it('keeps its delay while the run is running, from the last call on, and its bound from the first on', {
    tags: 'check',
  }, async () => {
    await enqueue(0, { key: 'a', debounce: '0s' });
    const { id } = await whileRunning(async () => {
      const first = await enqueue(1, { key: 'a', debounce: '10s' });
      for (let call = 2; call <= 14; call++) {
        await test.advance('9s');
        expect(await enqueue(call, { key: 'a', debounce: '10s' })).toMatchObject({ id: first.id });
        const [row] = await test.sql<{ run_at: Date }>('select run_at from tock.job_successors');
        const due = Date.parse(NOW) + Math.min((call - 1) * 9 + 10, 100) * 1000;
        expect(row?.run_at).toEqual(new Date(due));
      }
      return first;
    });
    // The bound is over by now: it is due at once.
    expect(seen).toEqual([0, 14]);
    expect(await runOf(id)).toMatchObject({ status: 'succeeded' });
  });

  it('waits for the rest of its delay after the end, and goes on being postponed', {
    tags: 'check',
  }, async () => {
    await enqueue(0, { key: 'a', debounce: '0s' });
    const { id } = await whileRunning(async () => await enqueue(1, { key: 'a', debounce: '10s' }));
    expect(await runOf(id)).toMatchObject({ status: 'queued', runAt: new Date('2026-03-01T12:00:10Z') });
    await test.advance('9s');
    await enqueue(2, { key: 'a', debounce: '10s' });
    expect(await runOf(id)).toMatchObject({ payload: 2, runAt: new Date('2026-03-01T12:00:19Z') });
    await test.advance('10s');
    await test.tock.tick();
    expect(seen).toEqual([0, 2]);
  });
});

describe('a run that has begun and waits for another attempt', () => {
  const boom = () => {
    throw new Error('boom');
  };

  it('ends cancelled when it is replaced, and its successor meets none of its results', {
    tags: 'check',
  }, async () => {
    const step = async (ctx: JobContext, payload: unknown) => await ctx.step('mark', () => payload as number);
    work = async (ctx, payload) => {
      await step(ctx, payload);
      return boom();
    };
    const { id } = await enqueue(1);
    await test.tock.tick();
    expect(await runOf(id)).toMatchObject({ status: 'failed' });
    work = step;
    const next = await enqueue(2);
    expect(next).toEqual({ id: expect.not.stringMatching(`^${id}$`), isNew: true, isReplaced: true });
    expect(await runOf(id)).toMatchObject({
      status: 'cancelled',
      skipReason: `replaced by run ${next.id}`,
      payload: 1,
      errors: [{ message: 'boom' }],
    });
    await test.tock.tick();
    expect(await runOf(next.id)).toMatchObject({ status: 'succeeded', output: 2, attempts: 1 });
    await test.advance('1h');
    await test.tock.tick();
    expect(seen).toEqual([1, 2]);
  });

  it.each([
    ['was given back', 'releases = 1'],
    ['was snoozed', 'began_at = tock.now()'],
  ])('ends likewise when it %s, though the attempt does not count', async (_, set) => {
    const { id } = await enqueue(1);
    await test.sql(`update tock.job_runs_live set ${set}, fence = 1, started_at = tock.now()`);
    const next = await enqueue(2);
    expect(await runOf(id)).toMatchObject({
      status: 'cancelled',
      skipReason: `replaced by run ${next.id}`,
    });
    await test.tock.tick();
    expect(seen).toEqual([2]);
  });

  it('is replaced in place when it was only deferred: its handler was not called', async () => {
    const { id } = await enqueue(1);
    await test.sql(`update tock.job_runs_live set fence = 1, started_at = tock.now()`);
    expect(await enqueue(2)).toEqual({ id, isNew: false, isReplaced: true });
  });

  it('stays the way it was for a call that does not replace', async () => {
    work = boom;
    const { id } = await enqueue(1);
    await test.tock.tick();
    expect(await enqueue(2, live)).toEqual({ id, isNew: false, isReplaced: false });
    expect(await runOf(id)).toMatchObject({ status: 'failed', payload: 1 });
  });

  it('that an operator has retried is replaced like any other, once the key is free', {
    tags: 'check',
  }, async () => {
    const { id } = await enqueue(1);
    const next = await whileRunning(
      async () => await enqueue(2, { ...replace, delay: '1h' }),
      () => {
        throw new Dead('no');
      },
    );
    await expect(test.tock.runs.retry(id)).rejects.toThrow(/another run with its key "user:7" is live/);
    await test.tock.runs.cancel(next.id);
    expect(await test.tock.runs.retry(id)).toMatchObject({ status: 'queued', attempts: 1 });
    const last = await enqueue(3);
    expect(await runOf(id)).toMatchObject({ status: 'cancelled', skipReason: `replaced by run ${last.id}` });
    await test.tock.tick();
    expect(seen).toEqual([1, 3]);
  });
});
