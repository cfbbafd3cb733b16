// A whole daemon in virtual time: the process's and the database's move together, and no real time has to pass.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Daemon, type DaemonOptions, startDaemon } from '../../src/daemon/daemon.js';
import { defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';
import { openVirtualProcess } from '../support/virtual-process.js';

const START = '2026-03-02T12:00:00Z';
/** When the minute turns is read off the host's clock: so late that only its longest pause makes it beat. */
const BEAT = { expression: '0 0 29 2 *' };

/** When attempts have begun, in milliseconds of the clock. */
let begun: number[];
const noted = defineJob({
  name: 'noted',
  retry: { backoff: () => '20s', maxAttempts: 2 },
  run: (_ctx, { fails = false }: { fails?: boolean }) => {
    begun.push(virtual.clock.now());
    if (fails) throw new Error('failed');
  },
});
/** When attempts were asked to stop. */
let aborted: number[];
const endless = defineJob({
  name: 'endless',
  run: ({ signal }) =>
    new Promise((_, reject) =>
      signal.addEventListener('abort', () => {
        aborted.push(virtual.clock.now());
        reject(signal.reason);
      }),
    ),
});
const JOBS = [noted, endless];
const test = openForEach(() => reuseTestTock(JOBS));
const virtual = openForEach(() => openVirtualProcess(test, START, JOBS));
let daemon: Daemon;
const start = async (options: DaemonOptions = {}) => {
  daemon = await startDaemon(virtual.engine, options, undefined, BEAT);
  await virtual.clock.advance(0);
};
beforeEach(() => {
  begun = [];
  aborted = [];
});
afterEach(async () => {
  const stopped = daemon.stop();
  // Only where a test has failed, there is a run to be waited for.
  await virtual.clock.advance(60_000);
  await stopped;
});

const at = (ms: number) => new Date(Date.parse(START) + ms).toISOString();
const statusOf = async (id: string) => (await test.tock.runs.get(id))?.status;
const polls = () => virtual.sent.filter(({ text }) => text.includes('as "isFairDue"')).map(each => each.at);
const everySecond = (from: number, to: number) =>
  Array.from({ length: to - from + 1 }, (_, n) => (from + n) * 1000);

describe('a daemon in virtual time', () => {
  it('that does not listen polls each second, and starts a run when its time has come', async () => {
    await start({ listen: false });
    const id = await test.tock.enqueue('noted', {}, { runAt: at(30_500) });
    await virtual.clock.advance(30_499);
    expect([polls(), begun, await statusOf(id)]).toEqual([everySecond(0, 30), [], 'queued']);
    await virtual.clock.advance(1);
    expect(begun).toEqual([30_500]);
    expect([await statusOf(id), daemon.outcomeCounts.succeeded]).toEqual(['succeeded', 1]);
  });

  it('polls once every five seconds, also where Node’s timers come a moment early', async () => {
    // What it does takes a part of a millisecond, and a timer is set from the whole one.
    let last = 0;
    const now = () => (last = Math.min(Math.max(virtual.clock.now(), last + 0.1), virtual.clock.now() + 0.9));
    const engine = { ...virtual.engine, clock: { ...virtual.clock, now } };
    daemon = await startDaemon(engine, {}, undefined, BEAT);
    await virtual.clock.advance(61_000);
    const before = polls().length;
    await virtual.clock.advance(50_000);
    expect(polls().length - before).toBe(10);
  });

  it('that lacks a table stops by itself, and says why', async () => {
    await start();
    await test.sql('alter table tock.job_runs_live rename to away');
    try {
      await virtual.clock.advance(10_000);
      expect(await daemon.ended).toMatchObject({
        code: 'TOCK_NOT_MIGRATED',
        message: expect.stringMatching(/"tock\.job_runs_live" does not exist.*; run: tock migrate/),
      });
    } finally {
      await test.sql('alter table tock.away rename to job_runs_live');
    }
  });

  it('that listens polls every five seconds, and starts a run when its time has come', async () => {
    await start();
    const id = await test.tock.enqueue('noted', {}, { runAt: at(30_000) });
    await virtual.clock.advance(29_999);
    expect([begun, await statusOf(id)]).toEqual([[], 'queued']);
    // At first it polls more often, while transactions last that may not know that it sleeps: also those of others.
    const pauses = polls().map((ms, n, all) => (all[n + 1] ?? 29_999) - ms);
    expect(Math.max(...pauses)).toBeLessThanOrEqual(5000);
    await virtual.clock.advance(1);
    expect(begun).toEqual([30_000]);
    expect([await statusOf(id), daemon.outcomeCounts.succeeded]).toEqual(['succeeded', 1]);
  });

  it.each([
    ['which it does not listen to', { listen: false }, 1000],
    ['which do not arrive, as behind pgbouncer', { listen: true }, 5000],
  ])('finds each cancel within one poll without notifications, %s', async (_, options, pollMs) => {
    await start(options);
    virtual.roundTripMs = 10;
    const late: number[] = [];
    for (let run = 0; run < 4; run++) {
      await test.tock.enqueue('endless');
      // It is claimed, by a notification or by a poll, at another place between two checks each time.
      await virtual.clock.advance(1300);
      // Of this nobody is notified.
      await test.sql(`update tock.job_runs_live set cancel_requested_at = tock.now() where job = 'endless'`);
      const asked = virtual.clock.now();
      await virtual.clock.advance(2 * pollMs + 1000);
      late.push((aborted[run] ?? Infinity) - asked);
    }
    virtual.roundTripMs = 0;
    expect(late.filter(ms => ms > pollMs + 100)).toEqual([]);
  });

  it('notes its tick each minute, once it has claimed: what holds up a claim is a silence', async () => {
    await start();
    await virtual.clock.advance(60_000);
    const ticks = virtual.sent.findLastIndex(({ text }) => text.includes('insert into tock.ticks'));
    const before = virtual.sent.slice(0, ticks).filter(({ at: ms }) => ms === 60_000);
    expect(virtual.sent[ticks]?.at).toBe(60_000);
    expect(
      before.map(({ text }) => /as \(\s*update tock\.job_runs_live|registrations|watermarks/.exec(text)?.[0]),
    ).toEqual(['registrations', 'watermarks']);
  });

  it('takes up all events that were emitted at once, also where they are more than one step takes', async () => {
    await start();
    await virtual.clock.advance(10_000);
    virtual.roundTripMs = 600;
    await test.sql(`select tock.emit('come') from generate_series(1, 500)`);
    await virtual.clock.advance(4500);
    const left = await test.sql('select from tock.job_outbox');
    virtual.roundTripMs = 0;
    expect(left).toEqual([]);
  });

  it('starts a run at once of which it is notified, and tries it again when its backoff is over', async () => {
    await start();
    await virtual.clock.advance(10_000);
    const id = await test.tock.enqueue('noted', { fails: true });
    await virtual.clock.advance(0);
    expect([begun, await statusOf(id)]).toEqual([[10_000], 'failed']);
    await virtual.clock.advance(19_999);
    expect(begun).toEqual([10_000]);
    await virtual.clock.advance(1);
    expect([begun, await statusOf(id)]).toEqual([[10_000, 30_000], 'dead']);
  });
});
