// Chaos: commits that wait for a synchronous standby which does not answer.
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createTock, defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { until } from '../support/until.js';
import { openOwnServer } from './servers.js';

const noop = defineJob({ name: 'noop', run: () => null });

const server = openForEach(openOwnServer);
const tock = openForEach(() =>
  // Long enough for what waits for no standby, on a busy machine too.
  createTock({ connectionString: server.url, jobs: [noop], statementTimeout: '2s', logger: false }),
);
let direct: pg.Client;
beforeEach(async () => {
  await tock.migrate();
  direct = new pg.Client({ connectionString: server.url });
  await direct.connect();
  await tock.enqueue(noop, undefined, { key: 'before' });
  await direct.query(`alter system set synchronous_standby_names = 'nobody'`);
  await direct.query('select pg_reload_conf()');
  const isRefused = () =>
    tock.enqueue(noop).then(
      () => false,
      () => true,
    );
  await until(isRefused, 'commits to wait');
});
afterEach(async () => {
  await direct.end();
});

describe('a commit that no standby confirms', () => {
  it('is not taken for confirmed: PostgreSQL says that it is done, with a warning, when it is cancelled', async () => {
    const failure = await tock.enqueue(noop, undefined, { key: 'lost' }).catch((error: unknown) => error);
    expect(failure).toMatchObject({
      code: 'TOCK_DATABASE_UNREACHABLE',
      // The other text, where the answer came late.
      message: expect.stringMatching(
        /^no synchronous standby has confirmed a commit|did not answer a statement/,
      ),
    });
    // It is there, on this server.
    const { rows } = await direct.query('select from tock.job_runs where idempotency_key = $1', ['lost']);
    expect(rows).toHaveLength(1);
  });

  it('is confirmed once there is no need for a standby, over another connection', async () => {
    await direct.query('set synchronous_commit = off');
    await direct.query('alter system reset synchronous_standby_names');
    await direct.query('select pg_reload_conf()');
    let id = '';
    const isConfirmed = async () => {
      id = await tock.enqueue(noop, undefined, { key: 'after' }).catch(() => '');
      return id !== '';
    };
    await until(isConfirmed, 'the server to read its settings');
    expect(await tock.runs.get(id)).toMatchObject({ status: 'queued' });
  });
});
