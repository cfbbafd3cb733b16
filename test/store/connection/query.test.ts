// Queries of Kysely's builder: they go the way of all statements, in whatever schema is configured.
import { describe, expect, it } from 'vitest';
import {
  db,
  firstRow,
  isAnyOf,
  now,
  readableInstant,
  runQuery,
  selectedInstant,
} from '../../../src/store/connection/query.js';
import { openDatabase } from '../../support/database.js';
import { openOnce } from '../../support/open.js';
import { openTestTock } from '../../support/test-tock.js';

describe.each(['tock', 'scheduling'])('a query in the schema %s', schema => {
  const test = openOnce(() => openTestTock([], { schema }));
  const database = openOnce(() => openDatabase({ connectionString: test.url, schema }));

  const queue = (name: string) =>
    db
      .selectFrom('tock.job_queues')
      .select(eb => ['timezone', selectedInstant(eb.ref('paused_at')).as('paused_at')])
      .where('name', '=', name);

  it('reads and writes its tables, and asks its clock', async () => {
    await test.setClock('2026-03-01T12:00:00Z');
    await runQuery(database, db.insertInto('tock.job_queues').values({ name: 'mail', paused_at: now }));
    expect(await firstRow(database, queue('mail'))).toMatchObject({
      paused_at: new Date('2026-03-01T12:00:00Z'),
      timezone: 'UTC',
    });
    expect(await test.sql(`select name from ${schema}.job_queues`)).toEqual([{ name: 'mail' }]);
  });

  it('belongs to the open transaction that runs it', async () => {
    const work = database.transaction(async session => {
      await runQuery(session, db.insertInto('tock.job_queues').values({ name: 'undone' }));
      expect(await firstRow(session, queue('undone'))).toBeDefined();
      expect(await firstRow(database, queue('undone'))).toBeUndefined();
      throw new Error('roll back');
    });
    await expect(work).rejects.toThrow('roll back');
    expect(await firstRow(database, queue('undone'))).toBeUndefined();
  });

  it('is given up at the deadline of statements', { tags: 'check' }, async () => {
    const hasty = openDatabase({ connectionString: test.url, schema, statementTimeoutMs: 300 });
    try {
      await database.transaction(async session => {
        await runQuery(session, db.insertInto('tock.job_queues').values({ name: 'held' }));
        const insert = db.insertInto('tock.job_queues').values({ name: 'held' });
        await expect(runQuery(hasty, insert)).rejects.toMatchObject({ code: 'TOCK_DATABASE_UNREACHABLE' });
      });
    } finally {
      await hasty.close();
    }
  });

  it('has one parameter for a list, however long it is', async () => {
    const names = ['mail', 'missing', 'another'];
    const query = db
      .selectFrom('tock.job_queues')
      .select('name')
      .where(eb => isAnyOf(eb.ref('name'), names, 'text'));
    expect(query.compile().parameters).toEqual([names]);
    expect(await runQuery(database, query)).toEqual([{ name: 'mail' }]);
  });

  it('reads an instant out of bounds as the bound', async () => {
    const late = db.selectNoFrom(eb => [
      readableInstant(eb.cast<Date>(eb.val('infinity'), 'timestamptz')).as('late'),
      readableInstant(eb.cast<Date>(eb.val('-infinity'), 'timestamptz')).as('early'),
    ]);
    expect(await firstRow(database, late)).toEqual({
      late: new Date('9999-12-31T23:59:59Z'),
      early: new Date('0001-01-01T00:00:00Z'),
    });
  });
});

it('a misspelt name, a value that no column may have and a missing one do not compile', () => {
  const wrong = [
    // @ts-expect-error there is no such column
    db.selectFrom('tock.job_runs').select('statsu'),
    // @ts-expect-error there is no such table
    db.selectFrom('tock.job_run'),
    // @ts-expect-error there is no such status
    db.selectFrom('tock.job_runs').where('status', '=', 'done'),
    // @ts-expect-error a column without a default is missing
    db.insertInto('tock.job_keys').values({ idempotency_key: 'a' }),
  ];
  expect(wrong).toHaveLength(4);
});
