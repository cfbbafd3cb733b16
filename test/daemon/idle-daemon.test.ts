// A daemon that sleeps, in virtual time: when it has no connection and sends no statement, and what wakes it.
import { mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Daemon, type DaemonOptions, startDaemon } from '../../src/daemon/daemon.js';
import { startIdleDaemon } from '../../src/daemon/idle-daemon.js';
import { createWaker } from '../../src/environment/wake-file.js';
import { defineJob } from '../../src/index.js';
import { tickState } from '../../src/model/explain/tick-state.js';
import { DEFAULT_LIMITS } from '../../src/model/problems.js';
import { collectLines } from '../support/lines.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';
import { openVirtualProcess } from '../support/virtual-process.js';

const START = '2026-03-02T12:00:00Z';
const MINUTE = 60_000;
const MOST = 15 * MINUTE;
/** It looks every ten seconds whether it may sleep. */
const SLEEPS_AT = 5 * MINUTE;
/** When the minute turns is read off the host's clock: only its longest pause makes it beat. */
const BEAT = { expression: '0 0 29 2 *' };

let begun: number[];
let slowRestMs: number;
let isPruning: boolean;
const noted = defineJob({
  name: 'noted',
  run: () => {
    begun.push(virtual.clock.now());
  },
});
const second = defineJob({ name: 'second', queue: 'b', run: () => void begun.push(virtual.clock.now()) });
const JOBS = [noted, second];
let log = collectLines();
const test = openForEach(() => reuseTestTock(JOBS));
const virtual = openForEach(() => {
  log = collectLines();
  return openVirtualProcess(test, START, JOBS, { logger: log.logger });
});
let folder: string;
let daemon: Daemon;
const start = async (options: DaemonOptions = {}) => {
  daemon = await startIdleDaemon(virtual.engine, options, MOST, async awake => {
    const started = await startDaemon(virtual.engine, awake, undefined, BEAT);
    const rest = async () => {
      await started.rest();
      if (slowRestMs > 0) await virtual.clock.sleep(slowRestMs);
    };
    return { ...started, rest, isBusy: () => isPruning || started.isBusy() };
  });
  await virtual.clock.advance(0);
};
beforeEach(() => {
  begun = [];
  slowRestMs = 0;
  isPruning = false;
  folder = mkdtempSync(path.join(tmpdir(), 'tock-idle-'));
  vi.stubEnv('TOCK_DATA', folder);
});
afterEach(async () => {
  const stopped = daemon.stop();
  await virtual.clock.advance(MINUTE);
  await stopped;
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true });
});

const readWritten = () => readFileSync(path.join(folder, 'wake'), 'utf8');
const at = (ms: number) => new Date(Date.parse(START) + ms).toISOString();
const events = () => log.lines.map(({ event }) => String(event)).filter(event => event.startsWith('sleep.'));
/** Seconds in which statements were sent. */
const secondsWithStatements = () => new Set(virtual.sent.map(({ at: ms }) => Math.floor(ms / 1000)));
const sentBetween = (from: number, to: number) =>
  virtual.sent.filter(each => each.at > from && each.at < to).map(({ text }) => text);
const tickRow = async () =>
  (
    await test.sql<{ until: string | null; stopped: boolean }>(
      `select to_char(asleep_until at time zone 'UTC', 'HH24:MI:SS') as until, stopped_at is not null as stopped from tock.ticks where kind = 'daemon'`,
    )
  )[0];

describe('a daemon that may sleep', () => {
  it('has no connection and sends no statement in an idle hour, but for its looks', async () => {
    await start();
    await virtual.clock.advance(SLEEPS_AT + 1000);
    expect([events(), virtual.engine.database.pool.totalCount]).toEqual([
      ['sleep.begun'],
      virtual.engine.database.pool.idleCount,
    ]);
    expect(await tickRow()).toEqual({ until: '12:19:55', stopped: false });
    expect(await test.sql('select * from tock.workers')).toEqual([]);
    await virtual.clock.advance(60 * MINUTE);
    // Each look lasts until it looks for the first time whether it may sleep again.
    const looks = events().filter(event => event === 'sleep.ended').length;
    expect(looks).toBe(3);
    const busy = [...secondsWithStatements()].filter(second => second * 1000 > SLEEPS_AT);
    expect(busy.length).toBeLessThanOrEqual(looks * 11);
    expect(sentBetween(SLEEPS_AT, SLEEPS_AT + MOST - 5001)).toEqual([]);
    expect(await test.sql('select silences from tock.ticks')).toEqual([{ silences: null }]);
  });

  it('wakes for a run whose time comes, starts it then, and is awake for five minutes', async () => {
    await start();
    const id = await test.tock.enqueue('noted', {}, { runAt: at(11 * MINUTE) });
    // A database that was suspended takes its time.
    await virtual.clock.advance(11 * MINUTE - 5001);
    expect(events()).toEqual(['sleep.begun']);
    await virtual.clock.advance(5001);
    expect(begun).toEqual([11 * MINUTE]);
    expect((await test.tock.runs.get(id))?.status).toBe('succeeded');
    await virtual.clock.advance(5 * MINUTE - 1000);
    expect(events()).toEqual(['sleep.begun', 'sleep.ended']);
    await virtual.clock.advance(20_000);
    expect(events()).toEqual(['sleep.begun', 'sleep.ended', 'sleep.begun']);
    expect(daemon.outcomeCounts.succeeded).toBe(1);
  });

  it('is woken within a second by a Tock of its project', async () => {
    await start();
    await virtual.clock.advance(7 * MINUTE);
    expect(events()).toEqual(['sleep.begun']);
    const id = await test.another().enqueue('noted');
    await expect.poll(() => readWritten()).not.toBe('');
    await virtual.clock.advance(1000);
    expect([events(), begun.length]).toEqual([['sleep.begun', 'sleep.ended'], 1]);
    expect((await test.tock.runs.get(id))?.status).toBe('succeeded');
    expect(await tickRow()).toEqual({ until: null, stopped: false });
  });

  it('does not sleep while somebody writes with Tock, nor while a transaction has not ended', {
    tags: 'check',
  }, async () => {
    await start();
    const wake = createWaker(virtual.clock, virtual.engine.logger);
    for (let minute = 0; minute < 8; minute++) {
      wake();
      await expect.poll(() => readWritten()).not.toBe('');
      await virtual.clock.advance(MINUTE);
    }
    expect(events()).toEqual([]);
    const trx = await virtual.engine.database.pool.connect();
    await trx.query('begin');
    await trx.query(`select tock.enqueue('noted', run_at => $1)`, [at(60 * MINUTE)]);
    await virtual.clock.advance(10 * MINUTE);
    expect(events()).toEqual([]);
    await trx.query('rollback');
    trx.release();
    await virtual.clock.advance(MINUTE);
    expect(events()).toEqual(['sleep.begun']);
  });

  it('that is stopped while it sleeps notes it', async () => {
    await start();
    await virtual.clock.advance(6 * MINUTE);
    await daemon.stop();
    expect(await tickRow()).toEqual({ until: null, stopped: true });
    expect(await daemon.ended).toBeNull();
  });

  it('is missed by nobody until it is to wake, and by all from then on', async () => {
    await start();
    await virtual.clock.advance(6 * MINUTE);
    await test.sql('update tock.ticks set tick_count = 100');
    const found = async () => (await test.tock.health()).sentences.map(({ code, text }) => code ?? text);
    // The process is killed.
    await test.setClock(at(19 * MINUTE));
    expect(await found()).toEqual(['Nothing is wrong: the scheduler sleeps until 2026-03-02T12:19:55Z']);
    await test.setClock(at(20 * MINUTE + 6 * MINUTE));
    expect(await found()).toEqual(['silent-tick']);
    await test.setClock(at(virtual.clock.now()));
  });

  it('does not sleep where nobody could wake it, and says so', { tags: 'check' }, async () => {
    vi.stubEnv('TOCK_DATA', path.join(process.execPath, 'no-folder'));
    await start();
    await virtual.clock.advance(10 * MINUTE);
    expect(events()).toEqual(['sleep.off']);
  });

  it('is woken after its folder was deleted, as often as that may be', { tags: 'check' }, async () => {
    await start();
    await virtual.clock.advance(6 * MINUTE);
    rmSync(folder, { recursive: true });
    await virtual.clock.advance(6 * MINUTE);
    expect(events()).toEqual(['sleep.begun', 'sleep.ended', 'sleep.begun']);
    await test.another().enqueue('noted');
    await expect.poll(() => readWritten()).not.toBe('');
    await virtual.clock.advance(1000);
    expect(begun.length).toBe(1);
  });

  it('is awake where the file can no longer be looked at', { tags: 'check' }, async () => {
    await start();
    await virtual.clock.advance(6 * MINUTE);
    rmSync(path.join(folder, 'wake'));
    symlinkSync('wake', path.join(folder, 'wake'));
    await virtual.clock.advance(10 * MINUTE);
    expect(events()).toEqual(['sleep.begun', 'sleep.ended', 'sleep.failed']);
  });

  it('does not sleep before it has pruned', { tags: 'check' }, async () => {
    isPruning = true;
    await start();
    await virtual.clock.advance(7 * MINUTE);
    expect(events()).toEqual([]);
    isPruning = false;
    await virtual.clock.advance(10_000);
    expect(events()).toEqual(['sleep.begun']);
  });

  it('goes on claiming where registering is refused when it wakes', { tags: 'check' }, async () => {
    await start();
    await virtual.clock.advance(7 * MINUTE);
    await test.sql(
      `create function public.refuse() returns trigger language plpgsql as $$ begin raise exception 'refused'; end $$`,
    );
    await test.sql(
      'create trigger refuse before update on tock.registrations for each row execute function public.refuse()',
    );
    try {
      await test.another().enqueue('noted');
      await expect.poll(() => readWritten()).not.toBe('');
      await virtual.clock.advance(2000);
      expect([events(), begun.length]).toEqual([['sleep.begun', 'sleep.ended'], 1]);
    } finally {
      await test.sql('drop function public.refuse() cascade');
    }
  });

  it('is said to sleep where another host has enqueued', { tags: 'check' }, async () => {
    await start();
    await virtual.clock.advance(6 * MINUTE);
    await test.sql(`select tock.enqueue('noted')`);
    await virtual.clock.advance(9 * MINUTE);
    expect((await test.tock.health()).sentences).toMatchObject([
      {
        code: 'long-wait',
        level: 'warning',
        text: expect.stringContaining('sleeps until 2026-03-02T12:19:55Z (--idle)'),
      },
    ]);
    const [run] = await test.tock.runs.list();
    expect(run?.status).toBe('queued');
  });

  it('wakes when it is time, however long it takes to fall asleep', { tags: 'check' }, async () => {
    slowRestMs = 20_000;
    await start();
    await test.tock.enqueue('noted', {}, { runAt: at(11 * MINUTE) });
    await virtual.clock.advance(12 * MINUTE);
    expect(begun).toEqual([11 * MINUTE]);
  });

  it('that was killed after hours of sleep is missed as soon as one that never slept', {
    tags: 'check',
  }, async () => {
    await start();
    await virtual.clock.advance(3 * 60 * MINUTE);
    // Then it is awake, and dies.
    await test.another().enqueue('noted');
    await expect.poll(() => readWritten()).not.toBe('');
    await virtual.clock.advance(2000);
    const [tick] = await test
      .another()
      .status()
      .then(({ ticks }) => ticks);
    if (tick === undefined) throw new Error('no tick is on record');
    const stateAfter = (ms: number) =>
      tickState(tick, new Date(tick.at.getTime() + ms), DEFAULT_LIMITS.silentTickMs);
    expect([stateAfter(4 * MINUTE), stateAfter(6 * MINUTE)]).toEqual(['ticking', 'silent']);
  });

  it.each([
    [
      'the follower of a run that another process of its host executes',
      async () => {
        const other = await startDaemon(
          {
            ...virtual.engine,
            wakeHost: createWaker(virtual.clock, virtual.engine.logger),
            workers: new Set(),
          },
          { queues: ['default'] },
          undefined,
          BEAT,
        );
        await virtual.clock.advance(10_000);
        const stopped = other.stop();
        await virtual.clock.advance(MINUTE);
        await stopped;
      },
    ],
    [
      'the follower of a run that the app executes in a tick',
      () => test.another().tick({ queues: ['default'] }),
    ],
  ])('is woken by %s', { tags: 'check' }, async (_, execute) => {
    await test.tock.enqueueFlow({ a: { job: 'noted' }, b: { job: 'second', after: ['a'] } } as never);
    await start({ queues: ['b'] });
    await virtual.clock.advance(7 * MINUTE);
    expect(events()).toEqual(['sleep.begun']);
    await execute();
    await expect.poll(() => readWritten()).not.toBe('');
    await virtual.clock.advance(5000);
    expect(begun.length).toBe(2);
  });

  it('is woken by a schedule that the app registers', { tags: 'check' }, async () => {
    await start();
    await virtual.clock.advance(7 * MINUTE);
    const each = defineJob({ name: 'each', schedule: { cron: '* * * * *' }, run: () => undefined });
    await test.another({ jobs: [...JOBS, each] }).register();
    await expect.poll(() => readWritten()).not.toBe('');
    await virtual.clock.advance(1000);
    expect(events()).toEqual(['sleep.begun', 'sleep.ended']);
  });
});
