// Engine: payloads that are too large to come with a claim.
import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import pg from 'pg';
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/index.js';
import { claimFreeRuns } from '../../../src/store/runs/claim/claim.js';
import { openDatabase } from '../../support/database.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';

const MIB = 1024 * 1024;
const LEASE = { workerId: '00000000-0000-4000-8000-000000000001', leaseMs: 60_000, queues: null };

let seen: unknown[];
const echo = defineJob({
  name: 'echo',
  retry: { maxAttempts: 1 },
  run: (_ctx, payload) => {
    seen.push(payload);
  },
});
const test = openForEach(() => reuseTestTock([echo]));
beforeEach(() => {
  seen = [];
});

/** Does not get shorter when it is compressed. */
const noise = (length: number) => randomBytes(length / 2).toString('hex');

describe('a large payload', () => {
  it('comes whole to its handler', async () => {
    const payloads = [
      { text: noise(100_000) },
      // Stored in a few hundred bytes.
      { text: 'x'.repeat(500_000) },
      { text: '😀'.repeat(20_000) },
      { text: '' },
    ];
    for (const payload of payloads) await test.tock.enqueue(echo, payload);
    expect((await test.tock.tick()).executed).toMatchObject({ succeeded: 4 });
    expect(seen).toEqual(expect.arrayContaining(payloads));
  });

  it('does not come with the claim, which many of them would make too large for the memory', {
    tags: 'check',
  }, async () => {
    await test.sql(`select tock.enqueue_one('echo', jsonb_build_object('text', repeat('x', 10000000)), null, null, 'default', 0, 1, 'api')
      from generate_series(1, 8)`);
    await test.tock.enqueue(echo, { text: noise(100_000) });
    // Each is stored in a few thousand bytes.
    await test.tock.enqueueMany(
      Array.from({ length: 8 }, () => ({ job: echo, payload: { text: 'x'.repeat(500_000) } })),
    );
    await test.tock.enqueue(echo, { text: 'small' });
    const pool = new pg.Pool({ connectionString: test.url });
    const sockets: Socket[] = [];
    pool.on('connect', client =>
      sockets.push((client as unknown as { connection: { stream: Socket } }).connection.stream),
    );
    const database = openDatabase({ pool });
    try {
      const { runs } = await claimFreeRuns(database, { ...LEASE, limit: 100 });
      expect(runs.map(run => [run.is_large, run.payload, run.attempts])).toEqual([
        ...Array.from({ length: 17 }, () => [true, null, 1]),
        [false, { text: 'small' }, 1],
      ]);
      const received = sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0);
      expect(received).toBeGreaterThan(0);
      expect(received).toBeLessThan(18 * 20_000);
    } finally {
      await database.close();
      await pool.end();
    }
  });

  it('waits until those before it have ended, where they would be too large together', {
    tags: 'check',
  }, async () => {
    const sizes: number[] = [];
    let held = 0;
    const holds = defineJob({
      name: 'echo',
      run: async (ctx, payload) => {
        held += (payload as { text: string }).text.length;
        sizes.push(held);
        // The one connection answers in turn: after it has read what the others had asked for.
        await ctx.runs.get(ctx.runId);
        held -= (payload as { text: string }).text.length;
      },
    });
    const tock = test.another({ jobs: [holds], maxPayloadBytes: 16 * MIB, connections: 1 });
    await test.sql(`select tock.enqueue_one('echo', jsonb_build_object('text', repeat('x', 10000000)), null, null, 'default', 0, 1, 'api')
      from generate_series(1, 4)`);
    expect((await tock.tick()).executed).toMatchObject({ succeeded: 4 });
    expect(sizes).toEqual([10_000_000, 10_000_000, 10_000_000, 10_000_000]);
  });

  it('costs no attempt where the connection is lost while it is read', { tags: 'check' }, async () => {
    const pool = new pg.Pool({ connectionString: test.url });
    let isCut = false;
    pool.on('connect', client => {
      client.on('error', () => undefined);
      const query = client.query.bind(client) as (config: pg.QueryConfig) => Promise<unknown>;
      Object.assign(client, {
        async query(config: pg.QueryConfig) {
          if (/octet_length\(p\.text\)/.test(config.text) && !isCut) {
            isCut = true;
            const { processID } = client as unknown as { processID: number };
            await test.sql('select pg_terminate_backend($1, 10000)', [processID]);
          }
          return await query(config);
        },
      });
    });
    const tock = test.another({ pool });
    const id = await tock.enqueue(echo, { text: noise(100_000) });
    try {
      await tock.tick();
      await tock.tick();
    } finally {
      await tock.close();
      await pool.end();
    }
    expect(isCut).toBe(true);
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', attempts: 1, errors: [] });
  });

  it('ends its run where it is over the limit of the worker, and no other', { tags: 'check' }, async () => {
    const other = test.another({ maxPayloadBytes: 16 * MIB });
    const large = { text: noise(3 * MIB) };
    const id = await other.enqueue(echo, large);
    await test.tock.enqueue(echo, { text: 'small' });
    expect((await test.tock.tick()).executed).toMatchObject({ succeeded: 1, dead: 1 });
    expect(seen).toEqual([{ text: 'small' }]);
    expect(await test.tock.runs.get(id)).toMatchObject({
      status: 'dead',
      attempts: 1,
      payload: large,
      errors: [{ code: 'TOCK_BAD_PAYLOAD', message: expect.stringContaining('maxPayloadBytes 1048576') }],
    });
    // A worker that takes it can execute it.
    await test.tock.runs.retry(id);
    expect((await other.tick()).executed).toMatchObject({ succeeded: 1 });
    expect(seen).toContainEqual(large);
  });

  it('is left out of a list, which shows the others', { tags: 'check' }, async () => {
    await test.sql(
      `select tock.enqueue_one('echo', jsonb_build_object('text', repeat('x', 30000000)), null, null, 'default', 0, 1, 'api')`,
    );
    await test.tock.enqueue(echo, { text: noise(MIB - 100) });
    expect((await test.tock.runs.list()).map(({ payload }) => Object.keys(payload as object))).toEqual([
      ['text'],
      ['payloadLeftOut'],
    ]);
  });
});
