// Daemon: where several go on claiming, one reaps for all; where there is reason to reap, each does.
// In the check: the turn is kept by the clocks of two hosts.
import { describe, expect, it } from 'vitest';
import { FIRST_PLAN, type Plan } from '../../src/daemon/next-pass.js';
import { createReapStep } from '../../src/daemon/steps.js';
import { openDatabase } from '../support/database.js';
import { engineOver } from '../support/engine.js';
import { openForEach } from '../support/open.js';
import { addRuns } from '../support/runs.js';
import { reuseTestTock } from '../support/test-tock.js';

const BY_THE_CLOCK: Plan = { ...FIRST_PLAN, reapAt: 7, materializeAt: 9, claimAt: 9, checkReapAt: 7 };
const BY_A_LOOK: Plan = { ...BY_THE_CLOCK, reapAt: 6 };

const test = openForEach(reuseTestTock);
const database = openForEach(() => openDatabase({ connectionString: test.url }));

/** A run whose lease has expired. */
const expire = () =>
  addRuns(test, {
    status: 'running',
    attempts: 1,
    fence: 1,
    locked_by: '00000000-0000-4000-8000-000000000001',
    locked_until: '2020-01-01T00:00:00Z',
  });
const leased = async () =>
  (
    await test.sql<{ count: number }>(
      `select count(*)::int as count from tock.job_runs_live where status = 'running'`,
    )
  )[0]?.count;
/** For how many milliseconds from now the turn is taken. */
const turnMs = async () =>
  (
    await test.sql<{ ms: number }>(
      'select (last_value - extract(epoch from clock_timestamp()) * 1000)::float8 as ms from tock.reap_turn',
    )
  )[0]?.ms ?? Number.NaN;
/** Returns the plan afterwards. */
const step = async (plan: Plan) => {
  const planned = { plan };
  await createReapStep(engineOver(database), new AbortController().signal, () => undefined)(planned);
  return planned.plan;
};

describe('the step that reaps', () => {
  it('is one daemon’s where all go on claiming, until its turn is over', async () => {
    await expire();
    await step(BY_THE_CLOCK);
    expect(await leased()).toBe(0);
    expect(await turnMs()).toBeGreaterThan(0);
    // So that it is not over before the next step, on a busy machine.
    const turn = 60_000;
    await test.sql(
      `select setval('tock.reap_turn', (extract(epoch from clock_timestamp()) * 1000)::bigint + ${turn})`,
    );
    await expire();
    const asked = performance.now();
    const plan = await step(BY_THE_CLOCK);
    expect(await leased()).toBe(1);
    // It asks again once that turn is over.
    expect(plan.reapAt).toBe(Number.POSITIVE_INFINITY);
    expect(plan.checkReapAt).toBeGreaterThan(asked);
    expect(plan.checkReapAt).toBeLessThan(performance.now() + turn);
    await test.sql(`select setval('tock.reap_turn', (extract(epoch from clock_timestamp()) * 1000)::bigint)`);
    await step(BY_THE_CLOCK);
    expect(await leased()).toBe(0);
  });

  it('is everybody’s where a poll, a notification or an error asks for it', async () => {
    await step(BY_THE_CLOCK);
    await expire();
    await step(BY_A_LOOK);
    expect(await leased()).toBe(0);
  });

  it('takes the turn for as long as the plan waits after a reaping', async () => {
    const asked = performance.now();
    const plan = await step(BY_THE_CLOCK);
    const waits = plan.checkReapAt - performance.now();
    const turn = await turnMs();
    // Two clocks, read at different moments.
    const apart = performance.now() - asked;
    expect(Math.abs(turn - waits)).toBeLessThan(2000 + apart);
  });

  it('does not wait for a turn from before the clock was set back', async () => {
    await test.sql(
      `select setval('tock.reap_turn', (extract(epoch from clock_timestamp()) * 1000)::bigint + 86400000)`,
    );
    await expire();
    await step(BY_THE_CLOCK);
    expect(await leased()).toBe(0);
  });
});
