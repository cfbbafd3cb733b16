// Store: the statement that inserts the runs and skips of occurrences.
import { beforeEach, describe, expect, it } from 'vitest';
import { occurrenceKey } from '../../../src/engine/materialize/occurrence-rows.js';
import type { Session } from '../../../src/store/connection/database.js';
import { insertAndMove, insertOccurrences, type NewRow } from '../../../src/store/runs/materialize.js';
import { openDatabase } from '../../support/database.js';
import { openOnce } from '../../support/open.js';
import { emptyTables } from '../../support/runs.js';
import { reuseTestTock, until } from '../../support/test-tock.js';

const AT = Date.parse('2026-03-02T12:00:00Z');

describe('insertOccurrences', () => {
  const test = openOnce(reuseTestTock);
  const database = openOnce(() => openDatabase({ connectionString: test.url }));
  beforeEach(async () => {
    await emptyTables(test);
    await test.sql(
      `insert into tock.job_definitions (name, job, has_followers, queue, priority, max_attempts, payload) values
        ('nightly', 'nightly', true, 'mail', 3, 4, '{"hours": "its own"}'), ('other', 'other', false, 'default', 0, 10, null)`,
    );
  });

  /** The occurrence of definition 1 so many hours after AT, as a run; or as a skip, for a reason. */
  const row = (hours: number, more: Partial<NewRow> = {}): NewRow => {
    const at = AT + hours * 3_600_000;
    return {
      definition_id: '1',
      payload: { hours },
      key: occurrenceKey(more.definition_id ?? '1', at),
      scheduled_for: at,
      run_at: at,
      start_by: at,
      interval_start: at,
      occurrence_count: 2,
      skip_reason: null,
      slot_keys: ['definition:1'],
      slot_limits: [1],
      trigger: 'cron',
      ...more,
    };
  };
  const skip = (hours: number, more: Partial<NewRow> = {}) => row(hours, { skip_reason: 'catchup', ...more });
  const insert = (...rows: NewRow[]) => insertOccurrences(database, rows);
  const statuses = async () =>
    (
      await test.sql<{ text: string }>(
        `select (payload ->> 'hours') || ' ' || status as text from tock.job_runs order by scheduled_for, id`,
      )
    ).map(each => each.text);

  it('inserts runs that wait, and skips with their reason, and says how many', async () => {
    expect(await insert(row(1), skip(0), row(2))).toEqual({ runs: 2, skips: 1, outboxWritten: true });
    expect(await statuses()).toEqual(['0 skipped', '1 queued', '2 queued']);
    const [skipped, run] = await test.sql('select * from tock.job_runs order by scheduled_for');
    const shared = {
      definition_id: '1',
      job: 'nightly',
      queue: 'mail',
      priority: 3,
      max_attempts: 4,
      occurrence_count: 2,
      trigger: 'cron',
      attempts: 0,
    };
    const at = new Date(AT + 3_600_000);
    expect(run).toMatchObject({
      ...shared,
      idempotency_key: 'cron:1:2026-03-02T13:00:00Z',
      scheduled_for: at,
      run_at: at,
      start_by: at,
      interval_start: at,
      slot_keys: ['definition:1'],
      slot_limits: [1],
      finished_at: null,
    });
    expect(skipped).toMatchObject({ ...shared, skip_reason: 'catchup', finished_at: expect.any(Date) });
    expect(await insert()).toEqual({ runs: 0, skips: 0, outboxWritten: false });
  });

  it('takes the definition’s payload where a row has none, and keeps one that is null', async () => {
    await insert(row(0, { payload: undefined }), row(1, { payload: null }), row(2, { payload: 'null' }));
    expect(await test.sql('select payload::text from tock.job_runs order by scheduled_for')).toEqual([
      { payload: '{"hours": "its own"}' },
      { payload: null },
      { payload: '"null"' },
    ]);
  });

  it('numbers runs in the order of the rows, and keeps their times to the millisecond', async () => {
    const late = { run_at: AT + 7, start_by: null, interval_start: null, slot_keys: null, slot_limits: null };
    await insert(row(2, late), row(0, late), row(1, late));
    expect(
      await test.sql(
        `select payload ->> 'hours' as hours, run_at, start_by, interval_start, slot_keys from tock.job_runs order by id`,
      ),
    ).toEqual(
      ['2', '0', '1'].map(hours => ({
        hours,
        run_at: new Date(AT + 7),
        start_by: null,
        interval_start: null,
        slot_keys: null,
      })),
    );
  });

  it('leaves out occurrences that have a row already, of whatever kind', async () => {
    await insert(row(0), skip(1));
    const single = skip(0, { occurrence_count: 1 });
    expect(await insert(row(0), single, row(1), skip(1), row(2))).toMatchObject({ runs: 1, skips: 0 });
    expect(await statuses()).toEqual(['0 queued', '1 skipped', '2 queued']);
  });

  it('records a span beside the run of its last occurrence, once, and none of a chain', async () => {
    await insert(row(0), row(1));
    expect(await insert(skip(0), skip(1, { trigger: 'chain' }))).toMatchObject({ runs: 0, skips: 1 });
    expect(await insert(skip(0))).toMatchObject({ runs: 0, skips: 0 });
    expect(await statuses()).toEqual(['0 queued', '0 skipped', '1 queued']);
  });

  it('writes skips that others run after to the outbox, and nothing else', async () => {
    expect(await insert(row(0))).toMatchObject({ outboxWritten: false });
    expect(await insert(skip(1, { definition_id: '2' }))).toMatchObject({
      outboxWritten: false,
    });
    expect(await insert(skip(2))).toMatchObject({ outboxWritten: true });
    expect(await test.sql('select kind, definition_id from tock.job_outbox')).toEqual([
      { kind: 'chain', definition_id: '1' },
    ]);
  });

  it('makes a run in place of a chained occurrence that was skipped, and of no other', async () => {
    await insert(skip(0), skip(1), row(2), skip(3));
    const chained = { trigger: 'chain' } as const;
    expect(await insert(row(0, chained), row(1), row(2, chained), skip(3, chained))).toMatchObject({
      runs: 1,
      skips: 0,
    });
    expect(await statuses()).toEqual(['0 skipped', '0 queued', '1 skipped', '2 queued', '3 skipped']);
    // It is the occurrence's run from now on.
    expect(await insert(row(0, chained))).toMatchObject({ runs: 0 });
  });

  it('inserts occurrences in one order, whatever order they come in: no deadlock', {
    tags: 'check',
  }, async () => {
    const within = (limit: string, rows: readonly NewRow[], then: () => Promise<unknown>) =>
      database.transaction(async (session: Session) => {
        await session.run(`set local lock_timeout = '${limit}'`);
        const made = await insertOccurrences(session, rows);
        await then();
        return made;
      });
    const isWaiting = async () =>
      (
        await test.sql(
          `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`,
        )
      ).length;
    let batch: Promise<unknown> | undefined;
    await within('0', [row(2)], async () => {
      batch = insert(row(2), row(1));
      await until(async () => (await isWaiting()) === 1, 'the batch to wait');
      // It has the first one by now.
      await expect(within('50ms', [row(1)], async () => undefined)).rejects.toMatchObject({ code: '55P03' });
    });
    expect(await batch).toMatchObject({ runs: 1 });
  });

  describe('insertAndMove', () => {
    const LATER = AT + 3_600_000;
    const cursor = (id: string, remaining: number | null = null) => ({
      id,
      cursor: AT + 0.7,
      nextAt: remaining === 0 ? null : LATER,
      remaining,
    });
    const moved = async () =>
      await test.sql('select id, cursor, next_at, remaining_count from tock.job_definitions order by id');
    const CURSORS = [cursor('1', 4), cursor('2', 0)];
    const MOVED = [
      { id: '1', cursor: new Date(AT), next_at: new Date(LATER), remaining_count: 4 },
      { id: '2', cursor: new Date(AT), next_at: null, remaining_count: 0 },
    ];
    const RUN =
      'select job, queue, priority, max_attempts, payload, trigger, slot_keys, idempotency_key from tock.job_runs';

    beforeEach(() => test.sql(`update tock.job_definitions set cursor = '2026-03-01T00:00Z'`));

    it('writes runs as insertOccurrences does, and moves all cursors', { tags: 'check' }, async () => {
      const rows = [
        row(1, { definition_id: '2', payload: undefined, slot_keys: null, slot_limits: null }),
        row(0, { payload: undefined }),
        row(1),
        row(2, { payload: null }),
      ];
      await insert(...rows);
      const bare = await test.sql(`${RUN} order by id`);
      await test.sql('delete from tock.job_runs_live');
      await test.sql('delete from tock.job_occurrences');
      expect(await insertAndMove(database, rows, CURSORS)).toEqual({
        runs: 4,
        skips: 0,
        outboxWritten: false,
      });
      expect(await test.sql(`${RUN} order by id`)).toEqual(bare);
      expect(bare[1]).toMatchObject({
        queue: 'mail',
        priority: 3,
        max_attempts: 4,
        payload: { hours: 'its own' },
      });
      expect(await moved()).toEqual(MOVED);
    });

    it('leaves out occurrences that have a row already, and moves past them', async () => {
      await insert(row(0), skip(1));
      expect(await insertAndMove(database, [row(0), row(1), row(2)], CURSORS)).toMatchObject({ runs: 1 });
      expect(await statuses()).toEqual(['0 queued', '1 skipped', '2 queued']);
      expect(await moved()).toEqual(MOVED);
    });

    it('moves the cursors too where there are skips, or no rows at all', async () => {
      expect(await insertAndMove(database, [skip(0), row(1)], CURSORS)).toEqual({
        runs: 1,
        skips: 1,
        outboxWritten: true,
      });
      expect(await moved()).toEqual(MOVED);
      const further = [{ ...cursor('1'), cursor: LATER, nextAt: LATER + 1 }];
      expect(await insertAndMove(database, [], further)).toMatchObject({ runs: 0, skips: 0 });
      expect((await moved())[0]).toMatchObject({ cursor: new Date(LATER), remaining_count: null });
    });

    it('moves no cursor back', async () => {
      await insertAndMove(database, [row(0)], [{ ...cursor('1'), cursor: LATER }]);
      await insertAndMove(database, [row(1)], [cursor('1')]);
      expect((await moved())[0]).toMatchObject({ cursor: new Date(LATER) });
    });
  });
});
