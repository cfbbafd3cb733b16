// The option `logs` of createTock and of a job.
import { describe, expect, it } from 'vitest';
import { createTock, defineJob } from '../../../src/index.js';
import { isAtLeast, type LogsOption, readLogsOption } from '../../../src/model/job/logs-option.js';

const run = () => null;

describe('logs', () => {
  it('keeps 64 KiB of lines from info on, by default', () => {
    expect(readLogsOption(undefined)).toEqual({ maxBytes: 65_536, level: 'info' });
    expect(readLogsOption(true)).toEqual({ maxBytes: 65_536, level: 'info' });
  });

  it('of a job says what it says, and otherwise is what createTock says', () => {
    const base = { maxBytes: 2048, level: 'warn' } as const;
    expect(readLogsOption(undefined, base)).toEqual(base);
    expect(readLogsOption(undefined, null)).toBeNull();
    expect(readLogsOption(false, base)).toBeNull();
    expect(readLogsOption({ level: 'debug' }, base)).toEqual({ maxBytes: 2048, level: 'debug' });
    expect(readLogsOption(true, null)).toEqual({ maxBytes: 65_536, level: 'info' });
    expect(readLogsOption({ maxBytes: 1024 }, null)).toEqual({ maxBytes: 1024, level: 'info' });
  });

  it.each<[unknown, string]>([
    [{ maxBytes: 1023 }, 'logs.maxBytes 1023 is not a whole number from 1024 to 1048576'],
    [{ maxBytes: 1_048_577 }, 'logs.maxBytes 1048577'],
    [{ maxBytes: '64 KiB' }, 'logs.maxBytes "64 KiB"'],
    [{ maxBytes: Number.NaN }, 'logs.maxBytes NaN'],
    [{ level: 'trace' }, 'logs.level "trace" is none of debug, info, warn, error'],
    [{ size: 1024 }, 'logs has no option "size"; it has maxBytes, level'],
    ['64 KiB', 'logs is "64 KiB"; write an object of options'],
    [null, 'logs is null'],
  ])('refuses %j, of a job and of createTock', (logs, message) => {
    const option = logs as LogsOption;
    expect(() => defineJob({ name: 'a', run, logs: option })).toThrow(message);
    expect(() => createTock({ connectionString: 'postgres://x', logs: option })).toThrow(
      expect.objectContaining({ code: 'TOCK_BAD_OPTION', message: expect.stringContaining(message) }),
    );
  });
});

it('isAtLeast orders the levels', () => {
  expect(isAtLeast('warn', 'info')).toBe(true);
  expect(isAtLeast('info', 'info')).toBe(true);
  expect(isAtLeast('debug', 'info')).toBe(false);
});
