// Engine: LISTEN, over a connection that may break.
// In the check: connections that break, and are opened again after a real pause.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Listener, startListener } from '../../../src/engine/claim/listen.js';
import type { Engine } from '../../../src/engine/engine.js';
import { systemClock } from '../../../src/environment/system-clock.js';
import { silentLogger } from '../../../src/model/logger.js';
import { openDatabase } from '../../support/database.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock, until } from '../../support/test-tock.js';

const test = openForEach(reuseTestTock);
const database = openForEach(() => openDatabase({ connectionString: test.url, connections: 1 }));
let listener: Listener;
let heard: string[];
beforeEach(async () => {
  heard = [];
  listener = startListener({ clock: systemClock, database, logger: silentLogger } as Engine, notification =>
    heard.push(notification.kind === 'queued' ? (notification.lane?.queue ?? 'anywhere') : notification.kind),
  );
  await until(async () => heard.includes('anywhere'), 'the first connection');
});
afterEach(() => {
  listener.stop();
});

const listening = () =>
  test.sql<{ pid: number }>(
    `select pid from pg_stat_activity where datname = current_database() and query ~ '^listen'`,
  );
/** A notification of a new run in a queue. */
const notify = (queue: string) => test.sql(`select pg_notify('tock', $1)`, [`queued:0:${queue}`]);

describe('startListener', () => {
  it('listens again after its connection broke, each time, and says so, lest what was enqueued meanwhile wait', async () => {
    for (const round of [1, 2]) {
      await notify(`before-${round}`);
      await until(async () => heard.includes(`before-${round}`), 'the notification');
      heard.length = 0;
      await test.sql('select pg_terminate_backend(pid) from unnest($1::int[]) pid', [
        (await listening()).map(each => each.pid),
      ]);
      await until(async () => heard.includes('anywhere'), 'a new connection');
      await notify(`after-${round}`);
      await until(async () => heard.includes(`after-${round}`), 'a notification over the new connection');
      await until(async () => (await listening()).length < 2, 'the broken connection to be gone');
      expect(await listening()).toHaveLength(1);
    }
  });

  it('gives its connection up when it is stopped, and makes no other', async () => {
    listener.stop();
    await until(async () => (await listening()).length === 0, 'the connection to be closed');
    expect(database.pool.totalCount).toBe(0);
    heard.length = 0;
    await notify('too-late');
    // The pool has room for one: were it taken again, this would wait for ever.
    expect(await database.run('select 1 as one')).toEqual([{ one: 1 }]);
    expect(heard).toEqual([]);
  });
});
