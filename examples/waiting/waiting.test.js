// The real engine, with a clock that the tests set; and with workers that come and go.
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { openTestTock } from 'pg-tock/testing';
import { jobs } from './jobs/index.js';

const ROWS = 100_000;
const TABLES = `
create table customers (name text primary key, open boolean not null default true);
create table shipments (order_id text primary key, cents integer not null);
create table source (id integer primary key, word text not null);
create table target (id integer primary key, word text not null)`;

/** @param now absent: the clock runs, at real time */
async function open(t, now) {
  const kit = await openTestTock({ jobs, ...(now && { now }) });
  t.after(kit.close);
  await kit.sql(TABLES);
  return kit;
}
const statusOf = async (kit, id) => (await kit.tock.runs.get(id)).status;

test('a trial ends after 14 days', async t => {
  const kit = await open(t, '2026-03-01T09:00:00Z');
  await kit.sql("insert into customers values ('acme')");
  const id = await kit.tock.enqueue('trial', { customer: 'acme' });
  await kit.advanceTo('2026-03-15T08:59:00Z');
  assert.equal(await statusOf(kit, id), 'queued');
  const [run] = await kit.advanceTo('2026-03-15T09:00:00Z');
  assert.equal(run.output, 'ended');
  assert.deepEqual(await kit.sql('select open from customers'), [{ open: false }]);
});

test('a trial goes on for good once its customer has paid', async t => {
  const kit = await open(t, '2026-03-01T09:00:00Z');
  await kit.sql("insert into customers values ('acme')");
  await kit.tock.enqueue('trial', { customer: 'acme' });
  await kit.advanceTo('2026-03-10T00:00:00Z');
  const [run] = await kit.emit('paid', { key: 'acme' });
  assert.equal(run.output, 'paid');
  await kit.advanceTo('2026-04-01T00:00:00Z');
  assert.deepEqual(await kit.sql('select open from customers'), [{ open: true }]);
});

test('an album is published once its 500 images are there', async t => {
  const kit = await open(t, '2026-03-01T09:00:00Z');
  const images = Array.from({ length: 500 }, (_, image) => ({ job: 'resize', payload: { image } }));
  const album = await kit.tock.enqueueGroup(images, { then: { job: 'publish' }, key: 'album:7' });
  await kit.drain();
  const { status, output } = await kit.tock.runs.get(album.id);
  assert.equal(status, 'succeeded');
  assert.deepEqual([output.length, output[0], output[499]], [500, '0.webp', '499.webp']);
});

test('an export is asked for until it is ready, and is begun once', async t => {
  const kit = await open(t, '2026-03-01T09:00:00Z');
  const requests = [];
  const server = createServer(({ method, url }, response) => {
    requests.push(`${method} ${url}`);
    if (method === 'POST') response.end('{"id": "7"}');
    else if (requests.length < 5) response.writeHead(202, { 'retry-after': '60' }).end();
    else response.end('{"rows": 12}');
  }).listen(0, '127.0.0.1');
  await new Promise(resolve => server.once('listening', resolve));
  t.after(() => server.close());
  process.env.EXPORT_API = `http://127.0.0.1:${server.address().port}`;

  await kit.tock.enqueue('fetch-export', { report: 'sales' });
  const [run] = await kit.advanceTo('2026-03-01T09:03:00Z');
  assert.deepEqual(run.output, { rows: 12 });
  assert.equal(run.snoozes, 3);
  assert.equal(run.attempts, 1);
  assert.deepEqual(requests, ['POST /sales', ...Array(4).fill('GET /7')]);
});

test('a payment may come before its order waits for it', async t => {
  const kit = await open(t, '2026-03-01T09:00:00Z');
  await kit.tock.enqueue('ship-order', { order: 'o-1' });
  await kit.tock.emit('paid', { key: 'o-1', payload: { cents: 500 } });
  assert.equal((await kit.drain())[0].status, 'succeeded');

  await kit.tock.enqueue('ship-order', { order: 'o-2' });
  assert.deepEqual(await kit.drain(), []);
  await kit.sql(`select tock.emit('paid', 'o-2', '{"cents": 700}')`);
  assert.equal((await kit.drain())[0].status, 'succeeded');
  assert.deepEqual(await kit.sql('select * from shipments order by order_id'), [
    { order_id: 'o-1', cents: 500 },
    { order_id: 'o-2', cents: 700 },
  ]);
});

test('100,000 rows are copied across three deploys, and none twice', async t => {
  const kit = await open(t);
  await kit.sql(`insert into source select n, 'word ' || n from generate_series(1, ${ROWS}) n`);
  // It tells of each row that is written a second time.
  await kit.sql(`create table again (id integer);
    create function note_again() returns trigger language plpgsql as $$ begin
      if exists (select from target where id = new.id) then insert into again values (new.id); end if; return new; end $$;
    create trigger note_again before insert on target for each row execute function note_again()`);
  const id = await kit.tock.enqueue('copy-rows');
  const copied = async () => (await kit.sql('select count(*)::integer as count from target'))[0].count;
  for (const deploy of [1, 2, 3]) {
    const worker = await kit.another({ drain: 0 }).start({ concurrency: 1 });
    while ((await copied()) < deploy * 20_000) await new Promise(setImmediate);
    await worker.stop();
    assert.equal(await statusOf(kit, id), 'queued');
  }
  await kit.tock.start({ concurrency: 1 });
  const run = await kit.tock.runs.wait(id);
  assert.deepEqual([run.status, run.output, run.releases], ['succeeded', ROWS, 3]);
  assert.equal(await copied(), ROWS);
  assert.deepEqual(await kit.sql('select * from again'), []);
});
