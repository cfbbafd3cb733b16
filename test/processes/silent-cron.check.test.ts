// Cron stops for ten minutes, and a daemon is killed: whoever asks is told so, since when, and what was missed. Real
// processes, and the database's clock set by the test.
import { hostname } from 'node:os';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { beforeEach, expect, it } from 'vitest';
import type { DoctorReport, Health, SchedulerStatus } from '../../src/index.js';
import { killAfterEach, openForEach } from '../support/open.js';
import { CLI, startProcess, TICK, writeJobs } from '../support/processes.js';
import { openTestTock, until } from '../support/test-tock.js';

const INDEX = pathToFileURL(path.join(path.dirname(TICK), 'index.js')).href;
const JOBS = `
import { defineJob } from ${JSON.stringify(INDEX)};
export const jobs = [
  defineJob({ name: 'minutely', schedule: { cron: '* * * * *' }, run: () => null }),
  defineJob({ name: 'third', schedule: { cron: '*/3 * * * *' }, run: () => null }),
  defineJob({ name: 'endless', run: () => new Promise(() => undefined) }),
];
`;

const test = openForEach(openTestTock);
let env: Record<string, string>;
const running = killAfterEach();
beforeEach(async () => {
  env = { DATABASE_URL: test.url, TOCK_JOBS: await writeJobs(JOBS), TOCK_LOG_LEVEL: 'silent' };
});

const tick = async () => {
  expect(await startProcess(TICK, env).ended).toMatchObject({ code: 0, stderr: '' });
};
const tock = async (...args: string[]) => await startProcess(CLI, env, args).ended;
const document = async <T>(...args: string[]) => JSON.parse((await tock(...args, '--json')).stdout) as T;

it('cron that is silent for ten minutes is told by status and the doctor: since when, and what was missed', async () => {
  await test.setClock('2026-03-09T10:02:30Z');
  for (let minute = 0; minute < 3; minute++) {
    await tick();
    await test.advance('1m');
  }
  const calm = await document<SchedulerStatus & { health: Health }>('status');
  expect(calm.health).toMatchObject({ level: 'ok' });
  expect(calm.missed).toEqual([]);

  // Cron's last tick was at 10:04:30.
  await test.setClock('2026-03-09T10:14:30Z');
  const told = new RegExp(
    `[Nn]othing has ticked for 10m, since 2026-03-09T10:04:30Z \\(cron on ${hostname()}, in [^)]+\\); missed meanwhile: 10 of minutely, 3 of third`,
  );
  const status = await document<SchedulerStatus & { health: Health; problems: string[] }>('status');
  expect(status.ticks).toMatchObject([{ kind: 'tick', at: '2026-03-09T10:04:30.000Z', count: 3 }]);
  expect(status.missed).toEqual([
    {
      definition: 'minutely',
      count: 10,
      isCapped: false,
      first: '2026-03-09T10:05:00.000Z',
      last: '2026-03-09T10:14:00.000Z',
    },
    {
      definition: 'third',
      count: 3,
      isCapped: false,
      first: '2026-03-09T10:06:00.000Z',
      last: '2026-03-09T10:12:00.000Z',
    },
  ]);
  expect(status.health).toMatchObject({
    level: 'failing',
    sentences: [{ command: 'tock tick', link: '/doctor' }],
  });
  expect(status.health.sentences[0]?.text).toMatch(told);
  expect(status.problems).toEqual([expect.stringMatching(told)]);
  const screen = (await tock('status')).stdout;
  expect(screen).toMatch(told);
  expect(screen).toMatch(/\n {2}last tick +10m ago: cron on /);

  const check = await tock('status', '--check');
  expect(check.stdout).toMatch(told);
  expect(check.code).toBe(1);
  const doctor = await tock('doctor', '--exit-code', '--json');
  const { checks, level } = JSON.parse(doctor.stdout) as DoctorReport;
  expect(level).toBe('failing');
  expect(checks.find(({ code }) => code === 'last-tick')).toMatchObject({
    level: 'failing',
    text: expect.stringMatching(told) as string,
  });
  expect(doctor.code).toBe(1);

  await tick();
  expect(await document<Health>('status', '--check')).toMatchObject({ level: 'ok' });
  // The catch-up policy has decided: one run for each, the rest is on record.
  expect(
    await test.sql(
      `select job, max(occurrence_count) as count from tock.job_runs where scheduled_for > '2026-03-09T10:05:00Z' and status = 'succeeded' group by job order by job`,
    ),
  ).toEqual([
    { job: 'minutely', count: 10 },
    { job: 'third', count: 3 },
  ]);
});

it('a daemon that was killed is first unknown, then silent, then gone; never is nothing wrong', async () => {
  const daemon = startProcess(CLI, { ...env, TOCK_LEASE: '60s', TOCK_HEARTBEAT: '15s' }, ['start']);
  running.push(daemon);
  await test.sql(`select tock.enqueue('endless') from generate_series(1, 3)`);
  const held = async () =>
    (await test.sql(`select from tock.job_runs_live where status = 'running' and job = 'endless'`)).length;
  await until(async () => (await held()) === 3, 'three runs to execute');
  daemon.child.kill('SIGKILL');
  await daemon.ended;
  const [row] = await test.sql<{ seen: Date; pid: number }>('select seen_at as seen, pid from tock.workers');
  // The leases end a minute after the worker was last seen.
  await test.sql(
    `update tock.job_runs_live set locked_until = $1::timestamptz + interval '60 seconds' where status = 'running'`,
    [row?.seen],
  );
  const after = async (seconds: number) => {
    await test.setClock(new Date((row?.seen.getTime() ?? 0) + seconds * 1000).toISOString());
    return await document<Health>('status', '--check');
  };
  const worker = `Worker ${hostname()} pid ${row?.pid ?? 0}`;
  expect(await after(12)).toMatchObject({
    level: 'ok',
    sentences: [{ text: expect.stringMatching(/^Nothing is wrong: .* seen within the last 12s$/) as string }],
  });
  expect(await after(19)).toMatchObject({
    level: 'unknown',
    sentences: [
      {
        text: `${worker} has not been seen for 19s; its 3 runs are taken back in 41s, unless it reports again`,
      },
    ],
  });
  expect(await after(40)).toMatchObject({
    level: 'warning',
    sentences: [{ text: `${worker}, last seen 40s ago: no heartbeat; 3 runs are taken back in 20s` }],
  });
  expect((await after(61)).sentences[0]?.text).toMatch(/^3 running runs are past their lease/);
  expect(await after(400)).toMatchObject({ level: 'failing' });
  expect((await after(400)).sentences[0]?.text).toMatch(
    /^Nothing has ticked for [67]m[^,]*, since .* \(the daemon on /,
  );
});
