// A relayed queue: who claims from it, and what is said of it.
import { beforeEach, describe, expect, it } from 'vitest';
import { defineJob, findProblems } from '../../../src/index.js';
import { readNextDue } from '../../../src/store/reads/next-due.js';
import { openDatabase } from '../../support/database.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock, until } from '../../support/test-tock.js';

const executed: string[] = [];
const mail = defineJob({ name: 'mail', queue: 'mail', run: ctx => void executed.push(ctx.runId) });
const other = defineJob({ name: 'other', run: ctx => void executed.push(ctx.runId) });
const nightly = defineJob({
  name: 'nightly',
  queue: 'mail',
  schedule: { cron: '0 2 * * *' },
  run: () => null,
});

const test = openForEach(() => reuseTestTock([mail, other, nightly]));
const database = openForEach(() => openDatabase({ connectionString: test.url }));
beforeEach(async () => {
  executed.length = 0;
  await test.tock.queues.set('mail', { relay: 'rabbitmq' });
});

describe('a relayed queue', () => {
  it('is left alone by ticks that do not name it, and worked off by those that do', async () => {
    const id = await test.tock.enqueue('mail', {});
    const own = await test.tock.enqueue('other', {});
    await test.tock.tick();
    expect(executed).toEqual([own]);
    await test.tock.tick({ queues: ['mail'] });
    expect(executed).toEqual([own, id]);
  });

  it('is nothing to do, for a look that does not name it', async () => {
    await test.tock.enqueue('mail', {});
    await test.tock.enqueue('mail', {}, { delay: '1h' });
    const look = (queues: readonly string[] | null) => readNextDue(database, queues, true);
    expect(await look(null)).toMatchObject({ isOverdue: false, runMs: null, needsReaping: false });
    const named = await look(['mail']);
    expect(named.isOverdue).toBe(true);
    expect(named.runMs).toBeGreaterThan(3_000_000);
  });

  it('is left alone by a daemon that has claimed from it before', { tags: 'check' }, async () => {
    await test.tock.queues.set('mail', { relay: null });
    const daemon = await test.tock.start();
    try {
      const before = await test.tock.enqueue('mail', {});
      await until(() => Promise.resolve(executed.includes(before)), 'a run before');
      await test.tock.queues.set('mail', { relay: 'rabbitmq' });
      const after = await test.tock.enqueueMany(Array.from({ length: 20 }, () => ({ job: 'mail' })));
      const own = await test.tock.enqueue('other', {});
      await until(() => Promise.resolve(executed.includes(own)), 'a run elsewhere');
      expect(executed.filter(id => (after as string[]).includes(id))).toEqual([]);
      await test.tock.queues.set('mail', { relay: null });
      await until(() => Promise.resolve(executed.length === 22), 'the runs that waited');
    } finally {
      await daemon.stop();
    }
  });

  it('lets a run be executed by hand', async () => {
    const id = await test.tock.enqueue('mail', {});
    expect((await test.tock.runs.wait(id, { execute: true })).status).toBe('succeeded');
    expect(executed).toEqual([id]);
  });

  it('is said to wait for a relay, by status and why, until one is at work', { tags: 'check' }, async () => {
    await test.setClock('2026-03-02T01:00:00Z');
    await test.tock.tick();
    await test.setClock('2026-03-02T02:00:10Z');
    await test.tock.tick();
    const problems = async () =>
      findProblems(await test.tock.status()).filter(({ code }) => code === 'relay-away');
    const says =
      'queue mail is relayed to rabbitmq, and no relay is at work: start one, or execute it here by tock start --queues mail, or tock queue set mail --relay none';
    expect(await problems()).toMatchObject([
      {
        level: 'failing',
        message: `1 due run waits in ${says.replace('mail is', 'mail, which is')}`,
        command: 'tock queue set mail --relay none',
      },
    ]);
    expect(JSON.stringify(await test.tock.why('nightly', '2026-03-02T02:00:00Z'))).toContain(`its ${says}`);
    await test.sql(
      `insert into tock.workers (id, kind, host, pid, capacity, queues) values (gen_random_uuid(), 'relay', 'web-1', 7, 1, '{mail}')`,
    );
    expect(await problems()).toEqual([]);
    expect(JSON.stringify(await test.tock.why('nightly', '2026-03-02T02:00:00Z'))).toContain(
      'its queue mail is relayed to rabbitmq"',
    );
  });

  it('is set and unset like a limit, and audited', async () => {
    expect(await test.tock.queues.set('mail', { relay: 'nats' })).toMatchObject({ relayedTo: 'nats' });
    expect(await test.tock.queues.set('mail', { concurrency: 3 })).toMatchObject({ relayedTo: 'nats' });
    expect(await test.tock.queues.set('mail', { relay: null })).toMatchObject({ relayedTo: null });
    expect(await test.tock.audit.list({ action: 'queues.set', limit: 3 })).toMatchObject([
      { details: { changes: { relay: { from: 'nats', to: null } } } },
      { details: { changes: { concurrency: { from: null, to: 3 } } } },
      { details: { changes: { relay: { from: 'rabbitmq', to: 'nats' } } } },
    ]);
    await expect(test.tock.queues.set('mail', { relay: '' })).rejects.toThrow(/relay/);
    await expect(test.tock.queues.set('mail', { relay: 'x'.repeat(101) })).rejects.toThrow('longer than 100');
  });
});
