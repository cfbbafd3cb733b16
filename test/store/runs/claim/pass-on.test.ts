// Store: the statement that ends runs and passes their slots on to runs that are blocked on the same keys.
import { describe, expect, it } from 'vitest';
import type { Outcome } from '../../../../src/model/run/decide.js';
import { finalizeRuns } from '../../../../src/store/runs/finalize.js';
import { storeTest } from '../../../support/open.js';
import { addRuns, type RunRow, whileLocked } from '../../../support/runs.js';

const NOW = '2026-03-02T12:00:00Z';
const AGO = (minutes: number) => new Date(Date.parse(NOW) - minutes * 60_000).toISOString();
const WORKER = '00000000-0000-4000-8000-000000000001';
const SUCCEED: Outcome = { transition: 'succeed', output: null, error: null, delayMs: 0, skipReason: null };

const { test, database } = storeTest(NOW);

const keyed = (key: string, row: RunRow = {}): RunRow => ({ slot_keys: [key], slot_limits: [2], ...row });
const held = (key: string, row: RunRow = {}) =>
  keyed(key, { status: 'running', fence: 1, attempts: 1, locked_by: WORKER, locked_until: NOW, ...row });
const waits = (key: string, row: RunRow = {}) => keyed(key, { blocked_on: key, run_at: AGO(1), ...row });
const takeSlot = (key: string, slot: number, runId: string | number) =>
  test.sql('insert into tock.job_slots values ($1, $2, $3, 1)', [key, slot, runId]);
const takenSlots = async () =>
  (
    await test.sql<{ slot: string }>(
      `select concurrency_key || ' ' || slot || ': ' || run_id || '/' || fence as slot from tock.job_slots order by 1`,
    )
  ).map(row => row.slot);
const states = async () =>
  (
    await test.sql<{ text: string }>(
      `select id || ' ' || status || coalesce(' on ' || blocked_on, '') as text from tock.job_runs order by id`,
    )
  ).map(row => row.text);
interface EndOptions {
  readonly limit?: number;
  readonly queues?: readonly string[] | null;
  readonly outcome?: Partial<Outcome>;
  readonly fence?: number;
}
const end = async (
  ids: readonly string[],
  { limit = 9, queues = null, outcome = {}, fence = 1 }: EndOptions = {},
) => {
  const batch = ids.map(id => ({ id, fence, outcome: { ...SUCCEED, ...outcome } }));
  const passingOn = { limit, leaseMs: 60_000, queues, holdsSlot: () => true };
  const { claimed, freed, lost, failed } = await finalizeRuns(database, batch, WORKER, passingOn);
  return { claimed: claimed.map(run => run.id).sort(), freed, lost: [...lost], failed };
};

describe('the slot of a run that ends', () => {
  it('goes to the run that waits for it, which is leased at once', async () => {
    const ids = await addRuns(
      test,
      held('job:x'),
      waits('job:x', { payload: '{"n": 2}', fence: 4, attempts: 4 }),
    );
    await takeSlot('job:x', 2, '1');
    expect(await end(ids.slice(0, 1))).toEqual({ claimed: ['2'], freed: [], lost: [], failed: [] });
    expect(await takenSlots()).toEqual(['job:x 2: 2/5']);
    expect(await states()).toEqual(['1 succeeded', '2 running']);
    const [run] = await test.sql('select * from tock.job_runs_live');
    expect(run).toMatchObject({
      attempts: 5,
      fence: 5,
      locked_by: WORKER,
      locked_until: new Date('2026-03-02T12:01:00Z'),
      started_at: new Date(NOW),
    });
  });

  it('comes with what executing the run needs', async () => {
    await addRuns(test, held('job:x'), waits('job:x', { payload: '{"n": 2}', idempotency_key: 'k' }));
    await takeSlot('job:x', 1, '1');
    const passingOn = { limit: 1, leaseMs: 60_000, queues: null, holdsSlot: () => true };
    const { claimed } = await finalizeRuns(
      database,
      [{ id: '1', fence: 1, outcome: SUCCEED }],
      WORKER,
      passingOn,
    );
    expect(claimed).toMatchObject([
      {
        id: '2',
        fence: 1,
        job: 'noop',
        payload: { n: 2 },
        attempts: 1,
        idempotency_key: 'k',
        slot_keys: ['job:x'],
      },
    ]);
  });

  it('goes by priority, time and id, as many as have ended under the key, and no more than wanted', async () => {
    await addRuns(
      test,
      held('job:x'),
      held('job:x'),
      held('job:y'),
      waits('job:x', { run_at: AGO(3) }),
      waits('job:x', { priority: -1 }),
      waits('job:x', { run_at: AGO(5) }),
      waits('job:y'),
    );
    await takeSlot('job:x', 1, '1');
    await takeSlot('job:x', 2, '2');
    await takeSlot('job:y', 1, '3');
    expect(await end(['1', '2', '3'], { limit: 2 })).toMatchObject({ claimed: ['5', '6'], freed: ['job:y'] });
    expect(await takenSlots()).toEqual(['job:x 1: 5/1', 'job:x 2: 6/1']);
    expect(await states()).toContain('7 queued on job:y');
  });

  it.each<[string, RunRow]>([
    ['that is not due', { run_at: '2026-03-02T12:00:00.001Z' }],
    ['that is less urgent', { priority: 1 }],
    ['that needs another slot too', { slot_keys: ['job:x', 'job:z'], slot_limits: [2, 1] }],
    ['whose limit is lower than the slot', { slot_limits: [1] }],
    ['of a paused queue', { queue: 'paused' }],
    ['of a queue with a limit', { queue: 'narrow' }],
    ['of a queue with a rate', { queue: 'rated' }],
    ['of a queue that the worker does not serve', { queue: 'foreign' }],
    ['that is blocked on another key', { blocked_on: 'job:z' }],
  ])('is freed, not passed on to a run %s', { tags: 'check' }, async (_what, row) => {
    await test.tock.queues.pause('paused');
    await test.tock.queues.set('narrow', { concurrency: 5 });
    await test.tock.queues.set('rated', { rate: { count: 5, per: '1s' } });
    await addRuns(test, held('job:x'), waits('job:x', row));
    await takeSlot('job:x', 2, '1');
    const queues = ['default', 'paused', 'narrow', 'rated'];
    expect(await end(['1'], { queues })).toMatchObject({ claimed: [], freed: ['job:x'] });
    expect(await takenSlots()).toEqual([]);
    expect(await states()).toEqual([
      '1 succeeded',
      `2 queued on ${(row['blocked_on'] as string) ?? 'job:x'}`,
    ]);
  });

  it('goes to the queue whose run comes first of those that can start, whatever waits before it', async () => {
    await test.tock.queues.pause('paused');
    await addRuns(
      test,
      held('job:x'),
      held('job:x'),
      waits('job:x', { queue: 'paused', run_at: AGO(9) }),
      waits('job:x', { queue: 'b', run_at: AGO(5), slot_keys: ['job:x', 'job:z'], slot_limits: [2, 1] }),
      waits('job:x', { queue: 'a', run_at: AGO(2) }),
      waits('job:x', { queue: 'b', run_at: AGO(3) }),
      waits('job:x', { queue: 'c', run_at: AGO(4), priority: 1 }),
    );
    await takeSlot('job:x', 1, '1');
    await takeSlot('job:x', 2, '2');
    expect(await end(['1'])).toMatchObject({ claimed: ['6'], freed: [] });
    expect(await end(['2'])).toMatchObject({ claimed: ['5'], freed: [] });
    expect(await takenSlots()).toEqual(['job:x 1: 6/1', 'job:x 2: 5/1']);
  });

  it('is freed where a lowered limit is exceeded, or the slot is that of a definition', async () => {
    await addRuns(
      test,
      held('job:x'),
      waits('job:x', { slot_limits: [1] }),
      held('definition:7', { definition_id: 7 }),
      waits('definition:7', { definition_id: 7 }),
    );
    await takeSlot('job:x', 1, '1');
    await takeSlot('job:x', 2, '98');
    await takeSlot('definition:7', 1, '3');
    expect(await end(['1', '3'])).toMatchObject({ claimed: [], freed: ['definition:7', 'job:x'] });
    expect(await takenSlots()).toEqual(['job:x 2: 98/1']);
  });

  it('is freed where another session has locked the only run that waits', async () => {
    await addRuns(test, held('job:x'), waits('job:x'));
    await takeSlot('job:x', 1, '1');
    expect(await whileLocked(test, ['2'], () => end(['1']))).toMatchObject({ claimed: [], freed: ['job:x'] });
    expect(await takenSlots()).toEqual([]);
  });

  it('stays where it is if the lease is lost: nothing is passed on', async () => {
    await addRuns(test, held('job:x'), waits('job:x'));
    await takeSlot('job:x', 1, '1');
    expect(await end(['1'], { fence: 7 })).toMatchObject({ claimed: [], freed: [], lost: ['1'] });
    expect(await takenSlots()).toEqual(['job:x 1: 1/1']);
    expect(await states()).toEqual(['1 running', '2 queued on job:x']);
  });

  it('is passed on by an attempt that ends dead, and not by one that is tried again', async () => {
    await addRuns(test, held('job:x'), waits('job:x'), held('job:y'), waits('job:y'));
    await takeSlot('job:x', 1, '1');
    await takeSlot('job:y', 1, '3');
    const error = { attempt: 1, name: 'Error', code: null, message: 'no', stack: null };
    expect(await end(['1'], { outcome: { transition: 'exhaust', error } })).toMatchObject({ claimed: ['2'] });
    expect(await end(['3'], { outcome: { transition: 'fail', error } })).toMatchObject({ claimed: [] });
    expect(await states()).toEqual(['1 dead', '2 running', '3 failed', '4 queued on job:y']);
  });

  it('is freed where the row of the run that waits makes the statement fail', async () => {
    await test.sql('alter domain tock.count_from_0 drop constraint count_in_0_to_1000000000');
    await addRuns(test, held('job:x'), waits('job:x', { fence: 2_147_483_647 }));
    await test.sql(
      'alter domain tock.count_from_0 add constraint count_in_0_to_1000000000 check (value <= 2147483647)',
    );
    await takeSlot('job:x', 1, '1');
    expect(await end(['1'])).toEqual({ claimed: [], freed: ['job:x'], lost: [], failed: [] });
    expect(await states()).toEqual(['1 succeeded', '2 queued on job:x']);
  });
});
