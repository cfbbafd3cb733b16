// The page of a join in a real browser: an ordinary group, 500 with three dead, 10,000.
import { describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { hasNoBrowser, openBrowser } from '../support/browser.js';
import { openOnce } from '../support/open.js';
import { reuseTestTock, type TestTock } from '../support/test-tock.js';
import { findFlaws, serveToAll } from './looks.js';

const NOW = '2026-11-22T09:13:24Z';
const JOBS = ['resize', 'publish'].map(name => defineJob({ name, run: () => undefined }));

/** A group whose members have the states of `stateOf`, SQL over their number `n`. */
async function addGroup(test: TestTock, count: number, stateOf: string): Promise<string> {
  const { id } = await test.tock.enqueueGroup(
    Array.from({ length: count }, () => ({ job: 'resize' })),
    { then: { job: 'publish' } },
  );
  await test.sql(
    `with member as (
       select a.run_id, (${stateOf}) as state from (select a.*, a.position as n from tock.job_awaited_runs a join tock.job_waits w on w.id = a.wait_id where w.run_id = $1) a
     ), gone as (
       delete from tock.job_runs_live r using member m where r.id = m.run_id and m.state in ('succeeded', 'dead', 'cancelled') returning r.*, m.state
     ), running as (
       update tock.job_runs_live r set status = 'running', attempts = 1, locked_by = '00000000-0000-4000-8000-000000000001', locked_until = tock.now() + interval '1 minute',
         started_at = tock.now() - interval '40 seconds'
       from member m where r.id = m.run_id and m.state = 'running'
     ), ended as (
       insert into tock.job_runs_finished (id, job, status, attempts, run_at, created_at, started_at, finished_at, errors)
       select id, job, state, 1, run_at, created_at, tock.now(), tock.now() + (id % 90) * interval '1 second',
         case when state = 'dead' then jsonb_build_array(jsonb_build_object('at', '2026-11-22T09:13:20Z', 'attempt', 1, 'name', 'Error', 'message', 'image ' || id || ' is too large')) else '[]' end
       from gone returning id, status
     )
     update tock.job_awaited_runs a set status = m.state from member m where m.run_id = a.run_id and m.state in ('succeeded', 'dead', 'cancelled')`,
    [id],
  );
  return id;
}

describe.skipIf(hasNoBrowser())('a group in a browser', () => {
  const browser = openOnce(openBrowser);
  const test = openOnce(
    () => reuseTestTock(JOBS),
    test => test.setClock(NOW),
  );
  const dashboard = openOnce(() => serveToAll(test.tock));

  it.each([
    [
      'ordinary',
      24,
      `case when n <= 9 then 'succeeded' when n = 10 then 'dead' when n <= 14 then 'running' when n = 15 then 'cancelled' else 'queued' end`,
    ],
    ['three-dead', 500, `case when n in (77, 301, 302) then 'dead' else 'succeeded' end`],
    [
      'large',
      10_000,
      `case when n <= 6000 then case when n % 97 = 0 then 'dead' else 'succeeded' end when n <= 6040 then 'running' else 'queued' end`,
    ],
  ])('%s is whole and free of barriers', async (label, count, stateOf) => {
    const id = await addGroup(test, count, stateOf);
    expect(await findFlaws(browser, dashboard.base, `/runs/${id}`, `group-${label}`)).toEqual([]);
    const answer = await fetch(`${dashboard.base}/runs/${id}`);
    expect((await answer.text()).length).toBeLessThan(300_000);
  });
});
