// Reading from a real hot standby: commands and pages read there, say how far it is behind, and act on the primary.
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readDashboardSettings } from '../../src/dashboard/server/settings.js';
import { createTock, defineJob, type Tock } from '../../src/index.js';
import { type CliHarness, openCliHarness } from '../cli/cli-harness.js';
import { type Served, serve } from '../dashboard/served.js';
import { openOnce } from '../support/open.js';
import { until } from '../support/test-tock.js';
import { hasDebianPostgres } from './debian-server.js';
import { openReplicated } from './servers.js';

const send = defineJob({ name: 'send', run: () => null });

describe.skipIf(!hasDebianPostgres)('a replica', () => {
  let copy: pg.Client;
  let harness: CliHarness;
  let served: Served;
  let env: Record<string, string>;
  const tockOf = (connectionString: string) => createTock({ connectionString, jobs: [send], logger: false });
  const servers = openOnce(openReplicated);
  let tock: Tock;
  beforeAll(async () => {
    tock = tockOf(servers.primary);
    await tock.migrate();
    await tock.tick();
    copy = new pg.Client({ connectionString: servers.standby });
    copy.on('error', () => undefined);
    await copy.connect();
    harness = await openCliHarness();
    env = { DATABASE_URL: servers.primary, TOCK_READ_URL: servers.standby };
    served = await serve(tock, { TOCK_READ_URL: servers.standby });
  });
  afterAll(async () => {
    await served.close();
    await harness.close();
    await tock.close();
    await copy.end();
  });

  it('is read by commands, which say so', async () => {
    const id = await tock.enqueue('send', {}, { delay: '1h' });
    const { code, stdout } = await harness.tock(['status'], { env });
    expect(code).toBe(0);
    expect(stdout).toMatch(/read from +a replica, \S+ behind/);
    expect(await harness.json(['status'], { env: { DATABASE_URL: servers.primary } })).toMatchObject({
      replicaLagMs: null,
    });
    for (const command of [['runs'], ['show', id], ['metrics'], ['audit']])
      expect([command, (await harness.tock(command, { env })).code]).toEqual([command, 0]);
  });

  it('shows what it has replayed, and how far it is behind, while buttons act on the primary', async () => {
    await copy.query('select pg_wal_replay_pause()');
    // A commit would wait for this standby.
    const writer = new pg.Client({ connectionString: servers.primary });
    await writer.connect();
    await writer.query('set synchronous_commit = local');
    const { rows } = await writer.query<{ id: string }>(`select tock.enqueue('send', '{}') as id`);
    await writer.end();
    const id = rows[0]?.id ?? '';
    await until(
      async () => ((await harness.json<{ replicaLagMs: number }>(['status'], { env })).replicaLagMs ?? 0) > 0,
      'the lag to be seen',
    );
    expect((await harness.tock(['show', id], { env })).code).not.toBe(0);
    expect((await harness.tock(['show', id], { env: { DATABASE_URL: servers.primary } })).code).toBe(0);
    expect((await served.get(`/runs/${id}`)).status).toBe(404);
    expect(await (await served.get('/')).text()).toMatch(/read from a replica, \S+ behind/);
    await copy.query('select pg_wal_replay_resume()');
    await until(async () => (await served.get(`/runs/${id}`)).status === 200, 'the run to be replayed');
    expect((await served.post(`/runs/${id}/cancel`)).status).toBe(303);
    expect(await tock.runs.get(id)).toMatchObject({ status: 'cancelled' });
  });

  it('may have a URL for the dashboard alone', () => {
    expect(
      readDashboardSettings({ TOCK_READ_URL: 'postgres://a/x', TOCK_DASHBOARD_READ_URL: 'postgres://b/x' })
        .readUrl,
    ).toBe('postgres://b/x');
  });
});
