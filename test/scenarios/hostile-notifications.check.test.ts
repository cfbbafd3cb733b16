// Notifications from a role that may connect and nothing else: they may make a worker check, and order nothing.
// In the check: it counts what a daemon asks in real seconds.
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Daemon, defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { openRecorder, type Recorder } from '../support/recorded-connection.js';
import { reuseTestTock, until } from '../support/test-tock.js';

const events: string[] = [];
const note = (fields: { event?: string }) => events.push(fields.event ?? '');
const logger = { debug: () => undefined, info: note, warn: note, error: note, child: () => logger };

/** The signals of the handlers of `waits`, which end only when they abort. */
const signals: AbortSignal[] = [];
const waits = defineJob({
  name: 'waits',
  run: ctx =>
    new Promise((_resolve, reject) => {
      signals.push(ctx.signal);
      ctx.signal.addEventListener('abort', () => reject(ctx.signal.reason));
    }),
});
const quick = defineJob({ name: 'quick', run: () => 'done' });

const test = openForEach(() => reuseTestTock([waits, quick], { logger }));
let recorder: Recorder;
let stranger: pg.Client;
let daemon: Daemon;
beforeEach(async () => {
  events.length = 0;
  signals.length = 0;
  recorder = await openRecorder(test.url);
  const role = `stranger_${process.pid}_${Date.now()}`;
  await test.sql(`create role ${role} login password 'stranger'`);
  const url = new URL(test.url);
  url.username = role;
  url.password = 'stranger';
  stranger = new pg.Client({ connectionString: url.href });
  await stranger.connect();
  daemon = await test
    .another({ connectionString: recorder.url, lease: '20m', heartbeat: '10m', grace: '1s' })
    .start();
  await until(() => Promise.resolve(recorder.statements().includes('listen "tock"')), 'the daemon to listen');
  await ended(await test.tock.enqueue(quick));
});
afterEach(async () => {
  const { user } = stranger;
  await daemon.stop();
  await stranger.end();
  await recorder.close();
  await test.sql(`drop role ${user}`);
});

const ended = (id: string) =>
  until(async () => (await test.tock.runs.get(id))?.finishedAt, `run ${id} to end`);
const running = async () => {
  const id = await test.tock.enqueue(waits);
  await until(
    async () => (await test.tock.runs.get(id))?.status === 'running' && signals.length > 0,
    'it to run',
  );
  return id;
};
/** Resolves when the daemon has nothing under way: it has asked nothing between two checks of what it asks. */
const atRest = () => {
  let before = -1;
  return until(() => {
    const count = recorder.statements().length;
    const isAtRest = count === before;
    before = count;
    return Promise.resolve(isAtRest);
  }, 'the daemon to be at rest');
};
const POLL = /cancel_requested_at is not null as cancel_requested from/;
const polls = () => recorder.statements().filter(text => POLL.test(text)).length;

describe('a role that may only connect', () => {
  it('cancels no run by a notification: the worker checks, and finds that nobody asked', async () => {
    const id = await running();
    await expect(stranger.query('select from tock.job_runs')).rejects.toThrow(/permission denied/);
    await stranger.query(`notify tock, 'cancel:${id}'`);
    await until(() => Promise.resolve(polls() > 0 || signals[0]?.aborted), 'the worker to check');
    // A later notification is answered when what the first one brought about is over.
    await ended(await test.tock.enqueue(quick));
    expect(signals[0]?.aborted).toBe(false);
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'running', cancelRequestedAt: null });
    await test.tock.runs.cancel(id, { reason: 'enough' });
    await ended(id);
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'cancelled', skipReason: 'enough' });
  });

  it('makes a worker check a bounded number of times, however many notifications it sends', async () => {
    const id = await running();
    const before = recorder.statements().length;
    const since = performance.now();
    // In many transactions: of equal notifications in one, PostgreSQL sends the first.
    for (let batch = 0; batch < 500; batch++)
      await stranger.query(`select pg_notify('tock', p) from generate_series(1, 5) n, unnest(array[
        'queued', 'queued:' || n || ':default', 'queued:0:' || repeat('q', n), 'cancel:' || ${id} + n - 1]) p`);
    // It has heard all of them when it hears of this one.
    await ended(await test.tock.enqueue(quick));
    const seconds = (performance.now() - since) / 1000;
    const statements = recorder.statements().length - before;
    // Two kinds of checks, of three statements together: each seven times in the first third of a second, and then four
    // times a second. And what the run at the end takes.
    expect(statements).toBeLessThan(50 + 15 * seconds);
    expect(signals[0]?.aborted).toBe(false);
    // Amid all this a real cancel is heard.
    await test.tock.runs.cancel(id);
    await ended(id);
  });

  it('does no harm with payloads that Tock would not send', async () => {
    for (const payload of [
      'queued:99999999999:default',
      'queued:2147483648:default',
      `queued:0:${'q'.repeat(7900)}`,
      'queued:--1:default',
      "queued:0:default'); drop schema tock cascade; --",
      'queued:0:\u{1F4A3}',
      `cancel:${'9'.repeat(7000)}`,
      'cancel:99999999999999999999',
      'cancel:0',
      'listening',
      '{}',
    ]) {
      await atRest();
      await stranger.query(`select pg_notify('tock', $1)`, [payload]);
      await atRest();
      const id = await test.tock.enqueue(quick);
      await ended(id);
      expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded', attempts: 1 });
      expect(events).not.toContain('database.away');
    }
  });
});
