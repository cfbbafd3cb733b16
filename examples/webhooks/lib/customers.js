// The endpoints of all customers: each gets webhooks at a path of its own, and may take only so many a second.
import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

const ANSWER_MS = 20;

/**
 * @param perSecond by customer, read with each request; who is not named takes all
 * @param {() => number | Promise<number>} now the endpoints' clock, in milliseconds
 */
export async function openCustomers(perSecond, now = () => performance.now()) {
  /** In the order in which they came. */
  const requests = [];
  const windows = new Map();
  const isTooMuch = (customer, at) => {
    const second = windows.get(customer);
    if (second === undefined || at >= second.until) {
      windows.set(customer, { until: at + 1000, count: 1 });
      return false;
    }
    second.count += 1;
    return second.count > (perSecond[customer] ?? Number.POSITIVE_INFINITY);
  };
  const answer = async (request, response) => {
    const customer = (request.url ?? '/').slice(1);
    const status = isTooMuch(customer, await now()) ? 429 : 204;
    const asked = { customer, status, at: performance.now(), isAnswered: false };
    requests.push(asked);
    await sleep(ANSWER_MS);
    response.writeHead(status, status === 429 ? { 'retry-after': '1' } : {});
    response.end(() => (asked.isAnswered = true));
  };
  const server = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    requests,
    urlOf: customer => `http://127.0.0.1:${server.address().port}/${customer}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
