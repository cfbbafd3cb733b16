// Engine: payloads that are too large to come with a claim.
import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/index.js';
import { openDatabase } from '../../../src/store/connection/database.js';
import { claimFreeRuns } from '../../../src/store/runs/claim/claim.js';
import { reuseTestTock, type TestTock } from '../../support/test-tock.js';

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
let test: TestTock;
beforeEach(async () => {
  seen = [];
  test = await reuseTestTock([echo]);
});
afterEach(() => test.close());

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

  it('does not come with the claim, which many of them would make too large for the memory', async () => {
    await test.sql(`select tock.enqueue_one('echo', jsonb_build_object('text', repeat('x', 10000000)), null, null, 'default', 0, 1, 'api')
      from generate_series(1, 8)`);
    await test.tock.enqueue(echo, { text: noise(100_000) });
    await test.tock.enqueue(echo, { text: 'small' });
    const database = openDatabase({ connectionString: test.url });
    try {
      const { runs } = await claimFreeRuns(database, { ...LEASE, limit: 100 });
      expect(runs.map(run => [run.is_large, run.payload, run.attempts])).toEqual([
        ...Array.from({ length: 9 }, () => [true, null, 1]),
        [false, { text: 'small' }, 1],
      ]);
    } finally {
      await database.close();
    }
  });

  it('ends its run where it is over the limit of the worker, and no other', async () => {
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

  it('is left out of a list, which shows the others', async () => {
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
