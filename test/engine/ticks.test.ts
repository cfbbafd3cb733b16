// Who ticks, on record: ticks, beats of a daemon, its stop, and hosts that are gone.
import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { describe, expect, it } from 'vitest';
import { readSettings } from '../../src/engine/engine.js';
import { noteOwnTick } from '../../src/engine/note-tick.js';
import { defineJob } from '../../src/index.js';
import type { Database } from '../../src/store/connection/database.js';
import { claimUpkeep } from '../../src/store/partitions/upkeep.js';
import { openDatabase } from '../support/database.js';
import { openForEach } from '../support/open.js';
import { openTestTock } from '../support/test-tock.js';

const plain = defineJob({ name: 'plain', run: () => null });

const test = openForEach(() => openTestTock([plain]));

const ticks = async () =>
  await test.sql<{ host: string; kind: string; count: number; stopped: boolean }>(
    `select host, kind, tick_count::int as count, stopped_at is not null as stopped from tock.ticks order by host, kind`,
  );

const ASKED = { prunes: false, mayCopy: false, hostMs: 0 };

describe('the record of ticks', () => {
  it('has the ticks of an app, one in half a minute', async () => {
    await test.setClock('2026-03-09T07:00:00Z');
    await test.tock.tick();
    await test.tock.tick();
    expect(await ticks()).toEqual([{ host: hostname(), kind: 'library', count: 1, stopped: false }]);
    await test.advance('1m');
    await test.tock.tick();
    expect(await ticks()).toMatchObject([{ count: 2 }]);
    const [last] = (await test.tock.status()).ticks;
    expect(last).toMatchObject({
      host: hostname(),
      kind: 'library',
      firstAt: new Date('2026-03-09T07:00:00Z'),
      at: new Date('2026-03-09T07:01:00Z'),
      count: 2,
      stoppedAt: null,
    });
    // The host's clock is not the test's.
    expect(Math.abs(last?.clockMs ?? 0)).toBeGreaterThan(60_000);
  });

  it('has no tick that could not do its work', async () => {
    await test.sql('alter table tock.job_runs rename column run_at to run_when');
    await expect(test.tock.tick()).rejects.toThrow(/run_at/);
    expect(await ticks()).toEqual([]);
  });

  it('has a daemon from its start on, and that it was stopped in order', { tags: 'check' }, async () => {
    const daemon = await test.tock.start({ listen: false });
    expect(await ticks()).toMatchObject([{ kind: 'daemon', stopped: false }]);
    await daemon.stop();
    expect(await ticks()).toMatchObject([{ kind: 'daemon', stopped: true }]);
    const again = await test.tock.start({ listen: false });
    expect(await ticks()).toMatchObject([{ kind: 'daemon', count: 2, stopped: false }]);
    await again.stop();
  });

  it('leaves the hourly upkeep to a role that may make partitions', async () => {
    const role = `tock_upkeep_${randomBytes(6).toString('hex')}`;
    await test.sql(`create role ${role} login password 'secret'`);
    const url = Object.assign(new URL(test.url), { username: role, password: 'secret' });
    const [worker, owner] = [url.href, test.url].map(connectionString => openDatabase({ connectionString }));
    const lookedAt = async () =>
      (await test.sql<{ at: Date }>(`select at from tock.upkeep where kind = 'partitions'`))[0]?.at;
    try {
      await test.sql(`grant usage on schema tock to ${role}`);
      await test.sql(`grant select, insert, update, delete on all tables in schema tock to ${role}`);
      await test.sql(`update tock.upkeep set at = tock.now() - interval '2 hours'`);
      const before = await lookedAt();
      expect(await claimUpkeep(worker as Database, ASKED)).toMatchObject({ areDue: false });
      expect(await lookedAt()).toEqual(before);
      await claimUpkeep(owner as Database, ASKED);
      expect(await lookedAt()).not.toEqual(before);
    } finally {
      await worker?.close();
      await owner?.close();
      await test.sql(`drop owned by ${role}; drop role ${role}`);
    }
  });

  it('forgets hosts that are gone once an hour, but never the last of all', async () => {
    const database = openDatabase({ connectionString: test.url });
    const insert = async (host: string, count: number, age: string) =>
      await test.sql(
        `insert into tock.ticks (host, folder, kind, tick_count, at, version, node, zone_data, clock_ms)
         values ($1, '/srv/app', 'tick', $2, tock.now() - $3::interval, '1', '1', '1', 0)`,
        [host, count, age],
      );
    const hosts = async () => (await ticks()).map(({ host }) => host);
    const due = async () => {
      await test.sql(`update tock.upkeep set at = tock.now() - interval '2 hours'`);
      await claimUpkeep(database, ASKED);
    };
    try {
      await insert('container', 1, '401 days');
      await insert('gone', 100, '408 days');
      await insert('newest', 1, '400 days');
      await insert('regular', 100, '406 days');
      await due();
      expect(await hosts()).toEqual(['newest', 'regular']);
      await claimUpkeep(database, ASKED);
      await noteOwnTick(
        {
          database,
          logger: { debug: () => undefined },
          settings: readSettings({}),
          registry: { definitions: [] },
        } as unknown as Parameters<typeof noteOwnTick>[0],
        'tick',
      );
      expect(await hosts()).toHaveLength(3);
      await due();
      expect(await hosts()).toEqual([hostname()]);
    } finally {
      await database.close();
    }
  });
});
