// Dashboard: one schedule: its calendar on a real ledger, why each occurrence ran or did not, and what is done with it.
import { beforeEach, describe, expect, it } from 'vitest';
import { openSchedule, readCalendar } from '../../src/answers/schedules/read-schedule.js';
import type { WhyVerdict } from '../../src/answers/why/why.js';
import { defineJob, type JobSchedule } from '../../src/index.js';
import type { OccurrenceState } from '../../src/model/occurrences/occurrence.js';
import { openDatabase } from '../support/database.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';
import { openPages, textOf, titlesIn } from './page-text.js';

let fails = 0;
const report = defineJob({
  name: 'report',
  description: 'Prints the report.',
  retry: { maxAttempts: 2, base: '1s' },
  run: () => {
    if (fails-- > 0) throw new Error('no paper');
    return null;
  },
});
const follower = defineJob({ name: 'follower', schedule: { after: 'runtime' }, run: () => null });

const test = openForEach(() => reuseTestTock([report]));
const pages = openForEach(() => openPages(test.tock));
beforeEach(() => {
  fails = 0;
});

async function make(schedule: Partial<JobSchedule>, at: string): Promise<void> {
  await test.setClock(at);
  await test.tock.schedules.upsert({ name: 'runtime', job: 'report', ...schedule } as never);
}
async function tickAt(...clocks: string[]): Promise<void> {
  for (const clock of clocks) {
    await test.setClock(clock);
    await test.tock.tick();
  }
}
const row = async <Row = Record<string, unknown>>(text: string) => (await test.sql<Row>(text))[0];

it('and its runs say what the job does', async () => {
  await make({ cron: '0 * * * *' }, '2026-03-02T11:30:00Z');
  const id = await test.tock.enqueue(report);
  for (const path of ['/schedules/runtime', `/runs/${id}`])
    expect(textOf(await pages.html(path))).toContain('Does Prints the report.');
});

/** What the verdict of `why` says of an occurrence with this state. */
const VERDICTS: Readonly<Record<OccurrenceState, readonly WhyVerdict[]>> = {
  succeeded: ['succeeded'],
  retried: ['succeeded'],
  running: ['running'],
  queued: ['queued'],
  failed: ['failed'],
  dead: ['dead'],
  cancelled: ['cancelled'],
  skipped: ['skipped'],
  due: ['due'],
  late: ['due'],
  held: ['paused', 'broken', 'vanished', 'used-up'],
  lost: ['no-record'],
  edited: ['no-record'],
  pruned: ['pruned'],
  moved: ['upcoming'],
  excepted: ['upcoming'],
  upcoming: ['upcoming'],
};

/** A fortnight in which everything goes wrong once. */
async function messyDays(): Promise<void> {
  await make(
    { cron: '0 */4 * * *', timezone: 'America/New_York', catchup: 'latest' },
    '2026-10-29T12:00:30Z',
  );
  await tickAt('2026-10-29T16:00:00Z');
  fails = 1;
  await tickAt('2026-10-29T20:00:00Z', '2026-10-29T20:00:05Z');
  fails = 2;
  await tickAt('2026-10-30T00:00:00Z', '2026-10-30T00:00:05Z', '2026-10-30T00:00:30Z');
  // An outage, then the night of the change, and a pause.
  await tickAt(
    '2026-10-31T16:00:00Z',
    '2026-11-01T04:00:00Z',
    '2026-11-01T09:00:00Z',
    '2026-11-01T13:00:00Z',
  );
  await test.tock.schedules.pause('runtime', { note: 'inventory' });
  await test.setClock('2026-11-02T14:00:00Z');
  await test.tock.schedules.resume('runtime');
  await tickAt('2026-11-02T17:00:00Z');
  await test.sql(`delete from tock.job_runs_finished where scheduled_for = '2026-10-29T16:00:00Z'`);
  await test.sql(`delete from tock.job_runs_finished where scheduled_for = '2026-11-01T13:00:00Z'`);
  await test.sql(`delete from tock.job_occurrences where scheduled_for = '2026-11-01T13:00:00Z'`);
  await test.setClock('2026-11-02T21:30:00Z');
}

describe('the calendar', () => {
  it('agrees with `tock why` about each occurrence', { tags: 'check' }, async () => {
    await messyDays();
    const database = openDatabase({ connectionString: test.url });
    try {
      const opened = await openSchedule(database, 'runtime');
      if (!opened) throw new Error('it is there');
      const { occurrences } = await readCalendar(database, opened, { from: null, day: null });
      const seen = new Set(occurrences.map(({ state }) => state));
      for (const state of [
        'pruned',
        'retried',
        'dead',
        'skipped',
        'succeeded',
        'lost',
        'late',
        'upcoming',
      ] as const)
        expect(seen).toContain(state);
      for (const { at, state, runId } of occurrences) {
        const why = await test.tock.why('runtime', new Date(at));
        expect([new Date(at).toISOString(), VERDICTS[state]]).toEqual([
          new Date(at).toISOString(),
          expect.arrayContaining([why.verdict]),
        ]);
        expect(why.run?.id ?? null).toBe(runId);
      }
      const expected = await test.tock.why('runtime', '2026-11-01');
      expect(
        occurrences.filter(each => new Date(each.at - 4 * 3_600_000).toISOString().startsWith('2026-11-01')),
      ).toHaveLength(expected.occurrences.length);
    } finally {
      await database.close();
    }
  });

  it('has a mark for each, which tells and leads on', { tags: 'check' }, async () => {
    await messyDays();
    const html = await pages.html('/schedules/runtime');
    const titles = titlesIn(html, 'calendar wide');
    expect(titles).toContain('Thu 29 Oct 12:00: ran, record deleted');
    expect(titles.some(title => /^Thu 29 Oct 16:00: ran after retries, .*, 2 attempts$/.test(title))).toBe(
      true,
    );
    expect(titles.some(title => title.startsWith('Thu 29 Oct 20:00: dead'))).toBe(true);
    expect(titles).toContain('Fri 30 Oct 00:00: skipped: missed, and left out by the catch-up policy');
    expect(titles.some(title => /^Sat 31 Oct 12:00: ran.*stands for \d+ occurrences$/.test(title))).toBe(
      true,
    );
    expect(titles).toContain('Sun 1 Nov 08:00: missed, nothing on record');
    expect(titles).toContain('Sun 1 Nov 12:00: skipped: the schedule was paused');
    expect(titles).toContain('Mon 2 Nov 16:00: missed, no tick yet');
    expect(titles).toContain('Mon 2 Nov 20:00: to come');
    expect(titles).toContain('01 again');
    const [dead] = await test.sql<{ id: string }>(
      `select id from tock.job_runs_finished where status = 'dead'`,
    );
    expect(html).toContain(`href="/runs/${dead?.id}"`);
    expect(html).toContain('href="/schedules/runtime/why?at=2026-11-02T21%3A00%3A00.000Z&amp;from=2026-10-');
    expect(textOf(html)).toContain('Backfill the 1 missed …');
  });

  it('has the same as a table, and in the narrow picture', { tags: 'check' }, async () => {
    await messyDays();
    const html = await pages.html('/schedules/runtime');
    const table = textOf(/<details class="as-table">[\s\S]*?<\/details>/.exec(html)?.[0] ?? '');
    expect(table).toContain('Sun 1 Nov 08:00 2026-11-01 13:00:00 missed, nothing on record');
    expect(titlesIn(html, 'calendar narrow')).toEqual(titlesIn(html, 'calendar wide'));
  });

  it('leads to earlier and later days', async () => {
    await make({ cron: '0 3 * * *' }, '2026-03-10T12:00:00Z');
    const html = await pages.html('/schedules/runtime');
    expect(textOf(html)).toContain('28 Feb – 13 Mar 2026');
    expect(html).toContain('href="/schedules/runtime?from=2026-02-14"');
    expect(textOf(await pages.html('/schedules/runtime?from=2026-02-14'))).toContain('14 Feb – 27 Feb 2026');
    expect(textOf(await pages.html('/schedules/runtime?from=nonsense'))).toContain('28 Feb – 13 Mar 2026');
  });

  it('counts by the hour where each minute has one, and shows a day by the minute', {
    tags: 'check',
  }, async () => {
    await make({ every: '1m' }, '2026-03-10T10:00:00Z');
    await test.sql(`
      insert into tock.job_runs_finished (definition_id, job, status, scheduled_for, finished_at, attempts, idempotency_key)
      select d.id, 'report', case when n = 7 then 'dead' else 'succeeded' end, '2026-03-10T10:00Z'::timestamptz + n * interval '1 min', '2026-03-10T10:00Z'::timestamptz + n * interval '1 min', 1, 'k'
      from tock.job_definitions d, generate_series(1, 119) n where d.name = 'runtime'`);
    await test.sql(`update tock.job_definitions set cursor = '2026-03-10T11:59Z'`);
    await test.setClock('2026-03-10T12:00:30Z');
    const html = await pages.html('/schedules/runtime');
    const titles = titlesIn(html, 'calendar wide');
    expect(titles).toContain('58 ran, 1 dead, 1 missed, nothing on record');
    expect(titles).toContain('60 ran');
    expect(titles).toContain('1 due now, 59 to come');
    expect(html).toContain('href="/schedules/runtime?day=2026-03-10"');
    const day = titlesIn(await pages.html('/schedules/runtime?day=2026-03-10'), 'calendar only');
    expect(day).toContain('Tue 10 Mar 10:07: dead, 1 attempts'.replace(', 1 attempts', ''));
    expect(day).toContain('Tue 10 Mar 11:59: ran');
    expect(day).toContain('Tue 10 Mar 12:00: due now');
  });

  it('shows months for what is rare, and that there is nothing for what runs by hand', async () => {
    await make({ cron: '0 3 1 * *' }, '2026-03-10T12:00:00Z');
    expect(textOf(await pages.html('/schedules/runtime'))).toContain('1 Mar 2025 – 31 May 2026');
    await test.tock.register();
    expect(textOf(await pages.html('/schedules/report'))).toContain('It has no occurrences of its own');
  });

  it('shows a schedule that is over where it was', async () => {
    await make({ every: '1h', endAt: '2026-03-11T00:00:00Z' }, '2026-03-10T12:00:00Z');
    await test.setClock('2026-09-01T12:00:00Z');
    expect(textOf(await pages.html('/schedules/runtime'))).toContain('1 Mar – 14 Mar 2026');
    await make({ at: '2026-12-24T12:00:00Z' }, '2026-03-10T12:00:00Z');
    expect(titlesIn(await pages.html('/schedules/runtime'), 'calendar wide')).toContain(
      'Thu 24 Dec 12:00: to come',
    );
  });

  it('of a chain has its runs, and what its parents have yet to come', { tags: 'check' }, async () => {
    await make({ cron: '0 */6 * * *' }, '2026-03-10T05:00:00Z');
    const chained = test.another({ jobs: [report, follower] });
    await chained.tick();
    await test.setClock('2026-03-10T06:00:00Z');
    await chained.tick();
    await chained.tick();
    const html = await pages.html('/schedules/follower');
    const titles = titlesIn(html, 'calendar wide');
    expect(titles.some(title => title.startsWith('Tue 10 Mar 06:00: ran'))).toBe(true);
    expect(titles).toContain('Tue 10 Mar 12:00: to come');
    await test.sql(
      `update tock.job_definitions set created_at = '2026-03-09T00:00Z' where name = 'follower'`,
    );
    await test.setClock('2026-03-10T12:00:10Z');
    await test.sql(`
      insert into tock.job_runs_live (definition_id, job, status, scheduled_for, run_at, trigger) select id, job, 'queued', '2026-03-10T12:00Z', tock.now(), 'cron' from tock.job_definitions where name = 'runtime'`);
    const waiting = titlesIn(await pages.html('/schedules/follower'), 'calendar wide');
    expect(waiting).toContain('Tue 10 Mar 12:00: waiting: it waits for runtime');
    expect(textOf(html)).toContain('After runtime. If one is still live');
    expect(textOf(await pages.html('/schedules/runtime'))).toContain('Followed by follower');
  });
});

describe('the page', () => {
  it('says in plain words what the schedule does', async () => {
    await make(
      {
        cron: '30 2 * * *',
        timezone: 'America/New_York',
        overlap: 'buffer_one',
        catchup: 'all',
        jitter: '10m',
        window: '01:00-05:00',
      },
      '2026-12-01T12:00:00Z',
    );
    const text = textOf(await pages.html('/schedules/runtime'));
    expect(text).toContain('At 02:30, New York time.');
    expect(text).toContain('If one is still live, one more may wait for it, and further ones are skipped.');
    expect(text).toContain('After an outage, every one that was missed in the last 1d is caught up.');
    expect(text).toContain('Each starts up to 10m later, by a delay that is always the same.');
    expect(text).toContain(
      'Runs start only from 01:00 to 05:00 (America/New_York); others wait for the opening.',
    );
    expect(text).toContain('On 14 March 2027, when 02:30 does not exist, it runs at 03:30.');
  });

  it('tells how long runs take', { tags: 'check' }, async () => {
    await messyDays();
    const html = await pages.html('/schedules/runtime');
    expect(textOf(html)).toMatch(/Half take at most \S+, 95 of 100 at most \S+: the last \d+ runs/);
    expect(titlesIn(html, 'durations').some(title => title.startsWith('Thu 29 Oct 20:00: dead, '))).toBe(
      true,
    );
  });

  it('shows a payload only to those who may see it', async () => {
    await make({ cron: '0 3 * * *', payload: { secret: 'hunter2' } }, '2026-03-10T12:00:00Z');
    const reader = openPages(test.tock, 'admin', false);
    expect(await pages.html('/schedules/runtime')).toContain('hunter2');
    expect(await reader.html('/schedules/runtime')).not.toContain('hunter2');
    expect(await reader.html('/schedules/runtime/edit')).not.toContain('hunter2');
    await reader.close();
  });

  it('is 404 for a schedule that is not there', async () => {
    for (const path of ['', '/why?at=2026-03-01', '/edit', '/backfill'])
      expect((await pages.get(`/schedules/nobody${path}`)).status).toBe(404);
  });
});

describe('why', () => {
  it('is answered in the page, with the occurrence marked', { tags: 'check' }, async () => {
    await messyDays();
    const html = await pages.html('/schedules/runtime/why?at=2026-11-01T13:00:00Z');
    const text = textOf(html);
    expect(text).toContain('Why, 2026-11-01 08:00');
    expect(text).toMatch(/Nothing is on record, though the cursor is past it/);
    expect(html).toContain('class="chosen"');
    expect(text).not.toContain('(tock ');
  });

  it('is answered for a whole day, and for a time that does not exist', async () => {
    await make({ cron: '30 2 * * *', timezone: 'America/New_York', dst: 'skip' }, '2027-03-10T12:00:00Z');
    expect(textOf(await pages.html('/schedules/runtime/why?at=2027-03-13'))).toContain('to come');
    const text = textOf(await pages.html('/schedules/runtime/why?at=2027-03-14T02:30'));
    expect(text).toContain('does not exist in America/New_York');
    expect((await pages.get('/schedules/runtime/why?at=soon')).status).toBe(400);
    expect((await pages.get('/schedules/runtime/why')).status).toBe(303);
  });
});

describe('an action', () => {
  beforeEach(async () => {
    await make(
      { cron: '0 * * * *', payload: { shop: 7 }, priority: 3, queue: 'slow' } as never,
      '2026-03-10T12:30:00Z',
    );
  });

  it('runs it now, as the schedule would', async () => {
    const done = await pages.post('/schedules/runtime/run');
    const made = await row<{ id: string }>(
      'select id, job, queue, priority, trigger, payload, scheduled_for from tock.job_runs_live',
    );
    expect(made).toMatchObject({
      job: 'report',
      queue: 'slow',
      priority: 3,
      trigger: 'manual',
      payload: { shop: 7 },
      scheduled_for: null,
    });
    expect([done.status, done.headers.get('location')]).toEqual([303, `/runs/${made?.id}`]);
  });

  it('pauses it with a reason, and resumes it', async () => {
    await pages.post('/schedules/runtime/pause', { note: '  stock-taking ' });
    expect(
      await row(
        `select pause_reason, paused_at is not null as paused from tock.job_definitions where name = 'runtime'`,
      ),
    ).toEqual({
      pause_reason: 'stock-taking',
      paused: true,
    });
    expect(textOf(await pages.html('/schedules/runtime'))).toContain(
      'Paused since Tue 10 Mar 12:30: stock-taking',
    );
    await test.setClock('2026-03-10T14:30:00Z');
    const done = await pages.post('/schedules/runtime/resume');
    expect(decodeURIComponent(done.headers.get('set-cookie') ?? '')).toContain(
      '2 occurrences of the pause did not run',
    );
    expect(await row(`select paused_at from tock.job_definitions where name = 'runtime'`)).toEqual({
      paused_at: null,
    });
  });

  it('removes it, if it is still the version that the reader saw', async () => {
    const removed = async () =>
      (
        await row<{ is: boolean }>(
          `select vanished_at is not null as is from tock.job_definitions where name = 'runtime'`,
        )
      )?.is;
    expect((await pages.post('/schedules/runtime/remove', { version: '7' })).status).toBe(409);
    expect((await pages.post('/schedules/runtime/remove')).status).toBe(400);
    expect(await removed()).toBe(false);
    expect((await pages.post('/schedules/runtime/remove', { version: '1' })).status).toBe(303);
    expect(await removed()).toBe(true);
    expect(textOf(await pages.html('/schedules/runtime'))).toContain('Removed since');
  });

  it('is refused to those who may not', async () => {
    const viewer = openPages(test.tock, 'view');
    for (const act of ['run', 'pause', 'resume', 'remove', 'edit', 'backfill'])
      expect((await viewer.post(`/schedules/runtime/${act}`, { version: '1' })).status).toBe(403);
    expect(await viewer.html('/schedules/runtime')).not.toContain('method="post"');
    await viewer.close();
    expect(await row('select count(*)::int as runs from tock.job_runs')).toEqual({ runs: 0 });
  });

  it('is never done by a link', async () => {
    for (const act of ['run', 'pause', 'resume', 'remove'])
      expect((await pages.get(`/schedules/runtime/${act}`)).status).toBe(405);
  });
});

describe('a backfill', () => {
  beforeEach(async () => {
    await make({ cron: '0 * * * *', timezone: 'Europe/Berlin' }, '2026-03-10T06:30:00Z');
    await tickAt('2026-03-10T07:00:00Z');
    await test.tock.schedules.pause('runtime');
    await test.setClock('2026-03-10T12:30:00Z');
    await test.tock.schedules.resume('runtime');
  });
  const made = async () =>
    (await row<{ count: number }>(`select count(*)::int from tock.job_runs_live where trigger = 'backfill'`))
      ?.count;

  it('shows first what it would make', { tags: 'check' }, async () => {
    const text = textOf(
      await pages.html('/schedules/runtime/backfill?from=2026-03-10T08:00&to=2026-03-10T12:00'),
    );
    expect(text).toContain('3 runs to make');
    expect(text).toContain('4 occurrences in this span, of which 1 has had a run');
    expect(text).toContain('Tue 10 Mar 09:00 · skipped: the schedule was paused');
    expect(text).not.toContain('Tue 10 Mar 08:00 ·');
    expect(text).toContain('Make 3 runs');
    expect(await made()).toBe(0);
  });

  it('makes them, and no one twice', { tags: 'check' }, async () => {
    const span = { from: '2026-03-10T07:00:00.000Z', to: '2026-03-10T11:00:00.000Z' };
    for (let time = 0; time < 2; time++)
      expect((await pages.post('/schedules/runtime/backfill', span)).status).toBe(303);
    expect(await made()).toBe(3);
    const text = textOf(await pages.html(`/schedules/runtime/backfill?from=${span.from}&to=${span.to}`));
    expect(text).toContain('Nothing to make');
  });

  it('says what is wrong with a span', { tags: 'check' }, async () => {
    const wrong = async (from: string, to: string) => {
      const answer = await pages.get(`/schedules/runtime/backfill?from=${from}&to=${to}`);
      expect(answer.status).toBe(400);
      return textOf(await answer.text());
    };
    expect(await wrong('soon', '2026-03-10')).toContain('"soon" is not a time');
    expect(await wrong('2026-03-10', '2026-03-09')).toContain('is empty');
    expect(await wrong('2026-03-09', '2027-03-10')).toContain('is in the future');
    expect(
      (await pages.post('/schedules/runtime/backfill', { from: '2026-03-09', to: '2027-03-10' })).status,
    ).toBe(400);
  });
});

describe('an edit', () => {
  const EDITED = {
    kind: 'cron',
    when: '15 4 * * *',
    timezone: 'Asia/Tokyo',
    job: 'report',
    overlap: 'allow_all',
    catchup: 'all',
    catchupWindow: '2h',
    dst: 'once',
    jitter: '90s',
    exclude: '2026-12-25\n* * 24 12 *',
    payload: '{"shop": 8}',
    maxAttempts: '4',
    version: '1',
  };
  beforeEach(async () => {
    await make(
      {
        cron: '0 * * * *',
        payload: { shop: 7 },
        jitter: '1m30s',
        startDeadline: '5m',
      },
      '2026-03-10T12:30:00Z',
    );
  });
  const stored = async () =>
    await row(
      `select cron, timezone, overlap, catchup, catchup_window_ms, jitter_ms, exclude, payload, max_attempts, start_deadline_ms, version from tock.job_definitions where name = 'runtime'`,
    );

  it('changes nothing where the form is sent as it is', async () => {
    const html = await pages.html('/schedules/runtime/edit');
    const fields = fieldsIn(html);
    expect(fields).toMatchObject({
      kind: 'cron',
      when: '0 * * * *',
      jitter: '1m30s',
      startDeadline: '5m',
      version: '1',
    });
    const before = await stored();
    expect((await pages.post('/schedules/runtime/edit', fields)).status).toBe(303);
    expect(await stored()).toEqual(before);
  });

  it('is written as the form has it', async () => {
    expect((await pages.post('/schedules/runtime/edit', EDITED)).status).toBe(303);
    expect(await stored()).toEqual({
      cron: '15 4 * * *',
      timezone: 'Asia/Tokyo',
      overlap: 'allow_all',
      catchup: 'all',
      catchup_window_ms: '7200000',
      jitter_ms: '90000',
      exclude: ['2026-12-25', { cron: '* * 24 12 *' }],
      payload: { shop: 8 },
      max_attempts: 4,
      start_deadline_ms: null,
      version: 2,
    });
  });

  it('keeps what is expected, and tells by when', { tags: 'check' }, async () => {
    await test.tock.schedules.upsert({
      name: 'watched',
      job: 'report',
      cron: '0 * * * *',
      expect: { within: '10m', maxDuration: '3m' },
    });
    const expected = `select expect_within_ms, max_duration_ms, version from tock.job_definitions where name = 'watched'`;
    const fields = fieldsIn(await pages.html('/schedules/watched/edit'));
    expect(fields).toMatchObject({ within: '10m', maxDuration: '3m' });
    await pages.post('/schedules/watched/edit', { ...fields, when: '5 * * * *' });
    expect(await row(expected)).toEqual({
      expect_within_ms: '600000',
      max_duration_ms: '180000',
      version: 2,
    });
    expect(textOf(await pages.html('/schedules/watched'))).toContain(
      'Expected by 13:15 UTC Takes at most 3m',
    );
    expect(await pages.html('/schedules')).toContain('13:05 UTC · expected by 13:15 UTC"');
    await test.setClock('2026-03-10T13:16:00Z');
    expect(textOf(await pages.html('/schedules/watched'))).toContain('Expected by late: 13:15 UTC');
  });

  it('keeps the payload of those who may not see it', async () => {
    const reader = openPages(test.tock, 'admin', false);
    const { payload: _, ...fields } = EDITED;
    await reader.post('/schedules/runtime/edit', { ...fields, payload: '{"shop": 666}' });
    await reader.close();
    expect(await stored()).toMatchObject({ payload: { shop: 7 }, version: 2 });
  });

  it('is refused after somebody else’s, and keeps what was written', async () => {
    await test.tock.schedules.upsert({ name: 'runtime', job: 'report', cron: '1 * * * *' });
    const refused = await pages.post('/schedules/runtime/edit', EDITED);
    const html = await refused.text();
    expect(refused.status).toBe(409);
    expect(textOf(html)).toContain('Somebody else has edited it');
    expect(fieldsIn(html)).toMatchObject({ when: '15 4 * * *', version: '1' });
    expect(await stored()).toMatchObject({ cron: '1 * * * *', version: 2 });
  });

  it('says what is wrong, and keeps what was written', async () => {
    for (const [field, value, message] of [
      ['when', '61 * * * *', '61'],
      ['payload', '{', 'the payload is not JSON'],
      ['priority', 'high', 'priority is not a whole number'],
      ['timezone', 'Mars/Phobos', 'Mars/Phobos'],
      ['job', 'nobody', 'nobody'],
    ] as const) {
      const answer = await pages.post('/schedules/runtime/edit', { ...EDITED, [field]: value });
      const html = await answer.text();
      expect([field, answer.status]).toEqual([field, 400]);
      expect(textOf(html)).toContain(message);
      expect(fieldsIn(html)['timezone']).toBe(field === 'timezone' ? value : 'Asia/Tokyo');
    }
    expect(await stored()).toMatchObject({ version: 1 });
  });

  it('turns it into a chain, an interval or a single time', async () => {
    await test.tock.register();
    const send = async (fields: Record<string, string>, version: number) => {
      const {
        dst: _dst,
        catchup: _catchup,
        jitter: _jitter,
        exclude: _exclude,
        catchupWindow: _window,
        ...rest
      } = EDITED;
      const sent = await pages.post('/schedules/runtime/edit', {
        ...rest,
        ...fields,
        version: String(version),
      });
      expect(sent.status).toBe(303);
      return await row(`select cron, every_ms, at, after from tock.job_definitions where name = 'runtime'`);
    };
    expect(await send({ kind: 'every', when: '10m', phase: '1m' }, 1)).toMatchObject({
      cron: null,
      every_ms: '600000',
    });
    expect(await send({ kind: 'at', when: '2026-12-24T12:00:00Z' }, 2)).toMatchObject({
      at: '2026-12-24T12:00:00.000Z',
    });
    expect(await send({ kind: 'after', when: 'report', require: 'any', on: 'completion' }, 3)).toMatchObject({
      after: { definitions: ['report'], require: 'any', on: 'completion' },
    });
  });

  it('makes a schedule too, and none of a name that is taken', { tags: 'check' }, async () => {
    const form = { ...EDITED, name: 'tenant-7' };
    expect((await pages.post('/new-schedule', form)).headers.get('location')).toBe('/schedules/tenant-7');
    const made = `select name, job, cron, payload, max_attempts, version, origin from tock.job_definitions where name = 'tenant-7'`;
    expect(await row(made)).toMatchObject({
      job: 'report',
      cron: '15 4 * * *',
      payload: { shop: 8 },
      max_attempts: 4,
      origin: 'runtime',
    });
    const taken = await pages.post('/new-schedule', { ...form, when: '1 1 1 1 *' });
    expect([
      taken.status,
      textOf(await taken.text()).includes('There is already a schedule tenant-7'),
    ]).toEqual([409, true]);
    expect((await pages.post('/new-schedule', { ...form, name: '../etc' })).status).toBe(400);
    expect(await row(made)).toMatchObject({ cron: '15 4 * * *', version: 1 });
    expect(textOf(await pages.html('/new-schedule'))).toContain('Create the schedule');
  });

  it('of a new one has the job’s own queue, priority and attempts where the form has none', async () => {
    await pages.post('/new-schedule', {
      kind: 'every',
      when: '1h',
      job: 'report',
      name: 'plain',
      overlap: 'skip',
    });
    expect(
      await row(
        `select queue, priority, max_attempts, payload, catchup from tock.job_definitions where name = 'plain'`,
      ),
    ).toEqual({
      queue: 'default',
      priority: 0,
      max_attempts: 2,
      payload: {},
      catchup: 'latest',
    });
  });

  it('is not offered for what code defines', async () => {
    const inCode = test.another({
      jobs: [report, defineJob({ name: 'coded', schedule: { every: '1h' }, run: () => null })],
    });
    await inCode.register();
    expect(textOf(await pages.html('/schedules/coded/edit'))).toContain('This schedule is defined in code');
    expect(textOf(await pages.html('/schedules/coded'))).not.toContain('Edit …');
  });
});

/** The fields of a page's form, as a browser would send them. */
function fieldsIn(html: string): Record<string, string> {
  const decode = (text: string) => textOf(`<p>${text}</p>`);
  const form = /<form method="post" action="[^"]*\/edit"[\s\S]*?<\/form>/.exec(html)?.[0] ?? '';
  const found: Record<string, string> = {};
  for (const [tag] of form.matchAll(/<input[^>]*>/g)) {
    const name = /name="([^"]*)"/.exec(tag)?.[1];
    if (name !== undefined) found[name] = decode(/value="([^"]*)"/.exec(tag)?.[1] ?? '');
  }
  for (const [, name = '', options = ''] of form.matchAll(
    /<select name="([^"]*)"[^>]*>([\s\S]*?)<\/select>/g,
  ))
    found[name] = /value="([^"]*)" selected/.exec(options)?.[1] ?? /value="([^"]*)"/.exec(options)?.[1] ?? '';
  for (const [, name = '', text = ''] of form.matchAll(
    /<textarea name="([^"]*)"[^>]*>([\s\S]*?)<\/textarea>/g,
  ))
    found[name] = decode(text);
  return found;
}
