// The same webhooks twice, without shares and with them: how long do other customers wait for one that has too many?
// Ends with 1 if the shares did not keep what they promise. Compares orders and numbers, no times.
import { setTimeout as sleep } from 'node:timers/promises';
import { createTock } from 'pg-tock';
import { deliverPlain } from './jobs/deliver-plain.js';
import { deliverWebhook } from './jobs/deliver-webhook.js';
import { jobs } from './jobs/index.js';
import { openCustomers } from './lib/customers.js';

const LARGE = 'acme';
const LARGE_PER_SECOND = 5;
const OTHERS = Array.from({ length: 10 }, (_, index) => `customer-${index + 1}`);
/** Webhooks of the large customer, and of each of the others. */
const COUNTS = { large: 60, others: 2 };
const LIMIT_MS = 60_000;
const BEFORE = 'requests to acme before their last';
const REFUSED = 'requests answered 429';

const tock = createTock({ jobs, connectionString: process.env.DATABASE_URL, logger: false });
try {
  await tock.start({ concurrency: 4 });
  for (const job of jobs) await deliver(job, { large: 5, others: 1 });
  const without = await deliver(deliverPlain, COUNTS);
  const shared = await deliver(deliverWebhook, COUNTS);
  console.table({ 'without fair': without, 'with fair': shared });
  const wrong = [
    // Of eleven customers that take turns, the large one gets one turn in eleven.
    ...(shared[BEFORE] * 4 > without[BEFORE] ? ['other customers have waited for the large one'] : []),
    ...(shared[REFUSED] * 2 > without[REFUSED] ? ['a customer that answers 429 was asked again'] : []),
  ];
  for (const each of wrong) console.error(`broken: ${each}`);
  console.log(
    wrong.length === 0 ? 'the others do not wait for the large customer' : 'the promise did not hold',
  );
  process.exitCode = wrong.length === 0 ? 0 : 1;
} finally {
  await tock.close();
}

/** Enqueues the webhooks of the large customer, then those of the others, and waits until all are delivered. */
async function deliver(job, { large, others }) {
  const customers = await openCustomers({ [LARGE]: LARGE_PER_SECOND });
  const webhooks = [...Array(large).fill(LARGE), ...Array(others).fill(OTHERS).flat()];
  const from = performance.now();
  await tock.enqueueMany(
    webhooks.map((customer, index) => ({
      job,
      payload: { customer, url: customers.urlOf(customer), event: `order ${index}` },
    })),
  );
  const delivered = () => customers.requests.filter(each => each.status === 204 && each.isAnswered);
  while (delivered().length < webhooks.length) {
    if (performance.now() > from + LIMIT_MS) throw new Error(`not all were delivered in ${LIMIT_MS} ms`);
    await sleep(20);
  }
  customers.close();
  if (delivered().length > webhooks.length) throw new Error('a webhook was delivered twice');
  return resultOf(customers.requests, from);
}

/** A line of the table. */
function resultOf(requests, from) {
  const isOther = ({ customer }) => customer !== LARGE;
  const waits = requests.filter(isOther).map(({ at }) => Math.round(at - from));
  waits.sort((a, b) => a - b);
  const before = requests.slice(0, requests.findLastIndex(isOther));
  return {
    'others wait, median ms': waits[Math.floor(waits.length / 2)],
    'longest, ms': waits.at(-1),
    [BEFORE]: before.filter(({ customer }) => customer === LARGE).length,
    [REFUSED]: requests.filter(({ status }) => status === 429).length,
  };
}
