// Answers: a run that a worker should have taken is named, in every answer; and nothing else is.
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { readRun } from '../../../src/answers/runs/read-run.js';
import { startDaemon } from '../../../src/daemon/daemon.js';
import { defineJob } from '../../../src/index.js';
import { readOverlooked } from '../../../src/store/reads/runs/overlooked.js';
import { databaseOf } from '../../../src/tock/database-of.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';
import { openVirtualProcess } from '../../support/virtual-process.js';

const START = '2026-03-02T12:00:00Z';
const mail = defineJob({ name: 'mail', run: () => null });
const nightly = defineJob({ name: 'nightly', schedule: { cron: '0 12 * * *' }, run: () => null });
const test = openForEach(() => reuseTestTock([mail, nightly]));

const at = (seconds: number) => new Date(Date.parse(START) + seconds * 1000).toISOString();
const overlooked = async () => (await test.tock.status()).overlooked;

describe('a run that a daemon passes over', () => {
  const virtual = openForEach(() => openVirtualProcess(test, START, [mail]));

  it('is named after half a minute, by each answer, until it is taken', async () => {
    const id = await test.tock.enqueue('mail');
    const other = new pg.Client({ connectionString: test.url });
    await other.connect();
    // As any fault that makes claims pass over it.
    await other.query('begin');
    await other.query('select from tock.job_runs_live where id = $1 for update', [id]);
    const daemon = await startDaemon(virtual.engine, {}, undefined, { expression: '0 0 29 2 *' });
    await virtual.clock.advance(29_999);
    expect(await overlooked()).toEqual([]);
    await virtual.clock.advance(1001);

    const [found] = await overlooked();
    expect(found).toMatchObject({
      id,
      job: 'mail',
      definition: null,
      queue: 'default',
      since: new Date(START),
    });
    const text = `worker ${found?.worker.host ?? ''} pid ${process.pid} has had room for it since ${START}, for 31s, and does not take it`;
    const { sentences } = await test.tock.health();
    expect(sentences[0]).toMatchObject({
      level: 'failing',
      code: 'overlooked-run',
      text: `Run ${id} of mail, in queue default, is due, and ${text}`,
      remedy: expect.stringMatching(/^Restart that worker, and report this with the output of tock doctor/),
      command: `tock show ${id}`,
    });
    const checks = (await test.tock.doctor()).checks.filter(({ code }) => code === 'runs');
    expect(checks).toMatchObject([{ level: 'failing', text: expect.stringContaining(text) }]);
    const database = await databaseOf(test.tock);
    const read = await readRun(database, id, { now: new Date(at(31)), seesPayloads: true });
    expect(read?.now).toMatchObject({
      tone: 'attention',
      sentence: `Attempt 1 of 10 is due, and ${text}.`,
      waitsFor: 'a worker',
    });

    await other.query('rollback');
    await other.end();
    await virtual.clock.advance(5000);
    expect(await overlooked()).toEqual([]);
    expect((await test.tock.runs.get(id))?.status).toBe('succeeded');
    const stopped = daemon.stop();
    await virtual.clock.advance(60_000);
    await stopped;
  });
});

describe('what is overlooked', () => {
  const WORKER = '00000000-0000-4000-8000-000000000001';
  const worker = (columns = '', values = '') =>
    test.sql(
      `insert into tock.workers (id, kind, host, pid, capacity${columns}) values ($1, 'daemon', 'web-1', 812, 2${values})`,
      [WORKER],
    );
  const run = async (columns = '', values = ''): Promise<string> => {
    const [row] = await test.sql<{ id: string }>(
      `insert into tock.job_runs_live (job, status${columns}) values ('mail', 'queued'${values}) returning id::text as id`,
    );
    return row?.id ?? '';
  };
  /** As a heartbeat does. */
  const report = (seconds: number) =>
    test.setClock(at(seconds)).then(() => test.sql('update tock.workers set seen_at = tock.now()'));
  const found = async (id: string) => {
    const [inStatus] = await overlooked();
    const byItself = await readOverlooked(await databaseOf(test.tock), id);
    expect(byItself).toEqual(inStatus ?? null);
    return inStatus?.id ?? null;
  };

  beforeEach(() => test.setClock(START));
  afterEach(() => test.setClock(null));

  it('is the first run of a queue lane, if a live daemon has room', async () => {
    await worker();
    const first = await run();
    await run();
    const high = await run(', priority, queue', ", -1, 'reports'");
    await report(30);
    const all = await overlooked();
    expect(all.map(({ id }) => id)).toEqual([first, high]);
    expect(all[0]?.worker).toEqual({ host: 'web-1', pid: 812 });
    expect(await readOverlooked(await databaseOf(test.tock), high)).toMatchObject({ queue: 'reports' });
  });

  it('is told by tock why too', async () => {
    await test.setClock(at(-60));
    await test.tock.register();
    await test.setClock(START);
    await worker();
    await test.sql(
      `insert into tock.job_runs_live (job, status, trigger, definition_id, scheduled_for)
       select 'nightly', 'queued', 'cron', id, tock.now() from tock.job_definitions where name = 'nightly'`,
    );
    await report(40);
    const { sentences } = await test.tock.why('nightly', START);
    expect(sentences.join('\n')).toContain('worker web-1 pid 812 has had room for it since');
  });

  it('is not also put down to workers that do not keep up', async () => {
    await worker();
    await run();
    await report(600);
    expect((await test.tock.health()).sentences.map(({ code }) => code)).toEqual([
      'overlooked-run',
      'nothing-known',
    ]);
  });

  const HELD = `insert into tock.job_runs_live (job, status, fence, locked_by, locked_until, started_at, queue)
    values ('mail', 'running', 1, '${WORKER}', tock.now() + interval '1 hour', tock.now(), 'other')`;
  const ENDED = `insert into tock.job_runs_finished (id, job, status, finished_at, locked_by)
    values (nextval('tock.job_runs_id_seq'), 'mail', 'succeeded', tock.now(), '${WORKER}')`;

  it.each([
    ['the other handlers of the worker are idle', [HELD], true],
    ['all its handlers execute', [HELD, HELD], false],
    ['one executes, and one has just ended', [HELD, 'soon', ENDED], false],
    ['two have just ended', ['soon', ENDED, ENDED], false],
    ['two ended before', [ENDED, ENDED], true],
    [
      'attempts have just failed',
      [
        'soon',
        `insert into tock.job_runs_live (job, status, fence, run_at, started_at, errors)
         select 'mail', 'failed', 1, tock.now() + interval '1 hour', tock.now() - interval '1 day',
           jsonb_build_array(jsonb_build_object('at', to_char(tock.now() at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
         from generate_series(1, 2)`,
      ],
      false,
    ],
    [
      'runs have long been waiting for their next attempt',
      [
        `insert into tock.job_runs_live (job, status, fence, run_at, started_at, errors)
         select 'mail', 'failed', 1, tock.now() + interval '1 hour', tock.now() - interval '1 day',
           jsonb_build_array(jsonb_build_object('at', '2026-03-01T12:00:00.000Z'))
         from generate_series(1, 50)`,
      ],
      true,
    ],
    ['the worker drains', ['update tock.workers set draining = true'], false],
    ['the worker is a tick', [`update tock.workers set kind = 'tick'`], false],
    ['the worker has just begun', ['soon', 'update tock.workers set started_at = tock.now()'], false],
    ['the worker claims from other queues', [`update tock.workers set queues = '{other}'`], false],
    ['the worker names the queue', [`update tock.workers set queues = '{default}'`], true],
    [
      'the queue is paused',
      [`insert into tock.job_queues (name, paused_at) values ('default', tock.now())`],
      false,
    ],
    ['the queue was just resumed', ['soon', `insert into tock.job_queues (name) values ('default')`], false],
    ['the queue was resumed before', [`insert into tock.job_queues (name) values ('default')`], true],
    [
      'a handler has closed the queue until just now',
      [
        `insert into tock.job_queues (name, closed_until) values ('default', tock.now() + interval '10 seconds')`,
      ],
      false,
    ],
    [
      'the hours of the queue have just begun',
      [`insert into tock.job_queues (name, active_window) values ('default', '12:01-13:00')`, 'in 70 s'],
      false,
    ],
    [
      'the queue has a limit',
      [`insert into tock.job_queues (name, concurrency) values ('default', 5)`],
      false,
    ],
    [
      'the queue is relayed',
      [`insert into tock.job_queues (name, relayed_to) values ('default', 'sql')`],
      false,
    ],
    [
      'everything was frozen until just now',
      [
        `insert into tock.freezes (note, until, ended_at) values ('x', tock.now() + interval '5 seconds', tock.now() + interval '5 seconds')`,
      ],
      false,
    ],
    [
      'it needs a slot',
      [`update tock.job_runs_live set slot_keys = '{job:mail}', slot_limits = '{1}'`],
      false,
    ],
    ['it waits for a slot', [`update tock.job_runs_live set blocked_on = 'job:mail'`], false],
    ['it waits for code', [`update tock.job_runs_live set blocked_on = 'code:mail'`], false],
    ['it may just have got its slot', [`update tock.job_runs_live set unblocked_on = 'job:mail'`], false],
    ['it may just have been given back', ['update tock.job_runs_live set releases = 1, fence = 1'], false],
    ['it was made late', ['soon', 'update tock.job_runs_live set created_at = tock.now()'], false],
    ['nothing is in its way', [], true],
  ])('where %s', async (_case, statements, isFound) => {
    await worker();
    const id = await run();
    let end = 30;
    for (const each of statements)
      if (each === 'soon') await test.setClock(at(10));
      else if (each === 'in 70 s') end = 70;
      else await test.sql(each);
    await report(end);
    expect(await found(id)).toBe(isFound ? id : null);
  });

  it('is nothing that a worker has not outlived by reporting', async () => {
    await worker(', heartbeat_ms', ', 60000');
    const id = await run();
    await report(14);
    await test.setClock(at(60));
    expect(await found(id)).toBeNull();
    await report(60);
    expect(await found(id)).toBe(id);
  });
});
