// A database that answers late, in virtual time: what comes before the claims of a pass, and of a tick, is bounded.
import { afterEach, describe, expect, it } from 'vitest';
import { type Daemon, type DaemonOptions, startDaemon } from '../../src/daemon/daemon.js';
import { register } from '../../src/engine/definitions/register.js';
import { runTick, type TickSummary } from '../../src/engine/run-tick.js';
import { defineJob, type JobSchedule } from '../../src/index.js';
import { createRegistry } from '../../src/model/job/registry.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';
import { openVirtualProcess } from '../support/virtual-process.js';

const START = '2026-03-02T12:00:00Z';
const TWO_HOURS_AGO = '2026-03-02T10:00:00Z';
/** When the minute turns is read off the host's clock: so late that only its longest pause makes it beat. */
const BEAT = { expression: '0 0 29 2 *' };
/** A round trip to the other side of the world: a batch of materializing takes longer than a second. */
const FAR_MS = 230;
/** A batch has fewer statements, and a claim after it. */
const BATCH = 10;

const ALL = { catchup: 'all', overlap: 'allow_all' } as const;
const often = (schedule: Partial<JobSchedule> = {}) =>
  defineJob({ name: 'often', schedule: { every: '1s', ...ALL, ...schedule }, run: () => null });
const behind = Array.from({ length: 60 }, (_, n) =>
  defineJob({
    name: `behind-${n}`,
    queue: 'backlog',
    schedule: { every: '30s', ...ALL },
    run: () => null,
  }),
);
/** When it has begun, in milliseconds of the clock. */
let urgentAt: number | null = null;
const urgent = defineJob({
  name: 'urgent',
  run: () => {
    urgentAt = virtual.clock.now();
  },
});

const test = openForEach(() => reuseTestTock([urgent]));
const virtual = openForEach(() => openVirtualProcess(test, START, []));
const engineWith = (...jobs: readonly ReturnType<typeof defineJob>[]) => ({
  ...virtual.engine,
  registry: createRegistry(jobs),
});
let daemon: Daemon | null = null;
const start = async (engine: typeof virtual.engine, options: DaemonOptions = {}) => {
  daemon = await startDaemon(engine, options, undefined, BEAT);
  await virtual.clock.advance(0);
};
afterEach(async () => {
  virtual.roundTripMs = 0;
  const stopped = daemon?.stop();
  await virtual.clock.advance(60_000);
  await stopped;
  daemon = null;
});

/** When work ends, by the clock; null: not within `ms`. */
async function endOf<T>(work: Promise<T>, ms: number): Promise<{ at: number; value: T } | null> {
  let end: { at: number; value: T } | null = null;
  void work.then(value => (end = { at: virtual.clock.now(), value }));
  await virtual.clock.advance(ms);
  return end;
}
/** The seconds since the beginning that have runs, each as often as it has. */
const secondsOf = async (where = 'true') =>
  (
    await test.sql<{ second: number }>(
      `select extract(epoch from scheduled_for - $1::timestamptz)::integer as second from tock.job_runs
       where scheduled_for is not null and skip_reason is null and ${where} order by 1`,
      [START],
    )
  ).map(row => row.second);
const upTo = (count: number) => Array.from({ length: count }, (_, n) => n + 1);

describe('a daemon whose database is far away', () => {
  it('executes what comes due each second, each once, and stops', async () => {
    await start(engineWith(often()));
    virtual.roundTripMs = FAR_MS;
    await virtual.clock.advance(20_000);
    const executed = await secondsOf(`status = 'succeeded'`);
    expect(executed).toEqual(upTo(executed.length));
    expect(executed.length).toBeGreaterThan(10);
    const stoppedAt = virtual.clock.now();
    const stopped = await endOf(daemon?.stop() ?? Promise.reject(new Error('none')), 10_000);
    expect(stopped?.at).toBeLessThan(stoppedAt + 3 * BATCH * FAR_MS);
    const made = await secondsOf();
    expect(made).toEqual(upTo(made.length));
  });

  it('starts an urgent run while it materializes two hours of sixty schedules, each occurrence once', async () => {
    await start(engineWith(urgent, ...behind), { queues: ['default'] });
    await test.sql(
      `update tock.job_definitions set cursor = $1, next_at = $1::timestamptz + interval '30 seconds'
      where next_at is not null`,
      [TWO_HOURS_AGO],
    );
    virtual.roundTripMs = 1000;
    await virtual.clock.advance(10_000);
    await test.tock.enqueue('urgent');
    for (let n = 0; n < 2 * BATCH && urgentAt === null; n++) await virtual.clock.advance(1000);
    expect(urgentAt).not.toBeNull();
    expect((await secondsOf()).length).toBeLessThan(60 * 240);
    virtual.roundTripMs = 0;
    await virtual.clock.advance(10_000);
    const made = await test.sql<{ count: number; distinct: number }>(
      `select count(*)::integer as count, count(distinct scheduled_for)::integer as distinct from tock.job_runs
       where queue = 'backlog' group by job`,
    );
    const each = { count: 240, distinct: 240 };
    expect(made).toEqual(behind.map(() => each));
  });
});

it('a tick whose database is far away executes what comes due each second, and ends with its budget', async () => {
  const engine = engineWith(often());
  // What is rare is done then, such as partitions.
  await runTick(engine, { budgetMs: 5000 });
  await virtual.clock.advance(10_000);
  virtual.roundTripMs = FAR_MS;
  const startedAt = virtual.clock.now();
  const end = await endOf<TickSummary>(runTick(engine, { budgetMs: 5000 }), 20_000);
  expect(end?.value).toMatchObject({ stoppedEarly: true });
  expect(end?.at).toBeLessThan(startedAt + 5000 + 4 * BATCH * FAR_MS);
  const made = await secondsOf(`status = 'succeeded'`);
  expect(made).toEqual(upTo(made.length));
  expect([made.length > 10, end?.value.executed.succeeded]).toEqual([true, made.length]);
});

it('a deploy whose database is far away ends, and loses no occurrence between the old schedule and the new one', async () => {
  await register(engineWith(often()));
  await virtual.clock.advance(5000);
  virtual.roundTripMs = 400;
  const changed = engineWith(often({ payload: { version: 2 } }));
  expect((await endOf(register(changed), 30_000))?.value).toMatchObject({ changed: ['often'] });
  virtual.roundTripMs = 0;
  await runTick(changed, { budgetMs: 1000 });
  expect(await secondsOf()).toEqual(upTo(Math.floor(virtual.clock.now() / 1000)));
});
