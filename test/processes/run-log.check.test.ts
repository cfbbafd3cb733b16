// What is left of a run's log when its process is killed: what the last heartbeat wrote; and the log of isolated jobs.
import { beforeAll, describe, expect, it } from 'vitest';
import { killAfterEach, openForEach } from '../support/open.js';
import { bundleJobs, startProcess, TICK } from '../support/processes.js';
import { openTestTock, until } from '../support/test-tock.js';
import { jobs } from './logging-jobs.js';

let jobsModule: string;
beforeAll(async () => {
  jobsModule = await bundleJobs('test/processes/logging-jobs.ts');
});

const test = openForEach(
  () => openTestTock(jobs, { jobsModule }),
  ({ sql }) => sql('create table public.releases (at timestamptz)'),
);
const running = killAfterEach();

const tick = (env: Record<string, string> = {}) => {
  const started = startProcess(TICK, {
    DATABASE_URL: test.url,
    TOCK_JOBS: jobsModule,
    TOCK_LEASE: '20s',
    TOCK_HEARTBEAT: '200ms',
    TOCK_LOG_LEVEL: 'silent',
    ...env,
  });
  running.push(started);
  return started;
};
const said = async (id: string) =>
  (await test.tock.runs.log(id)).map(({ lines }) => lines.map(line => `${line.level} ${line.text}`));

it('a process that is killed by SIGKILL leaves what its last heartbeat wrote; the next attempt has a log of its own', async () => {
  const id = await test.tock.enqueue('talks');
  const first = tick();
  await until(async () => (await said(id))[0]?.includes('info waiting'), 'the first heartbeat');
  first.child.kill('SIGKILL');
  await first.ended;
  expect(await said(id)).toEqual([['info begun', 'info waiting']]);
  await test.sql('insert into public.releases values (now())');
  await test.sql('update tock.job_runs_live set locked_until = now()');
  await until(async () => {
    await tick().ended;
    return (await test.tock.runs.get(id))?.status === 'succeeded';
  }, 'the second attempt');
  expect(await said(id)).toEqual([
    ['info begun', 'info waiting'],
    ['info begun', 'warn released'],
  ]);
});

describe('an isolated job', () => {
  it('has its log kept: lines, fields, levels, order', async () => {
    const id = await test.tock.enqueue('talks-isolated');
    await tick().ended;
    const [log = expect.fail()] = await test.tock.runs.log(id);
    expect(log.lines.map(({ level, text, fields }) => ({ level, text, fields }))).toEqual([
      { level: 'info', text: 'one', fields: { n: 1, tenant: 'a' } },
      { level: 'error', text: 'two', fields: { err: expect.objectContaining({ type: 'RangeError' }) } },
      { level: 'info', text: 'é'.repeat(10), fields: null },
    ]);
  });

  it('keeps what it had said when it killed itself', async () => {
    const id = await test.tock.enqueue('talks-and-dies');
    await tick().ended;
    expect(await said(id)).toEqual([['info last words']]);
    expect((await test.tock.runs.get(id))?.errors[0]?.code).toBe('TOCK_CHILD_EXITED');
  });

  it('keeps nothing where TOCK_LOGS is off, and less where it says so', async () => {
    const off = await test.tock.enqueue('talks-isolated');
    await tick({ TOCK_LOGS: 'off' }).ended;
    expect(await said(off)).toEqual([]);
    const small = await test.tock.enqueue('talks-much');
    await tick({ TOCK_LOGS: '1024' }).ended;
    const [log = expect.fail()] = await test.tock.runs.log(small);
    expect(log.lines.length + log.cutLines).toBe(1000);
    const [row] = await test.sql<{ bytes: number }>(
      'select octet_length(head) + octet_length(tail) as bytes from tock.job_logs',
    );
    expect(row?.bytes).toBeLessThanOrEqual(1024);
  });
});
