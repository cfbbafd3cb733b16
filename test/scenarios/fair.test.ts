// Fair keys: they share the workers, by weight.
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { defineJob } from '../../src/index.js';
import { storeTest } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const started: string[] = [];
const send = defineJob({
  name: 'send',
  queue: 'mail',
  payload: z.object({ tenant: z.union([z.string(), z.number()]).optional() }),
  run(_ctx, { tenant }) {
    started.push(String(tenant));
  },
});
const { test } = storeTest('2026-03-02T09:00:00Z', () => openTestTock([send]));
beforeEach(() => {
  started.length = 0;
});
const share = (more = '') =>
  test.sql(
    `insert into tock.fair_scopes (queue, path${more === '' ? '' : ', slot_limit, rate_count, rate_period_ms, rate_burst'}) values ('mail', '$.tenant'${more})`,
  );
const enqueue = (tenant: string | number, count: number) =>
  test.tock.enqueueMany(Array.from({ length: count }, () => ({ job: send, payload: { tenant } })));
const drain = async () => {
  while ((await test.tock.tick({ concurrency: 4 })).executed.claimed > 0);
};

describe('fair keys', () => {
  it('let the last ten of another tenant start long before two hundred have ended', async () => {
    await share();
    await enqueue('a', 200);
    await enqueue('b', 10);
    await drain();
    expect(started).toHaveLength(210);
    expect(started.lastIndexOf('b')).toBeLessThan(40);
  });

  it('share by weight', { tags: 'check' }, async () => {
    await share();
    await test.sql(`insert into tock.key_settings (key, weight) values ('b', 3)`);
    await enqueue('a', 100);
    await enqueue('b', 100);
    await drain();
    for (const count of [20, 60, 120])
      expect(started.slice(0, count).filter(key => key === 'b').length / count).toBeCloseTo(0.75, 1);
  });

  it('are those of a queue, and runs without one wait for nobody', { tags: 'check' }, async () => {
    await share();
    await enqueue('a', 20);
    await test.tock.enqueue(send, {});
    await test.tock.enqueue(send, { tenant: 7 }, { queue: 'other' });
    await drain();
    expect(started).toHaveLength(22);
    expect(await test.sql(`select distinct slot_keys from tock.job_runs_finished order by 1`)).toEqual([
      { slot_keys: ['~mail//a'] },
      { slot_keys: null },
    ]);
    // Nobody is left whose tag it must be compared with.
    expect(await test.sql('select from tock.fair_keys')).toEqual([]);
  });

  it('keep their turn when their runs are tried again, were enqueued live, or by SQL', {
    tags: 'check',
  }, async () => {
    await share();
    await test.tock.enqueue(send, { tenant: 'a' }, { key: 'x', unique: 'live' });
    await test.sql(`select tock.enqueue('send', '{"tenant": "b"}', queue => 'mail')`);
    await drain();
    expect(started.sort()).toEqual(['a', 'b']);
    expect(
      await test.sql('select job, slot_keys, slot_limits from tock.job_runs_finished order by id'),
    ).toEqual([
      { job: 'send', slot_keys: ['~mail//a'], slot_limits: [1] },
      { job: 'send', slot_keys: ['~mail//b'], slot_limits: [1] },
    ]);
  });
});
