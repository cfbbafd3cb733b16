// Engine: what follows from ended runs does not wait for what PostgreSQL refuses.
import { expect, it } from 'vitest';
import { Dead, defineJob } from '../../../src/index.js';
import { collectLines } from '../../support/lines.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';

const test = openForEach(reuseTestTock, ({ setClock }) => setClock('2026-03-01T11:59:30Z'));

it('what cannot be done stays in the outbox, and all else goes on: joins, chains, redirects', async () => {
  const log = collectLines();
  const member = defineJob({ name: 'member', run: () => 'done' });
  const [plain, cursed] = ['plain', 'cursed'].map(name => defineJob({ name, run: () => 'done' }));
  const jobs = [member, plain, cursed].flatMap(job => job ?? []);
  const tock = test.another({
    logger: log.logger,
    jobs: [
      ...jobs,
      defineJob({ name: 'dies', onDead: 'cursed', run: () => Promise.reject(new Dead('no')) }),
      defineJob({ name: 'load', schedule: { cron: '0 * * * *' }, run: () => 'done' }),
      defineJob({ name: 'report', schedule: { after: 'load' }, run: () => 'done' }),
    ],
  });
  await tock.tick();
  for (const job of ['cursed', 'plain'])
    await tock.enqueueGroup(
      [
        { job: member, payload: {} },
        { job: member, payload: {} },
      ],
      { then: { job, payload: {} } },
    );
  await tock.enqueue('dies', {});
  await test.sql(
    `alter table tock.job_runs_live add constraint mine check (job <> 'cursed' or run_at = '9999-12-31')`,
  );
  await test.advance('30s');
  await tock.tick();
  const statuses = async () =>
    Object.fromEntries(
      (
        await test.sql<{ job: string; all: string }>(
          `select job, string_agg(distinct status, ' ') as all from tock.job_runs group by job`,
        )
      ).map(row => [row.job, row.all]),
    );
  const others = {
    member: 'succeeded',
    plain: 'succeeded',
    load: 'succeeded',
    report: 'succeeded',
    dies: 'dead',
  };
  expect(await statuses()).toEqual({ ...others, cursed: 'queued' });
  const left = async () =>
    (await test.sql<{ kind: string }>('select kind from tock.job_outbox order by kind')).map(
      ({ kind }) => kind,
    );
  expect(new Set(await left())).toEqual(new Set(['dead', 'end']));
  expect(log.lines.filter(line => line['event'] === 'follow.failed')).not.toEqual([]);
  await tock.tick();
  expect(new Set(await left())).toEqual(new Set(['dead', 'end']));
  await test.sql('alter table tock.job_runs_live drop constraint mine');
  await tock.tick();
  expect(await statuses()).toEqual({ ...others, cursed: 'succeeded' });
  expect([await tock.runs.list({ job: 'cursed' }), await left()]).toMatchObject([{ length: 2 }, []]);
});
