// A real daemon whose URL is in a file, while the password of its role is rotated.
import { randomBytes } from 'node:crypto';
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { killAfterEach, openForEach } from '../support/open.js';
import { CLI, startProcess, writeJobs } from '../support/processes.js';
import { openTestTock, until } from '../support/test-tock.js';

const test = openForEach(openTestTock);
const running = killAfterEach();

it('goes on with the new password, without a restart, also in the processes of isolated runs', {
  timeout: 120_000,
}, async () => {
  const role = `tock_rotated_${randomBytes(6).toString('hex')}`;
  const folder = await mkdtemp(path.join(tmpdir(), 'tock-secret-'));
  const file = path.join(folder, 'url');
  const write = async (password: string) => {
    const url = Object.assign(new URL(test.url), { username: role, password });
    await writeFile(`${file}.new`, url.href);
    await rename(`${file}.new`, file);
  };
  const jobs = await writeJobs(`
    import { defineJob } from '${path.join(path.dirname(CLI), 'index.js')}';
    export const jobs = [
      defineJob({ name: 'plain', run: () => null }),
      defineJob({ name: 'apart', isolate: true, run: async ctx => void (await ctx.once('once', () => null)) }),
    ];`);
  await test.sql(`create role ${role} login superuser password 'first'`);
  try {
    await write('first');
    const daemon = startProcess(CLI, { DATABASE_URL_FILE: file, TOCK_JOBS: jobs }, ['start']);
    running.push(daemon);
    const succeeds = async (job: string) => {
      const [row] = await test.sql<{ id: string }>('select tock.enqueue($1)::text as id', [job]);
      await until(
        async () => (await test.tock.runs.get(row?.id ?? ''))?.status === 'succeeded',
        `${job}: ${daemon.output()}`,
      );
    };
    await succeeds('plain');
    await test.sql(`alter role ${role} password 'second'`);
    await test.sql('select pg_terminate_backend(pid, 10000) from pg_stat_activity where usename = $1', [
      role,
    ]);
    await until(async () => daemon.output().includes('database.away'), 'the daemon to notice it');
    await write('second');
    await until(async () => daemon.output().includes('database.back'), `it to be back: ${daemon.output()}`);
    for (const job of ['plain', 'apart']) await succeeds(job);
    daemon.child.kill('SIGTERM');
    expect((await daemon.ended).code).toBe(0);
  } finally {
    for (const { child } of running) child.kill('SIGKILL');
    await test.sql('select pg_terminate_backend(pid, 10000) from pg_stat_activity where usename = $1', [
      role,
    ]);
    await test.sql(`drop role ${role}`);
    await rm(folder, { recursive: true });
  }
});
