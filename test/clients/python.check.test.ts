// The worker in Python that the examples have, by clients/python/tock.py, as a role that may claim and answer only.
// In the check: workers in Python as processes, with leases of seconds.
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Daemon } from '../../src/index.js';
import { type KillableProcess, startKillable } from '../support/killable-process.js';
import { openOnce } from '../support/open.js';
import { hasNoPsycopg, PYTHON } from '../support/python.js';
import { openTestTock, until } from '../support/test-tock.js';
import { makeSqlWorkerRole, type SqlWorkerRole } from './sql-worker-role.js';

const STUBBORN = path.join(import.meta.dirname, 'stubborn_worker.py');
const SCRIPT = path.join(import.meta.dirname, '../../examples/consumers/sql/worker.py');

describe.skipIf(hasNoPsycopg())('examples/consumers/sql/worker.py', () => {
  // What has failed is looked at before its next attempt.
  const test = openOnce(() => openTestTock([], { retry: { base: '1h' } }));
  let role: SqlWorkerRole;
  let daemon: Daemon;
  const workers: KillableProcess[] = [];
  const start = (env: Readonly<Record<string, string>> = {}, script = SCRIPT) => {
    const worker = startKillable(PYTHON, ['-B', script], { DATABASE_URL: role.url, ...env });
    workers.push(worker);
    return worker;
  };
  const enqueue = async (job: string, payload: object) => {
    const [row] = await test.sql<{ id: string }>(
      `select tock.enqueue($1, $2, queue => 'accounts')::text as id`,
      [job, JSON.stringify(payload)],
    );
    return row?.id ?? '';
  };
  const ended = async (id: string, ...statuses: string[]) =>
    await until(
      async () => {
        const run = await test.tock.runs.get(id);
        return run && statuses.includes(run.status) ? run : null;
      },
      `run ${id} to be ${statuses.join(' or ')}: ${workers.at(-1)?.output()}`,
    );

  /** Not only that no offer is left: it may not have been offered yet. */
  const claimed = async (id: string) =>
    await until(
      async () =>
        (
          await test.sql(`select from tock.job_hand_offs where run_id = $1 and lease_until < '9000-01-01'`, [
            id,
          ])
        ).length > 0,
      `run ${id} to be claimed`,
    );

  beforeAll(async () => {
    role = await makeSqlWorkerRole(test);
    await test.sql('create table public.bookings (account integer not null)');
    await test.sql(`grant insert on public.bookings to ${role.name}`);
    await test.tock.queues.set('accounts', { relay: 'sql' });
    await role.mayClaimFrom('accounts');
    daemon = await test.tock.start();
  });
  afterAll(async () => {
    for (const worker of workers) await worker.kill();
    await daemon?.stop();
    await role?.drop();
  });

  it('answers with results, failures, and the end of a run', { tags: 'check' }, async () => {
    start();
    const sum = await enqueue('add-up', { amounts: [1, 2, 3.5] });
    const wrong = await enqueue('add-up', {});
    const dead = await enqueue('close', { account: 7 });
    const unknown = await enqueue('nothing', {});
    expect(await ended(sum, 'succeeded')).toMatchObject({ output: { sum: 6.5 }, attempts: 1 });
    expect(await ended(wrong, 'failed')).toMatchObject({ errors: [{ name: 'KeyError' }] });
    expect(await ended(dead, 'dead')).toMatchObject({
      errors: [{ message: 'account 7 is closed already', stack: expect.stringContaining('worker.py') }],
    });
    expect(await ended(unknown, 'failed')).toMatchObject({
      errors: [{ message: 'no handler for job nothing' }],
    });
  });

  it('commits what a handler writes together with the success', { tags: 'check' }, async () => {
    const id = await enqueue('book', { account: 12 });
    expect(await ended(id, 'succeeded', 'failed')).toMatchObject({ status: 'succeeded', errors: [] });
    expect(await test.sql('select account from public.bookings')).toEqual([{ account: 12 }]);
  });

  it('extends its lease while it works; SIGTERM lets it finish', { tags: 'check' }, async () => {
    for (const worker of workers.splice(0)) await worker.kill('SIGTERM');
    const worker = start({ LEASE: '3' });
    const id = await enqueue('export', { seconds: 7 });
    await claimed(id);
    await until(
      async () =>
        (
          await test.sql(
            `select from tock.job_hand_offs where run_id = $1 and lease_until between handed_off_at + interval '3.5 seconds' and '9000-01-01'`,
            [id],
          )
        ).length > 0,
      `its lease to be extended: ${worker.output()}`,
    );
    await worker.kill('SIGTERM');
    expect(await ended(id, 'succeeded')).toMatchObject({ output: { attempt: 1 }, attempts: 1 });
  });

  it('kill -9 leaves its run to another', { tags: 'check' }, async () => {
    const worker = start({ LEASE: '1' });
    const id = await enqueue('export', { seconds: 60 });
    await claimed(id);
    await worker.kill();
    expect(await ended(id, 'failed')).toMatchObject({ errors: [{ code: 'TOCK_LEASE_LOST' }] });
  });

  it('outlives handlers that exit, and errors that no text can hold; one that holds its row keeps no other waiting', {
    tags: 'check',
  }, async () => {
    for (const worker of workers.splice(0)) await worker.kill('SIGTERM');
    start({}, STUBBORN);
    const left = await enqueue('leave', {});
    expect(await ended(left, 'failed')).toMatchObject({ errors: [{ name: 'SystemExit' }] });
    const garbled = await enqueue('garble', {});
    expect(await ended(garbled, 'failed', 'dead')).toMatchObject({ status: 'failed' });
    const [long, held] = [await enqueue('long', {}), await enqueue('hold', {})];
    expect(await ended(held, 'succeeded')).toMatchObject({ attempts: 1 });
    expect(await ended(long, 'succeeded')).toMatchObject({ attempts: 1 });
    for (const worker of workers.splice(0)) await worker.kill('SIGTERM');
  });

  it('says what is missing where it may not claim, and goes on when it may', { tags: 'check' }, async () => {
    await test.sql('delete from tock.queue_roles');
    const worker = start();
    await until(async () => worker.output().includes('may not claim from queue accounts'), 'a warning');
    expect(worker.output()).toContain('queue_roles (queue, role) values');
    await role.mayClaimFrom('accounts');
    const id = await enqueue('add-up', { amounts: [4] });
    await ended(id, 'succeeded');
  });
});
