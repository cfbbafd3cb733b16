// Store: answers, many per statement. What a batch decides is what tock.complete decides of each by itself.
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Engine } from '../../../src/engine/engine.js';
import { writeDecided } from '../../../src/engine/finalize/decided.js';
import { DECIDED_UNTIL, HANDED_OFF } from '../../../src/model/run/states.js';
import { applyAnswers } from '../../../src/relay/apply-answers.js';
import type { RelayAnswer } from '../../../src/relay/messages.js';
import type { Database } from '../../../src/store/connection/database.js';
import { completeMany } from '../../../src/store/runs/hand-off/answers.js';
import { countHandedOff, readAnswered, readBatchFacts } from '../../../src/store/runs/hand-off/relayed.js';
import { FINISHED_COLUMNS } from '../../../src/store/runs/transition.js';
import { startWithEngine } from '../../../src/tock/engine-of.js';
import { openDatabase } from '../../support/database.js';
import { openOnce } from '../../support/open.js';
import { addRuns, emptyTables, type RunRow, whileWaitedFor } from '../../support/runs.js';
import { reuseTestTock } from '../../support/test-tock.js';

const NOW = '2026-03-02T12:00:00Z';
const WORKER = '00000000-0000-4000-8000-000000000001';

const test = openOnce(reuseTestTock);
let database: Database;
let engine: Engine;
beforeAll(async () => {
  await startWithEngine(test.tock, own => {
    engine = own;
    return Promise.resolve({ stop: () => Promise.resolve() });
  });
  database = openDatabase({ connectionString: test.url });
});
beforeEach(async () => {
  // The jitter of a backoff.
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
  await emptyTables(test);
  await test.setClock(NOW);
});
afterAll(async () => {
  await database.close();
});

const at = (minutes: number) => new Date(Date.parse(NOW) + minutes * 60_000).toISOString();
/** Repeatable numbers in [0, 1). */
function numbers(seed: number) {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A run in any of the states in which an answer may find it, and the row of its handoff. */
interface Case {
  readonly run: RunRow;
  readonly note: Readonly<Record<string, unknown>> | null;
  readonly answered: number;
  readonly result: unknown;
}

function randomCase(random: () => number): Case {
  const pick = <T>(...from: readonly T[]) => from[Math.floor(random() * from.length)] as T;
  const kind = pick('handed off', 'handed off', 'handed off', 'executing', 'waiting', 'decided', 'expired');
  const isHandedOff = kind !== 'executing' && kind !== 'waiting';
  const lease = pick(1, 5, 600);
  const until = kind === 'decided' ? DECIDED_UNTIL : at(kind === 'expired' ? -1 : lease);
  const running = {
    status: 'running',
    attempts: 1,
    max_attempts: 3,
    fence: 3,
    locked_by: isHandedOff ? HANDED_OFF : WORKER,
    locked_until: until,
    started_at: at(-10),
    run_at: isHandedOff && kind !== 'decided' ? until : at(-20),
    trigger: pick('api', 'api', 'api', 'exec'),
  };
  const hasNote = pick(true, true, true, false);
  const decided = kind === 'decided' ? { decided_at: at(-1), decision: pick('succeeded', 'failed') } : {};
  return {
    run: kind === 'waiting' ? { status: 'queued', fence: 3, run_at: at(-20) } : running,
    note:
      (isHandedOff && hasNote) || kind === 'decided'
        ? { handed_off_at: at(-9), due_at: at(-20), lease_until: at(lease), ...decided }
        : null,
    answered: pick(3, 3, 3, 2, 4),
    result: pick<unknown>(
      null,
      { a: 1 },
      'x',
      2 ** 60,
      [1, { b: -(2 ** 60) }],
      'y'.repeat(1_048_577),
      JSON.parse('['.repeat(202) + ']'.repeat(202)),
    ),
  };
}

async function make(cases: readonly Case[]): Promise<string[]> {
  const ids = await addRuns(test, ...cases.map(({ run }) => run));
  for (const [index, { note }] of cases.entries()) {
    if (note === null) continue;
    const columns = { run_id: ids[index], fence: 3, ...note };
    const names = Object.keys(columns);
    await test.sql(
      `insert into tock.job_hand_offs (${names.join()}) values (${names.map((_, i) => `$${i + 1}`).join()})`,
      Object.values(columns),
    );
  }
  return ids;
}

/** A run's columns once it has ended, without those that no two runs share. */
const ENDED_COLUMNS = [...FINISHED_COLUMNS, 'status', 'output', 'finished_at', 'skip_reason']
  .filter(column => !['id', 'definition_id'].includes(column))
  .join();

/** All that an answer may change, with ids counted from the first. */
async function outcome(ids: readonly string[]) {
  return {
    runs: await test.sql(
      `select array_position($1::bigint[], id) as run, status, fence, locked_by, locked_until, run_at, attempts
       from tock.job_runs_live where id = any($1) order by id`,
      [ids],
    ),
    ended: await test.sql(
      `select array_position($1::bigint[], id) as run, ${ENDED_COLUMNS} from tock.job_runs_finished where id = any($1) order by id`,
      [ids],
    ),
    notes: await test.sql(
      `select array_position($1::bigint[], run_id) as run, fence, handed_off_at, due_at, lease_until, decided_at, decision, output, error ->> 'code' as code,
         written_at, refused_count from tock.job_hand_offs where run_id = any($1) order by run_id, fence`,
      [ids],
    ),
  };
}

const succeeded = (run: string, fence: number, result: unknown = null): RelayAnswer => ({
  tock: 1,
  run,
  fence,
  kind: 'succeeded',
  result: result as string,
});

/** Under the fence 3, for five minutes. */
const handedOff: RunRow = {
  status: 'running',
  fence: 3,
  attempts: 1,
  locked_by: HANDED_OFF,
  locked_until: at(5),
  run_at: at(5),
  started_at: NOW,
};

describe('answers in batches', () => {
  it.each([1, 2, 3, 4])('decide what tock.complete decides of each by itself (seed %i)', async seed => {
    const random = numbers(seed);
    const cases = Array.from({ length: 150 }, () => randomCase(random));
    const alone = await make(cases);
    const together = await make(cases);

    let held = 0;
    let refused = 0;
    for (const [index, { answered, result }] of cases.entries()) {
      const id = alone[index];
      const json = result === null ? null : JSON.stringify(result);
      const call = await test
        .sql<{ held: boolean }>('select tock.complete($1, $2, $3) as held', [id, answered, json])
        .catch(({ message }: Error) => message);
      if (typeof call === 'string') {
        const [failed] = await test.sql<{ held: boolean }>(
          `select tock.fail($1, $2, $3, false, null, '{"name": "TockError", "code": "TOCK_BAD_RESULT"}') as held`,
          [id, answered, call],
        );
        if (!failed?.held) refused++;
      } else if (call[0]?.held) held++;
      else refused++;
    }
    await writeDecided(engine);
    const answers = cases.map(({ answered, result }, index) =>
      succeeded(together[index] ?? '', answered, result),
    );
    const applied = await applyAnswers(engine, answers.toReversed());
    await writeDecided(engine);

    expect(await outcome(together)).toEqual(await outcome(alone));
    expect(applied).toMatchObject({ completed: held, refused, unusable: [] });
    expect(held).toBeGreaterThan(5);
  });

  it('hold once, where a run is answered more than once', async () => {
    const [id = ''] = await addRuns(test, handedOff);
    const applied = await applyAnswers(engine, [
      succeeded(id, 2, 'too old'),
      succeeded(id, 3, 'first'),
      { tock: 1, run: id, fence: 3, kind: 'failed', message: 'second' },
      succeeded(id, 3, 'third'),
      { tock: 1, run: id, fence: 3, kind: 'progress', fraction: 0.5 },
    ]);
    expect(applied).toMatchObject({ completed: 1, failed: 0, refused: 3 });
    expect(await test.sql('select decision, refused_count from tock.job_hand_offs')).toEqual([
      { decision: 'succeeded', refused_count: 2 },
    ]);
    expect(await test.sql('select status, output from tock.job_runs_finished')).toEqual([
      { status: 'succeeded', output: 'first' },
    ]);
  });

  it('leave a run to whoever decides it first', async () => {
    const [id = ''] = await addRuns(test, handedOff);
    const batch = () => completeMany(database, [{ id, fence: 3, result: '"batch"' }]);
    expect(await whileWaitedFor(test, `select tock.complete(${id}, 3, '"other"')`, batch)).toMatchObject({
      runs: [],
    });
    expect(await test.sql('select output from tock.job_hand_offs')).toEqual([{ output: 'other' }]);
  });
});

describe('what a relay asks', () => {
  it('is the queue of each run, and the time', async () => {
    const [one = '', two = ''] = await addRuns(test, { queue: 'mail' }, { queue: 'reports' });
    expect(await readBatchFacts(database, [one, two, '999'])).toEqual({
      nowMs: Date.parse(NOW),
      queues: { [one]: 'mail', [two]: 'reports' },
    });
  });

  it('is which attempts have been answered already', async () => {
    await test.sql(`insert into tock.job_hand_offs (run_id, fence, decided_at, decision) values
      (1, 3, now(), 'succeeded'), (2, 2, now(), 'succeeded'), (3, 3, null, null)`);
    const held = ['3', '1', '2'].map(id => ({ id, fence: 3 }));
    expect(await readAnswered(database, held)).toEqual(new Set(['1']));
  });

  it('is how many runs of its queues are handed off and wait', async () => {
    const waits = { status: 'running', fence: 1, attempts: 1, started_at: NOW, locked_by: HANDED_OFF };
    await addRuns(
      test,
      { ...waits, queue: 'mail', locked_until: at(5), run_at: at(5) },
      { ...waits, queue: 'mail', priority: 7, locked_until: at(5), run_at: at(5) },
      { ...waits, queue: 'mail', locked_until: DECIDED_UNTIL, run_at: at(-5) },
      { ...waits, queue: 'other', locked_until: at(5), run_at: at(5) },
      { queue: 'mail', run_at: at(5) },
    );
    expect(await countHandedOff(database, ['mail'])).toBe(2);
    expect(await countHandedOff(database, ['mail', 'other'])).toBe(3);
  });
});
