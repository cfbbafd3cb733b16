// Engine: what an occurrence does while an earlier run of its definition is live, under each of the six policies.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type AnyJob, defineJob, type OverlapPolicy, type RunRecord } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock, until } from '../support/test-tock.js';

const test = openForEach(reuseTestTock);
let begun: string[];
let release: Map<string, () => void>;
beforeEach(async () => {
  begun = [];
  release = new Map();
  await test.setClock('2026-03-01T11:59:30Z');
});
afterEach(() => {
  for (const each of release.values()) each();
});

/** A job whose handlers run until they are released by the minute of their occurrence; they heed their signal. */
const holding = (overlap: OverlapPolicy, more: object = {}): AnyJob =>
  defineJob({
    name: 'report',
    schedule: { cron: '* * * * *', overlap, ...more },
    retry: { maxAttempts: 2, base: '1m', jitter: 0 },
    run: ctx => {
      const minute = ctx.scheduledFor?.toISOString().slice(11, 16) ?? '';
      begun.push(minute);
      return new Promise((resolve, reject) => {
        release.set(minute, () => resolve('released'));
        ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason));
      });
    },
  });
const open = (job: AnyJob) => test.another({ jobs: [job], lease: '1h', heartbeat: '50ms', grace: '100ms' });
const runs = async (): Promise<Record<string, string>> => {
  const list = await test.tock.runs.list({ definition: 'report' });
  return Object.fromEntries(
    list
      .filter((run): run is RunRecord & { scheduledFor: Date } => run.scheduledFor !== null)
      .sort((a, b) => a.scheduledFor.getTime() - b.scheduledFor.getTime())
      .map(run => [
        run.scheduledFor.toISOString().slice(11, 16),
        run.status === 'skipped' ? `skipped ${run.skipReason} ${run.occurrenceCount}` : run.status,
      ]),
  );
};
const started = (minute: string) => until(async () => begun.includes(minute), `${minute} to begin`);

describe('overlap', () => {
  /** One run holds; then three more minutes come, each with a tick of its own. */
  const fourMinutes = async (overlap: OverlapPolicy) => {
    const tock = open(holding(overlap));
    await tock.tick();
    await test.advance('30s');
    const first = tock.tick();
    await started('12:00');
    const later: Promise<unknown>[] = [];
    for (const minute of ['12:01', '12:02', '12:03']) {
      await test.advance('1m');
      later.push(tock.tick());
      await until(async () => Object.keys(await runs()).includes(minute), `${minute} to be on record`);
    }
    return { tock, first, later };
  };

  it('skip: each is skipped, with its reason', async () => {
    const { first } = await fourMinutes('skip');
    expect(await runs()).toEqual({
      '12:00': 'running',
      '12:01': 'skipped overlap 1',
      '12:02': 'skipped overlap 1',
      '12:03': 'skipped overlap 1',
    });
    release.get('12:00')?.();
    await first;
    expect((await runs())['12:00']).toBe('succeeded');
  });

  it('buffer_one: one waits for its turn, the others are skipped', { tags: 'check' }, async () => {
    const { first, later } = await fourMinutes('buffer_one');
    await until(
      async () =>
        (await test.sql('select from tock.job_runs_live where blocked_on is not null')).length === 1,
      'one to be blocked',
    );
    expect(await runs()).toEqual({
      '12:00': 'running',
      '12:01': 'queued',
      '12:02': 'skipped overlap 1',
      '12:03': 'skipped overlap 1',
    });
    expect(begun).toEqual(['12:00']);
    release.get('12:00')?.();
    await started('12:01');
    release.get('12:01')?.();
    // Any of the ticks may have claimed it.
    await Promise.all([first, ...later]);
    expect(await runs()).toMatchObject({ '12:00': 'succeeded', '12:01': 'succeeded' });
    expect(await test.sql('select * from tock.job_slots')).toEqual([]);
  });

  it('buffer_all: all wait, and run one after another in their order', { tags: 'check' }, async () => {
    const { tock, first, later } = await fourMinutes('buffer_all');
    for (const minute of ['12:00', '12:01', '12:02', '12:03']) {
      await started(minute);
      expect(begun.at(-1)).toBe(minute);
      expect(Object.values(await runs()).filter(status => status === 'running')).toHaveLength(1);
      release.get(minute)?.();
    }
    await Promise.all([first, ...later]);
    await tock.tick();
    expect(Object.values(await runs())).toEqual(['succeeded', 'succeeded', 'succeeded', 'succeeded']);
  });

  it('buffer_all: a run that waits for its next attempt keeps its turn, also when many have come due meanwhile, and few are claimed at once', {
    tags: 'check',
  }, async () => {
    let attempts = 0;
    const flaky = defineJob({
      name: 'report',
      schedule: { cron: '* * * * *', overlap: 'buffer_all', catchup: 'all' },
      retry: { maxAttempts: 2, base: '10m', jitter: 0 },
      run: ctx => {
        attempts++;
        begun.push(`${ctx.scheduledFor?.toISOString().slice(11, 16)} attempt ${ctx.attempt}`);
        if (attempts === 1) throw new Error('not yet');
      },
    });
    const tock = open(flaky);
    await tock.tick();
    await test.advance('30s');
    await tock.tick();
    await test.advance('1m');
    await tock.tick();
    expect(await runs()).toEqual({ '12:00': 'failed', '12:01': 'queued' });
    await test.advance('9m');
    // Regression: it was put aside with those that wait for it, and nobody ever let it in.
    await tock.tick({ concurrency: 2 });
    expect(begun.slice(0, 3)).toEqual(['12:00 attempt 1', '12:00 attempt 2', '12:01 attempt 1']);
    await tock.tick({ concurrency: 2 });
    expect(new Set(Object.values(await runs()))).toEqual(new Set(['succeeded']));
  });

  it('cancel_other: the live one is asked to stop, and the new one starts when it has', {
    tags: 'check',
  }, async () => {
    const tock = open(holding('cancel_other'));
    await tock.tick();
    await test.advance('30s');
    const first = tock.tick();
    await started('12:00');
    await test.advance('1m');
    const second = tock.tick();
    await started('12:01');
    expect(await runs()).toMatchObject({ '12:00': 'cancelled', '12:01': 'running' });
    const [older] = (await test.tock.runs.list({ status: 'cancelled' })).map(run => run.skipReason);
    expect(older).toBe('a later occurrence took its place');
    release.get('12:01')?.();
    await Promise.all([first, second]);
    expect(await runs()).toEqual({ '12:00': 'cancelled', '12:01': 'succeeded' });
  });

  it('terminate_other: the live one is taken away at once, and nothing of it is kept', {
    tags: 'check',
  }, async () => {
    const deaf = defineJob({
      name: 'report',
      schedule: { cron: '* * * * *', overlap: 'terminate_other' },
      run: ctx => {
        const minute = ctx.scheduledFor?.toISOString().slice(11, 16) ?? '';
        begun.push(minute);
        return new Promise(resolve => release.set(minute, () => resolve(minute)));
      },
    });
    const tock = open(deaf);
    await tock.tick();
    await test.advance('30s');
    const first = tock.tick();
    await started('12:00');
    await test.advance('1m');
    const second = tock.tick();
    await started('12:01');
    expect(await runs()).toEqual({ '12:00': 'cancelled', '12:01': 'running' });
    release.get('12:00')?.();
    release.get('12:01')?.();
    const [one, two] = await Promise.all([first, second]);
    expect(one.executed.lost + two.executed.lost).toBe(1);
    expect(await runs()).toEqual({ '12:00': 'cancelled', '12:01': 'succeeded' });
    const [taken] = await test.tock.runs.list({ status: 'cancelled' });
    expect(taken).toMatchObject({ output: null, fence: 2, errors: [] });
  });

  it('allow_all: all run side by side', { tags: 'check' }, async () => {
    const { first, later } = await fourMinutes('allow_all');
    for (const minute of ['12:01', '12:02', '12:03']) await started(minute);
    expect(Object.values(await runs())).toEqual(['running', 'running', 'running', 'running']);
    for (const each of release.values()) each();
    await Promise.all([first, ...later]);
  });

  it('skip with catchup all: what is made up for runs one after another', { tags: 'check' }, async () => {
    let running = 0;
    let most = 0;
    const job = defineJob({
      name: 'report',
      schedule: { cron: '* * * * *', catchup: 'all' },
      run: async ctx => {
        begun.push(ctx.scheduledFor?.toISOString().slice(11, 16) ?? '');
        most = Math.max(most, ++running);
        await test.sql('select 1');
        running--;
      },
    });
    const tock = open(job);
    await tock.tick();
    await test.advance('5m');
    await tock.tick();
    expect(begun).toEqual(['12:00', '12:01', '12:02', '12:03', '12:04']);
    expect(most).toBe(1);
  });
});
