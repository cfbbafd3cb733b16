// What definitions start in a span of time.
import { expect, it } from 'vitest';
import { comingStarts } from '../../../src/model/planning/coming.js';

const HOUR = { from: new Date('2026-03-01T10:00:00Z'), to: new Date('2026-03-01T11:00:00Z') };

it('counts the starts of each definition, the first to start first, and leaves out those without', () => {
  const found = comingStarts(
    [
      { name: 'quarters', spec: { cron: '*/15 * * * *' } },
      { name: 'nightly', spec: { cron: '0 3 * * *' } },
      { name: 'once', spec: { at: '2026-03-01T10:05:00Z' } },
      { name: 'two-left', spec: { every: '10m' }, remaining: 2 },
    ],
    HOUR,
  );
  const at = (time: string) => new Date(`2026-03-01T${time}:00Z`);
  expect(found).toEqual([
    { name: 'quarters', starts: 4, first: at('10:00'), last: at('10:45') },
    { name: 'two-left', starts: 2, first: at('10:00'), last: at('10:10') },
    { name: 'once', starts: 1, first: at('10:05'), last: at('10:05') },
  ]);
});

it('adds jitter and windows: what they move out is not counted, what they move in is', () => {
  const closed = { name: 'closed', spec: { cron: '30 * * * *' }, window: '12:00-13:00' };
  const opens = { name: 'opens', spec: { cron: '0 9 * * *' }, window: '10:30-12:00' };
  expect(comingStarts([closed, { ...closed, outsideWindow: 'skip' }, opens], HOUR)).toEqual([
    {
      name: 'opens',
      starts: 1,
      first: new Date('2026-03-01T10:30:00Z'),
      last: new Date('2026-03-01T10:30:00Z'),
    },
  ]);
  const jittered = { name: 'late', spec: { cron: '0 * * * *' }, jitterMs: 3_600_000 };
  expect(comingStarts([jittered], HOUR)[0]?.starts).toBe(1);
  // Jitter leads out of the window, and so there is none.
  const last = { ...jittered, spec: { cron: '30 10 * * *' }, window: '10:00-10:31' };
  expect(comingStarts([last, { ...last, outsideWindow: 'skip' }], HOUR)).toHaveLength(2);
});
