// `tock why` and `tock simulate` as commands: what they print, their documents, and what they refuse.
import { describe, expect, it } from 'vitest';
import type { Why } from '../../../src/index.js';
import type { Simulation } from '../../../src/model/planning/simulate.js';
import { openOnce } from '../../support/open.js';
import { openCliHarness } from '../cli-harness.js';

const MARCH = ['--from', '2026-03-08T00:00:00Z', '--to', '2026-03-09T00:00:00Z'];
const NOWHERE = 'postgres://user@127.0.0.1:1/nowhere';

const harness = openOnce(openCliHarness, harness => harness.tock(['tick']));

describe('tock why', () => {
  it('answers in plain words, in the definition’s zone', async () => {
    const { code, stdout, stderr } = await harness.tock(['why', 'nightly', '2026-03-08T02:30']);
    expect(stderr).toBe('');
    const lines = stdout.split('\n');
    expect(lines[0]).toBe('nightly: 30 2 * * * America/New_York');
    expect(lines[1]).toMatch(/^2026-03-08 02:30: (before the definition was created|in the future)$/);
    expect(lines[2]).toBe(
      '  2026-03-08 02:30 does not exist in America/New_York: the clocks go from 02:00 to 03:00; under dst once the occurrence is at 2026-03-08 03:30 (2026-03-08T07:30:00Z)',
    );
    expect(code).toBe(0);
  });

  it('takes a date and a time as two arguments', async () => {
    const { stdout } = await harness.tock(['why', 'nightly', '2026-03-08', '02:31']);
    expect(stdout).toContain('2026-03-08 02:31: not an occurrence');
  });

  it('explains a whole day', async () => {
    const { stdout } = await harness.tock(['why', 'steady', '2199-03-08']);
    expect(stdout).toContain('4 times on 2199-03-08 in UTC: 4 upcoming');
    expect(stdout.match(/in the future$/gm)).toHaveLength(4);
  });

  it('prints the value as a document', async () => {
    const why = await harness.json<Why>(['why', 'steady', '2199-03-08T07:00:00Z']);
    expect(why).toMatchObject({
      definition: 'steady',
      timezone: 'UTC',
      instant: '2199-03-08T07:00:00.000Z',
      local: '2199-03-08 07:00',
      verdict: 'upcoming',
      run: null,
      occurrences: [],
    });
  });

  it('explains a run by its id, as tock show does', { tags: 'check' }, async () => {
    await harness.tock(['run', 'greet', '--payload', '{}']);
    const { runs } = await harness.json<{ runs: { id: string }[] }>(['runs', '--limit', '1']);
    const id = runs[0]?.id ?? '';
    const { code, stdout } = await harness.tock(['why', id]);
    expect(stdout).toContain(`run ${id} of greet: queued`);
    expect(stdout).toContain('next: Attempt 1 of ');
    expect(code).toBe(0);
    expect(await harness.json(['why', id])).toEqual(await harness.json(['show', id]));
    const unknown = await harness.tock(['why', '999999999']);
    expect(unknown.stderr).toContain('there is no run 999999999');
    expect(unknown.code).toBe(1);
  });

  it('says how a job without a schedule is run', async () => {
    expect((await harness.tock(['why', 'greet', '02:30'])).stdout).toContain('has no schedule');
  });

  it.each([
    [['nigtly', '02:30'], 'there is no definition "nigtly" in the database; did you mean nightly?'],
    [['nightly', 'noonish'], '"noonish" is not a time; write an instant such as 2026-03-08T07:30:00Z'],
  ])('%j is a usage error', { tags: 'check' }, async (args, message) => {
    const { code, stdout, stderr } = await harness.tock(['why', ...args]);
    expect(stderr).toContain(message);
    expect(stdout).toBe('');
    expect(code).toBe(2);
  });
});

describe('tock simulate', () => {
  it('draws the load by hour, plain in a pipe', async () => {
    const { code, stdout, stderr } = await harness.tock(['simulate', ...MARCH]);
    expect(stderr).toBe('');
    expect(stdout).toContain(
      '5 runs of 2 definitions would start from 2026-03-08 00:00 to 2026-03-09 00:00 (UTC)',
    );
    expect(stdout).toMatch(/^2026-03-08 01:00 {2}#+ 1$/m);
    expect(stdout).toMatch(/^2026-03-08 02:00 {2}0$/m);
    expect(stdout).toMatch(/^2026-03-08 07:00 {2}#+ 2$/m);
    expect(stdout).toMatch(/^2026-03-08 01:00 +1 {2}steady$/m);
    expect(stdout).toContain('with a jitter of 5m for all');
    expect(Math.max(...stdout.split('\n').map(line => line.length))).toBeLessThanOrEqual(100);
    expect(code).toBe(0);
  });

  it('prints a document, of the named definitions only', async () => {
    const found = await harness.json<Simulation>([
      'simulate',
      ...MARCH,
      '--definition',
      'nightly',
      '--timezone',
      'America/New_York',
    ]);
    expect(found).toMatchObject({ definitions: 1, starts: 1, timezone: 'America/New_York', leftOut: [] });
    expect(found.hours).toHaveLength(24);
    expect(found.busiest[0]?.definitions).toEqual([{ name: 'nightly', count: 1 }]);
  });

  it('draws a long window by day', async () => {
    const month = ['--from', '2026-03-01T00:00:00Z', '--to', '2026-04-01T00:00:00Z'];
    expect((await harness.tock(['simulate', ...month])).stdout).toMatch(/^2026-03-31 {2}#+ 5$/m);
  });

  it('finds the definitions in code without a database', async () => {
    const { code, stdout, stderr } = await harness.tock(['simulate', ...MARCH], {
      env: { DATABASE_URL: NOWHERE },
    });
    expect(stderr).toContain('only the definitions in code');
    expect(stdout).toContain('5 runs of 2 definitions');
    expect(code).toBe(0);
  });

  it('leaves out paused definitions, and says so', async () => {
    await harness.tock(['pause', 'steady']);
    const { stdout } = await harness.tock(['simulate', ...MARCH]);
    expect(stdout).toContain('1 run of 1 definition would start');
    expect(stdout).toContain('left out: steady (paused)');
    await harness.tock(['resume', 'steady']);
  });

  it.each([
    [['--from', '2026-03-08T00:00:00Z', '--to', '2026-03-07T00:00:00Z'], 'swap them'],
    [['--from', '2026-03-08T00:00:00Z', '--to', '2028-03-07T00:00:00Z'], 'longer than a year'],
    [['--definition', 'nigtly'], 'did you mean nightly?'],
  ])('%j is a usage error', async (args, message) => {
    const { code, stdout, stderr } = await harness.tock(['simulate', ...args]);
    expect(stderr).toContain(message);
    expect(stdout).toBe('');
    expect(code).toBe(2);
  });
});
