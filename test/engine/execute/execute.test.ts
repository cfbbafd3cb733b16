// Engine: how an attempt ends, by its handler, its signal, or before it was called.
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type Engine, readSettings } from '../../../src/engine/engine.js';
import { abort, signalOf } from '../../../src/engine/execute/abort.js';
import { type ActiveRun, activeRun } from '../../../src/engine/execute/active-run.js';
import { drainReason, executeRun } from '../../../src/engine/execute/execute.js';
import { systemClock } from '../../../src/environment/system-clock.js';
import { type AnyJob, Cancel, defineJob, type JobContext } from '../../../src/index.js';
import { createRegistry } from '../../../src/model/job/registry.js';
import { silentLogger } from '../../../src/model/logger.js';
import type { Ending } from '../../../src/model/run/decide.js';
import type { ClaimedRun } from '../../../src/store/runs/claim/claimed-run.js';

const NOON = Date.parse('2026-03-02T12:00:00Z');
const run = (more: Partial<ClaimedRun> = {}): ClaimedRun =>
  ({
    id: '1',
    fence: 1,
    job: 'acts',
    definition: null,
    attempts: 1,
    max_attempts: 3,
    payload: { n: 7 },
    payload_length: 7,
    scheduled_for: null,
    interval_start: null,
    occurrence_count: 1,
    idempotency_key: null,
    trigger: 'api',
    slot_keys: null,
    is_late: false,
    window: null,
    ...more,
  }) as ClaimedRun;

interface Attempt {
  readonly active: ActiveRun;
  /** How it ended; rejects where it ended twice. */
  readonly ended: Promise<Ending | null>;
  /** Whether `end` was called while `executeRun` was. */
  readonly endedAtOnce: boolean;
  readonly endings: readonly (Ending | null)[];
}

/** Executes a run of the job `acts`. */
function execute(
  handler: (ctx: JobContext, payload: unknown) => unknown,
  {
    job = {},
    row = {},
    before,
  }: { job?: object; row?: Partial<ClaimedRun>; before?: (active: ActiveRun) => void } = {},
): Attempt {
  const acts = defineJob({ name: 'acts', ...job, run: handler }) as AnyJob;
  const engine = {
    clock: systemClock,
    registry: createRegistry([acts]),
    settings: readSettings({ grace: '20ms' }),
    logger: silentLogger,
    isolation: null,
    hooks: {},
  } as unknown as Engine;
  const active = activeRun(run(row), systemClock.now());
  before?.(active);
  const endings: (Ending | null)[] = [];
  let isReturned = false;
  let endedAtOnce = false;
  const ended = new Promise<Ending | null>(resolve => {
    executeRun(engine, active, 'worker', ending => {
      endedAtOnce ||= !isReturned;
      endings.push(ending);
      resolve(ending);
    });
    isReturned = true;
  });
  return { active, ended, endedAtOnce, endings };
}

/** As a heartbeat does where an operator asked to cancel. */
const requestCancel = (active: ActiveRun) => {
  active.cancelRequested = true;
  abort(active.interrupt, new Cancel('cancelled by an operator'));
};

/** A handler that ends when its signal aborts, as `how` says. */
const untilAborted =
  (
    how: (ctx: JobContext) => unknown = ctx => {
      throw ctx.signal.reason;
    },
  ) =>
  async (ctx: JobContext) => {
    await new Promise(resolve => ctx.signal.addEventListener('abort', resolve));
    return how(ctx);
  };
afterEach(() => vi.useRealTimers());

describe('an attempt', () => {
  it('ends with what its handler returned, or threw, at once or later; never while it is begun', async () => {
    const error = new Error('no');
    const cases: [() => unknown, Ending][] = [
      [() => 'done', { kind: 'returned', value: 'done' }],
      [async () => await Promise.resolve('later'), { kind: 'returned', value: 'later' }],
      [
        () => {
          throw error;
        },
        { kind: 'threw', error },
      ],
      [() => Promise.reject(error), { kind: 'threw', error }],
    ];
    for (const [handler, ending] of cases) {
      const { ended, endedAtOnce } = execute(handler);
      expect([await ended, endedAtOnce]).toEqual([ending, false]);
    }
  });

  it('gives its handler the payload, as the schema makes it, be that at once or later', async () => {
    const schema = (validate: (value: unknown) => unknown) => ({
      payload: { '~standard': { version: 1, vendor: 'test', validate } },
    });
    const echo = (_ctx: JobContext, payload: unknown) => payload;
    const values = [
      execute(echo),
      execute(echo, { job: schema(() => ({ value: 'at once' })) }),
      execute(echo, { job: schema(async () => await Promise.resolve({ value: 'later' })) }),
    ].map(each => each.ended);
    expect(await Promise.all(values)).toEqual([
      { kind: 'returned', value: { n: 7 } },
      { kind: 'returned', value: 'at once' },
      { kind: 'returned', value: 'later' },
    ]);
    const refused = execute(echo, {
      job: schema(async () => await Promise.resolve({ issues: [{ message: 'no' }] })),
    });
    expect(await refused.ended).toMatchObject({ kind: 'threw', error: { code: 'TOCK_BAD_PAYLOAD' } });
  });

  it('of a job that is not here ends without a failure', async () => {
    const { ended, endedAtOnce } = execute(() => 'never', { row: { job: 'elsewhere' } });
    expect(await ended).toEqual({ kind: 'unknownJob', job: 'elsewhere' });
    expect(endedAtOnce).toBe(false);
  });

  it('of an isolated job is not executed here', async () => {
    const { ended } = execute(() => 'never', { job: { isolate: true } });
    expect(await ended).toMatchObject({ kind: 'threw', error: { code: 'TOCK_BAD_OPTION' } });
  });

  it('leaves no timer behind', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    await execute(() => 'done', { job: { timeout: '1h' } }).ended;
    expect(vi.getTimerCount()).toBe(0);
    const { active, ended } = execute(untilAborted(), { job: { timeout: '1h' } });
    expect(vi.getTimerCount()).toBe(1);
    abort(active.interrupt, drainReason());
    await ended;
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('an attempt whose handler is not to be called', () => {
  const never = () => {
    throw new Error('called');
  };
  const window = (hours: string, outside = 'defer') => ({
    window: { hours, timezone: 'UTC', outside, now: NOON },
  });

  it('ends as late where its start deadline has passed', async () => {
    const { ended, endedAtOnce } = execute(never, { row: { is_late: true } });
    expect([await ended, endedAtOnce]).toEqual([{ kind: 'late' }, false]);
  });

  it('waits for its window, or is skipped, where that is closed', async () => {
    const closed = execute(never, { row: window('18:00-06:00') });
    expect(await closed.ended).toEqual({ kind: 'outside', opensAt: Date.parse('2026-03-02T18:00:00Z') });
    const skipped = execute(never, { row: window('18:00-06:00', 'skip') });
    expect(await skipped.ended).toEqual({ kind: 'outside', opensAt: null });
    const open = execute(() => 'done', { row: window('06:00-18:00') });
    expect(await open.ended).toEqual({ kind: 'returned', value: 'done' });
  });

  it('waits for its slot where it has none under its job’s limit', async () => {
    const job = { concurrency: { limit: 3, key: (payload: { n: number }) => payload.n } };
    const { ended, endedAtOnce } = execute(never, { job, row: { slot_keys: ['job:acts/8'] } });
    expect([await ended, endedAtOnce]).toEqual([
      { kind: 'noSlot', limits: [{ key: 'job:acts/7', limit: 3 }] },
      false,
    ]);
    const placed = execute(() => 'done', { job, row: { slot_keys: ['definition:1', 'job:acts/7'] } });
    expect(await placed.ended).toMatchObject({ kind: 'returned' });
    const free = execute(() => 'done', { row: { slot_keys: ['definition:1'] } });
    expect(await free.ended).toMatchObject({ kind: 'returned' });
  });

  it('ends as its abort says, which came while it waited for its turn', async () => {
    let calls = 0;
    const handler = () => {
      calls++;
      return never();
    };
    const drained = execute(handler, { before: ({ interrupt }) => abort(interrupt, drainReason()) });
    expect(await drained.ended).toEqual({ kind: 'drained' });
    expect(await execute(handler, { before: requestCancel }).ended).toEqual({ kind: 'cancelled' });
    const lost = execute(handler, {
      before: active => {
        active.isLost = true;
        abort(active.interrupt, new Error('lost'));
      },
    });
    expect([await lost.ended, lost.endedAtOnce]).toEqual([null, false]);
    expect(calls).toBe(0);
  });
});

describe('an attempt that is aborted', () => {
  it('has timed out, whatever its handler throws then, and is marked so', async () => {
    const { active, ended } = execute(
      untilAborted(() => {
        throw new Error('something else');
      }),
      { job: { timeout: '5ms' } },
    );
    expect(await ended).toMatchObject({
      kind: 'threw',
      error: { code: 'TOCK_TIMEOUT', message: expect.stringContaining('5ms') as string },
    });
    expect(active.isTimedOut).toBe(true);
    expect(signalOf(active.interrupt).reason).toMatchObject({ code: 'TOCK_TIMEOUT' });
  });

  it('has succeeded where its handler returns all the same', async () => {
    const { ended } = execute(
      untilAborted(() => 'in the end'),
      { job: { timeout: '5ms' } },
    );
    expect(await ended).toEqual({ kind: 'returned', value: 'in the end' });
  });

  it('never times out under a timeout of more than 24 days', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { active, ended } = execute(untilAborted(), { job: { timeout: '30d' } });
    await vi.advanceTimersByTimeAsync(24 * 86_400_000);
    expect(active.isTimedOut).toBe(false);
    abort(active.interrupt, drainReason());
    await ended;
  });

  it.each<[string, (active: ActiveRun) => void, unknown]>([
    ['a drain', ({ interrupt }) => abort(interrupt, drainReason()), { kind: 'drained' }],
    ['an operator’s wish', requestCancel, { kind: 'cancelled' }],
    [
      'a lost lease',
      active => {
        active.isLost = true;
        abort(active.interrupt, new Error('lost'));
      },
      null,
    ],
    [
      'something else',
      ({ interrupt }) => abort(interrupt, new Error('for a reason')),
      { kind: 'threw', error: expect.objectContaining({ message: 'for a reason' }) },
    ],
  ])(
    'by %s ends so when its handler stops, and after the grace where that does not',
    async (_what, interrupt, ending) => {
      const stops = execute(untilAborted());
      interrupt(stops.active);
      expect(await stops.ended).toEqual(ending);
      let release = (): void => undefined;
      const ignores = execute(() => new Promise<void>(resolve => (release = resolve)));
      interrupt(ignores.active);
      expect(await ignores.ended).toEqual(ending);
      // What the handler does later is nobody's business any more.
      release();
      await new Promise(resolve => setImmediate(resolve));
      expect(ignores.endings).toHaveLength(1);
    },
  );

  it('gives nothing of what its handler returns once the lease is lost', async () => {
    const { active, ended } = execute(untilAborted(() => 'too late'));
    active.isLost = true;
    abort(active.interrupt, new Error('lost'));
    expect(await ended).toBeNull();
  });

  it('is let go: an abort after its end calls nobody back', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    const { active, ended, endings } = execute(() => 'done');
    await ended;
    abort(active.interrupt, drainReason());
    expect([vi.getTimerCount(), endings.length]).toEqual([0, 1]);
  });
});
