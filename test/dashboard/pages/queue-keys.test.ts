// The fair keys on the page of a queue: those with most runs, one by its name, and opening it.
import { describe, expect, it } from 'vitest';
import { defineJob } from '../../../src/index.js';
import { openOnce } from '../../support/open.js';
import { openPageKit } from './operate-kit.js';

const send = defineJob({ name: 'send', queue: 'mail', run: () => null });
const kit = openOnce(
  () => openPageKit([send]),
  ({ setClock }) => setClock('2026-03-08T12:00:00Z'),
);
const enqueue = (tenant: string | number, count: number) =>
  kit.tock.enqueueMany(Array.from({ length: count }, () => ({ job: send, payload: { tenant } })));

describe('the page of a queue', () => {
  it('shows no keys where its runs have none', async () => {
    await enqueue(17, 3);
    expect((await kit.get('/queues/mail')).html).not.toContain('id="keys"');
  });

  it('shows the keys with most runs, and one by its name', { tags: 'check' }, async () => {
    await kit.tock.queues.set('mail', { fair: { key: '$.tenant', limit: 2 } });
    await kit.tock.keys.set('b', { weight: 3 });
    await enqueue('a', 1500);
    await enqueue('b', 30);
    await enqueue('<i>', 1);
    await kit.sql(
      `update tock.job_runs_live set blocked_on = null, status = 'running', started_at = tock.now(), locked_until = tock.now() + interval '1 minute',
         locked_by = gen_random_uuid() where id in (select min(id) from tock.job_runs_live where slot_keys[1] like '%/a')`,
    );
    await kit.tock.keys.open('a');
    // What the outbox names is a key once a worker has looked at it.
    await kit.sql(
      `insert into tock.fair_keys (name, queue, job, key) select '~mail//' || k, 'mail', '', k from unnest(array['a', 'b', '<i>']) k`,
    );
    const { text, html } = await kit.get('/queues/mail');
    expect(text).toContain('a weight 1 1 of 2 at once 1 000+ its turn, beside the other keys');
    expect(text).toContain('b weight 3 0 of 2 at once 30 its turn');
    expect(text.indexOf('a weight 1')).toBeLessThan(text.indexOf('b weight 3'));
    expect(html).toContain('&lt;i&gt;');
    const named = await kit.get('/queues/mail?key=b');
    expect(named.text).toContain('b weight 3');
    expect(named.text).not.toContain('a weight 1');
    expect((await kit.get('/queues/mail?key=zz')).text).toContain('No run has the key zz');
  });

  it('opens a key that a handler has closed, for those who may operate', { tags: 'check' }, async () => {
    await kit.sql(
      `update tock.fair_keys set closed_until = tock.now() + interval '1 hour', is_ready = false, ready_at = tock.now() + interval '1 hour' where key = 'b'`,
    );
    const { html, text } = await kit.get('/queues/mail?key=b', 'operate');
    expect(text).toContain('closed by a handler: it opens in 1h');
    expect(html).toContain('Open b');
    expect((await kit.get('/queues/mail?key=b', 'view')).html).not.toContain('Open b');
    expect((await kit.post('/queues/mail/open-key', { key: 'b' }, 'view')).status).toBe(403);
    expect((await kit.post('/queues/mail/open-key', { key: 'b' }, 'operate')).text).toContain(
      'Key b is open again',
    );
    expect(await kit.sql('select closed_until from tock.fair_keys where key = $1', ['b'])).toEqual([
      { closed_until: null },
    ]);
    const [record] = await kit.tock.audit.list({ limit: 1 });
    expect(record).toMatchObject({ action: 'keys.open', operator: 'mia' });
  });
});
