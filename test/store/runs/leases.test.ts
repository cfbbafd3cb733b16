// Store: renewals and progress, by the holder of a lease alone.
import { describe, expect, it } from 'vitest';
import type { Session } from '../../../src/store/connection/database.js';
import { keepCursors } from '../../../src/store/runs/effects.js';
import { readHeld, renewLeases, writeProgress, writeTraceparents } from '../../../src/store/runs/leases.js';
import { storeTest } from '../../support/open.js';
import { addRuns, whileLocked, whileWaitedFor, withoutIndexes } from '../../support/runs.js';
import { held, NOT_HELD, NOW, OTHER, WORKER } from './held.js';

const { test, database } = storeTest(NOW);

const asked = (...ids: readonly string[]) => ids.map(id => ({ id, fence: 3 }));
const renewed = async () =>
  (
    await test.sql<{ id: string }>(
      `select id from tock.job_runs_live where locked_until = '2026-03-02T12:01:30Z' order by id`,
    )
  ).map(row => row.id);

describe('renewLeases', () => {
  it('renews what is held, and says which are to be cancelled; nothing else', async () => {
    const ids = await addRuns(test, held(), held({ cancel_requested_at: NOW }), ...NOT_HELD, held());
    expect(await renewLeases(database, asked(...ids.slice(0, 6).toReversed()), WORKER, 90_000)).toEqual([
      { id: '1', is_renewed: true, cancel_requested: false },
      { id: '2', is_renewed: true, cancel_requested: true },
    ]);
    expect(await renewed()).toEqual(['1', '2']);
    expect(await renewLeases(database, asked('4', '99'), WORKER, 90_000)).toEqual([]);
  });

  it('skips what another session has locked, and says that it is held', async () => {
    const ids = await addRuns(test, held(), held({ cancel_requested_at: NOW }), held());
    const answer = await whileLocked(test, ['2'], () => renewLeases(database, asked(...ids), WORKER, 90_000));
    expect(answer).toEqual([
      { id: '1', is_renewed: true, cancel_requested: false },
      { id: '2', is_renewed: false, cancel_requested: true },
      { id: '3', is_renewed: true, cancel_requested: false },
    ]);
    expect(await renewed()).toEqual(['1', '3']);
  });
});

it('keepCursors, whatever it waits for, lets heartbeats renew the lease, and keeps the highest number', async () => {
  const ids = await addRuns(test, held(), held(), ...NOT_HELD);
  const keep = (session: Session, n: number) =>
    keepCursors(
      session,
      asked(...ids).map(each => ({ ...each, cursors: new Map([[`c${each.id}`, `{"n":${n}}`]]) })),
      WORKER,
    );
  await database.transaction(async session => {
    await keep(session, 2);
    expect(await renewLeases(database, asked('1', '2'), WORKER, 90_000)).toMatchObject([
      { is_renewed: true },
      { is_renewed: true },
    ]);
  });
  await keep(database, 1);
  expect(await test.sql('select key, result from tock.job_effects order by key')).toEqual([
    { key: 'c1', result: { n: 2 } },
    { key: 'c2', result: { n: 2 } },
  ]);
});

it('readHeld says what is held and what is to be cancelled, and waits for no lock', async () => {
  const ids = await addRuns(test, held(), held({ cancel_requested_at: NOW }), ...NOT_HELD, held());
  const answer = await whileLocked(test, ['1', '2'], () =>
    readHeld(database, asked(...ids.slice(0, 6)), WORKER),
  );
  expect(answer.toSorted((a, b) => Number(a.id) - Number(b.id))).toEqual([
    { id: '1', cancel_requested: false },
    { id: '2', cancel_requested: true },
  ]);
  expect(await renewed()).toEqual([]);
});

describe('writeProgress', () => {
  const progressOf = async () =>
    (await test.sql<{ progress: object | null }>('select progress from tock.job_runs_live order by id')).map(
      row => row.progress,
    );
  const entries = (...ids: readonly string[]) =>
    asked(...ids).map(each => ({ ...each, progress: { fraction: Number(each.id) } }));

  it('writes that of each run that is held', async () => {
    const ids = await addRuns(test, held(), held(), ...NOT_HELD);
    await writeProgress(database, entries(...ids.toReversed()), WORKER);
    expect(await progressOf()).toEqual([{ fraction: 1 }, { fraction: 2 }, null, null, null, null]);
  });

  it('writes none where it waited for a session that took the run away', async () => {
    await addRuns(test, held());
    const taken = `update tock.job_runs_live set fence = fence + 1, locked_by = '${OTHER}' where id = 1`;
    await whileWaitedFor(test, taken, () => writeProgress(database, entries('1'), WORKER));
    expect(await progressOf()).toEqual([null]);
  });

  it('locks in the order of the ids, whatever the plan: no deadlock', async () => {
    // The row of the greater id lies first in the table.
    await addRuns(test, held({ id: 2 }), held({ id: 1 }));
    await withoutIndexes(test, session =>
      whileWaitedFor(
        test,
        'select from tock.job_runs_live where id = 2 for update',
        () => writeProgress(session, entries('1', '2'), WORKER),
        async () =>
          expect(await test.sql('select id from tock.job_runs_live for update skip locked')).toEqual([]),
      ),
    );
    expect(await progressOf()).toEqual([{ fraction: 1 }, { fraction: 2 }]);
  });
});

it('writeTraceparents writes that of each run that is held, and no other', async () => {
  const traceparent = (n: number) => `00-${String(n).repeat(32)}-${String(n).repeat(16)}-01`;
  const ids = await addRuns(test, held(), held(), ...NOT_HELD);
  const entries = asked(...ids.toReversed()).map(each => ({
    ...each,
    traceparent: traceparent(Number(each.id)),
  }));
  await writeTraceparents(database, entries, WORKER);
  const rows = await test.sql<{ last_traceparent: string | null }>(
    'select last_traceparent from tock.job_runs_live order by id',
  );
  expect(rows.map(row => row.last_traceparent)).toEqual([
    traceparent(1),
    traceparent(2),
    null,
    null,
    null,
    null,
  ]);
});
