import { afterEach, expect, it } from 'vitest';
import { compileSchedule } from '../../../src/model/schedule/compile.js';
import { GOLDEN } from './golden.js';

const ours = process.env['TZ'];

function setZone(timezone: string | undefined): void {
  if (timezone === undefined) delete process.env['TZ'];
  else process.env['TZ'] = timezone;
}

afterEach(() => setZone(ours));

/** Another spelling for each zone, so that no answer comes from the cache of expressions. */
let answersSoFar = 0;

it('the zone of the process does not affect any answer', () => {
  const answers = ['UTC', 'America/New_York', 'Pacific/Apia', 'Australia/Lord_Howe'].map(timezone => {
    setZone(timezone);
    // The process did change: this test would otherwise prove nothing.
    const offset = new Date(Date.UTC(2026, 6, 1)).getTimezoneOffset();
    const found = GOLDEN.map(({ cron, timezone, from, to }, index) => {
      const exclude = [`2026-0${1 + (index % 9)}-08`];
      const bounds = { startAt: from, endAt: to.replace('Z', '+00:00'), exclude };
      const schedule = compileSchedule({
        cron: ` ${' '.repeat(answersSoFar)}${cron}`,
        timezone,
        ...bounds,
      });
      return [schedule.next(Date.parse(from)), schedule.previous(Date.parse(to))];
    });
    answersSoFar++;
    return { offset, found };
  });
  expect(new Set(answers.map(each => each.offset)).size).toBe(4);
  expect(answers.map(each => each.found)).toEqual(answers.map(() => answers[0]?.found));
});
