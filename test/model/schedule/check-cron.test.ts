// A cron expression that is only checked: refused just where it would be refused when it is expanded.
import { describe, expect, it } from 'vitest';
import { checkCron, readCron } from '../../../src/model/schedule/cron/cron-fields.js';

const messageOf = (work: () => unknown): string | null => {
  try {
    work();
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
};
/** The check comes first: an expression that was expanded is remembered. */
const answers = (expression: string) => {
  const checked = messageOf(() => checkCron(expression));
  return { expression, checked, read: messageOf(() => readCron(expression)) };
};
const differing = (answered: ReturnType<typeof answers>[]) =>
  answered.filter(({ checked, read }) => checked !== read);

describe('checkCron', () => {
  it('agrees with readCron about every date, alone and with a weekday', () => {
    const days = [
      ...Array.from({ length: 33 }, (_, day) => String(day)),
      '*',
      '*/2',
      '*/31',
      '30-31',
      '29-31/2',
      '1-31/30',
      '31,30',
      '30,1',
      'L',
      'L,30',
      'L-3',
      'L-30',
      '31W',
      '1W,LW',
      'H',
      '30/1',
    ];
    const months = ['*', '2', 'feb', 'FEB', '1-2', '4,6,9,11', '2-11/9', '*/2', '2/12', 'H'];
    const weekdays = ['*', '0', '7', 'mon-fri', '1-5/2', '*/2', '*/7', '5L', '1#5', 'sun,sat', 'H'];
    const dates = days.flatMap(day =>
      months.flatMap(month => weekdays.map(weekday => answers(`0 0 ${day} ${month} ${weekday}`))),
    );
    expect(differing(dates)).toEqual([]);
    expect(dates.filter(each => each.read !== null).length).toBeGreaterThan(100);
  });

  it('agrees with readCron about every value, range and step of the other fields', { tags: 'check' }, () => {
    const entries = (most: number) =>
      Array.from({ length: most + 3 }, (_, value) => [
        `${value}`,
        `0-${value}`,
        `${value}-${most}`,
        `*/${value}`,
        `${value}/7`,
        `0-${most}/${value}`,
        `${value},1-3`,
      ]).flat();
    expect(differing(entries(59).map(minute => answers(`${minute} * * * *`)))).toEqual([]);
    expect(differing(entries(59).map(second => answers(`${second} 0 0 * * *`)))).toEqual([]);
    expect(differing(entries(23).map(hour => answers(`0 ${hour} * * *`)))).toEqual([]);
    expect(differing(entries(12).map(month => answers(`0 0 1 ${month} *`)))).toEqual([]);
    expect(differing(entries(7).map(weekday => answers(`0 0 * * ${weekday}`)))).toEqual([]);
  });
});
