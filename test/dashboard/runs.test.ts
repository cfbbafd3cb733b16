// The pages Runs, Run and Errors: what they say of rows, hostile ones included, and what their buttons do to them.
import { beforeAll, describe, expect, it } from 'vitest';
import { makeLink } from '../../src/dashboard/links.js';
import { queryOf, readFilter } from '../../src/dashboard/runs/filter.js';
import { defineJob } from '../../src/index.js';
import { type FilterText, readFilterText } from '../../src/model/run/match/filter-text.js';
import { dropBounds } from '../support/bounds.js';
import { storeTest } from '../support/open.js';
import { addRuns } from '../support/runs.js';
import { reuseTestTock } from '../support/test-tock.js';
import { type Pages, pagesOf, words } from './runs-kit.js';

const NOW = '2026-03-02T12:00:00Z';
const mail = defineJob({ name: 'mail', run: () => undefined });

const { test } = storeTest(NOW, () => reuseTestTock([mail]));
let pages: Pages;
beforeAll(() => {
  pages = pagesOf(test.tock);
});

const error = (message: string, more: object = {}) => ({
  at: NOW,
  attempt: 1,
  name: 'Error',
  code: null,
  message,
  stack: null,
  ...more,
});
const dead = (message: string, more: object = {}) => ({
  status: 'dead',
  finished_at: NOW,
  job: 'mail',
  attempts: 1,
  max_attempts: 1,
  errors: JSON.stringify([error(message)]),
  ...more,
});
const running = {
  status: 'running',
  job: 'mail',
  attempts: 2,
  max_attempts: 4,
  fence: 2,
  started_at: '2026-03-02T11:59:30Z',
  run_at: '2026-03-02T11:59:20Z',
  created_at: '2026-03-02T11:58:00Z',
  locked_until: '2026-03-02T12:00:40Z',
  locked_by: '00000000-0000-4000-8000-000000000001',
};
const worker = async () =>
  await test.sql(
    `insert into tock.workers (id, kind, host, pid, capacity) values ('00000000-0000-4000-8000-000000000001', 'daemon', 'db-7', 42, 1)`,
  );
const page = async (path: string) => {
  const { status, text } = await pages.get(path);
  return { status, text, said: words(text) };
};

describe('/runs', () => {
  it('says what to do where there is nothing', async () => {
    const { status, said } = await page('/runs');
    expect(status).toBe(200);
    expect(said).toContain('There are no runs yet');
    expect(said).toContain('tock run <job>');
    expect((await page('/runs?job=mial')).said).toContain('No run matches');
  });

  it('names the jobs that may have been meant', async () => {
    await test.sql(`insert into tock.job_definitions (name, job) values ('d1', 'mail'), ('d2', 'report')`);
    const { said, text } = await page('/runs?job=mial&from=7d');
    expect(said).toContain('No run matches Did you mean mail ?');
    expect(text).toContain('href="/runs?job=mail&amp;from=7d"');
    expect((await page('/runs?job=mail')).said).not.toContain('Did you mean');
    expect((await page('/runs?job=something-else')).said).not.toContain('Did you mean');
  });

  it('lists runs, newest first, with what is worth knowing of each', async () => {
    await addRuns(
      test,
      { job: 'mail', run_at: '2026-03-02T12:05:00Z' },
      { ...running, progress: '{"fraction": 0.62, "stage": "half", "events": 1}' },
      dead('no route'),
      { status: 'skipped', job: 'mail', finished_at: NOW, skip_reason: 'overlap' },
      { job: 'mail', slot_keys: ['job:mail'], slot_limits: [1], blocked_on: 'job:mail' },
    );
    const { text, said } = await page('/runs');
    expect([...text.matchAll(/id="run-(\d+)"/g)].map(([, id]) => id)).toEqual(['5', '4', '3', '2', '1']);
    expect(said).toContain('5 runs');
    expect(said).toContain('due in 5m');
    expect(text).toContain('value="62"');
    expect(said).toContain('Error no route');
    expect(said).toContain('an earlier run was still live');
    expect(said).toContain('waits for a slot of job mail');
  });

  it('in the order of their ends, the last to end stands first, as one that was retried', {
    tags: 'check',
  }, async () => {
    await test.sql(
      `insert into tock.job_runs_finished (id, job, status, finished_at, max_attempts)
       select n, 'mail', 'dead', tock.now() - (10 - n) * interval '1 hour', 1 from generate_series(1, 7) n`,
    );
    const ids = async (path: string) =>
      [...(await page(path)).text.matchAll(/id="run-(\d+)"/g)].map(([, id]) => id);
    await test.sql(
      `update tock.job_runs_finished set finished_at = tock.now(), status = 'succeeded' where id = 2`,
    );
    expect(await ids('/runs?limit=3')).toEqual(['7', '6', '5']);
    expect(await ids('/runs?order=ended&limit=3')).toEqual(['2', '7', '6']);
    const first = await page('/runs?order=ended&limit=3&job=mail');
    expect(first.text).toContain('href="/runs?job=mail&amp;order=ended&amp;before=6&amp;limit=3"');
    expect(first.text).toContain('href="/runs.csv?job=mail&amp;order=ended"');
    expect(first.text).toMatch(/<option value="ended" selected/);
    const second = await page('/runs?order=ended&limit=3&before=6');
    expect([...second.text.matchAll(/id="run-(\d+)"/g)].map(([, id]) => id)).toEqual(['5', '4', '3']);
    expect(second.said).toContain('Those that ended last');
    const csv = (await pages.get('/runs.csv?order=ended')).text.split('\n');
    expect(csv.slice(1, 4).map(line => line.split(',')[0])).toEqual(['2', '7', '6']);
    expect((await test.tock.runs.list({ order: 'ended', limit: 2 })).map(({ id }) => id)).toEqual(['2', '7']);
  });

  it('keeps the order of the ends in the links to other lists', async () => {
    const hrefs = async (path: string) =>
      [...(await page(path)).text.matchAll(/href="(\/runs\?[^"]*)"/g)].map(([, href]) => href);
    // Regression: a longer time, another state or another job began with the newest again.
    await test.sql(`insert into tock.job_definitions (name, job) values ('d1', 'mail')`);
    const slow = await hrefs('/runs?order=ended&error=none');
    expect(slow).toContain('/runs?error=none&amp;from=7d&amp;order=ended');
    const dead = await hrefs('/runs?order=ended&error=none&status=dead');
    expect(dead).toEqual(expect.arrayContaining(['/runs?order=ended', '/runs?error=none&amp;order=ended']));
    expect(await hrefs('/runs?order=ended&job=mial&from=all')).toContain(
      '/runs?job=mail&amp;from=all&amp;order=ended',
    );
  });

  it('say at the states that live runs have no such order, and keep the filter', async () => {
    const { status, said, text } = await page('/runs?order=ended&status=queued&job=mail');
    expect(status).toBe(400);
    expect(said).toContain('order ended is that of runs that have ended, and runs that are queued have not');
    expect(text).toContain('value="mail"');
  });

  it('pages in both directions, and keeps the filter', async () => {
    await test.sql(
      `insert into tock.job_runs_finished (id, job, status, finished_at) select n, 'mail', 'succeeded', tock.now() from generate_series(1, 7) n`,
    );
    const first = await page('/runs?job=mail&limit=3');
    expect(first.text).toContain('href="/runs?job=mail&amp;before=5&amp;limit=3"');
    expect(first.text).not.toContain('rel="prev"');
    const second = await page('/runs?job=mail&limit=3&before=5');
    expect(second.text).toContain('href="/runs?job=mail&amp;after=4&amp;limit=3"');
    expect(second.text).toContain('before=2');
    expect((await page('/runs?job=mail&limit=3&after=4')).text).toContain('id="run-7"');
  });

  it.each([
    ['/runs?limit=1e30', 400],
    ['/runs?limit=-1', 400],
    ['/runs?limit=0', 400],
    ['/runs?before=x', 400],
    ['/runs?after=1%20or%201=1', 400],
    ['/runs?id=1%20OR%201=1', 400],
    ['/runs?status=killed', 400],
    ['/runs?payload=%7Ba', 400],
    ['/runs?payload=1e999999', 400],
    ['/runs?from=yesterdayish', 400],
    ['/runs?to=2026-13-01', 400],
    ['/runs?error=%00', 400],
    ['/runs?status=dead&status=failed', 200],
    ['/runs?from=2026-03-01&to=1h&payload=%7B%7D', 200],
    [`/runs?job=${'x'.repeat(600)}`, 400],
    ['/runs/1%20OR%201=1', 400],
    ['/runs/-1', 400],
    ['/runs/1e3', 400],
    ['/runs/999', 404],
    ['/errors?of=all', 400],
    ['/errors?span=1y', 400],
    ['/errors?span=constructor', 400],
    ['/runs/find?q=%00', 303],
  ])('%s is %i', { tags: 'check' }, async (path, status) => {
    expect((await pages.get(path)).status).toBe(status);
  });

  it('keeps the form of a filter that is wrong, and names the fault in its field', async () => {
    const { status, said, text } = await page('/runs?job=mail&from=yesterdayish&status=dead');
    expect(status).toBe(400);
    expect(said).toContain('from "yesterdayish" is not a time; write -2h, yesterday');
    expect(text).toMatch(/name="job" value="mail"/);
    expect(text).toMatch(
      /name="from" value="yesterdayish"[^>]*aria-invalid="true" aria-describedby="fault-from"/,
    );
    expect(text).toMatch(/value="dead" checked/);
    const huge = await page('/runs?job=mail&payload=1e999999');
    expect(huge.said).toContain('has a number that PostgreSQL cannot read');
    expect(huge.text).toMatch(/name="payload" value="1e999999"/);
  });

  it('gives what is listed as CSV and JSON, as far as the reader may see it', { tags: 'check' }, async () => {
    await addRuns(test, dead('no route', { payload: '{"customer": 812}' }), dead('else', { job: 'report' }));
    const { text: list } = await page('/runs?job=mail&payload=customer%3D812');
    expect(list).toContain('href="/runs.csv?job=mail&amp;payload=customer%3D812"');
    const csv = await pages.get('/runs.csv?job=mail&payload=customer%3D812');
    expect(csv.text.split('\n').map(line => line.split(',')[0])).toEqual(['id', '1', '']);
    expect(csv.text).toContain(',no route,');
    const json = await pages.get('/runs.json?status=dead');
    const { runs } = JSON.parse(json.text) as { runs: { id: string; payload: unknown }[] };
    expect(runs.map(run => [run.id, run.payload])).toEqual([
      ['2', {}],
      ['1', { customer: 812 }],
    ]);
    const blind = pagesOf(test.tock, { role: 'view', seesPayloads: false });
    expect((await blind.get('/runs.json?job=mail')).text).toContain('"payload":"[redacted]"');
    expect((await blind.get('/runs.csv?payload=customer%3D812')).status).toBe(403);
    expect((await pages.get('/runs.csv?from=never')).status).toBe(400);
    expect((await pages.get('/runs.json?job=nobody')).text).toBe('{"runs":[]}\n');
    expect((await pages.get('/runs.csv?job=nobody')).text).toMatch(/^id,[^\n]+\n$/);
  });

  it('says that only the last day was searched, where every run has to be read', async () => {
    await addRuns(test, {
      job: 'mail',
      status: 'succeeded',
      finished_at: '2026-02-20T12:00:00Z',
      payload: '{"n": 7}',
    });
    const { said, text } = await page('/runs?payload=%7B%22n%22%3A7%7D');
    expect(said).toContain('Only the last 24 hours were searched');
    expect(said).toContain('No run matches');
    expect(text).toContain('from=30d');
    expect((await page('/runs?payload=%7B%22n%22%3A7%7D&from=30d')).text).toContain('id="run-1"');
    expect((await page('/runs?status=dead&error=x')).said).not.toContain('Only the last 24 hours');
  });

  it('finds by an id, a name, a key, or words of an error', async () => {
    await test.sql(
      `insert into tock.job_definitions (name, job) values ('nightly', 'report'), ('mail', 'mail')`,
    );
    await test.sql(`insert into tock.job_keys (idempotency_key, run_id) values ('shop:1', 17)`);
    await addRuns(test, { live_key: 'live', idempotency_key: 'live' });
    const to = async (q: string) => (await pages.get(`/runs/find?q=${encodeURIComponent(q)}`)).to;
    expect(await to(' 812 ')).toBe('/runs/812');
    expect(await to('81 204')).toBe('/runs/81204');
    expect(await to('nightly')).toBe('/runs?definition=nightly');
    expect(await to('mail')).toBe('/runs?job=mail');
    expect(await to('shop:1')).toBe('/runs/17');
    expect(await to('live')).toBe('/runs?key=live');
    expect(await to(`no route' or 1=1`)).toBe(`/runs?error=no+route%27+or+1%3D1`);
    expect(await to('')).toBe('/runs');
    expect((await pages.get('/runs?id=812')).to).toBe('/runs/812');
  });
});

describe('a filter in an address', () => {
  const read = (query: string) => {
    const search = new URLSearchParams(query);
    return readFilterText(name => search.getAll(name));
  };
  it('comes back as it was', () => {
    const full: FilterText = {
      status: ['queued', 'dead'],
      job: 'a b&c=d',
      definition: 'ü',
      queue: 'q',
      group: '7',
      key: 'k/1?x#y',
      tag: 'import customer-812',
      deploy: 'v42',
      error: '100% "x" <y>',
      message: 'order <n> failed',
      name: 'E',
      code: '23505',
      payload: '{"id": 12345678901234567890}',
      from: '24h',
      to: '2026-03-01 08:00',
    };
    const link = makeLink('/admin')('/runs', queryOf(full));
    expect(read(new URL(link, 'http://localhost').search)).toEqual(full);
    expect(queryOf(read(''))).toMatchObject({ status: '', job: '' });
  });

  it('reads times as spans, instants, and local times of the reader', () => {
    const now = new Date(NOW);
    const from = (text: string, zone = 'UTC') =>
      instantText(readFilter(read(`status=dead&from=${encodeURIComponent(text)}`), zone, now).match.from);
    const instantText = (time?: Date | string) => (time instanceof Date ? time.toISOString() : time);
    expect(from('-2h')).toBe('2026-03-02T10:00:00.000Z');
    expect(from('yesterday', 'Europe/Berlin')).toBe('2026-02-28T23:00:00.000Z');
    expect(from('90m')).toBe('2026-03-02T10:30:00.000Z');
    expect(from('2026-03-01T08:00:00Z')).toBe('2026-03-01T08:00:00.000Z');
    expect(from('2026-03-01 08:00', 'Europe/Berlin')).toBe('2026-03-01T07:00:00.000Z');
    expect(from('2026-03-01', 'Europe/Berlin')).toBe('2026-02-28T23:00:00.000Z');
    expect(from('2026-03-29 02:30', 'Europe/Berlin')).toBe('2026-03-29T01:00:00.000Z');
    expect(from('all')).toBeUndefined();
  });
});

describe('/runs/:id', () => {
  it('tells the life of a run that failed twice, with its workers, its errors and its steps', async () => {
    const entries = [
      error('no route', {
        at: '2026-03-02T11:00:05.000Z',
        dueAt: '2026-03-02T11:00:00.000Z',
        startedAt: '2026-03-02T11:00:01.000Z',
        worker: 'web-1 pid 7',
      }),
      error('the worker web-2 stopped', {
        attempt: 2,
        at: '2026-03-02T11:02:00.000Z',
        dueAt: '2026-03-02T11:00:15.000Z',
        startedAt: '2026-03-02T11:00:16.000Z',
        code: 'TOCK_LEASE_LOST',
        worker: 'web-2 pid 8',
      }),
    ];
    await addRuns(test, {
      job: 'mail',
      status: 'succeeded',
      attempts: 3,
      max_attempts: 5,
      created_at: '2026-03-02T11:00:00Z',
      run_at: '2026-03-02T11:02:20Z',
      started_at: '2026-03-02T11:02:21Z',
      finished_at: '2026-03-02T11:02:23Z',
      output: '{"sent": 12345678901234567890, "rate": 1.50}',
      errors: JSON.stringify(entries),
    });
    await test.sql(`insert into tock.job_effects (key, run_id, result, created_at) values
      ('step:1:charge', 1, '{"id": 7}', '2026-03-02T11:00:03Z'), ('once:invoice-7', 1, null, '2026-03-02T11:02:22Z')`);
    const { status, text, said } = await page('/runs/1');
    expect(status).toBe(200);
    expect(said).toContain('It succeeded at attempt 3, in 2s.');
    expect(said).toMatch(/Attempt 1 failed after 4s on web-1 pid 7/);
    expect(said).toMatch(/\+2s step charge/);
    expect(said).toMatch(/Attempt 2 was lost: its lease expired after 1m 44s on web-2 pid 8/);
    expect(said).toMatch(/Until attempt 2 was due · 10s/);
    expect(said).toMatch(/Attempt 3 succeeded after 2s/);
    expect(said).toMatch(/once invoice-7/);
    expect(text).toContain('12345678901234567890');
    expect(text).toContain('1.50');
    expect(text.match(/class="l-attempt/g)).toHaveLength(3);
    expect(text.match(/class="l-effect/g)).toHaveLength(2);
    expect(text).not.toContain('data-live');
  });

  it('says what a running run does, and goes on looking', async () => {
    await worker();
    await addRuns(test, { ...running, progress: '{"fraction": 0.62, "stage": "stage 3 of 4", "events": 5}' });
    const { text, said } = await page('/runs/1');
    expect(said).toContain('Attempt 2 of 4 has been running for 30s on db-7 pid 42.');
    expect(said).toContain('62% stage 3 of 4');
    expect(said).toContain('40s left');
    expect(text).toContain('data-live="2"');
    expect(text).toContain('action="/confirm"');
  });

  it.each<[string, object, string]>([
    ['is not due', { run_at: '2026-03-02T12:10:00Z' }, 'Attempt 1 of 10 is due in 10m.'],
    [
      'is due, with nobody there',
      { run_at: NOW },
      'Attempt 1 of 10 is due, but no worker has been seen. Run tock start',
    ],
    [
      'failed',
      { status: 'failed', attempts: 1, run_at: '2026-03-02T12:00:40Z' },
      'Attempt 1 failed. Attempt 2 of 10 is due in 40s.',
    ],
    [
      'is blocked',
      { blocked_on: 'job:mail', slot_keys: ['job:mail'], slot_limits: [1] },
      'waits for a slot of job mail, which run 7 has.',
    ],
    [
      'waits in a paused queue',
      { queue: 'slow' },
      'its queue slow has been paused for 1h (repairs). It starts when the queue is resumed.',
    ],
    [
      'waits in a closed queue',
      { queue: 'night' },
      'is outside its window 23:00-06:00 (UTC). It opens in 11h.',
    ],
    ['waits in a full queue', { queue: 'full' }, 'its queue full is full: 1 of 1 slots are taken.'],
    [
      'has lost its worker',
      { ...running, locked_until: '2026-03-02T11:59:50Z' },
      'Its lease expired 10s ago: its worker is gone. The next tick takes it back.',
    ],
    [
      'is asked to stop',
      { ...running, cancel_requested_at: '2026-03-02T11:59:55Z' },
      'was asked to stop 5s ago. When it stops, the run is cancelled.',
    ],
    ['is dead', dead('no'), 'Its only attempt failed: no. Nothing more happens unless it is retried.'],
    [
      'was cancelled',
      { status: 'cancelled', finished_at: NOW, skip_reason: 'wrong month' },
      'It was cancelled: wrong month.',
    ],
    [
      'was skipped',
      { status: 'skipped', finished_at: NOW, skip_reason: 'paused' },
      'It was not executed: the definition was paused.',
    ],
  ])('says what happens now with a run that %s', { tags: 'check' }, async (_name, row, sentence) => {
    await test.sql(`insert into tock.job_queues (name, paused_at, pause_reason, active_window, concurrency) values
      ('slow', '2026-03-02T11:00:00Z', 'repairs', null, null), ('night', null, null, '23:00-06:00', null), ('full', null, null, null, 1)`);
    await test.sql(`insert into tock.job_slots values ('job:mail', 1, 7, 1), ('queue:full', 1, 7, 1)`);
    await addRuns(
      test,
      { id: 7, job: 'mail', status: 'running', fence: 1, attempts: 1, locked_until: '2026-03-02T12:01:00Z' },
      { job: 'mail', id: 9, run_at: NOW, ...row },
    );
    expect((await page('/runs/9')).said).toContain(sentence);
  });

  it('says in the picture and the story what it waits for', async () => {
    await test.sql(`insert into tock.job_queues (name, paused_at) values ('slow', '2026-03-02T11:00:00Z')`);
    const due = { job: 'mail', run_at: '2026-03-02T11:59:00Z', created_at: '2026-03-02T11:59:00Z' };
    await addRuns(
      test,
      { ...due, queue: 'slow' },
      { ...due, slot_keys: ['job:mail'], slot_limits: [1], blocked_on: 'job:mail' },
    );
    for (const [path, what] of [
      ['/runs/1', 'queue slow to be resumed'],
      ['/runs/2', 'a slot of job mail'],
    ] as const) {
      const { text, said } = await page(path);
      expect(said).toContain(`Waiting for ${what} · 1m`);
      expect(text).toContain(`<title>waits for ${what}: 1m</title>`);
    }
  });

  it('shows the runs around it', async () => {
    await test.sql(`insert into tock.job_definitions (name, job, after, on_dead) values
      ('load', 'load', null, null), ('report', 'report', '{"definitions": ["load"], "require": "all", "on": "success"}', null),
      ('send', 'send', '{"definitions": ["report"], "require": "all", "on": "success"}', null),
      ('print', 'print', '{"definitions": ["report"], "require": "all", "on": "success"}', null)`);
    const at = { scheduled_for: '2026-03-02T03:00:00Z', status: 'succeeded', finished_at: NOW };
    await addRuns(
      test,
      { ...at, job: 'load', definition_id: 1 },
      { ...at, job: 'report', definition_id: 2, scheduled_for: '2026-03-01T03:00:00Z' },
      { ...at, job: 'report', definition_id: 2, trigger: 'chain' },
      { ...at, job: 'send', definition_id: 3 },
    );
    const { said } = await page('/runs/3');
    expect(said).toMatch(/It runs after 1 load succeeded/);
    expect(said).toMatch(/Followed by 4 send succeeded/);
    expect(said).toMatch(/Not made yet print/);
    expect(said).toMatch(/Occurrence before 2 report succeeded/);
    expect(said).not.toContain('Occurrence after');
  });

  it('leads from a dead run to the one that was enqueued for it, and back', async () => {
    await test.sql(`insert into tock.job_definitions (name, job, on_dead) values ('mail', 'mail', 'alarm')`);
    await addRuns(
      test,
      dead('no'),
      { job: 'alarm', trigger: 'chain', idempotency_key: 'dead:11:1' },
      { job: 'alarm', trigger: 'chain', idempotency_key: 'dead:1:1' },
    );
    expect((await page('/runs/1')).said).toMatch(/Enqueued because it died 3 alarm/);
    expect((await page('/runs/3')).said).toMatch(/Died before it 1 mail/);
  });

  it('shows payloads only to those who may see them', async () => {
    await addRuns(test, {
      job: 'mail',
      payload: '{"secret": "s3cr3t"}',
      output: '"s3cr3t"',
      status: 'succeeded',
      finished_at: NOW,
    });
    await test.sql(`insert into tock.job_effects (key, run_id, result) values ('step:1:a', 1, '"s3cr3t"')`);
    expect((await page('/runs/1')).text.match(/s3cr3t/g)).toHaveLength(3);
    const others = pagesOf(test.tock, { seesPayloads: false });
    const { text } = await others.get('/runs/1');
    expect(text).not.toContain('s3cr3t');
    expect(words(text)).toContain('They are not shown to you');
  });

  it('shows what each attempt logged, hostile lines as text, with what was cut', async () => {
    const attempts = [1, 2].map(attempt => ({
      ...error('no', { attempt }),
      at: `2026-03-02T11:0${attempt}:05.000Z`,
      startedAt: `2026-03-02T11:0${attempt}:00.000Z`,
    }));
    await addRuns(
      test,
      dead('no', { attempts: 2, created_at: '2026-03-02T11:00:00Z', errors: JSON.stringify(attempts) }),
    );
    const line = (ms: number, level: string, text: string, fields?: object) =>
      JSON.stringify(fields === undefined ? [ms, level, text] : [ms, level, text, fields]);
    await test.sql(
      `insert into tock.job_logs (run_id, fence, segment, attempt, began_at, cut_lines, cut_bytes, head, tail) values
        (1, 1, 1, 1, '2026-03-02T11:01:01Z', 0, 0, $1, ''), (1, 2, 1, 2, '2026-03-02T11:02:00Z', 7, 1234, $2, $3)`,
      [
        line(0, 'i', '\u001B[31m<img src=x onerror=alert(1)>', { n: 1 }),
        line(0, 'w', 'the first'),
        line(500, 'e', 'the last'),
      ],
    );
    const { text, said } = await page('/runs/1');
    expect(said).toMatch(/log, 1 line \+1s <img src=x onerror=alert\(1\)> \{"n":1\}/);
    expect(said).toMatch(
      /log, 2 lines \+0ms warn the first 7 lines, 1.234 bytes were not kept \+500ms error the last/,
    );
    expect(text).not.toContain('<img');
    const others = pagesOf(test.tock, { seesPayloads: false });
    expect((await others.get('/runs/1')).text).not.toContain('the last');
  });

  it('lets nobody look for what they may not see', async () => {
    await addRuns(test, { job: 'mail', payload: '{"secret": 7}' });
    const others = pagesOf(test.tock, { seesPayloads: false });
    const query = `payload=${encodeURIComponent('{"secret": 7}')}`;
    for (const path of [`/runs?${query}`, `/runs/cancel-all?${query}`])
      expect([path, (await others.get(path)).status]).toEqual([path, 403]);
    expect((await others.post('/runs/cancel-all', { payload: '{"secret": 7}' })).status).toBe(403);
    expect((await others.get('/runs')).text).not.toContain('name="payload"');
    const bob = test.tock.as({ name: 'bob', via: 'api', role: 'admin', seesPayloads: false });
    await expect(bob.runs.list({ payload: '{}' })).rejects.toMatchObject({ code: 'TOCK_FORBIDDEN' });
    expect(await test.tock.runs.list({ payload: '{"secret": 7}' })).toHaveLength(1);
    expect(await bob.runs.list()).toHaveLength(1);
  });

  it('shows hostile texts as text', { tags: 'check' }, async () => {
    const attack = '<img src=x onerror=alert(1)>"\'';
    await test.sql(`insert into tock.job_definitions (name, job) values ('d', 'mail')`);
    await addRuns(test, {
      ...dead(attack),
      job: attack,
      idempotency_key: attack,
      queue: attack,
      skip_reason: attack,
      payload: JSON.stringify({ [attack]: attack }),
      output: JSON.stringify(attack),
      progress: JSON.stringify({ fraction: 0.5, stage: attack, events: 1 }),
      slot_keys: [attack],
      slot_limits: [1],
      errors: JSON.stringify([
        error(attack, {
          name: attack,
          code: attack,
          stack: `Error\n    at ${attack}`,
          worker: attack,
          cause: { ...error(attack), errors: [error(attack)] },
        }),
      ]),
    });
    await test.sql(`insert into tock.job_effects (key, run_id, result) values ($1, 1, $2)`, [
      `step:1:${attack}`,
      JSON.stringify(attack),
    ]);
    for (const path of [
      '/runs',
      `/runs?job=${encodeURIComponent(attack)}`,
      '/runs/1',
      '/errors',
      `/runs/retry-all?error=${encodeURIComponent(attack)}`,
    ]) {
      const { status, text } = await page(path);
      expect([path, status]).toEqual([path, 200]);
      expect(text).not.toContain('<img');
      expect(text).toContain('&lt;img');
      expect(text).not.toMatch(/<[^>"]*\sonerror=/);
      expect(text).not.toMatch(/<[^>"]*\sstyle=/);
    }
  });

  it('takes escape sequences out of errors, and shows characters that cannot be seen as what they are', async () => {
    await addRuns(test, dead('\u001B[31mred\u001B[0m \u001B]0;title\u0007and \u202Ereversed\u0007'));
    for (const path of ['/runs', '/runs/1', '/errors']) {
      const { text, said } = await page(path);
      // oxlint-disable-next-line no-control-regex
      expect(text).not.toMatch(/[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u202E]/);
      expect(said).toContain(String.raw`red and \u202ereversed\u0007`);
    }
  });

  it('stays small whatever the errors are', { tags: 'check' }, async () => {
    const long = 'x'.repeat(10_000_000);
    await addRuns(test, dead(long));
    expect((await page('/runs')).text.length).toBeLessThan(60_000);
    expect((await page('/errors')).text.length).toBeLessThan(60_000);
    const entries = Array.from({ length: 50 }, (_, n) =>
      error('no', { attempt: n + 1, at: new Date(Date.parse(NOW) + n * 1000).toISOString() }),
    );
    await addRuns(test, dead('no', { errors: JSON.stringify(entries), attempts: 50, max_attempts: 50 }));
    const { status, text, said } = await page('/runs/2');
    expect(status).toBe(200);
    expect(text.length).toBeLessThan(200_000);
    expect(said).toContain('more attempts');
  });

  it('shows a large payload in part, and says so', async () => {
    await addRuns(test, { job: 'mail', payload: JSON.stringify({ list: 'x'.repeat(500_000) }) });
    const { text, said } = await page('/runs/1');
    expect(text.length).toBeLessThan(120_000);
    expect(said).toContain('Only the beginning is shown');
    expect(said).toContain('500');
  });

  it('bears a row that was written by hand', async () => {
    await test.sql(dropBounds('job_runs'));
    await test.sql(
      `insert into tock.job_runs_finished (id, job, status, finished_at, errors, progress, output, scheduled_for, created_at, started_at)
       values (5, 'odd', 'dead', tock.now(), '[7, {"at": "never", "attempt": 1, "name": "E", "message": "m", "startedAt": "soon"}]', '[]', '[]', 'infinity', '-infinity', 'infinity')`,
    );
    expect((await page('/runs/5')).status).toBe(200);
  });
});

describe('a button', () => {
  it('retries a run', { tags: 'check' }, async () => {
    await addRuns(test, dead('no'));
    expect((await page('/runs/1')).text).toContain('action="/runs/1/retry"');
    const { status, to, flash } = await pages.post('/runs/1/retry');
    expect([status, to]).toEqual([303, '/runs/1']);
    expect(flash).toContain('Run 1 is waiting again');
    expect(await test.tock.runs.get('1')).toMatchObject({ status: 'queued', generation: 2 });
    expect((await pages.post('/runs/1/retry')).status).toBe(409);
    expect((await pages.post('/runs/77/retry')).status).toBe(404);
    expect((await pages.post('/runs/x/retry')).status).toBe(400);
  });

  it('cancels a run, or asks it to stop', async () => {
    await addRuns(test, { job: 'mail' }, running);
    expect((await pages.post('/runs/1/cancel')).flash).toContain('Run 1 is cancelled');
    expect((await pages.post('/runs/2/cancel')).flash).toContain('was asked to stop');
    expect(await test.sql('select id, status, cancel_requested_at from tock.job_runs order by id')).toEqual([
      { id: '1', status: 'cancelled', cancel_requested_at: null },
      { id: '2', status: 'running', cancel_requested_at: new Date(NOW) },
    ]);
    expect((await pages.post('/runs/1/cancel')).status).toBe(409);
  });

  it('runs it again with its payload, in its queue', async () => {
    await addRuns(test, {
      ...dead('no'),
      payload: '{"to": "ann", "n": 1.5}',
      queue: 'slow',
      priority: 3,
      idempotency_key: 'once',
    });
    const { to } = await pages.post('/runs/1/again');
    expect(await test.tock.runs.get(to.replace('/runs/', ''))).toMatchObject({
      job: 'mail',
      status: 'queued',
      payload: { to: 'ann', n: 1.5 },
      queue: 'slow',
      priority: 3,
      trigger: 'manual',
      idempotencyKey: null,
    });
    await addRuns(test, { ...dead('no'), id: 50, payload: '{"id": 12345678901234567890}' });
    const refused = await pages.post('/runs/50/again');
    expect(refused.status).toBe(400);
    expect(words(refused.text)).toContain('holds the number 12345678901234567890, which would lose digits');
  });

  it('retries all that match, after a page that counts and asks', async () => {
    await addRuns(
      test,
      dead('order 1 failed'),
      dead('order 2 failed'),
      dead('no route'),
      dead('order 3 failed', { job: 'other' }),
    );
    const list = await page('/errors');
    expect(list.said).toContain('4 runs died in the last 24 hours, with 3 errors in 2 jobs.');
    const [, href = ''] =
      /href="(\/runs\/retry-all\?[^"]*order[^"]*job=mail[^"]*|\/runs\/retry-all\?[^"]*job=mail[^"]*order[^"]*)"/.exec(
        list.text,
      ) ?? [];
    const asked = await page(href.replaceAll('&amp;', '&'));
    expect(asked.said).toContain(
      'This puts 2 dead runs of job “mail” whose error is “Error: order <n> failed”',
    );
    expect(await test.tock.runs.list({ status: 'queued' })).toEqual([]);
    const fields = Object.fromEntries(
      [...asked.text.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)].map(
        ([, name = '', value = '']) => [name, value.replaceAll('&lt;', '<').replaceAll('&gt;', '>')],
      ),
    );
    const done = await pages.post('/runs/retry-all', fields);
    expect([done.status, done.flash]).toEqual([303, 'ok:2 waiting again.']);
    expect((await test.tock.runs.list({ status: 'queued' })).map(run => run.id)).toEqual(['2', '1']);
    expect((await page(href.replaceAll('&amp;', '&'))).said).toContain(
      'There are no dead runs of job “mail”',
    );
  });

  it('cancels all that match', async () => {
    await addRuns(test, { job: 'mail' }, { job: 'mail' }, { job: 'other' });
    expect((await page('/runs?status=queued&job=mail')).text).toContain(
      '/runs/cancel-all?status=queued&amp;job=mail',
    );
    expect((await page('/runs/cancel-all?status=queued&job=mail')).said).toContain('Cancel 2 runs');
    expect((await pages.post('/runs/cancel-all', { status: 'queued', job: 'mail' })).flash).toBe(
      'ok:2 cancelled.',
    );
    expect((await test.tock.runs.list({ status: 'cancelled' })).map(run => run.id)).toEqual(['2', '1']);
    expect((await pages.post('/runs/cancel-all', { status: 'dead' })).status).toBe(400);
  });

  it('is not there, and does nothing, for those who may only look', async () => {
    const viewer = pagesOf(test.tock, { role: 'view' });
    await addRuns(test, dead('no'), { job: 'mail' });
    for (const path of ['/runs/1', '/runs/2', '/runs?status=dead', '/errors']) {
      const { text } = await viewer.get(path);
      expect(text).not.toContain('method="post"');
      expect(text).not.toContain('-all?');
    }
    for (const path of [
      '/runs/1/retry',
      '/runs/2/cancel',
      '/runs/1/again',
      '/runs/retry-all',
      '/runs/cancel-all',
    ])
      expect([path, (await viewer.post(path)).status]).toEqual([path, 403]);
    expect(await test.sql('select status from tock.job_runs order by id')).toEqual([
      { status: 'dead' },
      { status: 'queued' },
    ]);
  });
});

describe('/errors', () => {
  it('says that nothing has died', async () => {
    expect((await page('/errors')).said).toContain('No run has died in the last 24 hours');
    expect((await page('/errors?of=failing&span=7d')).said).toContain('in the last 7 days');
  });

  it('puts errors together, most frequent first, with when they happened', async () => {
    await addRuns(
      test,
      dead('user 1 is gone', { finished_at: '2026-03-01T13:00:00Z' }),
      dead('user 2 is gone', { finished_at: '2026-03-02T11:00:00Z' }),
      dead('boom', { finished_at: '2026-03-02T11:30:00Z' }),
      dead('too old', { finished_at: '2026-03-01T11:00:00Z' }),
    );
    const { said, text } = await page('/errors');
    expect(said).toContain('3 runs died in the last 24 hours, with 2 errors in one job.');
    expect(said.indexOf('is gone')).toBeLessThan(said.indexOf('boom'));
    expect(said).toContain('last in run 2');
    expect(said).not.toContain('too old');
    expect(text).toContain('message=user+%3Cn%3E+is+gone');
    expect((await page('/errors?span=7d')).said).toContain('too old');
  });

  it('shows what is failing and will be tried again', async () => {
    await addRuns(test, {
      job: 'mail',
      status: 'failed',
      attempts: 1,
      started_at: '2026-03-02T11:00:00Z',
      run_at: '2026-03-02T13:00:00Z',
      errors: JSON.stringify([error('flaky')]),
    });
    const { said, text } = await page('/errors?of=failing');
    expect(said).toContain('1 run waits for another attempt, after failing in the last 24 hours');
    expect(text).not.toContain('retry-all');
    const [, href = ''] = /href="(\/runs\?status=failed[^"]*)"/.exec(text) ?? [];
    expect((await page(href.replaceAll('&amp;', '&'))).text).toContain('id="run-1"');
  });
});
