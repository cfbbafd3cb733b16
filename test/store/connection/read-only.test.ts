// The session of the pages: it changes nothing, waits for nothing long, and leaves the workers' connections alone.
import { describe, expect, it } from 'vitest';
import { openReadSession } from '../../../src/store/connection/read-only.js';
import { openDatabase } from '../../support/database.js';
import { openForEach } from '../../support/open.js';
import { openRecorder } from '../../support/recorded-connection.js';
import { openTestTock } from '../../support/test-tock.js';

const test = openForEach(openTestTock);
const database = openForEach(() => openDatabase({ connectionString: test.url }));

describe('a session that only reads', () => {
  it('cannot write', async () => {
    const reads = openReadSession(database);
    await expect(reads.run('delete from tock.job_queues')).rejects.toMatchObject({ code: '25006' });
    await expect(reads.run(`select nextval('tock.job_runs_id_seq')`)).rejects.toMatchObject({
      code: '25006',
    });
    expect(await reads.run('select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('has a limit of time, which the next user of the connection does not have', {
    tags: 'check',
  }, async () => {
    const reads = openReadSession(database, { statementTimeoutMs: 1000 });
    await expect(reads.run('select pg_sleep(30)')).rejects.toMatchObject({ code: '57014' });
    const [inside] = await reads.run<{ limit: string }>(
      `select current_setting('statement_timeout') as limit`,
    );
    expect(inside?.limit).toBe('1s');
    const [outside] = await database.run<{ limit: string }>(
      `select current_setting('statement_timeout') as limit`,
    );
    expect(outside?.limit).toBe('0');
  });

  it('reads the schema of its database', async () => {
    const elsewhere = openDatabase({ connectionString: test.url, schema: 'other' });
    await expect(openReadSession(elsewhere).run('select from tock.job_runs')).rejects.toThrow(
      'other.job_runs',
    );
    await elsewhere.close();
  });

  it('asks no more at once than it may, and lets the others come in turn', { tags: 'check' }, async () => {
    const reads = openReadSession(database, { connections: 2 });
    const order: number[] = [];
    let running = 0;
    let most = 0;
    const slow = async (number: number) => {
      const asked = reads.run(`select pg_sleep(0.02), ${number}`);
      const [{ count } = { count: 0 }] = await test.sql<{ count: number }>(
        `select count(*)::int as count from pg_stat_activity where datname = current_database() and query like 'select pg_sleep%' and state = 'active'`,
      );
      most = Math.max(most, count);
      running++;
      await asked;
      order.push(number);
    };
    await Promise.all(Array.from({ length: 8 }, (_, index) => slow(index)));
    expect(running).toBe(8);
    expect(most).toBeLessThanOrEqual(2);
    expect(order.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    // A failure gives its turn on.
    await Promise.allSettled(Array.from({ length: 4 }, () => reads.run('select nonsense')));
    expect(await reads.run('select 1 as one')).toEqual([{ one: 1 }]);
  });

  it('has connections of its own to a replica, and ends them', { tags: 'check' }, async () => {
    const recorder = await openRecorder(test.url);
    const reads = openReadSession(database, { connectionString: recorder.url });
    await Promise.all([reads.run('select 1'), reads.run('select 2')]);
    expect(recorder.connections()).toBe(2);
    await reads.close();
    await reads.close();
    await recorder.close();
    // The database's own is open still.
    expect(await database.run('select 1 as one')).toEqual([{ one: 1 }]);
  });
});
