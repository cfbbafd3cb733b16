// Chaos: the server's disk fills up under a daemon, and is freed again.
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTock } from '../../src/index.js';
import { killAfterEach } from '../support/open.js';
import { CLI, type Running, TICK } from '../support/processes.js';
import { until } from '../support/test-tock.js';
import {
  expectEachSecond,
  expectGatedOnce,
  type GatedJobs,
  openGatedJobs,
  said,
  startGated,
} from './gated-jobs.js';
import { type OwnServer, openOwnServer, openSmallDisk, type SmallDisk, whyNoSmallDisk } from './servers.js';

const RUNS = 40;
const reason = await whyNoSmallDisk();
if (reason !== null) console.warn(`test/chaos/disk.test.ts is left out: ${reason}`);

let url: string;
let jobs: GatedJobs;
let client: pg.Client;
const running = killAfterEach();
const opened: { remove(): Promise<void> }[] = [];
beforeEach(async () => {
  jobs = await openGatedJobs();
  opened.push(jobs);
});
afterEach(async () => {
  for (const each of opened.splice(0).toReversed()) await each.remove();
});
const openDisk = async (megabytes: number): Promise<SmallDisk> => {
  const disk = await openSmallDisk(megabytes);
  opened.push(disk);
  return disk;
};
const openServer = async (...options: Parameters<typeof openOwnServer>): Promise<OwnServer> => {
  const server = await openOwnServer(...options);
  opened.push(server);
  return server;
};

const connect = async () => {
  client = new pg.Client({ connectionString: url });
  client.on('error', () => undefined);
  await client.connect();
  const connected = client;
  opened.push({ remove: () => connected.end().catch(() => undefined) });
};
const sql = async <Row = Record<string, unknown>>(text: string) => (await client.query(text)).rows as Row[];
const begin = (script: string, args: readonly string[] = []) => {
  const started = startGated(jobs, { DATABASE_URL: url, TOCK_LOG_LEVEL: 'warn' }, script, args);
  running.push(started);
  return started;
};
/** A daemon in whose hands are so many runs, all of them at work. */
const startBusyDaemon = async () => {
  const tock = createTock({ connectionString: url, logger: false });
  await tock.migrate();
  await tock.close();
  await connect();
  await sql(`select tock.enqueue('gated') from generate_series(1, ${RUNS})`);
  const daemon = begin(CLI, ['start']);
  await until(async () => (await jobs.calls()).length === RUNS, 'all handlers to begin');
  return daemon;
};
/** Each run has succeeded at its first attempt, with its own output; and each second has had one run. */
const expectAllWritten = async (daemon: Running) => {
  await expectGatedOnce(jobs, sql, RUNS);
  const [after] = await sql<{ at: string }>('select tock.now()::text as at');
  const passed = `select from tock.job_runs where job = 'secondly' and status = 'succeeded' and scheduled_for > '${after?.at}'`;
  await until(async () => (await sql(passed)).length >= 2, 'two more runs');
  expect(said(daemon, 'finalize.refused')).toBe(0);
  daemon.child.kill('SIGTERM');
  expect(await daemon.ended).toMatchObject({ code: 0 });
  await expectEachSecond(sql);
};

describe.skipIf(reason !== null)('23: the disk is full (needs root, who may mount a tmpfs)', () => {
  it('of a tablespace: outcomes are kept, and written once there is room', async () => {
    const disk = await openDisk(32);
    const server = await openServer();
    url = server.url;
    await connect();
    await sql(`create tablespace small location '${disk.folder}'`);
    await sql('create database small tablespace small');
    await client.end();
    url = server.url.replace(/\/[^/]*$/, '/small');
    const daemon = await startBusyDaemon();

    await disk.fill();
    await jobs.open();
    await until(async () => daemon.output().includes('"code":"53100"'), 'outcomes to be refused');
    await until(async () => said(daemon, 'materialize.failed') > 0, 'occurrences to be refused');
    // A tick has an occurrence to write as well, unless the daemon found room for it in a page just now.
    let tick = await begin(TICK).ended;
    while (tick.code === 0) tick = await begin(TICK).ended;
    expect([tick.code, tick.stdout]).toEqual([1, '']);
    expect(tick.stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(tick.stderr).toMatch(/^tick: could not extend file .*No space left on device/);
    await disk.free();
    await expectAllWritten(daemon);
  });

  it('of the server: it panics, recovers once there is room, and every outcome is written', async () => {
    const disk = await openDisk(160);
    const server = await openServer({ max_wal_size: '1GB', min_wal_size: '32MB' }, disk.folder);
    url = server.url;
    const daemon = await startBusyDaemon();

    await disk.fill();
    // What is left of its log is written full, until it needs a file more.
    const write = sql(
      `select pg_logical_emit_message(false, 'filler', repeat('x', 1000000)) from generate_series(1, 200)`,
    );
    await expect(write).rejects.toThrow(/No space left on device/);
    await jobs.open();
    await until(async () => said(daemon, 'finalize.waiting') > 0, 'outcomes to be refused');
    await until(async () => said(daemon, 'database.away') > 0, 'the daemon to notice');
    const tick = await begin(TICK).ended;
    expect([tick.code, tick.stdout]).toEqual([3, '']);
    await disk.free();
    await server.kill();
    await server.start();
    await connect();
    await expectAllWritten(daemon);
  });
});
