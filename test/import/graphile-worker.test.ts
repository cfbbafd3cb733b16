// The crontab of graphile-worker: its lines, its payloads, and what becomes of them.
import { describe, expect, it } from 'vitest';
import { compareTaken } from '../../src/import/elsewhere/taken.js';
import { timesOf } from '../../src/import/elsewhere/times.js';
import { readCronItems } from '../../src/import/graphile-worker/cron-item.js';
import { readJson5 } from '../../src/import/graphile-worker/json5.js';
import { leftOnlyKnown, translateCronItem } from '../../src/import/graphile-worker/translate.js';

const itemOf = (text: string) => {
  const { items, bad } = readCronItems(text);
  const [item] = items;
  if (item === undefined) throw new Error(bad[0]?.problem);
  return item;
};
const problemOf = (text: string) => readCronItems(text).bad[0]?.problem ?? 'taken';
const taken = (text: string) => {
  const result = translateCronItem(itemOf(text), new Map([['send', 'runSend']]), new Set());
  if ('problem' in result) throw new Error(result.problem);
  return result;
};

describe('a line', () => {
  it('has times, a task, options and a payload', () => {
    const text =
      '0 6 * * 1 send ?id=digest&fill=1d12h&max=5&queue=q:1&priority=-3 {a: [1, \'b\',], "c": null}';
    expect(itemOf(text)).toMatchObject({
      line: 1,
      when: '0 6 * * 1',
      task: 'send',
      identifier: 'digest',
      options: { fillMs: 129_600_000, maxAttempts: 5, queue: 'q:1', jobKey: null, priority: -3 },
      payload: { a: [1, 'b'], c: null },
    });
  });

  it('is left if its payload is nested too deep', () => {
    const line = (levels: number) => `0 6 * * 1 send {a: ${'['.repeat(levels)}${']'.repeat(levels)}}`;
    expect(problemOf(line(200))).toBe('taken');
    expect(problemOf(line(201))).toBe('its payload is nested deeper than 200 levels');
  });

  it('becomes a job with the same policies', () => {
    const { job, differences } = taken('0 6 * * * send ?fill=2d&max=5&queue=q&priority=2 {a: 1}');
    expect(job).toMatchObject({
      name: 'send',
      schedule: {
        cron: '0 6 * * *',
        timezone: 'UTC',
        overlap: 'allow_all',
        catchup: 'all',
        catchupWindow: '2d',
        payload: { a: 1 },
      },
      queue: 'q',
      priority: 2,
      retry: 'retry(5)',
      run: 'runSend',
    });
    expect(differences).toEqual([
      'the jobs of the queue q run one at a time: tock queue set q --concurrency 1',
    ]);
    expect(taken('0 6 * * * send').job).toMatchObject({ schedule: { catchup: 'none' }, retry: 'retry(25)' });
    expect(taken('0 6 * * * send ?jobKey=a').job.schedule).toMatchObject({ overlap: 'buffer_one' });
    expect(taken('0 6 * * * users/emails/verify').job.name).toBe('users:emails:verify');
  });

  it('has a day rule of its own: a field with a step is restricted', () => {
    const { isDay } = timesOf(itemOf('0 0 */10 * 1 send').times);
    expect([1, 2, 5, 12].map(date => isDay(date, date % 7, 31))).toEqual([true, false, false, false]);
    expect(isDay(8, 1, 31)).toBe(true);
    const full = timesOf(itemOf('0 0 */1 * 1-7 send').times);
    expect(full.isDay(9, 2, 31)).toBe(true);
    const [from, to] = [Date.parse('2027-01-01T00:00:00Z'), Date.parse('2027-04-01T00:00:00Z')];
    for (const when of ['0 0 */10 * 1', '0 0 * * 7', '5,35 3-5 * * *', '0 0 1-31 * 1'])
      expect(compareTaken(taken(`${when} send`), from, to).differences, when).toEqual([]);
  });

  it.each([
    ['@daily send', 'five fields of digits'],
    ['0 6 * * mon send', 'five fields of digits'],
    ['61 6 * * * send', 'refuses the minute "61"'],
    ['0 6 * * 5-1 send', 'refuses the weekday "5-1"'],
    ['0 6 * * * 1send', 'a task is needed'],
    ['0 6 * * * send ?retries=5', 'it has no option retries'],
    ['0 6 * * * send ?max=many', 'max=many is no value'],
    ['0 6 * * * send {a: }', 'its payload is not JSON5: a value is missing'],
    ['0 6 * * * send\n0 7 * * * send', 'the identifier send is taken'],
  ])('%s is refused', (text, problem) => {
    expect(problemOf(text)).toContain(problem);
  });

  it('is left out if it is a comment', () => {
    expect(readCronItems('# 0 6 * * * send\r\n\n#tock# 0 6 * * * send\n')).toEqual({ items: [], bad: [] });
  });
});

it('leftOnlyKnown names what the crontab does not hold', () => {
  const known = [
    { identifier: 'send', lastExecution: null },
    { identifier: 'old', lastExecution: new Date('2027-01-01T00:00:00Z') },
  ];
  const found = leftOnlyKnown(known, readCronItems('0 6 * * * send').items);
  expect(found).toEqual([
    expect.objectContaining({
      from: 'item old',
      problem: expect.stringContaining('2027-01-01T00:00:00.000Z'),
    }),
  ]);
});

describe('readJson5', () => {
  it.each([
    ['{}', {}],
    ['{"a": 1}', { a: 1 }],
    ["{a: 'it\\'s', $b_2: \"\\u0041\\x42\\n\", }", { a: "it's", $b_2: 'AB\n' }],
    ['[1, -2.5, +.5, 5., 0x1F, 1e3, true, null,]', [1, -2.5, 0.5, 5, 31, 1000, true, null]],
    ['{ünal: {}}', { ünal: {} }],
  ])('%s', (text, value) => {
    expect(readJson5(text)).toEqual(value);
  });

  it.each(['', '{', '{a}', '{a: 1', '[1 2]', "{a: 'b}", '{a: NaN}', '{} x', '{a: "\\u12"}', '{:1}'])(
    'refuses %j',
    text => {
      expect(() => readJson5(text)).toThrow(/, at character \d+ of/);
    },
  );

  it('keeps what looks like a prototype as data', () => {
    expect(Object.keys(readJson5('{__proto__: 1}') as object)).toEqual(['__proto__']);
  });
});
