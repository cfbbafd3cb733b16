// The page Workers: who is there, what each does, who is silent, and runs that nobody holds any more.
import { describe, expect, it } from 'vitest';
import { openOnce } from '../../support/open.js';
import { buttonsOf, openPageKit } from './operate-kit.js';

const NOW = '2026-03-08T12:00:00Z';
const kit = openOnce(openPageKit, ({ setClock }) => setClock(NOW));

const worker = async (host: string, more: { kind?: string; seen?: string; draining?: boolean } = {}) => {
  const { kind = 'daemon', seen = '2 seconds', draining = false } = more;
  const [row] = await kit.sql<{ id: string }>(
    `insert into tock.workers (id, kind, host, pid, capacity, started_at, seen_at, heartbeat_ms, draining)
     values (gen_random_uuid(), $2, $1, 77, 10, tock.now() - interval '2 hours', tock.now() - $3::interval, 15000, $4) returning id`,
    [host, kind, seen, draining],
  );
  return row?.id ?? '';
};
const running = async (id: string | null, count: number, job = 'plain', leased = '1 minute') => {
  const rows = await kit.sql<{ id: string }>(
    `insert into tock.job_runs_live (job, status, locked_by, locked_until, started_at, progress)
     select $3, 'running', coalesce($1::uuid, gen_random_uuid()), tock.now() + $4::interval, tock.now() - i * interval '1 minute',
       case when i = 1 then '{"fraction": 0.625}'::jsonb end
     from generate_series(1, $2::int) i returning id::text as id`,
    [id, count, job, leased],
  );
  return rows.map(row => row.id);
};

describe('workers', () => {
  it('says how to start one where there is none', async () => {
    const { status, text } = await kit.get('/workers');
    expect(status).toBe(200);
    expect(text).toContain('No worker is at work');
    expect(text).toContain('tock start');
    expect(text).toContain('node dist/tick.js');
  });

  it('shows what each does now, with links', async () => {
    const busy = await worker('web-1');
    await worker('web-2', { kind: 'tick' });
    await worker('web-3', { draining: true });
    const ids = await running(busy, 8, '<b>job</b>');
    const { text, html } = await kit.get('/workers');
    expect(text).toContain(
      'Workers 3 on 3 hosts Running 8 of 30 at once Draining 1 end their runs, then stop Silent 0',
    );
    expect(text).toMatch(/web-1 pid 77 a daemon working 8 of 10 (<b>job<\/b> 8m ){1}/);
    expect(text).toContain('and 2 more not yet known 2s ago 2h ago');
    expect(text).toContain('web-2 pid 77 a tick idle 0 of 10 nothing');
    expect(text).toContain('web-3 pid 77 a daemon draining');
    expect(html).toContain(`href="/tock/runs/${ids[7]}"`);
    expect(html).not.toContain('<b>job</b>');
  });

  it('shows progress that was reported', async () => {
    const reporting = await worker('web-4');
    await running(reporting, 1, 'reporting');
    expect((await kit.get('/workers')).text).toContain('reporting 1m · 63 %');
  });

  it('shows what each asks of its host, once it has reported', async () => {
    const id = await worker('load-1');
    expect((await kit.get('/workers')).text).toContain(
      'load-1 pid 77 a daemon idle 0 of 10 nothing not yet known',
    );
    await kit.sql(
      'update tock.workers set cpu = 0.4249, memory_bytes = 128400000, loop_delay_ms = 1500 where id = $1',
      [id],
    );
    const { text, html } = await kit.get('/workers');
    expect(text).toContain('42 % of a core 128 MB event loop 1.5s late');
    expect(html).toContain('sub nowrap bad');
  });

  it('says who is silent, and what becomes of its runs', async () => {
    const silent = await worker('lost-1', { seen: '3 minutes' });
    await running(silent, 2);
    const { text } = await kit.get('/workers');
    expect(text).toContain('lost-1 pid 77 was last seen 3m ago');
    expect(text).toContain('The 2 runs that are held are taken back and retried when their leases expire.');
    expect(text).toContain('Silent 1');
    await worker('lost-2', { seen: '3 minutes' });
    expect((await kit.get('/workers')).text).toContain('2 workers have not been seen for two heartbeats');
  });

  it('says which runs nobody holds any more', async () => {
    await running(null, 2, 'orphan', '40 seconds');
    expect((await kit.get('/workers')).text).toContain(
      '2 runs are held by workers that are gone They are taken back when their leases expire, the last of them in 40s.',
    );
    await kit.sql(
      `update tock.job_runs_live set locked_until = tock.now() - interval '1 second' where job = 'orphan'`,
    );
    expect((await kit.get('/workers')).text).toContain(
      'Their leases have expired: the next tick takes them back.',
    );
  });

  it('shows the last tick of each host, with versions and clocks', async () => {
    expect((await kit.get('/workers')).text).toContain('Nothing has ticked yet');
    const tick = (
      host: string,
      kind: string,
      ago: string,
      version: string,
      clockMs: number,
      stopped = false,
    ) =>
      kit.sql(
        `insert into tock.ticks (host, folder, kind, first_at, at, tick_count, version, node, zone_data, clock_ms, stopped_at)
         values ($1, '/srv/app', $2, tock.now() - interval '9 days', tock.now() - $3::interval, 12960, $4, '24.1.0', '2025c', $5,
           case when $6 then tock.now() - $3::interval end)`,
        [host, kind, ago, version, clockMs, stopped],
      );
    await tick('cron-1', 'tick', '20 seconds', '0.1.0', 12);
    await tick('cron-2', 'tick', '2 hours', '0.0.9', -4200);
    await tick('web-9', 'daemon', '1 hour', '0.0.8', 0, true);
    const { text } = await kit.get('/workers');
    expect(text).toMatch(
      /cron-1 \/srv\/app ticks 20s ago .* 12 960 Tock 0\.1\.0 Node 24\.1\.0, zones 2025c right/,
    );
    expect(text).toMatch(/cron-2 \/srv\/app silent Forget 2h ago .* 4\.2s behind/);
    expect(text).toMatch(/web-9 \/srv\/app stopped/);
  });

  it('has a button for those who may press it only', async () => {
    expect(buttonsOf(await kit.get('/workers', 'view'))).toEqual([]);
    expect(buttonsOf(await kit.get('/workers', 'operate'))).toEqual(['Forget']);
  });
});
