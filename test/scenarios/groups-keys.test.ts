// Keys of groups and of their members, in code and in SQL.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { openOnce } from '../support/open.js';
import { emptyTables, otherSessions } from '../support/runs.js';
import { openTestTock } from '../support/test-tock.js';

const part = defineJob({ name: 'part', run: () => 1 });
const total = defineJob({ name: 'total', run: () => 1 });
const test = openOnce(() => openTestTock([part, total]));
const { begin, open, blocked } = otherSessions(test);
beforeEach(() => emptyTables(test));

const GROUP = `select tock.enqueue_group($1, 'total', idempotency_key => $2)::text as id`;
const ways = {
  'in code': async (keys: readonly string[], key?: string) => {
    const members = keys.map(each => ({ job: part, key: each }));
    return (await test.tock.enqueueGroup(members, { then: { job: total }, ...(key ? { key } : {}) })).id;
  },
  'in SQL': async (keys: readonly string[], key?: string) => {
    const members = JSON.stringify(keys.map(each => ({ job: 'part', key: each })));
    return (await test.sql<{ id: string }>(GROUP, [members, key ?? null]))[0]?.id;
  },
};
const runs = async () => await test.sql('select id::text, job from tock.job_runs order by id');

describe.each(Object.entries(ways))('a group %s', (_, enqueue) => {
  it('gives the group that has its key', async () => {
    const id = await enqueue(['a', 'b'], 'group');
    const before = await runs();
    expect(before).toHaveLength(3);
    expect(await enqueue(['a', 'c'], 'group')).toBe(id);
    expect(await runs()).toEqual(before);
  });

  it('is refused with the key of a run that joins no group, also of a run of a flow', async () => {
    await test.tock.enqueue(part, {}, { key: 'run' });
    await test.tock.enqueueFlow({ first: { job: part }, next: { job: part, key: 'next', after: ['first'] } });
    const before = await runs();
    for (const key of ['run', 'next'])
      await expect(enqueue([], key)).rejects.toThrow('which is not the join of a group');
    expect(await runs()).toEqual(before);
  });

  it.each([
    ['its own key', ['a', 'group']],
    ['one key twice', ['a', 'b', 'a']],
    ['a key that was used before', ['used']],
  ])('is refused where members have %s', async (__, keys) => {
    await test.tock.enqueue(part, {}, { key: 'used' });
    await expect(enqueue(keys, 'group')).rejects.toThrow('members of a group are new runs');
    expect(await runs()).toHaveLength(1);
  });

  it('is refused where another caller used the key of a member while it waited for its own', async () => {
    const first = await begin(`select tock.enqueue('part', idempotency_key => 'group')`);
    const answer = enqueue(['member'], 'group').catch(String);
    await blocked(1);
    await (await open()).query(`select tock.enqueue('part', idempotency_key => 'member')`);
    await first.query('rollback');
    expect(await answer).toContain('members of a group are new runs');
    expect(await runs()).toHaveLength(1);
  });
});
