// Engine: a tick goes on until nothing is due, and no longer.
import { describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { rounds } from '../support/rounds.js';
import { reuseTestTock } from '../support/test-tock.js';

const test = openForEach(reuseTestTock);

describe('runTick', () => {
  // Regression, twice: a claim that was under way while the last run ended as failed and due again saw nothing, and
  // the tick took that for the end; and a run that was claimed again before its last attempt had left was forgotten.
  it('executes every attempt that is due at once, many times', async () => {
    const stubborn = defineJob({
      name: 'stubborn',
      retry: { maxAttempts: 5, base: 0, jitter: 0 },
      run: ctx => {
        if (ctx.attempt < 5) throw new Error('again');
        return ctx.attempt;
      },
    });
    const tock = test.another({ jobs: [stubborn] });
    for (let round = 0; round < rounds(10, 60); round++) {
      const id = await tock.enqueue(stubborn);
      await tock.tick();
      expect(await tock.runs.get(id)).toMatchObject({ status: 'succeeded', attempts: 5 });
    }
  });

  it('executes what its handlers enqueue', async () => {
    const chain = defineJob({
      name: 'chain',
      async run(ctx, payload) {
        const { left } = payload as { left: number };
        if (left > 0) await ctx.enqueue<string>('chain', { left: left - 1 });
      },
    });
    const tock = test.another({ jobs: [chain] });
    await tock.enqueue(chain, { left: 9 });
    expect((await tock.tick()).executed).toMatchObject({ claimed: 10, succeeded: 10 });
  });

  it('leaves no worker behind, and none at all when nothing is due', async () => {
    const tock = test.another({ jobs: [defineJob({ name: 'noop', run: () => null })] });
    await tock.tick();
    await tock.enqueue('noop');
    await tock.tick();
    expect(await test.sql('select * from tock.workers')).toEqual([]);
  });

  it('stops at once when its signal has aborted before it began', async () => {
    const tock = test.another({ jobs: [defineJob({ name: 'noop', run: () => null })] });
    const id = await tock.enqueue('noop');
    expect(await tock.tick({ signal: AbortSignal.abort() })).toMatchObject({
      stoppedEarly: true,
      executed: { claimed: 0 },
    });
    expect(await tock.runs.get(id)).toMatchObject({ status: 'queued' });
  });
});
