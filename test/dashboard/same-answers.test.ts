// What pages, the status and the doctor say of the same thing: one number, and each queue that is late.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { emptyTables } from '../support/runs.js';
import { reuseTestTock, type TestTock } from '../support/test-tock.js';
import { type Pages, pagesOf, words } from './runs-kit.js';

const NOW = '2026-03-02T12:00:00Z';

let test: TestTock;
let pages: Pages;
beforeAll(async () => {
  test = await reuseTestTock([defineJob({ name: 'mail', run: () => undefined })]);
});
beforeEach(async () => {
  await emptyTables(test);
  await test.setClock(NOW);
  pages = pagesOf(test.tock);
});
afterAll(async () => await test.close());

const said = async (path: string) => words((await pages.get(path)).text.replaceAll('\u202F', ''));

it.each([
  [6000, '6000'],
  [10_029, '10000+'],
])('how many are dead of %i, all places say %s', { tags: 'check' }, async (count, text) => {
  await test.sql(
    `insert into tock.job_runs_finished (id, job, status, finished_at, errors)
       select n, 'mail', 'dead', tock.now() - n * interval '1 second',
         jsonb_build_array(jsonb_build_object('name', 'Error', 'message', 'no route'))
       from generate_series(1, ${count}) n`,
  );
  const [now, errors, runs] = [
    await said('/'),
    await said('/errors'),
    await said('/runs?status=dead&from=24h'),
  ];
  expect(now).toContain(`Errors ${text}`);
  expect(now).toContain(`${text} runs ended dead in the last 24 hours`);
  expect(now).toContain(`Dead, 24 h ${text}`);
  expect(errors).toContain(`${text} runs died in the last 24 hours`);
  // The groups are of the newest, and do not look exact.
  expect(errors).toContain('5000+ 100%');
  expect(runs).toContain(`${text} dead runs`);
  const { sentences } = await test.tock.health();
  expect(sentences.map(sentence => sentence.text)).toContain(`${text} runs ended dead in the last 24 hours`);
});

describe('a queue that is late', () => {
  const worker = async (queues: string | null) =>
    await test.sql(
      `insert into tock.workers (id, kind, host, pid, capacity, queues) values (gen_random_uuid(), 'daemon', 'web-1', 7, 10, $1::text[])`,
      [queues],
    );
  const wait = async (queue: string, minutes: number, more = '', values = '') =>
    await test.sql(
      `insert into tock.job_runs_live (job, queue, status, run_at${more}) values ('mail', $1, 'queued', tock.now() - $2 * interval '1 minute'${values})`,
      [queue, minutes],
    );

  it('is named, each by itself, with what holds it up', { tags: 'check' }, async () => {
    await wait('mails', 240);
    await wait('reports', 20);
    await worker('{mails}');
    const { queues } = await test.tock.status();
    expect(queues).toMatchObject([
      { queue: 'mails', isClaimed: true, oldestWaitMs: 240 * 60_000 },
      { queue: 'reports', isClaimed: false, oldestWaitMs: 20 * 60_000 },
    ]);
    for (const place of [await said('/'), JSON.stringify(await test.tock.doctor())]) {
      expect(place).toMatch(/queue mails is 4h behind: 1 due run waits, and its workers do not keep up/i);
      expect(place).toMatch(/queue reports is 20m behind: 1 due run waits, and no worker claims from it/i);
    }
    const page = await said('/queues');
    expect(page).toContain('mails behind by 4h');
    expect(page).toContain('reports no worker none claims from it');
    expect(await said('/queues/mails')).toContain('It is 4h behind: 1 worker claims from it');
  });

  it('that is relayed is claimed only by who names it', async () => {
    await test.sql(`insert into tock.job_queues (name, relayed_to) values ('mails', 'rabbitmq')`);
    await worker(null);
    expect((await test.tock.status()).queues).toMatchObject([{ isClaimed: false }]);
    await worker('{mails}');
    expect((await test.tock.status()).queues).toMatchObject([{ isClaimed: true }]);
  });

  it('because of a limit: the limit is named, and the queue is blocked', { tags: 'check' }, async () => {
    await test.sql(`insert into tock.job_definitions (name, job) values ('nightly', 'mail')`);
    const keys = ', slot_keys, slot_limits, blocked_on';
    for (let run = 0; run < 3; run++) await wait('mails', 30, keys, `, '{job:mail/a}', '{1}', 'job:mail/a'`);
    await wait('mails', 20, keys, `, '{definition:1}', '{1}', 'definition:1'`);
    // A fair key is no limit, though its runs wait for their turn, and longest.
    await wait('mails', 40, keys, `, '{~mails//17}', '{1}', '~mails//17'`);
    expect((await test.tock.status()).blockingKeys).toEqual([
      { key: 'job:mail/a', definition: null, runs: 3, waitMs: 30 * 60_000 },
      { key: 'definition:1', definition: 'nightly', runs: 1, waitMs: 20 * 60_000 },
    ]);
    const now = await said('/');
    expect(now).toContain('3 runs wait for a slot of job mail for a, the oldest for 30m');
    expect(now).toContain('1 run waits for the turn of nightly, the oldest for 20m');
    expect(await said('/queues')).toContain(
      'mails blocked its runs wait for slots of other limits, or for their key’s turn',
    );
    expect(await said('/queues')).toContain('Job mail for a');
  });
});

describe('a pause', () => {
  const dead = async (queue: string) =>
    await test.sql<{ id: string }>(
      `insert into tock.job_runs_finished (id, job, queue, status, finished_at) values (nextval('tock.job_runs_id_seq'), 'mail', $1, 'dead', tock.now()) returning id::text as id`,
      [queue],
    );

  it('is said to whoever retries into it, of one run and of many', { tags: 'check' }, async () => {
    const [run] = await dead('mails');
    await dead('mails');
    await dead('reports');
    await test.tock.queues.pause('mails');
    expect(await said('/runs/retry-all?status=dead')).toContain(
      '2 of them are in the queue mails , which is paused: they start when it is resumed',
    );
    expect(await said('/runs/retry-all?queue=reports')).not.toContain('paused');
    const { pausedQueues } = await test.tock.runs.retryMany({ job: 'mail' }, { dryRun: true });
    expect(pausedQueues).toEqual([{ queue: 'mails', runs: 2 }]);
    const { flash } = await pages.post(`/runs/${run?.id ?? ''}/retry`);
    expect(flash).toContain('Its queue mails is paused: it starts when that is resumed.');
    const refused = await pages.post('/runs/retry-all', { status: 'dead', count: 'many', per: 's' });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain('value="many"');
    const { to, flash: told } = await pages.post('/runs/retry-all', { status: 'dead', count: '1', per: 'm' });
    expect(told).toContain('2 waiting again; the last is due in 1m');
    expect(to).toBe('/runs?status=queued%2Crunning%2Cfailed');
  });

  it('of every schedule is not the same as none', async () => {
    await test.sql(
      `insert into tock.job_definitions (name, job, every_ms, next_at, paused_at) select 'd' || n, 'mail', 60000, tock.now(), tock.now() from generate_series(1, 38) n`,
    );
    const now = await said('/');
    expect(now).toContain(
      'No schedule has a next occurrence 38 schedules are paused , broken , or run after others',
    );
    expect(now).not.toContain('Nothing is scheduled');
    expect(now).toContain('and 26 more: paused , broken , with dead runs');
  });

  it('of a queue that nothing names says so, and names the near ones', { tags: 'check' }, async () => {
    await test.sql(`insert into tock.job_definitions (name, job, queue) values ('nightly', 'mail', 'mails')`);
    expect(await said('/queues')).toContain('mails open 0');
    const unknown = await said('/queues/mials');
    expect(unknown).toContain(
      'Nothing names this queue: no live run, no schedule, no limit Did you mean mails ?',
    );
    expect(unknown).toContain('Pause mials all the same');
    expect(await said('/queues/mails')).not.toContain('Nothing names');
    expect(await said('/queues/default')).not.toContain('Nothing names');
  });
});
