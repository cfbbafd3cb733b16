// A filter as text: what it reads into, and what is wrong with it.
import { describe, expect, it } from 'vitest';
import { faultsOf, isEmpty, matchOf, readFilterText } from '../../../../src/model/run/match/filter-text.js';
import { filterClauses } from '../../../../src/model/run/match/filter-words.js';
import { readRunMatch } from '../../../../src/model/run/match/run-match.js';

const NOW = new Date('2026-03-29T12:00:00Z');
const textOf = (query: string) => {
  const search = new URLSearchParams(query);
  return readFilterText(name => search.getAll(name));
};
const spanOf = (query: string, zone = 'UTC') => {
  const { from, to } = readRunMatch(matchOf(textOf(query), zone), NOW);
  return [from?.toISOString(), to?.toISOString()];
};

describe('times of a filter', () => {
  it.each<[string, string, readonly (string | undefined)[]]>([
    ['from=-2h', 'UTC', ['2026-03-29T10:00:00.000Z', undefined]],
    ['from=2h', 'UTC', ['2026-03-29T10:00:00.000Z', undefined]],
    ['to=%2B1h30m', 'UTC', [undefined, '2026-03-29T13:30:00.000Z']],
    ['from=now', 'UTC', ['2026-03-29T12:00:00.000Z', undefined]],
    ['from=yesterday&to=today', 'UTC', ['2026-03-28T00:00:00.000Z', '2026-03-29T00:00:00.000Z']],
    // The day on which summer time begins has 23 hours.
    ['from=today&to=tomorrow', 'Europe/Berlin', ['2026-03-28T23:00:00.000Z', '2026-03-29T22:00:00.000Z']],
    ['from=Yesterday', 'Europe/Berlin', ['2026-03-27T23:00:00.000Z', undefined]],
    ['from=2026-03-29 02:30', 'Europe/Berlin', ['2026-03-29T01:00:00.000Z', undefined]],
    ['from=11:00', 'Europe/Berlin', ['2026-03-29T09:00:00.000Z', undefined]],
    ['from=2026-03-01T08:00:00%2B01:00', 'UTC', ['2026-03-01T07:00:00.000Z', undefined]],
    ['from=all', 'UTC', [undefined, undefined]],
  ])('%s in %s', (query, zone, expected) => {
    expect(spanOf(query, zone)).toEqual(expected);
  });

  it('in the words of a caller of the library, in UTC unless a zone is named', () => {
    expect(readRunMatch({ from: 'yesterday' }, NOW).from?.toISOString()).toBe('2026-03-28T00:00:00.000Z');
    expect(readRunMatch({ from: 'yesterday', zone: 'Asia/Tokyo' }, NOW).from?.toISOString()).toBe(
      '2026-03-27T15:00:00.000Z',
    );
  });
});

describe('what is wrong with a filter', () => {
  it.each<[string, readonly (readonly [string, RegExp])[]]>([
    ['job=mail&from=-2h&status=dead', []],
    ['status=killed', [['status', /^status "killed" is not one of queued/]]],
    [
      'from=yesterdayish&payload=x',
      [
        ['payload', /customer=812/],
        ['from', /^from "yesterdayish" is not a time/],
      ],
    ],
    ['from=9999999999999999999w', [['from', /is not a time/]]],
    ['from=today&to=yesterday', [['from', /not before to.*from yesterday to today/]]],
    ['from=yesterday&to=yesterday', [['from', /not before/]]],
    ['error=%00', [['error', /is not text/]]],
  ])('%s', (query, expected) => {
    const faults = faultsOf(textOf(query), 'Europe/Berlin', NOW);
    expect(faults.map(({ field }) => field)).toEqual(expected.map(([field]) => field));
    for (const [index, { message }] of faults.entries())
      expect(message).toMatch(expected[index]?.[1] ?? /$^/);
  });

  it('is nothing where nothing is given', () => {
    expect(isEmpty(textOf('job=&status='))).toBe(true);
    expect(matchOf(textOf(''), 'Europe/Berlin')).toEqual({});
  });
});

it('a filter in words', () => {
  const words = (query: string) =>
    filterClauses(textOf(query), { quoted: value => `'${value}'`, definition: 'schedule' }).join(' ');
  expect(words('job=mail&queue=q&from=-2h&to=%2B1h&payload=a=1&payload=b=2')).toBe(
    "of job 'mail' in queue 'q' whose payload has a=1 b=2 since 2h ago before 1h from now",
  );
  expect(words('message=gone&code=E1&from=all')).toBe("whose error is 'Error E1: gone'");
});
