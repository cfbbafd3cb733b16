// Engine: tags of runs, from every door by which runs come in, kept to their end, and found by.
import { describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { openOnce } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const plain = defineJob({ name: 'plain', run: () => null });
const tagged = defineJob({ name: 'tagged', tags: ['import', 'nightly'], run: () => null });
const doomed = defineJob({
  name: 'doomed',
  tags: ['import'],
  retry: { maxAttempts: 1 },
  onDead: tagged,
  run: () => {
    throw new Error('no');
  },
});
const hourly = defineJob({
  name: 'hourly',
  tags: ['clock'],
  schedule: { cron: '0 * * * *' },
  run: () => null,
});
const test = openOnce(
  () => openTestTock([plain, tagged, doomed, hourly]),
  ({ tock }) => tock.register(),
);

const tagsOf = async (id: string) => (await test.tock.runs.get(id))?.tags;
const found = async (tag: string | readonly string[]) =>
  (await test.tock.runs.list({ tag })).map(run => run.id);

describe('tags', () => {
  it('are those of the job and of the call, each once; none without them', async () => {
    expect(await tagsOf(await test.tock.enqueue(plain))).toBeNull();
    expect(await tagsOf(await test.tock.enqueue(tagged))).toEqual(['import', 'nightly']);
    const id = await test.tock.enqueue(tagged, {}, { tags: ['customer-812', 'import'] });
    expect(await tagsOf(id)).toEqual(['import', 'nightly', 'customer-812']);
  });

  it('come with each row of enqueueMany, with members of groups, and with keys', async () => {
    const ids = await test.tock.enqueueMany([
      { job: plain, tags: ['a'] },
      { job: plain, tags: ['a'] },
      { job: plain, tags: ['b'], key: 'k:1' },
      { job: plain },
    ]);
    expect(await Promise.all(ids.map(tagsOf))).toEqual([['a'], ['a'], ['b'], null]);
    const group = await test.tock.enqueueGroup([{ job: plain, tags: ['part'] }], {
      then: { job: plain, tags: ['whole'] },
    });
    expect([await tagsOf(group.id), await tagsOf(group.runs[0] ?? '')]).toEqual([['whole'], ['part']]);
  });

  it('under a live key are those of the last call that replaces', async () => {
    const live = { key: 'shop:7', unique: 'live', replace: true, runAt: '2099-01-01T00:00:00Z' } as const;
    const id = await test.tock.enqueue(plain, {}, { ...live, tags: ['first'] });
    await test.tock.enqueue(plain, {}, { ...live, tags: ['second'] });
    expect(await tagsOf(id)).toEqual(['second']);
    await test.sql(`update tock.job_runs_live set attempts = 1 where id = $1`, [id]);
    const { id: next } = await test.tock.enqueue(plain, {}, { ...live, tags: ['third'], details: true });
    expect(await tagsOf(next)).toEqual(['third']);
    expect(await tagsOf(id)).toEqual(['second']);
  });

  it('come by SQL, beside those of the definition', async () => {
    const [one] = await test.sql<{ id: string }>(
      `select tock.enqueue('tagged', tags => '{customer-9,import}')::text as id`,
    );
    expect(await tagsOf(one?.id ?? '')).toEqual(['import', 'nightly', 'customer-9']);
    const [two] = await test.sql<{ id: string }>(
      `select tock.enqueue_group('[{"job": "plain", "payload": {}, "tags": ["member"]}]', 'plain')::text as id`,
    );
    const members = await test.sql<{ id: string }>(
      'select a.run_id::text as id from tock.job_awaited_runs a join tock.job_waits w on w.id = a.wait_id where w.run_id = $1',
      [two?.id],
    );
    expect(await tagsOf(members[0]?.id ?? '')).toEqual(['member']);
    for (const [tags, message] of [
      [`'{a b}'`, /without blanks and commas/],
      [`array[repeat('x', 65)]`, /between 1 and 64 bytes/],
      [`'{1,2,3,4,5,6,7,8,9}'`, /a run can have 10 tags, not 11/],
    ] as const)
      await expect(test.sql(`select tock.enqueue('tagged', tags => ${tags})`)).rejects.toThrow(message);
  });

  it('of scheduled runs are those of the definition, in code or made at run time', {
    tags: 'check',
  }, async () => {
    await test.tock.schedules.upsert({ name: 'tenant-7', job: 'tagged', every: '1h', tags: ['tenant-7'] });
    await test.sql(`update tock.job_definitions set cursor = tock.now() - interval '2 hours', next_at = '-infinity'
      where name in ('hourly', 'tenant-7')`);
    await test.tock.tick();
    const byDefinition = async (definition: string) => (await test.tock.runs.list({ definition }))[0]?.tags;
    expect(await byDefinition('hourly')).toEqual(['clock']);
    expect(await byDefinition('tenant-7')).toEqual(['import', 'nightly', 'tenant-7']);
  });

  it('are kept by runs that end, that are retried, and given to what follows from them', async () => {
    const id = await test.tock.enqueue(doomed, {}, { tags: ['x-1'] });
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'dead', tags: ['import', 'x-1'] });
    const redirect = (await test.tock.runs.list({ job: 'tagged' })).find(run =>
      run.idempotencyKey?.startsWith(`dead:${id}:`),
    );
    expect(redirect?.tags).toEqual(['import', 'nightly']);
    await test.tock.runs.retry(id);
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'queued', tags: ['import', 'x-1'] });
  });

  it('find runs, live and ended: several must all be there', async () => {
    const both = await test.tock.enqueue(plain, {}, { tags: ['find-a', 'find-b'] });
    const one = await test.tock.enqueue(plain, {}, { tags: ['find-a'] });
    await test.tock.runs.cancel(one);
    expect(await found('find-a')).toEqual([one, both]);
    expect(await found(['find-a', 'find-b'])).toEqual([both]);
    expect(await found('find-c')).toEqual([]);
    expect(await test.tock.runs.cancelMany({ tag: 'find-b' }, { dryRun: true })).toMatchObject({
      matched: 1,
    });
  });

  it.each([
    [['a b'], 'tag "a b" has a blank or a comma'],
    [[''], 'tag "" is no text'],
    [['ü'.repeat(33)], 'has 66 bytes; at most 64 are allowed'],
    ['import', 'tags "import" is not an array'],
    [Array.from({ length: 9 }, (_, n) => `t${n}`), '11 tags are more than the 10 that a run can have'],
  ])('are refused before anything is written: %j', async (tags, message) => {
    await expect(test.tock.enqueue(tagged, {}, { tags: tags as string[] })).rejects.toThrow(message);
  });

  it('are refused where a job is defined', () => {
    expect(() => defineJob({ name: 'bad', tags: ['a,b'], run: () => null })).toThrow(
      'has a blank or a comma',
    );
  });
});
