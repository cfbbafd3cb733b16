// Engine: what follows from ended runs does not wait for what PostgreSQL refuses.
import { expect, it } from 'vitest';
import { Dead, defineJob } from '../../../src/index.js';
import { collectLines } from '../../support/lines.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';

const test = openForEach(reuseTestTock, ({ setClock }) => setClock('2026-03-01T11:59:30Z'));

it('what cannot be done stays in the outbox, and all else goes on: joins, chains, redirects', async () => {
  const log = collectLines();
  const tock = test.another({
    logger: log.logger,
    jobs: [
      ...['member', 'plain', 'cursed'].map(name => defineJob({ name, run: () => 'done' })),
      defineJob({ name: 'dies', onDead: 'cursed', run: () => Promise.reject(new Dead('no')) }),
      ...['hears', 'cannot'].map(name =>
        defineJob({ name, run: ctx => ctx.waitFor('paid').then(() => 'done') }),
      ),
      defineJob({ name: 'load', schedule: { cron: '0 * * * *' }, run: () => 'done' }),
      defineJob({ name: 'report', schedule: { after: 'load' }, run: () => 'done' }),
    ],
  });
  for (const name of ['hears', 'cannot']) await tock.enqueue(name, {});
  await tock.tick();
  const member = { job: 'member', payload: {} };
  for (const job of ['cursed', 'plain'])
    await tock.enqueueGroup([member, member], { then: { job, payload: {} } });
  await tock.enqueue('dies', {});
  await test.sql(`alter table tock.job_runs_live add constraint mine
    check (job not in ('cursed', 'cannot') or run_at > '2026-03-02')`);
  await tock.emit('paid');
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
    hears: 'succeeded',
    dies: 'dead',
  };
  expect(await statuses()).toEqual({ ...others, cursed: 'queued', cannot: 'queued' });
  const left = async () =>
    (await test.sql<{ kind: string }>('select kind from tock.job_outbox order by kind')).map(
      ({ kind }) => kind,
    );
  expect(new Set(await left())).toEqual(new Set(['dead', 'end', 'event']));
  expect(log.lines.filter(line => line['event'] === 'follow.failed')).not.toEqual([]);
  await tock.tick();
  expect(new Set(await left())).toEqual(new Set(['dead', 'end', 'event']));
  await test.sql('alter table tock.job_runs_live drop constraint mine');
  await tock.tick();
  expect(await statuses()).toEqual({ ...others, cursed: 'succeeded', cannot: 'succeeded' });
  expect([await tock.runs.list({ job: 'cursed' }), await left()]).toMatchObject([{ length: 2 }, []]);
});

it('a batch of which nothing can be done is tried once; all is done when PostgreSQL refuses nothing any more', async () => {
  const tock = test.another({
    jobs: [
      defineJob({ name: 'dies', onDead: 'cursed', run: () => Promise.reject(new Dead('no')) }),
      defineJob({ name: 'cursed', run: () => 'done' }),
    ],
  });
  await tock.enqueueMany(Array.from({ length: 210 }, () => ({ job: 'dies', payload: {} })));
  await test.sql(`alter table tock.job_runs_live add constraint mine check (job <> 'cursed')`);
  expect((await tock.tick()).executed).toMatchObject({ dead: 210 });
  expect(await test.sql('select from tock.job_outbox')).toHaveLength(210);
  await test.sql('alter table tock.job_runs_live drop constraint mine');
  await tock.tick();
  expect(await tock.runs.list({ job: 'cursed', limit: 300 })).toHaveLength(210);
});
