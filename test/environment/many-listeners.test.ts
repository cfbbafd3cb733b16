// Signals to which many listen: Node must not warn of a leak, and there must be none.
import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { type BatchContext, type BatchRuns, defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { reuseTestTock } from '../support/test-tock.js';
import { turns } from '../support/virtual-clock.js';

const signals: AbortSignal[] = [];
const acts = defineJob({ name: 'acts', run: ctx => void signals.push(ctx.signal) });
const batch = defineJob({
  name: 'batch',
  batch: { size: 2, within: '1m' },
  run: (ctx: BatchContext, runs: BatchRuns) =>
    void signals.push(ctx.signal, ...runs.map(({ signal }) => signal)),
});
const test = openForEach(() => reuseTestTock([acts, batch]));

/** What Node says of eleven listeners of each. */
async function warnings(of: readonly AbortSignal[]): Promise<string[]> {
  const said: string[] = [];
  const hear = ({ name }: Error) => said.push(name);
  process.on('warning', hear);
  for (const signal of of)
    for (let listener = 0; listener < 11; listener++) signal.addEventListener('abort', () => undefined);
  await turns();
  process.off('warning', hear);
  return said;
}
const listening = (signal: AbortSignal) => getEventListeners(signal, 'abort').length;

// Regression: a signal given to eleven timers printed MaxListenersExceededWarning.
it('a handler, and a run of a batch, may give its signal to any number of timers and requests', async () => {
  await test.tock.enqueueMany([{ job: acts }, { job: batch }, { job: batch }]);
  await test.tock.tick();
  expect(signals).toHaveLength(4);
  expect(await warnings(signals)).toEqual([]);
});

it('an app may wait with one signal for any number of runs, or for changes', { tags: 'check' }, async () => {
  const { signal } = new AbortController();
  const id = await test.tock.enqueue(acts);
  await Promise.all(Array.from({ length: 12 }, () => test.tock.runs.wait(id, { execute: true, signal })));
  await test.tock.runs.wait(id, { signal });
  expect(listening(signal)).toBe(0);
  const follows = new AbortController();
  await test.tock.changes.subscribe({ signal: follows.signal }).begin();
  expect(await warnings([signal, follows.signal])).toEqual([]);
});

// Regression: each tick left a listener behind.
it('an app may give one signal to any number of ticks', async () => {
  const { signal } = new AbortController();
  for (let tick = 0; tick < 3; tick++) await test.tock.tick({ signal });
  expect(listening(signal)).toBe(0);
});
