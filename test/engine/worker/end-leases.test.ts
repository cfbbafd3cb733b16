// Engine: the runs of a process of this host that has ended do not wait for their lease.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { hostname } from 'node:os';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/engine/engine.js';
import { workerRow } from '../../../src/engine/worker/worker-row.js';
import { lifeOf } from '../../../src/environment/process-life.js';
import { defineJob } from '../../../src/index.js';
import { collectLines, type LineLog } from '../../support/lines.js';
import { storeTest } from '../../support/open.js';
import { addRuns } from '../../support/runs.js';
import { openTestTock } from '../../support/test-tock.js';

const HOLDER = '00000000-0000-4000-8000-000000000001';
const OTHER = '00000000-0000-4000-8000-000000000002';

const { test, database } = storeTest('2026-03-02T12:00:00Z', () =>
  openTestTock([defineJob({ name: 'pay', run: () => null })]),
);
let log: LineLog;
let holder: ChildProcess;
beforeEach(() => {
  log = collectLines();
  holder = spawn('sleep', ['1000']);
});
afterEach(() => holder.kill('SIGKILL'));

/** A run that the process holds, for another minute. */
async function hold({ host = hostname(), life = lifeOf(holder.pid ?? 0) } = {}): Promise<void> {
  await test.sql(
    `insert into tock.workers (id, kind, host, pid, process, capacity) values ($1, 'daemon', $2, $3, $4, 1), ($5, 'daemon', $2, $6, $7, 1)`,
    [HOLDER, host, holder.pid, life, OTHER, process.pid, lifeOf(process.pid)],
  );
  const running = { job: 'pay', status: 'running', attempts: 1, fence: 1 } as const;
  const lease = "tock.now() + interval '1 minute'";
  await addRuns(test, { ...running, locked_by: HOLDER }, { ...running, locked_by: OTHER });
  await test.sql(`update tock.job_runs_live set locked_until = ${lease}, run_at = tock.now()`);
}

async function end(): Promise<void> {
  holder.kill('SIGKILL');
  await once(holder, 'exit');
}

/** Another worker begins on this host. */
async function announce(): Promise<void> {
  const engine = {
    database,
    logger: log.logger,
    settings: { heartbeatMs: 15_000, deploy: null, service: '' },
    registry: { definitions: [] },
  } as unknown as Engine;
  const id = '00000000-0000-4000-8000-000000000003';
  await workerRow(engine, id, { kind: 'daemon', capacity: 1 }).announce();
}

async function states() {
  return await test.sql<object>(
    `select locked_by, status, attempts, errors -> -1 ->> 'name' as error from tock.job_runs_live order by id`,
  );
}

const KEPT = { status: 'running', attempts: 1, error: null };

describe.runIf(process.platform === 'linux')('the lease of a run', () => {
  it('ends as soon as a worker begins where its process has ended, and the attempt counts', async () => {
    await hold();
    await end();
    await announce();
    expect((await test.tock.tick()).reaped).toMatchObject({ failed: 1, dead: 0 });
    expect(await states()).toMatchObject([
      { status: 'failed', attempts: 1, error: 'LeaseExpired', locked_by: null },
      { ...KEPT, locked_by: OTHER },
    ]);
    expect(log.lines).toContainEqual(expect.objectContaining({ event: 'leases.ended', pids: [holder.pid] }));
  });

  it.each([
    ['still lives', {}, false],
    ['was of another host', { host: 'elsewhere' }, true],
    ['was of another boot', { life: 'another boot 1' }, true],
    ['says nothing of itself', { life: null }, true],
  ])('goes on where the process %s', { tags: 'check' }, async (_what, row, isEnded) => {
    await hold(row);
    if (isEnded) await end();
    await announce();
    expect((await test.tock.tick()).reaped).toMatchObject({ failed: 0, dead: 0 });
    expect(await states()).toMatchObject([
      { ...KEPT, locked_by: HOLDER },
      { ...KEPT, locked_by: OTHER },
    ]);
    expect(log.lines).toEqual([]);
  });
});
