// What the documents say of SQL and roles, tried: an enqueue in somebody else's transaction, by roles that may do
// nothing else.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defineJob } from '../src/index.js';
import { openTestTock, type TestTock } from './support/test-tock.js';

const greet = defineJob({ name: 'greet', concurrency: { limit: 1 }, run: () => null });
let test: TestTock;
beforeAll(async () => {
  test = await openTestTock([greet]);
  await test.tock.register();
});
afterAll(() => test.close());

const connected = async <T>(work: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = new pg.Client({ connectionString: test.url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
};

describe('README.md', () => {
  it('tock.enqueue in SQL comes and goes with the transaction around it', async () => {
    const enqueue = async (client: pg.Client, ending: 'commit' | 'rollback') => {
      await client.query('begin');
      const { rows } = await client.query<{ id: string }>(
        `select tock.enqueue('greet', idempotency_key => 'sql') as id`,
      );
      const id = rows[0]?.id ?? '';
      expect(await test.tock.runs.get(id)).toBeNull();
      await client.query(ending);
      return await test.tock.runs.get(id);
    };
    await connected(async client => {
      expect(await enqueue(client, 'rollback')).toBeNull();
      expect(await enqueue(client, 'commit')).toMatchObject({ status: 'queued', idempotencyKey: 'sql' });
    });
  });
});

describe('docs/operations.md', () => {
  /** The statements that grant a role what it needs, under the role's name in this database. */
  const grantsOf = (role: string, own: string) =>
    readFileSync(path.join(import.meta.dirname, '..', 'docs', 'operations.md'), 'utf8')
      .split('\n')
      .filter(
        line => line.startsWith('grant ') && line.endsWith(` to ${role};`) && !line.includes('database'),
      )
      .map(line => line.replace(role, own))
      .join('\n');
  /** Works as a role that has these grants alone; all of it is undone. */
  const as = async (role: string, work: (client: pg.Client) => Promise<void>) =>
    await connected(async client => {
      await client.query('begin');
      const own = `${role}_${process.pid}`;
      await client.query(`create role ${own}; ${grantsOf(role, own)}`);
      // Only tests have such a clock.
      await client.query(`grant select on tock.test_clock to ${own}; set local role ${own}`);
      await work(client);
      await client.query('rollback');
    });

  it('the enqueuer can call tock.enqueue, and cannot read payloads', async () => {
    await as('tock_enqueuer', async client => {
      const { rows } = await client.query(
        `select tock.enqueue('greet', '{"who": "a"}', 'role') = tock.enqueue('greet', '{}', 'role') as same`,
      );
      expect(rows).toEqual([{ same: true }]);
      await expect(client.query('select payload from tock.job_runs_live')).rejects.toThrow(
        /permission denied/,
      );
    });
  });

  it('an app’s role can enqueue in its own transaction, in every way', async () => {
    await as('tock_app', async client => {
      await test.tock.enqueue(greet, {}, { client });
      const id = await test.tock.enqueue(greet, {}, { client, key: 'app' });
      expect(await test.tock.enqueue(greet, {}, { client, key: 'app' })).toBe(id);
      const live = await test.tock.enqueue(greet, {}, { client, key: 'live', debounce: '1m' });
      expect(await test.tock.enqueue(greet, {}, { client, key: 'live', debounce: '1m' })).toBe(live);
      await expect(client.query('delete from tock.job_runs_live')).rejects.toThrow(/permission denied/);
    });
  });
});
