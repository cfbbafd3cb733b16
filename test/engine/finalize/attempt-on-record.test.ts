// What the error of an attempt says of it: when it was due and began, and which worker had it.
import { hostname } from 'node:os';
import { expect, it } from 'vitest';
import { defineJob } from '../../../src/index.js';
import { lifeOf } from '../../../src/model/run/run-life.js';
import { openOnce } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';

const NOW = Date.parse('2026-03-02T12:00:00Z');
const flaky = defineJob({
  name: 'flaky',
  retry: { maxAttempts: 2, backoff: 'fixed', base: '10s', jitter: 0 },
  run: () => {
    throw new Error('no');
  },
});

const test = openOnce(() => reuseTestTock([flaky]));

it('each attempt of a run is on record with its times and its worker', async () => {
  await test.setClock(new Date(NOW).toISOString());
  const id = await test.tock.enqueue('flaky');
  await test.advance('3s');
  await test.tock.tick();
  await test.advance('12s');
  await test.tock.tick();
  const run = await test.tock.runs.get(id);
  const at = (seconds: number) => new Date(NOW + seconds * 1000).toISOString();
  const worker = `${hostname()} pid ${process.pid}`;
  expect(run?.errors).toMatchObject([
    { attempt: 1, dueAt: at(0), startedAt: at(3), at: at(3), worker },
    { attempt: 2, dueAt: at(13), startedAt: at(15), at: at(15), worker },
  ]);
  expect(
    run &&
      lifeOf(run, NOW + 60_000).phases.map(({ kind, from, to }) => [
        kind,
        (from - NOW) / 1000,
        (to - NOW) / 1000,
      ]),
  ).toEqual([
    ['wait', 0, 3],
    ['attempt', 3, 3],
    ['backoff', 3, 13],
    ['wait', 13, 15],
    ['attempt', 15, 15],
  ]);
});
