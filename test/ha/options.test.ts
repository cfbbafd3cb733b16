// The command line of the fail-over tests.
import { describe, expect, it } from 'vitest';
import { EVENT_NAMES } from './events.js';
import { HELP, readOptions } from './options.js';

describe('readOptions', () => {
  it('has defaults, a short form, and takes what is stated', () => {
    expect(readOptions([])).toMatchObject({
      events: ['switchover', 'kill', 'freeze', 'etcd'],
      synchronous: [true, false],
      seed: 1,
    });
    expect(readOptions(['--short'])).toMatchObject({ events: ['switchover', 'kill'], synchronous: [true] });
    expect(readOptions(['--events', 'kill, promote', '--sync', 'off', '--seed', '7'])).toMatchObject({
      events: ['kill', 'promote'],
      synchronous: [false],
      seed: 7,
    });
    expect(EVENT_NAMES.filter(name => !HELP.includes(name))).toEqual([]);
  });

  it.each([
    [['--events', 'flood'], '--events has "flood"; the events are switchover, kill'],
    [['--sync', 'maybe'], '--sync is "maybe"; it must be one of on, off, both'],
    [
      ['--seed', '-1'],
      /^(?:--seed is "-1"; it must be a whole number|Option '--seed' argument is ambiguous)/,
    ],
    [['--frob'], "Unknown option '--frob'"],
  ])('refuses %j', (argv, message) => {
    expect(() => readOptions(argv)).toThrow(message);
  });
});
