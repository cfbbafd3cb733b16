// When a daemon looks for changes to deliver.
// In the check: it looks again after a real second.
import { expect, it, onTestFinished, vi } from 'vitest';
import { createWebhookLooks } from '../../src/daemon/background.js';
import { webhookJob } from '../../src/engine/webhooks/webhook-job.js';
import { defineJob } from '../../src/index.js';
import { createRegistry } from '../../src/model/job/registry.js';
import { openDatabase } from '../support/database.js';
import { engineOver } from '../support/engine.js';
import { openForEach } from '../support/open.js';
import { openRecorder } from '../support/recorded-connection.js';
import { reuseTestTock, until } from '../support/test-tock.js';

const webhook = { url: 'https://app.example.com/', secret: { env: 'HOOK_SECRET' } };
const jobs = [defineJob({ name: 'charge', changes: { webhook }, run: () => null })];
const known = createRegistry(jobs);
const registry = { ...known, builtIn: (name: string) => webhookJob(known, name) };

const test = openForEach(reuseTestTock);
const database = openForEach(() => openDatabase({ connectionString: test.url }));

const change = async () =>
  await test.sql(
    `insert into tock.job_changes (kind, run_id, job, status, attempts, generation) values ('ended', 1, 'charge', 'succeeded', 1, 1)`,
  );
const live = async () =>
  await test.sql<{ id: string }>(
    `select id::text from tock.job_runs_live where job = 'tock:webhook:charge' and status = 'queued'`,
  );
const recorder = openForEach(() => openRecorder(test.url));
const recorded = openForEach(() => openDatabase({ connectionString: recorder.url }));
const hasBegun = async () => (await test.sql('select from tock.change_webhooks')).length === 1;

it('looks again by itself while a run delivers, until there is nothing, or another run', async () => {
  const looks = createWebhookLooks(engineOver(database, jobs, { registry }), new AbortController().signal);
  looks.changed();
  await until(hasBegun, 'the first look');
  await change();
  looks.changed();
  const [first] = await until(async () => (await live()).length === 1 && (await live()), 'a run');
  await test.sql(
    `update tock.job_runs_live set status = 'running', attempts = 1, fence = 1, locked_by = gen_random_uuid(),
      locked_until = tock.now() + interval '1 minute', started_at = tock.now()`,
  );
  // It has read its last page, and ends.
  await change();
  looks.changed();
  await until(
    async () => (await test.sql('select from tock.job_changes where position = 2')).length === 1,
    'a look while it is at work',
  );
  await test.sql('delete from tock.job_runs_live');
  const [second] = await until(async () => (await live()).length === 1 && (await live()), 'another run');
  expect(second?.id).not.toBe(first?.id);
  await looks.done();
});

it('looks again by itself once the run that it has enqueued has ended early', async () => {
  const looks = createWebhookLooks(engineOver(database, jobs, { registry }), new AbortController().signal);
  await test.sql(`insert into tock.change_webhooks values ('charge', 0)`);
  await change();
  looks.changed();
  const [first] = await until(async () => (await live()).length === 1 && (await live()), 'a run');
  // It had no time left for the change, of which no notification comes any more.
  await test.sql('delete from tock.job_runs_live');
  const [second] = await until(async () => (await live()).length === 1 && (await live()), 'another run');
  expect(second?.id).not.toBe(first?.id);
  await looks.done();
});

it('looks no sooner for changes that come while a run is to deliver', async () => {
  const looks = createWebhookLooks(engineOver(recorded, jobs, { registry }), new AbortController().signal);
  await test.sql(`insert into tock.change_webhooks values ('charge', 0)`);
  await change();
  // The look after a second, which is due by itself, comes too late for this test.
  const wait = globalThis.setTimeout;
  const waiting = vi
    .spyOn(globalThis, 'setTimeout')
    .mockImplementation((work, ms) => wait(work, ms === 1000 ? 600_000 : ms));
  onTestFinished(() => waiting.mockRestore());
  looks.changed();
  await until(async () => (await live()).length === 1, 'a run');
  const before = recorder.statements().length;
  looks.changed();
  await looks.done();
  expect(recorder.statements()).toHaveLength(before);
});
