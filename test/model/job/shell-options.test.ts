// Model: the options of defineShellJob, checked when the module is loaded.
import { describe, expect, expectTypeOf, it } from 'vitest';
import { z } from 'zod';
import { defineShellJob, type OutputOf, type ShellJobOptions } from '../../../src/index.js';
import { readShellOptions } from '../../../src/model/job/shell-options.js';

const define = (options: object) => defineShellJob(options as ShellJobOptions);

describe('defineShellJob', () => {
  it('makes a job with the options of defineJob', () => {
    const job = defineShellJob({
      name: 'backup',
      command: ['pg_dump', 'shop'],
      schedule: { cron: '30 2 * * *' },
      retry: { maxAttempts: 3 },
      concurrency: { limit: 1 },
    });
    expect(job).toMatchObject({ kind: 'tock.job', name: 'backup', retry: { maxAttempts: 3 } });
    expect(job.file).toMatch(/shell-options\.test\.ts$/);
    expect(Object.keys(job)).not.toContain('command');
  });

  it.each([
    [{ name: 'x' }, /has either command, a list such as \['pg_dump', 'shop'\], or shell/],
    [{ name: 'x', command: ['a'], shell: 'a' }, /has either command/],
    [{ name: 'x', command: 'pg_dump shop' }, /command "pg_dump shop" is a text; write a list/],
    [{ name: 'x', command: [] }, /command\[0\] is missing/],
    [{ name: 'x', command: [''] }, /command\[0\] "" must be a text that is not empty/],
    [{ name: 'x', command: ['a', 7] }, /command has 7 among its arguments/],
    [{ name: 'x', command: ['a', 'b\0'] }, /each is a text without NUL/],
    [{ name: 'x', shell: ' ' }, /shell " " must be a text/],
    [{ name: 'x', comand: ['a'] }, /defineShellJob has no option "comand"; did you mean "command"\?/],
    [{ name: 'x', command: ['a'], sucessCodes: [0] }, /did you mean "successCodes"\?/],
    [{ name: 'x', command: ['a'], shedule: {} }, /did you mean "schedule"\?/],
    [{ name: 'x', command: ['a'], run: () => null }, /a shell job has a command and no run function/],
    [{ name: 'x', command: ['a'], cwd: 7 }, /cwd 7 must be a text/],
    [{ name: 'x', command: ['a'], env: { A: 7 } }, /env\.A 7 is not a text/],
    [{ name: 'x', command: ['a'], env: { 'A=B': 'c' } }, /cannot be the name of a variable/],
    [{ name: 'x', command: ['a'], env: ['A'] }, /is not an object of texts/],
    [{ name: 'x', command: ['a'], stdin: 7 }, /stdin 7 is neither text nor a function/],
    [{ name: 'x', command: ['a'], successCodes: [] }, /no run could ever succeed/],
    [{ name: 'x', command: ['a'], successCodes: 0 }, /successCodes 0 is not a list of exit codes/],
    [{ name: 'x', command: ['a'], retryCodes: [256] }, /a whole number from 0 to 255/],
    [{ name: 'x', command: ['a'], retryCodes: [0] }, /exit code 0 is in successCodes and in retryCodes/],
    [{ name: 'x', command: ['a'], grace: 'soon' }, /grace "soon" is not a duration/],
    [
      { name: 'x', command: ['a'], progress: '%' },
      /progress "%" is neither true, false nor a regular expression/,
    ],
    [{ name: 'x', command: ['a'], progress: /\d+%/ }, /has no group; write the percentage in parentheses/],
    [{ name: 'no name', command: ['a'] }, /cannot be the name of a job/],
    [{ name: 'x', command: ['a'], timeout: '0s' }, /timeout must be longer than 0/],
    [null, /defineShellJob is null; write an object of options/],
  ])('refuses %j', (options, message) => {
    expect(() => define(options as object)).toThrow(message);
  });

  it('begins its errors with the file and the job', () => {
    expect(() => define({ name: 'x', command: 'a' })).toThrow(
      /shell-options\.test\.ts:\d+: job "x": command "a"/,
    );
  });
});

describe('readShellOptions', () => {
  it('fills in what is not said', () => {
    const { spec, job } = readShellOptions({ name: 'x', shell: 'true' });
    expect(job).toEqual({ name: 'x' });
    expect(spec).toEqual({
      program: null,
      args: [],
      shell: 'true',
      cwd: null,
      env: {},
      stdin: null,
      successCodes: [0],
      retryCodes: null,
      graceMs: 5000,
      progressPattern: null,
      readsProgress: true,
    });
  });

  it('takes a pattern of progress that is global for one that is not', () => {
    const { spec } = readShellOptions({ name: 'x', shell: 'true', progress: /(\d+)%/giy });
    expect(spec.progressPattern).toEqual(/(\d+)%/i);
  });
});

it('the types give the payload to stdin, and know the output', () => {
  const job = defineShellJob({
    name: 'thumbnail',
    payload: z.object({ image: z.string() }),
    shell: 'cat',
    stdin: payload => payload.image,
  });
  expectTypeOf<OutputOf<typeof job>>().toExtend<{ readonly exitCode: number } | null>();
  expectTypeOf(job.name).toEqualTypeOf<'thumbnail'>();
  // @ts-expect-error -- either command or shell
  expect(() => defineShellJob({ name: 'x', command: ['a'], shell: 'a' })).toThrow('either');
  // @ts-expect-error -- no such option
  expect(() => defineShellJob({ name: 'x', command: ['a'], retrys: 3 })).toThrow('retry');
});
