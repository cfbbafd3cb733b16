// Review: a window opens when its hours begin, also on the day on which the clocks skip a part of them.
import { expect, it } from 'vitest';
import { describeSchedule } from '../../src/model/planning/definition.js';
import { windowIn } from '../../src/model/planning/window.js';

const MINUTE = 60_000;
it.each([
  ['Europe/Berlin', '02:30-03:30', '2026-03-28T20:00:00Z'],
  ['Europe/Berlin', '02:30-06:00', '2026-03-28T20:00:00Z'],
  ['Australia/Lord_Howe', '02:15-02:45', '2026-10-03T10:00:00Z'],
  ['America/Havana', '00:30-01:15', '2026-03-07T20:00:00Z'],
])('in %s %s: opening is the first open instant', (zone, hours, from) => {
  const window = windowIn(hours, zone);
  const at = Date.parse(from);
  let first = at;
  while (!window.isOpen(first)) first += MINUTE;
  expect(new Date(window.opening(at)).toISOString()).toBe(new Date(first).toISOString());
});

it.each(['after'])('%s: null is refused with a typed error', option => {
  const passed = { name: 'x', job: 'x' } as never;
  expect(() => describeSchedule(passed, { cron: '0 9 * * *', [option]: null } as never)).toThrow(
    expect.objectContaining({ code: expect.stringMatching(/^TOCK_/) }),
  );
});
