// Review: rates of keys: tokens that are spent by runs that did not start, and extremes.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob, typeOnly } from '../../src/index.js';
import { storeTest } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const started: string[] = [];
const payload = typeOnly<{ tenant: string }>();
const run = (_ctx: unknown, { tenant }: { tenant: string }) => void started.push(tenant);
const paced = defineJob({
  name: 'paced',
  payload,
  concurrency: { limit: 5 },
  rate: { limit: 1, per: '1h', burst: 1, key: '$.tenant' },
  run,
});
const send = defineJob({ name: 'send', payload, fair: { key: '$.tenant' }, run });
const { test } = storeTest('2026-03-02T09:00:00Z', () => openTestTock([paced, send]));
beforeEach(async () => {
  await test.sql('delete from tock.registrations');
  await test.tock.tick();
  started.length = 0;
});

describe('the first run of a key that has a rate', () => {
  it.each([
    ['the library', () => test.tock.enqueue(paced, { tenant: 'a' })],
    ['SQL', () => test.sql(`select tock.enqueue('paced', '{"tenant": "a"}')`)],
  ])('starts at once, where it was enqueued by %s', async (_, enqueue) => {
    await enqueue();
    for (let minute = 0; minute < 10; minute++) {
      await test.tock.tick();
      await test.advance('1m');
    }
    expect(started).toEqual(['a']);
  });
});

describe('a rate that an operator sets for one key', () => {
  it('stops no other key, whatever its burst', async () => {
    await test.tock.keys.set('a', { rate: { limit: 1, per: '365d', burst: 100_000 } });
    await test.tock.enqueue(send, { tenant: 'a' });
    await test.tock.enqueue(send, { tenant: 'b' });
    await test.tock.tick().catch(() => undefined);
    await test.tock.tick().catch(() => undefined);
    expect(started.toSorted()).toEqual(['a', 'b']);
  });
});
