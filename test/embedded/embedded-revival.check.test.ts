// The embedded server that dies under those who need it: a daemon starts it again, whoever had started it.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { withLock } from '../../src/embedded/embedded-lock.js';
import { pauseBefore, type ServerReport } from '../../src/embedded/embedded-revival.js';
import { startEmbeddedServer } from '../../src/embedded/embedded-server.js';
import { CLI, startProcess, writeJobs } from '../support/processes.js';
import {
  endAfterTest,
  isServed,
  kill,
  killServer,
  newFolder,
  portOf,
  project,
  settings,
  startChild,
  until,
  useEmbeddedServers,
} from './embedded-harness.js';

useEmbeddedServers();

const JOBS = `
import { defineJob } from ${JSON.stringify(pathToFileURL(path.join(project, 'dist', 'index.js')).href)};
export const jobs = [defineJob({ name: 'greet', run: () => 'hello' })];
`;

it('pauseBefore restarts at once after a long run, and later and later after failed starts', () => {
  const pauses: number[] = [];
  let pause: number | null = null;
  for (let turn = 0; turn < 9; turn += 1) pauses.push((pause = pauseBefore(pause, 100)));
  expect(pauses).toEqual([0, 1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
  expect(pauseBefore(60_000, 60_000)).toBe(0);
});

it('tock start, when the embedded server is killed restarts it even if another process had started it, says so, and goes on', async () => {
  const folder = await newFolder();
  const starter = startChild(folder);
  const { connectionString, dataDirectory } = await starter.report;
  const env = { TOCK_DATA: folder, TOCK_JOBS: await writeJobs(JOBS) };
  const daemon = startProcess(CLI, env, ['start']);
  endAfterTest(daemon.child);
  const events = (name: string) =>
    daemon
      .output()
      .split('\n')
      .filter(line => line.includes(`"event":"${name}"`));
  await until('the daemon runs', async () => daemon.output().includes('running on'));
  expect(daemon.output()).toContain(`psql -h ${dataDirectory} -p 5432 -U tock tock\n`);
  // The same by a URL, in both the forms that name a socket.
  for (const url of [
    connectionString,
    connectionString.replace(/@[^/]+(\/.*)$/, `@$1?host=${folder}/data`),
  ]) {
    const { code, stdout } = await startProcess(CLI, { DATABASE_URL: url }, ['status']).ended;
    expect([code, stdout]).toEqual([0, expect.stringContaining(` tock by the socket in ${dataDirectory},`)]);
  }
  await kill(starter);
  for (const [round, again] of ['starting it again"', 'starting it again in 1s"'].entries()) {
    await killServer(dataDirectory, 'SIGKILL');
    await until('it says so', async () => events('server.died').length === round + 1);
    expect(events('server.died')[round]).toContain(again);
    await until('the server is back', async () => events('server.back').length === round + 1);
    expect((await startProcess(CLI, env, ['run', 'greet']).ended).code).toBe(0);
    await until('the daemon works', async () => events('run.succeeded').length === round + 1);
  }
  expect(events('server.failed')).toEqual([]);
  daemon.child.kill('SIGTERM');
  expect((await daemon.ended).code).toBe(0);
  expect(await isServed(dataDirectory)).toBe(false);
});

describe('keepRunning', () => {
  it('reports a failed restart, and tries again, when another program has taken the port', async () => {
    const folder = await newFolder();
    const server = await startEmbeddedServer({ folder, settings, listens: true });
    const reports: ServerReport[] = [];
    server.keepRunning(report => reports.push(report));
    const thief = createServer();
    // Nobody starts it meanwhile.
    await withLock(folder, async () => {
      await killServer(server.dataDirectory, 'SIGKILL');
      await new Promise<void>(resolve => {
        thief.listen(Number(portOf(server)), '127.0.0.1', resolve);
      });
    });
    await until('it fails', async () => reports.some(({ event }) => event === 'server.failed'));
    // It may have failed once more meanwhile.
    expect(reports.slice(0, 2).map(({ event }) => event)).toEqual(['server.died', 'server.failed']);
    expect(reports[1]?.message).toMatch(/runs on another port.*restart this process/);
    thief.close();
    await server.stop();
    expect(await isServed(server.dataDirectory)).toBe(false);
  });

  it('does not restart a stopped server', async () => {
    const folder = await newFolder();
    const server = await startEmbeddedServer({ folder, settings });
    const reports: ServerReport[] = [];
    server.keepRunning(report => reports.push(report));
    await server.stop();
    expect(reports).toEqual([]);
    expect(await isServed(server.dataDirectory)).toBe(false);
    expect(await readFile(path.join(folder, 'postgres.log'), 'utf8')).toContain('shut down');
  });
});
