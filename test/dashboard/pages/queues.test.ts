// The pages Queues and one queue: what they say, and what each button writes.
import { describe, expect, it } from 'vitest';
import { defineJob, defineQueue } from '../../../src/index.js';
import { openOnce } from '../../support/open.js';
import { buttonsOf, openPageKit } from './operate-kit.js';

const NOW = '2026-03-08T12:00:00Z';
const jobs = [
  defineJob({ name: 'plain', run: () => null }),
  defineJob({ name: 'single', concurrency: { limit: 1 }, run: () => null }),
];

const kit = openOnce(
  () => openPageKit(jobs),
  ({ setClock }) => setClock(NOW),
);

const worker = '11111111-1111-4111-8111-111111111111';
/** Runs of a queue in a state, due some minutes ago (or later, if negative). */
const runs = async (queue: string, status: string, count: number, minutes = 0, job = 'plain') => {
  const rows = await kit.sql<{ id: string }>(
    `insert into tock.job_runs_live (job, queue, status, run_at, started_at, locked_by, locked_until, slot_keys, slot_limits)
     select $4::text, $1, $2, tock.now() - $3 * interval '1 minute', case when $2 = 'running' then tock.now() - interval '3 minutes' end,
       case when $2 = 'running' then $6::uuid end, case when $2 = 'running' then tock.now() + interval '1 minute' end,
       case when $4 = 'single' then array['job:single'] end, case when $4 = 'single' then array[1] end
     from generate_series(1, $5::int) returning id::text as id`,
    [queue, status, minutes, job, count, worker],
  );
  return rows.map(({ id }) => id);
};
const queue = async (name: string) => (await kit.tock.queues.list()).find(each => each.name === name);
const audited = async () => await kit.tock.audit.list({ limit: 1 });

describe('queues', () => {
  it('says what to do where there are none', async () => {
    const { status, text } = await kit.get('/queues');
    expect(status).toBe(200);
    expect(text).toContain('No queue has runs, limits or a pause');
    expect(text).toContain(`queue: 'reports'`);
    expect(text).toContain('No run blocks another');
  });

  it('shows what waits and since when, what runs and comes later, and why nothing starts', async () => {
    await runs('mails', 'queued', 3, 5);
    await runs('mails', 'failed', 1, 90);
    await runs('mails', 'queued', 2, -60);
    await runs('mails', 'running', 2, 10);
    await kit.tock.queues.set('mails', { concurrency: 2, rate: { count: 100, per: '1m' } });
    const [held = ''] = await runs('reports', 'running', 1);
    await kit.tock.queues.set('reports', { concurrency: 1, window: '09:00-17:00' });
    await kit.sql(`insert into tock.job_slots values ('queue:reports', 1, $1, 1)`, [held]);
    await kit.tock.queues.set('nights', { window: '23:00-06:00', timezone: 'Europe/Berlin' });
    await kit.tock.queues.set('nothing', { concurrency: 0 });
    await kit.tock.queues.pause('stock', { note: 'stocktaking' });
    await runs('stock', 'queued', 1, 1);
    const { text } = await kit.get('/queues');
    expect(text).toContain(
      'mails no worker none claims from it 4 oldest 1h 30m 2 0 of 2 slots 2 2 at once · 100/1m',
    );
    expect(text).toContain('reports full 0 1 1 of 1 slots 0 1 at once · 09:00-17:00 UTC');
    expect(text).toContain('nights outside its window opens in 10h 0 0 0 23:00-06:00 Europe/Berlin');
    expect(text).toContain('nothing none may start its concurrency is 0 0');
    expect(text).toContain('stock paused now : stocktaking 1 oldest 1m 0 0 none Resume');
    expect(text).toContain('stock is paused, and 1 run waits in it stocktaking');
  });

  it('says how many wait at least, where they are too many to count', { tags: 'check' }, async () => {
    await runs('stock', 'queued', 5002, 1);
    await kit.tock.queues.pause('stock');
    const { text } = await kit.get('/queues');
    expect(text).toContain('stock is paused, and 5 000+ runs wait in it');
    expect(text).toContain('5 000+ oldest 1m');
  });

  it('shows who blocks whom, with links to the runs', { tags: 'check' }, async () => {
    const [holder = ''] = await runs('mails', 'running', 1, 1, 'single');
    await kit.sql(
      `insert into tock.workers (id, kind, host, pid, capacity) values ($1, 'daemon', 'web-2', 77, 10)`,
      [worker],
    );
    await kit.sql(`insert into tock.job_slots values ('job:single', 1, $1, 1)`, [holder]);
    const waiting = await runs('mails', 'queued', 3, 20, 'single');
    await kit.sql(`update tock.job_runs_live set blocked_on = 'job:single' where id = any($1)`, [waiting]);
    const { text, html } = await kit.get('/queues');
    expect(text).toContain(
      `Job single 1 of 1 slots held run ${holder} of single started 3m ago on web-2 pid 77 3 oldest 20m run ${waiting[0]} of single in mails`,
    );
    expect(html).toContain(`href="/tock/runs/${holder}"`);
    expect(text).toContain('+3 blocked');
    await kit.sql(`delete from tock.job_slots where concurrency_key = 'job:single'`);
    expect((await kit.get('/queues')).text).toContain('none: the next claim or tick lets one start');
  });

  it('counts no further than a bound, and shows names that no queue should have', {
    tags: 'check',
  }, async () => {
    await kit.sql(
      `insert into tock.job_runs_live (job, queue) select 'plain', '<b>x</b>' from generate_series(1, 5100)`,
    );
    const { text, html } = await kit.get('/queues');
    expect(text).toContain('<b>x</b> open 4 000+');
    expect(html).not.toContain('<b>x</b>');
    expect((await kit.get(`/queues/${encodeURIComponent('<b>x</b>')}`)).text).toContain('<b>x</b> open');
    await kit.sql(`delete from tock.job_runs_live where queue = '<b>x</b>'`);
  });

  it('opens a queue by its name, and refuses what is none', async () => {
    expect((await kit.get('/queues?name=reports')).location).toBe('/tock/queues/reports');
    expect((await kit.get('/queues?name=a%20b')).status).toBe(400);
    expect((await kit.get('/queues?after=%00')).status).toBe(400);
    expect((await kit.get(`/queues/${'x'.repeat(201)}`)).status).toBe(400);
  });

  it('lists a page at a time', async () => {
    await kit.sql(
      `insert into tock.job_queues (name) select 'z' || lpad(i::text, 3, '0') from generate_series(1, 120) i`,
    );
    const first = await kit.get('/queues');
    const [, after = ''] = /href="\/tock\/queues\?after=([^"]+)"/.exec(first.html) ?? [];
    expect(first.text).not.toContain('z060');
    expect((await kit.get(`/queues?after=${after}`)).text).toContain('z060');
    await kit.sql(`delete from tock.job_queues where name like 'z%'`);
  });
});

describe('one queue', () => {
  it('shows its slots, what was done to it, and by whom it was paused', async () => {
    await kit.tock
      .as({ name: 'ben', via: 'cli', role: 'operate', seesPayloads: false })
      .queues.pause('reports', { note: 'ink is out' });
    const { text } = await kit.get('/queues/reports');
    expect(text).toContain('Paused now by ben: ink is out. None of its runs starts until it is resumed');
    expect(text).toContain('Slots 1 of 1 held');
    expect(text).toContain('ben paused the queue reports ink is out');
    expect(text).toContain(
      'set limits of the queue reports window none → 09:00-17:00 · concurrency none → 1',
    );
  });

  it('can be prepared before it has runs', async () => {
    const { status, text } = await kit.get('/queues/coming');
    expect(status).toBe(200);
    expect(text).toContain('No pause or change of limits is on record');
  });
});

describe('buttons', () => {
  it.each([
    ['view', []],
    ['operate', ['Pause buttons all the same']],
    ['admin', ['Pause buttons all the same', 'Set limits']],
  ] as const)('for the role %s are %j', async (role, expected) => {
    expect(buttonsOf(await kit.get('/queues/buttons', role))).toEqual(expected);
  });

  it('pause, with a reason', async () => {
    const { text } = await kit.post('/queues/buttons/pause', { note: ' <i>fire</i> ' }, 'operate');
    expect(text).toContain('buttons is paused');
    expect(text).toContain('<i>fire</i>');
    expect(await queue('buttons')).toMatchObject({ pausedAt: new Date(NOW), pauseReason: '<i>fire</i>' });
    expect(await audited()).toMatchObject([
      { action: 'queues.pause', operator: 'mia', via: 'page', targets: ['buttons'] },
    ]);
  });

  it('resume, after a page that says how many start and how old the oldest is', {
    tags: 'check',
  }, async () => {
    await runs('buttons', 'queued', 1200, 9 * 24 * 60);
    const list = await kit.get('/queues', 'operate');
    expect(list.html).toContain('href="/tock/queues/buttons/resume"');
    expect(list.html).not.toContain('action="/tock/queues/buttons/resume"');
    const asked = await kit.get('/queues/buttons/resume', 'operate');
    expect(asked.text).toContain(
      '1 200 runs start as soon as workers are free; the oldest has waited for 9d.',
    );
    expect(buttonsOf(asked)).toEqual(['Resume buttons']);
    expect(asked.text).toContain('Keep it paused');
    expect((await queue('buttons'))?.pausedAt).not.toBeNull();
    const { text } = await kit.post('/queues/buttons/resume', {}, 'operate');
    expect(text).toContain('buttons is resumed: its runs start');
    expect((await queue('buttons'))?.pausedAt).toBeNull();
    expect(await audited()).toMatchObject([
      { action: 'queues.resume', operator: 'mia', details: { waiting: 1200 } },
    ]);
    expect((await kit.get('/queues/buttons/resume')).text).toContain('buttons is not paused');
  });

  it('count up to 10,000 before it is resumed', { tags: 'check' }, async () => {
    await kit.tock.queues.pause('buttons');
    await runs('buttons', 'queued', 8850, 1);
    expect((await kit.get('/queues/buttons/resume')).text).toContain('10 000+ runs start');
  });

  it('resume at a rate, which the page shows and lifts by a button', { tags: 'check' }, async () => {
    const { text } = await kit.post('/queues/buttons/resume', { count: '5', per: 's' }, 'operate');
    expect(text).toContain(
      'buttons is resumed: its runs start. At most 5 per second start, until the rate is changed: what waits takes more than 33m 20s.',
    );
    expect(await queue('buttons')).toMatchObject({ pausedAt: null, rate: { count: 5, perMs: 1000 } });
    const page = await kit.get('/queues/buttons');
    expect(page.text).toContain(
      'At most 5 per second start. The queue keeps this rate until it is changed, for new runs too. Lift the rate …',
    );
    expect(page.html).toContain('value="Lift the rate of buttons"');
    const lifted = await kit.post('/queues/buttons/limits', { 'was-rate': '5/1s', rate: '' });
    expect(lifted.text).toContain('buttons has new limits');
    expect(await queue('buttons')).toMatchObject({ rate: null, concurrency: null, window: null });
  });

  it('keep the rate that a queue has, and do not ask for another', { tags: 'check' }, async () => {
    await kit.tock.queues.set('buttons', { rate: { count: 100, per: '1m' } });
    await kit.tock.queues.pause('buttons');
    const asked = await kit.get('/queues/buttons/resume', 'operate');
    expect(asked.text).toContain('Its rate holds: at most 100 per minute start.');
    expect(asked.html).not.toContain('name="count"');
    const refused = await kit.post('/queues/buttons/resume', { count: '500', per: 's' }, 'operate');
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('has a rate of 100/1m, which holds afterwards too');
    expect(await queue('buttons')).toMatchObject({ pausedAt: expect.any(Date), rate: { count: 100 } });
    await kit.tock.queues.set('buttons', { rate: null });
  });

  it.each([
    [{ count: 'many', per: 's' }, 'is not starts per period'],
    [{ count: '0', per: 's' }, 'rate.count 0 is not a whole number from 1'],
    [{ count: '5', per: 'century' }, 'is not a duration'],
  ])(
    'refuse the rate %j, keep the pause and what was entered',
    { tags: 'check' },
    async (entered, message) => {
      const answer = await kit.post('/queues/buttons/resume', entered);
      expect(answer.status).toBe(400);
      expect(answer.text).toContain(message);
      expect(answer.html).toContain(`value="${entered.count}"`);
      expect((await queue('buttons'))?.pausedAt).not.toBeNull();
      expect((await queue('buttons'))?.rate).toBeNull();
    },
  );

  it('say that nothing waits where nothing does', async () => {
    await kit.sql(`delete from tock.job_runs_live where queue = 'buttons'`);
    expect((await kit.get('/queues/buttons/resume')).text).toContain('No run waits in it now.');
    await kit.tock.queues.resume('buttons');
  });

  const none = { 'was-concurrency': '', 'was-rate': '', 'was-window': '', 'was-timezone': 'UTC' };
  it('resume a queue that a handler has closed, too', async () => {
    const close = `closed_until = tock.now() + interval '5 minutes'`;
    await kit.sql(`update tock.job_queues set paused_at = null, ${close} where name = 'buttons'`);
    expect((await kit.get('/queues', 'operate')).html).toContain('href="/tock/queues/buttons/resume"');
    expect((await kit.get('/queues/buttons', 'operate')).html).toContain('/tock/queues/buttons/resume');
    const asked = await kit.get('/queues/buttons/resume', 'operate');
    expect(asked.text).toContain('A handler has closed it: it opens in 5m by itself.');
    expect(asked.text).toContain('Keep it closed');
    const { text } = await kit.post('/queues/buttons/resume', {}, 'operate');
    expect(text).toContain('buttons is resumed: its runs start.');
    expect(await queue('buttons')).toMatchObject({ closedUntil: null });
  });

  it('set limits, and only those that were changed in the form', async () => {
    const entered = { concurrency: '3', rate: '100/1m', window: '', timezone: 'UTC' };
    // Somebody else sets a window meanwhile.
    await kit.tock.queues.set('buttons', { window: '23:00-06:00' });
    const { text } = await kit.post('/queues/buttons/limits', { ...none, ...entered });
    expect(text).toContain('buttons has new limits');
    expect(await queue('buttons')).toMatchObject({
      concurrency: 3,
      rate: { count: 100, perMs: 60_000 },
      window: '23:00-06:00',
      timezone: 'UTC',
    });
    expect(await audited()).toMatchObject([
      { action: 'queues.set', operator: 'mia', details: { changes: { concurrency: { from: null, to: 3 } } } },
    ]);
  });

  it('set nothing where nothing was changed', async () => {
    const [before] = await audited();
    const same = { 'was-concurrency': '3', concurrency: '3', 'was-timezone': 'UTC', timezone: 'UTC' };
    expect((await kit.post('/queues/buttons/limits', same)).text).toContain('are as they were');
    expect(await audited()).toEqual([before]);
  });

  it.each([
    [{ concurrency: 'many' }, 'concurrency "many" is not a whole number'],
    [{ concurrency: '9999999' }, 'concurrency 9999999 is not a whole number from 0 to 1000000'],
    [{ rate: '100' }, 'write it as 100/1m'],
    [{ rate: '100/soon' }, 'is not a duration'],
    [{ window: '25:00-26:00' }, 'write it as 23:00-06:00'],
    [{ timezone: 'Mars/Phobos' }, 'Mars/Phobos'],
  ])('refuse %j, say why, and keep what was entered', { tags: 'check' }, async (entered, message) => {
    const before = await queue('buttons');
    const answer = await kit.post('/queues/buttons/limits', { ...none, timezone: 'UTC', ...entered });
    expect(answer.status).toBe(400);
    expect(answer.text).toContain(message);
    expect(answer.html).toContain(`value="${Object.values(entered)[0]}"`);
    expect(await queue('buttons')).toEqual(before);
  });

  it('remove all limits, after a question', async () => {
    const page = await kit.get('/queues/buttons');
    expect(page.html).toContain('value="Remove all limits of buttons"');
    expect(page.html).toContain(
      'Its limits are: 3 at once · 100/1m · 23:00-06:00 UTC. No run waits in it now.',
    );
    const { text } = await kit.post('/queues/buttons/remove');
    expect(text).toContain('buttons has no limits and no pause any more');
    expect(await queue('buttons')).toBeUndefined();
    expect(await audited()).toMatchObject([{ action: 'queues.remove' }]);
  });
});

it('a relayed queue says to whom, whether a relay is at work, and what became of what was handed off', async () => {
  await kit.tock.queues.set('relayed', { relay: 'rabbitmq' });
  await kit.sql(`insert into tock.job_hand_offs (run_id, fence, handed_off_at, handed_to, decided_at, decision, written_at, refused_count) values
      (9001, 1, tock.now(), 'rabbitmq: tock.work.relayed', tock.now(), 'succeeded', tock.now(), 1),
      (9002, 1, tock.now(), 'rabbitmq: tock.work.relayed', tock.now(), 'dead', tock.now(), 0),
      (9003, 1, tock.now(), 'rabbitmq: tock.work.relayed', null, null, null, 0),
      (9004, 1, tock.now(), 'nats: tock.work.relayed', null, null, null, 0),
      (9005, 1, tock.now(), 'finance', null, null, null, 0)`);
  expect((await kit.get('/queues')).text).toContain('relayed to rabbitmq');
  const { text } = await kit.get('/queues/relayed');
  expect(text).toContain(
    'Queue relayed is relayed to rabbitmq, and no relay is at work: start one, or execute it here by tock start --queues relayed, or tock queue set relayed --relay none.',
  );
  expect(text).toContain(
    'In the last 24 hours 3 handed off: 1 completed, 1 failed, 1 taken back, 0 waiting; 1 answer came too late.',
  );
  await kit.sql(
    `insert into tock.workers (id, kind, host, pid, capacity, queues) values (gen_random_uuid(), 'relay', 'web-1', 7, 1, '{relayed}')`,
  );
  expect((await kit.get('/queues/relayed')).text).toContain('Queue relayed is relayed to rabbitmq. In the');
  expect((await kit.get('/workers')).text).toContain('a relay');
});

describe('a queue in code', () => {
  const inCode = async (concurrency: number) => {
    const mail = defineQueue({ name: 'mail', concurrency, rate: { count: 100, per: '1m' } });
    await kit.another({ jobs, queues: [mail] }).register();
  };

  it('says so, and takes limits with an end, which lie on top', { tags: 'check' }, async () => {
    await inCode(4);
    expect((await kit.get('/queues')).text).toContain(
      'mail open 0 0 0 of 4 slots 0 4 at once · 100/1m in code',
    );
    expect((await kit.get('/queues/mail')).text).toContain('Code states them ( defineQueue )');
    const fields = { 'was-concurrency': '4', concurrency: '2', until: '+2h' };
    const { text } = await kit.post('/queues/mail/limits', fields);
    expect(text).toContain('mail has new limits');
    expect(text).toContain('Code states: 4 at once · 100/1m');
    expect(text).toContain('code: concurrency 4 · set to 2 by mia until 14:00');
    expect((await kit.get('/queues')).text).toContain('code: concurrency 4 · set to 2 by mia until 14:00');
    expect((await kit.get('/queues/mail', 'operate')).text).toContain('set to 2 by mia until 14:00');
    expect(await queue('mail')).toMatchObject({
      concurrency: 2,
      overrides: { concurrency: { by: 'mia', until: new Date('2026-03-08T14:00:00Z') } },
    });
  });

  it('says what is missing where only an end was entered', { tags: 'check' }, async () => {
    const { status, html, text } = await kit.post('/queues/mail/limits', { until: '+2h' });
    expect(status).toBe(400);
    expect(text).toContain('until is the end of what is set with it: give a limit too');
    expect(html).toContain('name="until" value="2h"');
  });

  it('keeps what was entered where the end is none', { tags: 'check' }, async () => {
    const fields = { 'was-concurrency': '2', concurrency: '3', until: 'soon' };
    const { status, html, text } = await kit.post('/queues/mail/limits', fields);
    expect(status).toBe(400);
    expect(text).toContain('until "soon"');
    expect(html).toContain('name="until" value="soon"');
  });

  it('is reset to its code by a button, after a question; there is none that removes', {
    tags: 'check',
  }, async () => {
    const page = await kit.get('/queues/mail');
    expect(buttonsOf(page)).toContain('Reset it to its code …');
    expect(buttonsOf(page)).not.toContain('Remove all limits …');
    expect((await kit.post('/queues/mail/reset', {}, 'operate')).status).toBe(403);
    const { text } = await kit.post('/queues/mail/reset');
    expect(text).toContain('mail is as its code states again');
    expect(await queue('mail')).toMatchObject({ concurrency: 4, overrides: {} });
    expect(await audited()).toMatchObject([{ action: 'queues.reset', operator: 'mia' }]);
    expect(buttonsOf(await kit.get('/queues/mail'))).not.toContain('Reset it to its code …');
  });
});
