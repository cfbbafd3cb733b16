// Engine: ended runs are counted by minute, in short. Hours, late commits and retention: roll-up.check.test.ts.
import { expect, it, vi } from 'vitest';
import { rollUp } from '../../../src/engine/metrics/roll-up.js';
import { openForEach } from '../../support/open.js';
import { countedSums, openFiguresKit, START, sumsOf } from './figures-kit.js';

const kit = openForEach(openFiguresKit);
const minutes = async () =>
  await kit.test.sql('select at, run_count::int as count from tock.figures_by_minute order by at');
const areExact = async () => expect(await countedSums(kit.database)).toEqual(sumsOf(kit.ends));

it('counts a minute once it is over, once; until then it is read as it is', async () => {
  await kit.end();
  await kit.advance(30_000);
  await kit.end({ status: 'dead', durationMs: null });
  expect([await kit.rollUp(), await minutes()]).toEqual([0, []]);
  await areExact();
  await kit.advance(45_000);
  await kit.end();
  expect(await kit.rollUp()).toBe(1);
  const counted = { at: new Date(START), count: 1 };
  expect(await minutes()).toEqual([counted, counted]);
  await areExact();
  expect(await kit.rollUp()).toBe(0);
});

it('stops where its time is over, and the next one goes on', async () => {
  for (let minute = 0; minute < 3; minute++) {
    await kit.end();
    await kit.advance(60_000);
  }
  await kit.advance(60_000);
  expect(await rollUp(kit.database, { budgetMs: 0 })).toBe(1);
  await areExact();
  while ((await rollUp(kit.database, { budgetMs: 0 })) > 0) await areExact();
  expect((await minutes()).map(({ count }) => count)).toEqual([1, 1, 1]);
  await areExact();
});

it('is one transaction where one minute is to be counted: nothing is asked for that it knows', async () => {
  await kit.end();
  await kit.advance(75_000);
  const transactions = vi.spyOn(kit.database, 'transaction');
  expect(await kit.rollUp()).toBe(1);
  expect(transactions).toHaveBeenCalledTimes(1);
});
