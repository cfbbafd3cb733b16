// Engine: what a worker's heartbeats report of its process, and what metrics make of it.
import { expect, it } from 'vitest';
import { workerRow } from '../../../src/engine/worker/worker-row.js';
import { readLoadsOfHosts } from '../../../src/store/reads/metrics/metrics.js';
import { engineOver } from '../../support/engine.js';
import { storeTest } from '../../support/open.js';

const { test, database } = storeTest('2026-03-08T12:00:00Z');
const ID = '00000000-0000-4000-8000-000000000001';

const insert = (host: string, pid: number, [cpu, memory, delay]: readonly number[], seen = '2 seconds') =>
  test.sql(
    `insert into tock.workers (id, kind, host, pid, capacity, seen_at, heartbeat_ms, cpu, memory_bytes, loop_delay_ms)
     values (gen_random_uuid(), 'daemon', $1, $2, 10, tock.now() - $6::interval, 15000, $3, $4, $5)`,
    [host, pid, cpu, memory, delay, seen],
  );

it('a heartbeat reports what the process asked of its host; before the first nothing is known', async () => {
  const row = workerRow(engineOver(database), ID, { kind: 'daemon', capacity: 1 });
  await row.announce();
  const read = () =>
    test.sql(
      `select cpu, memory_bytes > 10000000 as has_memory, cpu > 0 and cpu < 1000 as has_cpu, loop_delay_ms >= 0 as has_delay
         from tock.workers where id = $1`,
      [ID],
    );
  expect(await read()).toEqual([{ cpu: null, has_memory: null, has_cpu: null, has_delay: null }]);
  await row.refresh();
  expect(await read()).toMatchObject([{ has_memory: true, has_cpu: true, has_delay: true }]);
  await row.remove();
  expect(await read()).toEqual([]);
});

it('the load of a host is the sum over its processes, and the worst delay, without those that are silent', async () => {
  await insert('one', 1, [0.5, 100e6, 20]);
  await insert('one', 2, [1.25, 200e6, 250]);
  // Another worker of the same process.
  await insert('one', 2, [1, 190e6, 30]);
  await insert('one', 3, [4, 900e6, 9000], '3 minutes');
  await insert('two', 1, [0, 50e6, 0]);
  expect(await readLoadsOfHosts(database)).toEqual([
    { host: 'one', cpu: 1.75, memoryBytes: 300e6, loopDelaySeconds: 0.25 },
    { host: 'two', cpu: 0, memoryBytes: 50e6, loopDelaySeconds: 0 },
  ]);
});
