// The real engine, with a clock that the tests set, and endpoints that answer 429.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTestTock } from 'pg-tock/testing';
import { deliverWebhook } from './jobs/deliver-webhook.js';
import { jobs } from './jobs/index.js';
import { openCustomers } from './lib/customers.js';

async function open(t, perSecond = {}) {
  const kit = await openTestTock({ jobs, now: '2026-03-02T12:00:00Z' });
  const customers = await openCustomers(perSecond, async () => (await kit.clock.now()).getTime());
  t.after(async () => {
    await kit.close();
    customers.close();
  });
  await kit.tock.register();
  const enqueue = async (customer, count) => {
    const payload = { customer, url: customers.urlOf(customer), event: 'paid' };
    await kit.tock.enqueueMany(Array.from({ length: count }, () => ({ job: deliverWebhook, payload })));
  };
  const asked = customer => customers.requests.filter(each => each.customer === customer).length;
  return { kit, customers, enqueue, asked };
}

test('customers take turns, however much waits for one of them', async t => {
  const { kit, customers, enqueue } = await open(t);
  await enqueue('acme', 40);
  for (const customer of ['beta', 'gamma', 'delta']) await enqueue(customer, 3);
  // A run that is claimed and given back, since handlers are slow, counts for the rate too: the last may come later.
  await kit.advanceTo('2026-03-02T12:01:00Z', { concurrency: 1 });
  const order = customers.requests.map(({ customer }) => customer);
  assert.equal(order.length, 49);
  const last = order.findLastIndex(customer => customer !== 'acme');
  assert.ok(last < 15, order.join());
});

test('a customer that answers 429 is not asked again until the time that it names, and gets all in the end', async t => {
  const perSecond = { acme: 2 };
  const { kit, customers, enqueue, asked } = await open(t, perSecond);
  await enqueue('acme', 20);
  await enqueue('beta', 20);
  await kit.drain({ concurrency: 1 });
  assert.equal(asked('beta'), 20);
  // Two are delivered, and the third is told to wait; a fourth may have been under way.
  const told = asked('acme');
  assert.ok(told <= 4, `asked ${told} times`);
  await kit.advanceTo('2026-03-02T12:00:00.900Z');
  assert.equal(asked('acme'), told);
  perSecond.acme = 1000;
  await kit.advanceTo('2026-03-02T12:01:00Z');
  assert.equal(customers.requests.filter(({ status }) => status === 204).length, 40);
});
