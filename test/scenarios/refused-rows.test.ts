// A run whose row PostgreSQL refuses to change is set aside, and keeps no other waiting: of fair keys, and of those
// that wait for code. More: bad-rows.check.test.ts.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob, typeOnly } from '../../src/index.js';
import { storeTest } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const started: string[] = [];
const job = {
  payload: typeOnly<{ tenant: string; n?: number }>(),
  run: (_ctx: unknown, { tenant }: { tenant: string }) => void started.push(tenant),
};
const key = '$.tenant';
const plain = defineJob({ ...job, name: 'plain' });
const send = defineJob({ ...job, name: 'send', fair: { key, limit: 2 } });
const strict = defineJob({ ...job, name: 'strict', concurrency: { limit: 1, key, order: 'strict' } });
const paced = defineJob({
  ...job,
  name: 'paced',
  concurrency: { limit: 9 },
  rate: { limit: 100, per: '1s', key },
});
const { test } = storeTest('2026-03-02T09:00:00Z', () => openTestTock([plain, send, strict, paced]));
beforeEach(async () => {
  await test.sql('delete from tock.registrations');
  await test.tock.register();
  started.length = 0;
});

const refuse = (n: number, unless: string) =>
  test.sql(
    `alter table tock.job_runs_live add constraint mine check (payload ->> 'n' is distinct from '${n}' or ${unless})`,
  );
const drain = async () => {
  for (let round = 0; round < 3; round++) {
    await test.tock.tick().catch(() => undefined);
    await test.advance('1m');
  }
  await test.sql('alter table tock.job_runs_live drop constraint mine');
};

describe.each([
  ['its lease', `status <> 'running'`],
  ['its turn', `blocked_on is not null`],
])('a run of a fair key, of which a constraint refuses %s', (_, condition) => {
  it.each([send, strict, paced])('is dead, and the others start: $name', async each => {
    const bad = await test.tock.enqueue(each, { tenant: 'a', n: 0 });
    await refuse(0, condition);
    await test.tock.enqueueMany(['a', 'b', 'c'].map(tenant => ({ job: each, payload: { tenant } })));
    await drain();
    expect(started.toSorted()).toEqual(['a', 'b', 'c']);
    expect(await test.tock.runs.get(bad)).toMatchObject({ status: 'dead' });
    expect(await test.sql('select from tock.job_slots')).toEqual([]);
  });
});

it('a run that waits for code, of which a constraint refuses its lease, is dead, and the others start', async () => {
  const bad = await test.tock.enqueue(plain, { tenant: 'bad', n: 0 });
  await refuse(0, `status <> 'running'`);
  await test.tock.enqueueMany(['a', 'b'].map(tenant => ({ job: plain, payload: { tenant } })));
  // As workers have given them back that lack the job.
  await test.sql(`update tock.job_runs_live set blocked_on = 'code:plain'`);
  await drain();
  expect(started.toSorted()).toEqual(['a', 'b']);
  expect(await test.tock.runs.get(bad)).toMatchObject({ status: 'dead' });
});
