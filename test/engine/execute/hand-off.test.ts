// A run that its handler hands off, and another system completes: from the handler to what follows.
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { defineJob, type HandOff, type JobContext } from '../../../src/index.js';
import { openOnce } from '../../support/open.js';
import { emptyTables } from '../../support/runs.js';
import { openTestTock } from '../../support/test-tock.js';

/** What the next attempt of `pays` does instead. */
let instead: ((ctx: JobContext) => Promise<unknown>) | null = null;
const sent: { runId: string; fence: number }[] = [];
const hooks: string[] = [];

const pays = defineJob({
  name: 'pays',
  retry: { maxAttempts: 3, backoff: 'fixed', base: '10m', jitter: 0 },
  concurrency: { limit: 1 },
  async run(ctx): Promise<HandOff> {
    sent.push({ runId: ctx.runId, fence: ctx.fence });
    if (instead) return (await instead(ctx)) as HandOff;
    return ctx.handOff({ lease: '3d', to: 'the bank' });
  },
});
const buries = defineJob({ name: 'buries', run: () => null });
const mourned = defineJob({ ...pays, name: 'mourned', onDead: 'buries', concurrency: { limit: 100 } });
const cursed = defineJob({ ...mourned, name: 'cursed' });
const nightly = defineJob({
  name: 'nightly',
  schedule: { cron: '0 2 * * *', overlap: 'cancel_other' },
  run: ctx => ctx.handOff({ lease: '3d' }),
});
const after = defineJob({ name: 'after', schedule: { after: 'nightly' }, run: () => 'followed' });

const test = openOnce(() =>
  openTestTock([pays, buries, mourned, cursed], {
    hooks: {
      onSuccess: (run, { output, durationMs }) =>
        void hooks.push(`${run.job} ${JSON.stringify(output)} ${durationMs}`),
      onFailure: (run, { error }) => void hooks.push(`${run.job} failed: ${error.message}`),
      onDead: (run, { error }) => void hooks.push(`${run.job} dead: ${error.message}`),
    },
  }),
);
beforeEach(async () => {
  instead = null;
  sent.length = 0;
  hooks.length = 0;
  await emptyTables(test);
  await test.setClock('2026-03-02T12:00:00Z');
  await test.tock.tick();
});

const run = async (id: string) => {
  const found = await test.tock.runs.get(id);
  if (found === null) throw new Error(`run ${id} is gone`);
  return found;
};
const slots = async () =>
  (await test.sql<{ run: string }>('select run_id::text as run from tock.job_slots order by 1')).map(
    row => row.run,
  );
/** Enqueues and hands off. */
const handedOff = async (job: string = pays.name) => {
  const id = await test.tock.enqueue(job);
  const { executed } = await test.tock.tick();
  expect(executed).toMatchObject({ claimed: 1, handedOff: 1 });
  return id;
};

describe('a run that is handed off', () => {
  it('is running without a worker, under its fence and lease; its worker is done with it', async () => {
    const id = await handedOff();
    expect(await run(id)).toMatchObject({
      status: 'running',
      fence: 1,
      attempts: 1,
      worker: null,
      runAt: new Date('2026-03-02T12:00:00Z'),
      lockedUntil: new Date('2026-03-05T12:00:00Z'),
      handOff: {
        fence: 1,
        to: 'the bank',
        handedOffAt: new Date('2026-03-02T12:00:00Z'),
        decision: null,
        refused: 0,
      },
    });
    expect(await test.sql('select from tock.workers')).toEqual([]);
    await test.advance('2d');
    expect(await test.tock.tick()).toMatchObject({
      reaped: { failed: 0, dead: 0, cancelled: 0 },
      executed: { claimed: 0 },
    });
  });

  it('is completed two days later by a webhook: its result, its slot and its hooks', {
    tags: 'check',
  }, async () => {
    const id = await handedOff();
    const next = await test.tock.enqueue(pays);
    await test.tock.tick();
    expect(await slots()).toEqual([id]);
    expect((await run(next)).blockedOn).toBe('job:pays');
    await test.advance('2d');
    const [message] = sent;
    expect(
      await test.tock.complete(message?.runId ?? '', message?.fence ?? 0, { paid: true, at: new Date(0) }),
    ).toBe(true);
    expect((await run(id)).handOff).toMatchObject({ decision: 'succeeded' });
    await test.tock.tick();
    expect(await run(id)).toMatchObject({
      status: 'succeeded',
      output: { paid: true, at: '1970-01-01T00:00:00.000Z' },
      runAt: new Date('2026-03-02T12:00:00Z'),
      finishedAt: new Date('2026-03-04T12:00:00Z'),
      handOff: null,
      handOffs: [{ fence: 1, decision: 'succeeded' }],
    });
    expect(hooks).toEqual(['pays {"at":"1970-01-01T00:00:00.000Z","paid":true} 172800000']);
    // The other one had waited for its slot.
    await test.tock.tick();
    expect(await run(next)).toMatchObject({ status: 'running', handOff: { to: 'the bank', decision: null } });
    expect(await slots()).toEqual([next]);
  });

  it.each([
    ['in 31 years', { retryAt: new Date('2057-03-02T12:00:00Z') }, 'TOCK_BAD_TIME'],
    ['after the year 9999', { retryAt: new Date(8.64e15) }, 'TOCK_BAD_TIME'],
    [
      'though it is not retried',
      { retry: false, retryAt: new Date('2026-03-02T13:00:00Z') },
      'TOCK_BAD_OPTION',
    ],
  ])('fails with no time %s', async (_what, options, code) => {
    const id = await handedOff(mourned.name);
    await expect(test.tock.fail(id, 1, 'closed', options)).rejects.toMatchObject({ code });
    expect(await run(id)).toMatchObject({ handOff: { decision: null } });
  });

  it('is completed with a result of 1 MiB, which jsonb writes with blanks, and with no larger one', {
    tags: 'check',
  }, async () => {
    const ones = (count: number) => Array.from({ length: count }, () => 1);
    const id = await handedOff(mourned.name);
    await expect(test.tock.complete(id, 1, ones(524_288))).rejects.toMatchObject({ code: 'TOCK_BAD_RESULT' });
    expect(await test.tock.complete(id, 1, ones(524_287))).toBe(true);
  });

  it('fails by the backoff of its job, and is dead once its attempts are used up', {
    tags: 'check',
  }, async () => {
    const id = await handedOff(mourned.name);
    expect(await test.tock.fail(id, 1, Object.assign(new TypeError('no cover'), { code: 'E7' }))).toBe(true);
    await test.tock.tick();
    expect(await run(id)).toMatchObject({
      status: 'failed',
      attempts: 1,
      runAt: new Date('2026-03-02T12:10:00Z'),
      errors: [
        { name: 'TypeError', code: 'E7', message: 'no cover', attempt: 1, dueAt: '2026-03-02T12:00:00.000Z' },
      ],
    });
    await test.advance('10m');
    await test.tock.tick();
    expect(await test.tock.fail(id, 2, 'closed', { retryAt: new Date('2026-03-03T08:00:00Z') })).toBe(true);
    await test.tock.tick();
    expect(await run(id)).toMatchObject({ status: 'failed', runAt: new Date('2026-03-03T08:00:00Z') });
    await test.setClock('2026-03-03T08:00:00Z');
    await test.tock.tick();
    expect(await test.tock.fail(id, 3, 'refused')).toBe(true);
    await test.tock.tick();
    expect(await run(id)).toMatchObject({
      status: 'dead',
      errors: [{}, {}, { message: 'refused', attempt: 3 }],
    });
    expect(hooks.slice(0, 3)).toEqual([
      'mourned failed: no cover',
      'mourned failed: closed',
      'mourned dead: refused',
    ]);
    await test.tock.tick();
    expect(await test.tock.runs.list({ job: 'buries' })).toHaveLength(1);
  });

  it('is tried again when its lease ends; then the old completion changes nothing and is counted', {
    tags: 'check',
  }, async () => {
    const id = await handedOff();
    await test.advance('3d');
    await test.advance('1s');
    expect((await test.tock.tick()).reaped).toEqual({ failed: 1, dead: 0, cancelled: 0 });
    expect(await run(id)).toMatchObject({
      status: 'failed',
      errors: [
        {
          name: 'HandOffExpired',
          code: 'TOCK_LEASE_LOST',
          message: 'it was handed off to the bank, and its lease ended before it was completed or extended',
          dueAt: '2026-03-02T12:00:00.000Z',
        },
      ],
    });
    expect(await slots()).toEqual([]);
    expect(await test.tock.complete(id, 1, 'late')).toBe(false);
    await test.advance('10m');
    await test.tock.tick();
    expect(await test.tock.complete(id, 1, 'late again')).toBe(false);
    expect(await test.tock.complete(id, 2, 'in time')).toBe(true);
    expect(await test.tock.complete(id, 2, 'twice')).toBe(false);
    await test.tock.tick();
    expect(await run(id)).toMatchObject({
      status: 'succeeded',
      output: 'in time',
      handOffs: [
        { fence: 1, decision: null, refused: 2 },
        { fence: 2, decision: 'succeeded', refused: 1 },
      ],
    });
  });

  it('is dead when its lease ends at the last attempt', { tags: 'check' }, async () => {
    const id = await handedOff();
    await test.sql('update tock.job_runs_live set max_attempts = 1');
    await test.advance('4d');
    expect((await test.tock.tick()).reaped).toEqual({ failed: 0, dead: 1, cancelled: 0 });
    expect(await run(id)).toMatchObject({ status: 'dead', runAt: new Date('2026-03-02T12:00:00Z') });
  });

  it('is cancelled with the next tick, without its handler', async () => {
    const id = await handedOff();
    await test.tock.runs.cancel(id, { reason: 'not needed' });
    expect(await test.tock.complete(id, 1)).toBe(false);
    expect((await test.tock.tick()).reaped).toEqual({ failed: 0, dead: 0, cancelled: 1 });
    expect(await run(id)).toMatchObject({ status: 'cancelled', skipReason: 'not needed' });
    expect(await slots()).toEqual([]);
  });

  it('keeps what was decided, though it is cancelled or its lease ends before a tick comes', {
    tags: 'check',
  }, async () => {
    const id = await handedOff();
    expect(await test.tock.complete(id, 1, 'done')).toBe(true);
    await test.tock.runs.cancel(id);
    await test.advance('9d');
    expect((await test.tock.tick()).reaped).toEqual({ failed: 0, dead: 0, cancelled: 0 });
    expect(await run(id)).toMatchObject({ status: 'succeeded', output: 'done' });
  });

  it('leaves its handoff on record, until retention deletes it with the keys', {
    tags: 'check',
  }, async () => {
    const id = await handedOff();
    expect(await test.tock.complete(id, 1)).toBe(true);
    await test.tock.tick();
    await test.advance('100d');
    await test.tock.prune();
    expect(await test.tock.complete(id, 1)).toBe(false);
    expect(await test.sql('select decision, refused_count from tock.job_hand_offs')).toEqual([
      { decision: 'succeeded', refused_count: 1 },
    ]);
    await test.advance('301d');
    await test.tock.prune();
    expect(await test.sql('select from tock.job_hand_offs')).toEqual([]);
  });

  it('is completed while its definition and queue are paused', async () => {
    const id = await handedOff();
    await test.tock.queues.pause('default');
    expect(await test.tock.complete(id, 1)).toBe(true);
    await test.tock.tick();
    expect((await run(id)).status).toBe('succeeded');
    await test.tock.queues.resume('default');
  });
});

describe('a planned run that is handed off', () => {
  const own = openOnce(() => openTestTock([nightly, after]));
  beforeAll(async () => {
    await own.setClock('2026-03-02T12:00:00Z');
    await own.tock.tick();
  });
  const tickAt = async (instant: string) => {
    await own.setClock(instant);
    await own.tock.tick();
    return await own.tock.runs.list({ definition: 'nightly' });
  };

  it('starts what follows its definition, once it is completed', { tags: 'check' }, async () => {
    const [first] = await tickAt('2026-03-03T02:00:00Z');
    expect(first).toMatchObject({ status: 'running', handOff: { to: null } });
    const { sentences } = await own.tock.why('nightly', '2026-03-03T02:00:00Z');
    expect(sentences.join('; ')).toMatch(/it is handed off since .*, until .* \(tock show \d+\)/);
    expect(await own.tock.complete(first?.id ?? '', first?.fence ?? 0)).toBe(true);
    await own.tock.tick();
    await own.tock.tick();
    expect(await own.tock.runs.list({ definition: 'after' })).toMatchObject([
      { status: 'succeeded', output: 'followed' },
    ]);
  });

  it('gives way to a later occurrence that cancels it', { tags: 'check' }, async () => {
    const [second] = await tickAt('2026-03-04T02:00:00Z');
    expect(second?.handOff).not.toBeNull();
    await tickAt('2026-03-05T02:00:00Z');
    const [third, before] = await tickAt('2026-03-05T02:01:00Z');
    expect(before).toMatchObject({
      id: second?.id,
      status: 'cancelled',
      skipReason: 'a later occurrence took its place',
    });
    expect(third).toMatchObject({ status: 'running', handOff: { decision: null } });
    expect(await own.tock.complete(second?.id ?? '', second?.fence ?? 0)).toBe(false);
  });
});

describe('an answer that comes before the handoff is recorded', () => {
  it('is kept, and counts once the handler has handed the run off', async () => {
    instead = async ctx => {
      expect(await test.tock.progress(ctx.runId, ctx.fence, 0.5)).toBe(true);
      expect(await test.tock.complete(ctx.runId, ctx.fence, 'quick')).toBe(true);
      expect(await test.tock.complete(ctx.runId, ctx.fence, 'quicker')).toBe(false);
      return ctx.handOff({ lease: '1h' });
    };
    const id = await test.tock.enqueue(pays);
    await test.tock.tick();
    await test.tock.tick();
    expect(await run(id)).toMatchObject({ status: 'succeeded', output: 'quick', handOffs: [{ refused: 1 }] });
  });

  it('extends the lease that follows', async () => {
    instead = async ctx => {
      expect(await test.tock.extend(ctx.runId, ctx.fence, '5d')).toBe(true);
      return ctx.handOff({ lease: '1h' });
    };
    const id = await test.tock.enqueue(pays);
    await test.tock.tick();
    expect((await run(id)).lockedUntil).toEqual(new Date('2026-03-07T12:00:00Z'));
  });

  it('is dropped if the handler ends otherwise', async () => {
    instead = async ctx => {
      expect(await test.tock.complete(ctx.runId, ctx.fence, 'quick')).toBe(true);
      throw new Error('the answer to the mail was lost');
    };
    const id = await test.tock.enqueue(pays);
    await test.tock.tick();
    await test.tock.tick();
    expect(await run(id)).toMatchObject({
      status: 'failed',
      errors: [{ message: 'the answer to the mail was lost' }],
      handOffs: [{ handedOffAt: null, decision: 'succeeded' }],
    });
  });

  it('changes nothing about a run that is never handed off', async () => {
    instead = async ctx => {
      expect(await test.tock.complete(ctx.runId, ctx.fence, 'forged')).toBe(true);
      return 'its own';
    };
    const id = await test.tock.enqueue(pays);
    await test.tock.tick();
    expect(await run(id)).toMatchObject({ status: 'succeeded', output: 'its own' });
  });
});

it('answers that can never be written do not hold up those behind them, however large they are', {
  tags: 'check',
}, async () => {
  const stuck: string[] = [];
  for (let n = 0; n < 9; n++) stuck.push(await handedOff(cursed.name));
  const id = await handedOff('mourned');
  await test.sql(`alter table tock.job_runs_finished add constraint cursed check (job <> 'cursed')`);
  try {
    // Nearly incompressible: together more than is read at once.
    await test.sql(
      `with answers as (select h.run_id, h.fence, (select to_jsonb(string_agg(md5(random()::text), '')) from generate_series(1, 31000)) as output
           from tock.job_hand_offs h where h.run_id = any($1::bigint[]))
         select tock.complete(run_id, fence, output) from answers`,
      [stuck],
    );
    expect(await test.tock.complete(id, 1, 'paid')).toBe(true);
    await test.tock.tick();
    expect(await run(id)).toMatchObject({ status: 'succeeded', output: 'paid' });
    expect((await run(stuck[0] ?? '')).status).toBe('running');
  } finally {
    await test.sql('alter table tock.job_runs_finished drop constraint cursed');
  }
});

describe('ctx.handOff', () => {
  /** The error of the one attempt. */
  const failsWith = async (work: (ctx: JobContext) => Promise<unknown>) => {
    instead = work;
    const id = await test.tock.enqueue(pays, {}, { maxAttempts: 1 });
    await test.tock.tick();
    return (await run(id)).errors[0];
  };

  it('must be returned', async () => {
    expect(
      await failsWith(async ctx => {
        ctx.handOff({ lease: '1h' });
        return 'forgotten';
      }),
    ).toMatchObject({
      code: 'TOCK_BAD_RESULT',
      message:
        'the handler called ctx.handOff and returned something else: write return ctx.handOff({ lease: … })',
    });
  });

  it.each([
    [
      'a step',
      (ctx: JobContext) => ctx.step('send', () => ctx.handOff({ lease: '1h' }) as never),
      'TOCK_BAD_RESULT',
    ],
    [
      'an effect',
      (ctx: JobContext) => ctx.once(`send ${ctx.runId}`, () => ctx.handOff({ lease: '1h' }) as never),
      'TOCK_BAD_RESULT',
    ],
    [
      'a transaction',
      (ctx: JobContext) => ctx.transaction(() => ctx.handOff({ lease: '1h' }) as never),
      'TOCK_BAD_STATE',
    ],
  ])('cannot be the result of %s', { tags: 'check' }, async (_what, work, code) => {
    expect(await failsWith(work)).toMatchObject({ code, message: expect.stringMatching(/hand/i) });
  });

  it('cannot follow a transaction, which has made the run succeed', async () => {
    let refused: unknown;
    instead = async ctx => {
      await ctx.transaction(() => 'done');
      try {
        return ctx.handOff({ lease: '1h' });
      } catch (error) {
        refused = error;
        return 'refused';
      }
    };
    const id = await test.tock.enqueue(pays);
    await test.tock.tick();
    expect(refused).toMatchObject({
      code: 'TOCK_BAD_STATE',
      message: `run ${id} has succeeded in ctx.transaction, so it cannot be handed off; use ctx.once for what must be committed before`,
    });
    expect(await run(id)).toMatchObject({ status: 'succeeded', output: 'done' });
  });

  it('is refused once the attempt has ended', async () => {
    let kept: JobContext | undefined;
    instead = async ctx => {
      kept = ctx;
      return 'done';
    };
    await test.tock.enqueue(pays);
    await test.tock.tick();
    expect(() => kept?.handOff({ lease: '1h' })).toThrow(
      expect.objectContaining({
        code: 'TOCK_BAD_STATE',
        message: expect.stringMatching(/^the attempt of run \d+ has ended/),
      }),
    );
  });
});
