// The command line on rows that somebody wrote by hand, with what no Date, no list of errors and no terminal can take: none
// of them keeps a command from showing the others.
import { beforeAll, describe, expect, it } from 'vitest';
import { dropBounds } from '../support/bounds.js';
import { openClient } from '../support/embedded-database.js';
import { openOnce } from '../support/open.js';
import { openCliHarness } from './cli-harness.js';

const harness = openOnce(openCliHarness);
let good: string;
let ids: string[];
beforeAll(async () => {
  await harness.tock(['tick']);
  const client = await openClient(harness.url);
  try {
    for (const table of ['job_runs_live', 'job_definitions', 'job_queues'])
      await client.query(dropBounds(table));
    const made = await client.query<{ id: string }>(`
      with of_steady as (select id from tock.job_definitions where name = 'steady'), live as (
        insert into tock.job_runs_live (job, status, run_at, definition_id, scheduled_for, interval_start, start_by, created_at, started_at,
          locked_until, cancel_requested_at, errors, progress, queue, occurrence_count, fence)
        select 'greet', o.status, o.run_at, (select id from of_steady), o.at, o.at, o.at, o.at, o.at, o.at, o.at, o.errors::jsonb, o.progress::jsonb, o.queue, 0, 2147483647
        from (values
          ('queued', timestamptz '290000-01-01', timestamptz '290000-01-01', '5', '5', e'\\x1b[31mred'),
          ('queued', 'infinity', 'infinity', '[1, null, {"at": "never"}]', '{"fraction": "half"}', ''),
          ('queued', '-infinity', '-infinity', '{}', '[]', repeat('q', 9000)),
          ('failed', '0044-03-15 BC', '0044-03-15 BC', 'null', '"x"', E'two\\nlines'),
          ('running', '-infinity', 'infinity', '"x"', '{"fraction": 1e400, "stage": 5, "events": "many"}', 'default'),
          ('running', '-infinity', '-infinity', '[[]]', '{"fraction": 0.5, "stage": "half-way", "events": 2}', 'default')
        ) as o(status, run_at, at, errors, progress, queue) returning id
      ), finished as (
        insert into tock.job_runs_finished (id, job, status, run_at, definition_id, scheduled_for, created_at, started_at, finished_at, errors, progress,
          payload, output)
        select nextval('tock.job_runs_id_seq'), 'greet', o.status, o.at, (select id from of_steady), o.at, o.at, o.at, o.ended, o.errors::jsonb, '5',
          (repeat('[', 5000) || repeat(']', 5000))::jsonb, (repeat('{"a":', 5000) || '1' || repeat('}', 5000))::jsonb
        from (values
          ('dead', timestamptz 'infinity', tock.now(), '5'),
          ('dead', '-infinity', tock.now(), '{"message": 1}'),
          ('succeeded', '290000-01-01', tock.now(), '[]'),
          ('cancelled', '-infinity', 'infinity', '[]')
        ) as o(status, at, ended, errors) returning id
      ) select id::text from live union all select id::text from finished`);
    ids = made.rows.map(row => row.id);
    await client.query(`
      insert into tock.workers (id, kind, host, pid, capacity, started_at, seen_at) values (gen_random_uuid(), 'daemon', 'here', 1, 1, 'infinity', 'infinity');
      update tock.job_definitions set paused_at = 'infinity' where name = 'nightly';
      update tock.job_definitions set cursor = '-infinity', next_at = 'infinity' where name = 'broken';
      insert into tock.job_queues (name, paused_at, active_window, timezone) values ('odd', '-infinity', null, 'UTC'), ('adrift', null, 'all day', 'Mars/Phobos')`);
    const { rows } = await client.query<{ id: string }>(`select tock.enqueue('greet')::text as id`);
    good = rows[0]?.id ?? '';
  } finally {
    await client.end();
  }
});

describe('rows with unusual values', () => {
  it.each([
    ['runs', ['runs'], () => good],
    ['a filter of runs', ['runs', '--status', 'queued,failed,running'], () => good],
    ['status', ['status'], () => 'warning: 2 runs ended dead'],
    ['jobs', ['jobs'], () => 'steady'],
    ['queues', ['queue', 'list'], () => 'odd'],
    ['what comes next', ['next', 'steady'], () => 'steady'],
    ['why', ['why', 'steady', '2026-03-01T07:00:00Z'], () => '2026-03-01'],
  ])('shows %s', async (_what, args, has) => {
    const { code, stdout, stderr } = await harness.tock(args);
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toContain(has());
    // oxlint-disable-next-line no-control-regex
    expect(stdout).not.toMatch(/\u001B|Invalid Date|NaN|.{3000}/);
    const { code: asJson, stdout: document } = await harness.tock([...args, '--json']);
    expect(asJson).toBe(0);
    expect(() => JSON.parse(document) as unknown).not.toThrow();
  });

  it('show up one by one', async () => {
    for (const id of ids) {
      const { code, stdout, stderr } = await harness.tock(['show', id, '--stack']);
      expect([id, code, stderr]).toEqual([id, 0, '']);
      expect(stdout).toContain(`run ${id} of `);
      // oxlint-disable-next-line no-control-regex
      expect(stdout).not.toMatch(/\u001B|Invalid Date|NaN/);
    }
    const { runs } = await harness.json<{ runs: { id: string; runAt: string; errors: unknown }[] }>(['runs']);
    expect(runs.map(run => run.id)).toEqual(expect.arrayContaining([...ids, good]));
    expect(JSON.stringify(runs)).toContain('what is nested too deep to show');
    for (const run of runs) {
      expect(run.runAt).toMatch(/^\d{4}-/);
      expect(run.errors).toBeInstanceOf(Array);
    }
  });
});
