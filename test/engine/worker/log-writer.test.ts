// Engine: how the logs of attempts are written: many in one statement, under their fence, and before their outcome.
// The database is real, with a look at what is sent.
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { Engine } from '../../../src/engine/engine.js';
import { type ActiveRun, activeRun } from '../../../src/engine/execute/active-run.js';
import { LogWriter } from '../../../src/engine/worker/reports.js';
import { describeLine } from '../../../src/model/run/log/log-line.js';
import { RunLog } from '../../../src/model/run/log/run-log.js';
import { type Database } from '../../../src/store/connection/database.js';
import { readLog } from '../../../src/store/reads/runs/run-log.js';
import type { ClaimedRun } from '../../../src/store/runs/claim/claimed-run.js';
import { collectLines, type LineLog } from '../../support/lines.js';
import { storeTest } from '../../support/open.js';
import { addRuns, type RunRow } from '../../support/runs.js';
import { createVirtualClock, type VirtualClock } from '../../support/virtual-clock.js';

const NOW = '2026-03-02T12:00:00Z';
const WORKER = '00000000-0000-4000-8000-000000000001';
const OTHER = '00000000-0000-4000-8000-000000000002';

const { test, database } = storeTest(NOW);
let clock: VirtualClock;
let log: LineLog;
let writer: LogWriter;
/** How many logs each statement held, and what happens before it is sent. */
let sent: number[];
let before: () => unknown;
beforeEach(async () => {
  clock = createVirtualClock({ startsAt: 60_000 });
  log = collectLines();
  sent = [];
  before = () => undefined;
  const watched: Database = {
    ...database,
    async run<Row>(...statement: Parameters<Database['run']>) {
      sent.push(String(statement[1]?.[0]).split(',').length);
      await before();
      return await database.run<Row>(...statement);
    },
  };
  writer = new LogWriter({ clock, database: watched, logger: log.logger } as unknown as Engine, WORKER);
});

/** A run that WORKER holds under fence 3, in the database and here. */
const hold = async (row: RunRow = {}): Promise<ActiveRun> => {
  const held = { status: 'running', attempts: 2, fence: 3, locked_by: WORKER };
  const [id = ''] = await addRuns(test, { ...held, locked_until: NOW, ...row });
  return activeRun({ id, fence: 3, job: 'noop' } as ClaimedRun, 0);
};
const add = (active: ActiveRun, text: string, maxBytes = 1024) => {
  active.log ??= new RunLog(maxBytes);
  active.log.add(describeLine('info', text, {}, maxBytes), clock.now());
};
const textsOf = async ({ run }: ActiveRun) =>
  (await readLog(database, run.id)).map(each => each.lines.map(line => line.text));
const rows = async () =>
  (await test.sql<{ count: number }>('select count(*)::int as count from tock.job_logs'))[0]?.count;

describe('what handlers have logged', () => {
  it('is written in one statement for all who wait, and under each attempt’s own fence', async () => {
    const actives = await Promise.all([hold(), hold(), hold()]);
    for (const active of actives) for (const text of ['one', 'two']) add(active, text);
    await writer.flush(actives);
    expect(sent).toEqual([3]);
    for (const active of actives) expect(await textsOf(active)).toEqual([['one', 'two']]);
    expect((await readLog(database, actives[0]?.run.id ?? ''))[0]).toMatchObject({ attempt: 2, fence: 3 });
  });

  it('that come while a statement is under way go together with the next one', async () => {
    const actives = await Promise.all(Array.from({ length: 20 }, () => hold()));
    for (const active of actives) add(active, 'one');
    await Promise.all(actives.map(async active => await writer.flush([active])));
    expect(sent).toEqual([20]);
    const [first, ...others] = actives;
    for (const active of actives) add(active, 'two');
    const writing = writer.flush(first ? [first] : []);
    await Promise.resolve();
    await Promise.resolve();
    await Promise.all([writing, ...others.map(async active => await writer.flush([active]))]);
    expect(sent).toEqual([20, 1, 19]);
  });

  it('sends nothing where nothing was logged since, or at all', async () => {
    const [silent, active] = [await hold(), await hold()];
    add(active, 'one');
    await writer.flush([silent, active]);
    await writer.flush([silent, active]);
    expect(sent).toEqual([1]);
    expect(await rows()).toBe(1);
  });

  it('is one row per attempt, however often it is written', async () => {
    const active = await hold();
    const texts = Array.from({ length: 40 }, (_, count) => `line ${count} ${'x'.repeat(60)}`);
    for (const text of texts) {
      add(active, text);
      await writer.flush([active]);
    }
    expect(await rows()).toBe(1);
    const [{ lines, cutLines, cutAfter, cutBytes } = expect.fail()] = await readLog(database, active.run.id);
    expect(lines.length + cutLines).toBe(40);
    expect(lines.slice(0, cutAfter).map(line => line.text)).toEqual(texts.slice(0, cutAfter));
    expect(lines.slice(cutAfter).map(line => line.text)).toEqual(texts.slice(cutAfter + cutLines));
    expect(cutBytes).toBeGreaterThan(1000);
  });

  it('has the database’s time: that of the first line, and what has passed since', async () => {
    const active = await hold();
    active.log = new RunLog(1024);
    const start = clock.now() - 5000;
    for (const [text, ms] of [
      ['one', 0],
      ['two', 1500],
    ] as const)
      active.log.add(describeLine('info', text, {}, 1024), start + ms);
    await writer.flush([active]);
    const [{ lines } = expect.fail()] = await readLog(database, active.run.id);
    const [one = 0, two = 0] = lines.map(line => line.at.getTime());
    expect(two - one).toBe(1500);
    // The first line is as old as this process says, by the database's clock.
    expect(one).toBe(Date.parse(NOW) - 5000);
    // Later writes leave it as it is.
    await test.advance('1h');
    add(active, 'three');
    await writer.flush([active]);
    expect((await readLog(database, active.run.id))[0]?.lines[0]?.at).toEqual(lines[0]?.at);
  });

  it('of a run whose success is committed is written under the fence of the finished run', async () => {
    const [committed, held] = [await hold(), await hold()];
    for (const active of [committed, held]) add(active, 'done');
    await test.sql(`update tock.job_runs set status = 'succeeded', finished_at = $2 where id = $1`, [
      committed.run.id,
      NOW,
    ]);
    committed.isCommitted = true;
    await writer.flush([committed, held]);
    expect(await textsOf(committed)).toEqual([['done']]);
    expect(await textsOf(held)).toEqual([['done']]);
  });
});

describe.each([
  ['another has claimed the run anew', { fence: 4 }],
  ['another holds it', { locked_by: OTHER }],
  ['it waits for its next attempt', { status: 'failed', locked_by: null }],
  ['it has ended', { status: 'succeeded', finished_at: NOW }],
])('once the lease is lost, since %s', (_what, row) => {
  it('nothing is written, and others that come along are', { tags: 'check' }, async () => {
    const [lost, held] = [await hold(row), await hold()];
    for (const active of [lost, held]) add(active, 'late');
    await writer.flush([lost, held]);
    expect(await textsOf(lost)).toEqual([]);
    expect(await textsOf(held)).toEqual([['late']]);
  });

  it('what was written before stays as it was', { tags: 'check' }, async () => {
    const active = await hold();
    add(active, 'in time');
    await writer.flush([active]);
    const columns = Object.keys(row);
    await test.sql(
      `update tock.job_runs set ${columns.map((name, index) => `${name} = $${index + 2}`).join()} where id = $1`,
      [active.run.id, ...Object.values(row)],
    );
    add(active, 'late');
    await writer.flush([active]);
    expect(await textsOf(active)).toEqual([['in time']]);
  });
});

it('a run whose lease is known to be lost sends nothing', async () => {
  const active = await hold();
  add(active, 'late');
  active.isLost = true;
  await writer.flush([active]);
  expect(sent).toEqual([]);
});

describe('a log that the server does not take', () => {
  it('is kept, and goes with the next flush; a series of failures is one line', async () => {
    const active = await hold();
    add(active, 'one');
    before = () => Promise.reject(Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' }));
    await writer.flush([active]);
    await writer.flush([active]);
    expect(log.lines.map(line => line['event'])).toEqual(['log.unwritten']);
    before = () => undefined;
    add(active, 'two');
    await writer.flush([active]);
    expect(await textsOf(active)).toEqual([['one', 'two']]);
  });

  it('does not keep others from being written, nor is it sent again', async () => {
    await test.sql(`alter table tock.job_logs add constraint test_check check (head not like '%refused%')`);
    const [bad, good] = [await hold(), await hold()];
    add(bad, 'refused');
    add(good, 'fine');
    await writer.flush([bad, good]);
    expect(await textsOf(good)).toEqual([['fine']]);
    expect(await textsOf(bad)).toEqual([]);
    expect(sent).toEqual([2, 1, 1]);
    await writer.flush([bad, good]);
    expect(sent).toEqual([2, 1, 1]);
    await test.sql('alter table tock.job_logs drop constraint test_check');
  });
});

describe('the segments of logs', () => {
  afterAll(() => test.sql(`update tock.log_segments set closed_at = null where segment = 1`));
  const openNext = async () => {
    await test.sql(`create table tock.job_logs_2 partition of tock.job_logs for values in (2)`);
    await test.sql('update tock.log_segments set closed_at = tock.now()');
    await test.sql('insert into tock.log_segments (segment) values (2)');
  };
  const dropSegment = async (segment: number) => {
    await test.sql(`drop table tock.job_logs_${segment}`);
    await test.sql('delete from tock.log_segments where segment = $1', [segment]);
  };
  const segmentsOf = async ({ run }: ActiveRun) =>
    (
      await test.sql<{ segment: number }>('select segment from tock.job_logs where run_id = $1 order by 1', [
        run.id,
      ])
    ).map(row => row.segment);

  it('an attempt goes on in the one where it began; if that was dropped, it is written anew as a whole', async () => {
    const [old, late] = [await hold(), await hold()];
    add(old, 'one');
    await writer.flush([old]);
    await openNext();
    add(old, 'two');
    add(late, 'first');
    await writer.flush([old, late]);
    expect([await segmentsOf(old), await segmentsOf(late)]).toEqual([[1], [2]]);
    expect(await textsOf(old)).toEqual([['one', 'two']]);
    await dropSegment(1);
    add(old, 'three');
    add(late, 'second');
    await writer.flush([old, late]);
    expect([await segmentsOf(old), await segmentsOf(late)]).toEqual([[2], [2]]);
    expect(await textsOf(old)).toEqual([['one', 'two', 'three']]);
    expect(await textsOf(late)).toEqual([['first', 'second']]);
    expect(log.lines).toEqual([]);
    await test.sql(`create table tock.job_logs_1 partition of tock.job_logs for values in (1)`);
    await test.sql('insert into tock.log_segments (segment, closed_at) values (1, tock.now())');
    await dropSegment(2);
  });

  it('shows an attempt with two rows once: the later one has all lines', async () => {
    const active = await hold();
    add(active, 'one');
    before = async () => {
      // The first write arrives, and its reply is lost.
      before = () => undefined;
      await test.sql(
        `insert into tock.job_logs values ($1, 3, 1, 2, tock.now(), 0, 0, '[0,"i","one"]' || chr(10), '')`,
        [active.run.id],
      );
      throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
    };
    await test.sql(`update tock.log_segments set closed_at = null where segment = 1`);
    await writer.flush([active]);
    await openNext();
    add(active, 'two');
    await writer.flush([active]);
    expect(await segmentsOf(active)).toEqual([1, 2]);
    expect(await textsOf(active)).toEqual([['one', 'two']]);
    await dropSegment(2);
  });
});
