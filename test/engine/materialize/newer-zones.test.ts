// Engine: a zone that only hosts with newer time zone data have.
import { expect, it } from 'vitest';
import { defineJob } from '../../../src/index.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';

const report = defineJob({ name: 'report', run: () => null });
const test = openForEach(() => reuseTestTock([report]));

it('is computed by the database, and breaks no definition', async () => {
  await test.setClock('2026-03-28T12:00:00Z');
  const daily = { name: 'daily', job: report, cron: '0 8 * * *' };
  await test.tock.schedules.upsert({ ...daily, timezone: 'Europe/Berlin' });
  // As a host with newer data has made it.
  await test.sql(
    `insert into tock.zones select (jsonb_populate_record(z, '{"timezone": "Europe/Newtown", "zone_data": "2099a"}')).*
     from tock.zones z`,
  );
  await test.sql(`update tock.job_definitions set timezone = 'Europe/Newtown' where name = 'daily'`);
  await test.setClock('2026-03-29T06:00:00Z');
  expect(await test.tock.tick()).toMatchObject({ materialized: { runs: 1, broken: [] } });
  const later = { ...daily, timezone: 'Europe/Newtown', startAt: '2060-07-01T00:00:00Z' };
  // Beyond the years of which the database has the offsets, the last one holds.
  const { nextAt } = await test.tock.schedules.upsert(later);
  expect(nextAt?.toISOString()).toBe('2060-07-01T07:00:00.000Z');
});
