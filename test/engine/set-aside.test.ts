// Engine: an admission in two halves, one of which fails because of a row's data.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Engine } from '../../src/engine/engine.js';
import { admitDespiteBadRows } from '../../src/engine/set-aside.js';
import type { Session } from '../../src/store/connection/database.js';
import { openDatabase } from '../support/database.js';
import { engineOver } from '../support/engine.js';
import { openForEach } from '../support/open.js';
import { addRuns } from '../support/runs.js';
import { reuseTestTock } from '../support/test-tock.js';

const LEASE = { workerId: '00000000-0000-4000-8000-000000000001', leaseMs: 60_000 };
const MANY = 600;
const KEYS = Array.from({ length: 50 }, (_, n) => `job:k${n}`);
/** A constraint refuses its slots. */
const BAD = 'job:k7';

const test = openForEach(reuseTestTock);
let engine: Engine;
let ids: readonly string[];
/** Called with each statement before it is sent; may throw. */
let onSend: (text: string) => void;
beforeEach(async () => {
  onSend = () => undefined;
  const database = openDatabase({ connectionString: test.url });
  const run: Session['run'] = async (...query) => {
    onSend(query[0]);
    return await database.run(...query);
  };
  engine = engineOver({ ...database, run });
  ids = await addRuns(
    test,
    ...Array.from({ length: MANY }, (_, n) => ({
      slot_keys: [KEYS[n % KEYS.length] ?? ''],
      slot_limits: [MANY],
    })),
  );
  await test.sql(`alter table tock.job_slots add constraint refused check (concurrency_key <> '${BAD}')`);
});
afterEach(async () => {
  await engine.database.close();
});

const count = async (where: string) =>
  (await test.sql<{ count: number }>(`select count(*)::int as count from tock.job_runs where ${where}`))[0]
    ?.count;

describe('admitDespiteBadRows', () => {
  it('admits a hundred one by one, and sets aside the bad ones among them', { tags: 'check' }, async () => {
    let admissions = 0;
    onSend = text => {
      if (text.includes('pg_try_advisory_xact_lock')) admissions++;
    };
    const { admitted, failure } = await admitDespiteBadRows(engine, ids, LEASE);
    expect(failure).toBeNull();
    // All at once, and then one at a time.
    expect(admissions).toBe(101);
    expect(await count(`status = 'running'`)).toBe(admitted.length);
    expect(await count(`status = 'dead'`)).toBeGreaterThan(0);
    const queued = `select id::text as id from tock.job_runs_live where status = 'queued' order by id`;
    for (let n = 0; n < 5; n++) {
      const rest = await test.sql<{ id: string }>(queued);
      await admitDespiteBadRows(
        engine,
        rest.map(row => row.id),
        LEASE,
      );
    }
    expect(await count(`status = 'running'`)).toBe(MANY - MANY / KEYS.length);
    expect(await count(`status = 'dead' and slot_keys = '{${BAD}}'`)).toBe(MANY / KEYS.length);
  });

  it('fails where none was admitted', { tags: 'check' }, async () => {
    onSend = text => {
      if (text.includes('pg_try_advisory_xact_lock'))
        throw Object.assign(new Error('a value is out of range'), { code: '22003' });
      if (text.includes('job_queues'))
        throw Object.assign(new Error('the connection is lost'), { code: '08006' });
    };
    await expect(admitDespiteBadRows(engine, ids, LEASE)).rejects.toThrow('the connection is lost');
  });
});
