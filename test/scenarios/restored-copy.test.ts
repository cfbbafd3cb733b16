// Engine: a database that is a copy of another. test/chaos/copies.test.ts makes real copies.
import { describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const plain = defineJob({ name: 'plain', run: () => 1 });
const COPIED = { code: 'TOCK_DATABASE_COPIED', message: expect.stringContaining('run: tock adopt') };

const test = openForEach(() => openTestTock([plain]));

const becomeCopy = () => test.sql('update tock.database_identity set database_oid = 1');
/** The server says that it is another one, each time. */
let identifiers = 0;
const newIdentifier = () =>
  test.sql(
    `create or replace function tock.this_database() returns table (system_identifier bigint, database_oid oid)
     language sql stable as 'select ${++identifiers}::bigint, oid from pg_database where datname = current_database()'`,
  );

describe('a database that is a copy', () => {
  it('executes nothing, whoever asks, and takes what is enqueued', async () => {
    await test.tock.tick();
    await becomeCopy();
    const id = await test.tock.enqueue(plain, {});
    await expect(test.tock.tick()).rejects.toMatchObject(COPIED);
    await expect(test.another({ jobs: [] }).tick()).rejects.toMatchObject(COPIED);
    await expect(test.tock.start()).rejects.toMatchObject(COPIED);
    await expect(test.tock.runs.wait(id, { execute: true })).rejects.toMatchObject(COPIED);
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'queued', attempts: 0 });
  });

  it('executes once it is adopted, and is no copy then', { tags: 'check' }, async () => {
    await becomeCopy();
    const id = await test.tock.enqueue(plain, {});
    expect(await test.tock.adopt({ dryRun: true })).toMatchObject({ isCopy: true, queued: 1, scheduled: 0 });
    await expect(test.tock.tick()).rejects.toMatchObject(COPIED);
    expect(await test.tock.adopt()).toMatchObject({ isCopy: true, queued: 1 });
    await test.tock.tick();
    expect(await test.tock.runs.get(id)).toMatchObject({ status: 'succeeded' });
    expect(await test.tock.adopt()).toMatchObject({ isCopy: false });
  });

  it('gives ids that no run has, though its sequences were left behind', async () => {
    const id = await test.tock.enqueue(plain, {});
    await test.sql(`select setval('tock.job_runs_id_seq', 1, false)`);
    await becomeCopy();
    await test.tock.adopt();
    expect(BigInt(await test.tock.enqueue(plain, {}))).toBeGreaterThan(BigInt(id));
  });
});

describe('a database that is no copy', () => {
  it('is one of a server with a new identifier whose rows are as they were written: pg_upgrade', async () => {
    await newIdentifier();
    for (const what of ['vacuum freeze', 'vacuum full', 'vacuum (full, freeze)', 'cluster'])
      await test.sql(
        `${what} tock.database_identity${what === 'cluster' ? ' using database_identity_pkey' : ''}`,
      );
    await expect(test.tock.tick()).resolves.toBeDefined();
  });

  it('is not one of a server with a new identifier whose rows were written anew', {
    tags: 'check',
  }, async () => {
    await newIdentifier();
    // In one transaction, as a dump is restored; with its number being that of the adoption, or any other.
    const writeAnew = async (number: string) => {
      await test.sql(`update tock.database_identity set written_by = ${number}`);
      await expect(test.tock.tick()).rejects.toMatchObject(COPIED);
    };
    await writeAnew('pg_current_xact_id()::xid');
    await writeAnew('written_by');
    await test.tock.adopt();
    await expect(test.tock.tick()).resolves.toBeDefined();
    await newIdentifier();
    await expect(test.tock.tick()).resolves.toBeDefined();
  });

  it('is taken for one where the role may not ask which server it is', async () => {
    await test.sql('create role asks_nothing');
    try {
      await test.sql('alter function tock.is_copy() owner to asks_nothing');
      await test.sql('grant usage on schema tock to asks_nothing');
      await test.sql('grant select on tock.database_identity to asks_nothing');
      await test.sql('revoke execute on function pg_control_system() from public');
      await becomeCopy();
      await expect(test.tock.tick()).resolves.toBeDefined();
    } finally {
      await test.sql('drop owned by asks_nothing cascade');
      await test.sql('drop role asks_nothing');
    }
  });
});
