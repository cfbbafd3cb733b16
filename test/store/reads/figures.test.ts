// What the figures of the scheduler count.
import { expect, it } from 'vitest';
import { defineJob } from '../../../src/index.js';
import { storeTest } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';

const NOW = '2026-03-02T12:00:00Z';
const mail = defineJob({ name: 'mail', run: () => undefined });
const { test } = storeTest(NOW, () => reuseTestTock([mail]));

it('a schedule that was removed while it was paused, broken and ahead is none of these any more', async () => {
  await test.tock.tick();
  const [status, health] = [await test.tock.status(), await test.tock.health()];
  await test.tock.schedules.upsert({ name: 'nightly', job: 'mail', cron: '0 3 * * *' });
  await test.tock.schedules.pause('nightly');
  await test.sql(
    `update tock.job_definitions set broken_at = tock.now(), broken_reason = 'x', cursor = tock.now() + interval '1 day' where name = 'nightly'`,
  );
  expect((await test.tock.status()).definitions).toMatchObject({ paused: 1, broken: 1, ahead: 1 });
  await test.tock.schedules.remove('nightly');
  expect((await test.tock.status()).definitions).toEqual(status.definitions);
  expect((await test.tock.health()).level).toBe(health.level);
  expect((await test.tock.why('nightly', '2026-03-09T03:00:00Z')).verdict).toBe('vanished');
});
