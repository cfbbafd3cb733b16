// A relay publishes no run whose lease is too old: its consumer would execute it beside another attempt.
import { expect, it } from 'vitest';
import { activeRun } from '../../../src/engine/execute/active-run.js';
import type { Broker } from '../../../src/relay/broker.js';
import { Publisher } from '../../../src/relay/publisher.js';
import type { ClaimedRun } from '../../../src/store/runs/claim/claimed-run.js';
import { collectLines } from '../../support/lines.js';
import { storeTest } from '../../support/open.js';
import { createVirtualClock } from '../../support/virtual-clock.js';

const NOW = '2026-03-02T12:00:00Z';
const LEASE_MS = 60_000;
const { database } = storeTest(NOW);

it.each([
  [0.89, true],
  [0.91, false],
])('of whose lease %d is over once it can be published is published: %s', async (part, isPublished) => {
  const clock = createVirtualClock();
  const { logger, lines } = collectLines();
  const published: string[] = [];
  const broker = {
    name: 'test',
    publish: async (messages: readonly { run: string }[]) => {
      published.push(...messages.map(({ run }) => run));
      return messages.map(() => null);
    },
  } as unknown as Broker;
  const publisher = new Publisher({
    clock,
    database,
    logger,
    broker,
    queues: ['mail'],
    leaseMs: 300_000,
    claimLeaseMs: LEASE_MS,
    roomFor: () => 1,
    onChange: () => undefined,
  });
  const run = { id: '1', fence: 1, job: 'mail', payload: {}, scheduled_for: null, interval_start: null };
  const active = activeRun(run as ClaimedRun, clock.now());
  const ended = publisher.handOff(active, {});
  clock.pass(part * LEASE_MS);
  expect([await ended, published, lines]).toMatchObject(
    isPublished ? [{ kind: 'handedOff' }, ['1'], []] : [{ kind: 'unpublished' }, [], []],
  );
  publisher.stop();
});
