// How far a handler has come: ctx.cursor over failures, drains, and transactions.
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineJob, Snooze } from '../../src/index.js';
import { keepCursors } from '../../src/store/runs/effects.js';
import { databaseOf } from '../../src/tock/database-of.js';
import { openOnce } from '../support/open.js';
import { openTestTock, until } from '../support/test-tock.js';

const seen: number[] = [];
let gate: (() => void) | null = null;
const copies = defineJob({
  name: 'copies',
  payload: z.object({ how: z.string() }),
  retry: { maxAttempts: 3, base: 1000, jitter: 0 },
  async run(ctx, { how }) {
    const rows = await ctx.cursor('rows', 0);
    seen.push(rows.value);
    if (how === 'fail' && ctx.attempt === 1) {
      await rows.advance(10);
      await rows.advance(20);
      throw new Error('no');
    }
    if (how === 'snooze' && ctx.snoozes < 2) {
      await rows.advance(rows.value + 1);
      throw new Snooze('1s');
    }
    if (how === 'drain' && rows.value === 0) {
      await rows.advance(50);
      await new Promise(resolve => ctx.signal.addEventListener('abort', resolve));
      await rows.advance(60);
      ctx.signal.throwIfAborted();
    }
    if (how === 'live') {
      await rows.advance(70);
      await new Promise<void>(resolve => {
        gate = resolve;
      });
    }
    if (how === 'once' && ctx.attempt === 1) {
      await rows.advance(1);
      await ctx.once(`good:${ctx.runId}`, async () => await rows.advance(2));
      await ctx
        .once(`bad:${ctx.runId}`, async () => {
          await rows.advance(3);
          throw new Error('rolled back');
        })
        .catch(() => undefined);
      seen.push(rows.value);
      throw new Error('no');
    }
    if (how === 'held' || how === 'finished') {
      await rows.advance(1);
      const work = async () => {
        await rows.advance(2);
        await report(ctx.runId, '{"n":1,"value":1}');
        return rows.value;
      };
      return await (how === 'held' ? ctx.once(`work:${ctx.runId}`, work) : ctx.transaction(work));
    }
    if (how === 'two')
      await ctx.once(`a:${ctx.runId}`, async () => {
        await ctx.once(`b:${ctx.runId}`, async trx => {
          await rows.advance(5, { client: trx });
          await rows.advance(6);
        });
      });
    if (how === 'twice') await ctx.cursor('rows', 1);
    if (how === 'bad') await rows.advance(10n as never);
    return rows.value;
  },
});

const test = openOnce(
  () => openTestTock([copies], { drain: '0s', grace: '30s', lease: '1m' }),
  ({ setClock }) => setClock('2026-03-01T12:00:00Z'),
);

const kept = async (id: string) =>
  (
    await test.sql<{ value: number }>(
      `select (result ->> 'value')::int as value from tock.job_effects where key = $1`,
      [`cursor:${id}:rows`],
    )
  )[0]?.value;
/** Writes a cursor of a run, as its worker does beside the handler. */
const report = async (id: string, result: string) => {
  const { lockedBy, fence } = (await test.tock.runs.get(id)) ?? {};
  const cursors = new Map([[`cursor:${id}:rows`, result]]);
  await keepCursors(await databaseOf(test.tock), [{ id, fence: fence ?? 0, cursors }], lockedBy ?? '');
};
const start = async (how: string) => {
  seen.length = 0;
  return await test.tock.enqueue(copies, { how });
};

describe('ctx.cursor', () => {
  it('gives the next attempt what was kept last, though the handler threw', async () => {
    const id = await start('fail');
    await test.tock.tick();
    expect(await kept(id)).toBe(20);
    await test.advance('1s');
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', output: 20 });
    expect(seen).toEqual([0, 20]);
  });

  it('is kept where the handler ends to wait', async () => {
    const id = await start('snooze');
    for (let n = 0; n < 3; n++) {
      await test.tock.tick();
      await test.advance('1s');
    }
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', output: 2 });
  });

  it('is kept by a drain, with what was advanced until the handler stopped', { tags: 'check' }, async () => {
    const id = await start('drain');
    const daemon = await test.another({ heartbeat: '100ms' }).start();
    await until(async () => (await kept(id)) === 50, 'the cursor to be written beside the handler');
    await daemon.stop();
    expect(await kept(id)).toBe(60);
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', output: 60 });
  });

  it('is written neither late, nor by a worker that has lost the lease', { tags: 'check' }, async () => {
    const id = await start('live');
    const daemon = await test.another({ heartbeat: '100ms' }).start();
    await until(async () => gate !== null, 'the handler');
    await until(async () => (await kept(id)) === 70, 'the cursor');
    await report(id, '{"n":0,"value":1}');
    expect(await kept(id)).toBe(70);
    await test.sql('update tock.job_runs_live set fence = fence + 1 where id = $1', [id]);
    gate?.();
    await daemon.stop();
    expect(await kept(id)).toBe(70);
    await test.sql('delete from tock.job_runs_live where id = $1', [id]);
  });

  it('is committed with the transaction that is open, or not at all', async () => {
    const id = await start('once');
    await test.tock.tick();
    expect(seen).toEqual([0, 2]);
    expect(await kept(id)).toBe(2);
    await test.advance('1s');
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', output: 2 });
  });

  it.each([
    ['held', 2],
    ['finished', 1],
  ])('is reported while a transaction that advances it is open: neither waits (%s)', async (how, value) => {
    const id = await start(how);
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', output: 2 });
    expect(await kept(id)).toBe(value);
  });

  it.each([
    ['two', 'TOCK_BAD_OPTION'],
    ['twice', 'TOCK_BAD_STATE'],
    ['bad', 'TOCK_BAD_RESULT'],
  ])('says what is wrong (%s)', async (how, code) => {
    const id = await start(how);
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'failed', errors: [{ code }] });
    await test.tock.runs.cancel(id);
  });
});
