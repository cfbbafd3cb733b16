// What `prove` finds: each fault that is put into the tables by hand, and no other.
import { describe, expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';

const work = defineJob({ name: 'work', run: async () => undefined });
const test = openForEach(
  () => reuseTestTock([work]),
  async ({ setClock, tock, advance }) => {
    await setClock('2026-03-01T12:00:00Z');
    await tock.schedules.upsert({ name: 's', job: 'work', cron: '*/10 * * * *', timezone: 'Asia/Tokyo' });
    for (const step of ['10m', '10m', '10m', '1h', '10m']) {
      await advance(step);
      await tock.tick();
    }
  },
);

const AT = `'2026-03-01T12:20:00Z'`;
const RUN = `scheduled_for = ${AT}`;
const runId = async () =>
  (await test.sql<{ id: string }>(`select id::text from tock.job_runs where ${RUN}`))[0]?.id;
const prove = async () =>
  await test.tock.prove({ from: '2026-03-01T12:00:00Z', to: '2026-03-01T14:00:00Z', names: ['s'] });

const FAULTS: readonly (readonly [string, readonly string[], Readonly<Record<string, number>>, RegExp])[] = [
  [
    'an occurrence and its run that are deleted',
    [`delete from tock.job_occurrences where ${RUN}`, `delete from tock.job_runs where ${RUN}`],
    { missing: 1 },
    /nothing is on record/,
  ],
  [
    'a run that is deleted, and its key is there',
    [`delete from tock.job_runs where ${RUN}`],
    { deleted: 1 },
    /retention has not deleted it/,
  ],
  [
    'a skipped row that is deleted',
    [
      `delete from tock.job_occurrences o using tock.job_runs r where r.id = o.run_id and r.status = 'skipped'`,
      `delete from tock.job_runs where status = 'skipped'`,
    ],
    { missing: 5 },
    /nothing is on record/,
  ],
  [
    'a run that is there twice',
    [
      `insert into tock.job_runs_finished select (r).* from (
        select jsonb_populate_record(r, jsonb_build_object('id', nextval('tock.job_runs_id_seq'))) as r from tock.job_runs_finished r where ${RUN}) n`,
    ],
    { doubled: 1 },
    /it has 2 runs/,
  ],
  [
    'a key that is deleted',
    [`delete from tock.job_occurrences where ${RUN}`],
    { keyless: 1 },
    /could be made again/,
  ],
  [
    'a run of another time',
    [
      `update tock.job_occurrences set scheduled_for = scheduled_for + interval '1 minute' where ${RUN}`,
      `update tock.job_runs set scheduled_for = scheduled_for + interval '1 minute' where ${RUN}`,
    ],
    { missing: 1, unexpected: 1 },
    /no version of the schedule has/,
  ],
  [
    'a cursor that was moved past occurrences',
    [
      `update tock.job_definitions set cursor = cursor + interval '25 minutes', next_at = next_at + interval '20 minutes' where name = 's'`,
    ],
    { missing: 1 },
    /nothing is on record/,
  ],
  [
    'a next occurrence that is too late',
    [`update tock.job_definitions set next_at = next_at + interval '1 day' where name = 's'`],
    { stuck: 1 },
    /no tick would make it/,
  ],
  [
    'another zone without a version',
    [`update tock.job_definitions set timezone = 'Asia/Kathmandu', cron = '5 * * * *' where name = 's'`],
    { changed: 1 },
    /without a new version/,
  ],
  [
    'a skipped row that counts too few',
    [`update tock.job_runs set occurrence_count = occurrence_count - 1 where status = 'skipped'`],
    { count: 1 },
    /stands for 4 occurrences, of which the schedule had 5/,
  ],
  [
    'a run that stands for what has a run of its own',
    [`update tock.job_runs set occurrence_count = 2 where ${RUN}`],
    { count: 1 },
    /the one before it has a run of its own/,
  ],
  [
    'a run that stands for more than there were',
    [`update tock.job_runs set occurrence_count = 12 where occurrence_count = 6`],
    { count: 1 },
    /the schedule had fewer/,
  ],
];

describe('prove', () => {
  it.each(FAULTS)('finds %s', async (_, statements, byFinding, text) => {
    expect(await prove()).toMatchObject({ holds: true, byKind: { run: 5, 'skipped:catchup': 5 } });
    for (const statement of statements) await test.sql(statement);
    const proof = await prove();
    expect(proof.byFinding).toEqual(byFinding);
    expect(proof.holds).toBe(false);
    expect(proof.found.map(each => each.text).join('\n')).toMatch(text);
  });

  it('names the definition, the time and the runs', async () => {
    const id = await runId();
    await test.sql(`delete from tock.job_runs where ${RUN}`);
    expect((await prove()).found).toEqual([
      {
        definition: 's',
        kind: 'deleted',
        at: new Date('2026-03-01T12:20:00Z'),
        runs: [id],
        text: `run ${id} was made for it, and is gone; retention has not deleted it`,
      },
    ]);
  });

  it('finds the last run of remaining, although what follows has no record', async () => {
    await test.tock.schedules.upsert({ name: 's', job: 'work', cron: '*/10 * * * *', remaining: 2 });
    for (let n = 0; n < 4; n++) {
      await test.advance('10m');
      await test.tock.tick();
    }
    const whole = { from: '2026-03-01T12:00:00Z', names: ['s'] };
    expect((await test.tock.prove(whole)).holds).toBe(true);
    const last = `scheduled_for = (select max(scheduled_for) from tock.job_occurrences)`;
    await test.sql(`delete from tock.job_runs where ${last}`);
    await test.sql(`delete from tock.job_occurrences where ${last}`);
    expect((await test.tock.prove(whole)).found.map(each => each.text)).toEqual([
      expect.stringMatching(/^2 runs were made since .*, and 1 of them is there/),
    ]);
  });

  it('shows the first 20 of what it finds, and counts the others', async () => {
    await test.tock.schedules.upsert({ name: 'often', job: 'work', cron: '* * * * *' });
    await test.advance('2h');
    await test.sql(
      `update tock.job_definitions set cursor = tock.now(), next_at = tock.now() where name = 'often'`,
    );
    const proof = await test.tock.prove({ from: '2026-03-01T12:00:00Z', names: ['often'] });
    expect(proof).toMatchObject({ unexplained: 119, byFinding: { missing: 119 } });
    expect(proof.found).toHaveLength(20);
  });
});
