// `tock next`: occurrences of a schedule, of a job in code, of a definition in the database.
import { describe, expect, it } from 'vitest';
import { openOnce } from '../../support/open.js';
import { begin, type CliHarness, openCliHarness, words } from '../cli-harness.js';

const NOWHERE = { DATABASE_URL: 'postgres://user@127.0.0.1:1/nowhere', TOCK_JOBS: '/nowhere.js' };
const NEW_YORK = ['--cron', '30 2 * * *', '--timezone', 'America/New_York'];
const MARCH = ['--from', '2026-03-07T07:30:00Z', '--to', '2026-03-09T06:30:00Z'];

const harness = openOnce(openCliHarness);

const tock: CliHarness['tock'] = (args, options) => harness.tock(args, options);

describe('tock next --cron', () => {
  it('needs neither database nor jobs; from is inclusive, to exclusive', async () => {
    const { code, stdout, stderr } = await tock(['next', ...NEW_YORK, ...MARCH, '--json'], { env: NOWHERE });
    expect(stderr).toBe('');
    expect(stdout).toBe('{"occurrences":["2026-03-07T07:30:00Z","2026-03-08T07:30:00Z"]}\n');
    expect(code).toBe(0);
  });

  it('shows local time, UTC, and clock changes', async () => {
    const { stdout } = await tock(['next', ...NEW_YORK, '--from', '2026-03-07T00:00:00Z', '--count', '3'], {
      env: NOWHERE,
    });
    const lines = stdout.split('\n');
    expect(lines[0]).toBe('schedule: 30 2 * * * America/New_York');
    expect(lines[2]).toMatch(/^Sat 2026-03-07 02:30 EST {2}.*2026-03-07T07:30:00Z/);
    expect(lines[3]).toMatch(
      /^Sun 2026-03-08 03:30 EDT {2}.*2026-03-08T07:30:00Z.*went forward 1h \(EST → EDT\)$/,
    );
    expect(lines[4]).toMatch(/^Mon 2026-03-09 02:30 EDT {2}.*2026-03-09T06:30:00Z/);
    expect(lines[4]).not.toContain('went');
  });

  it('marks a clock change before the first occurrence shown', async () => {
    const { stdout } = await tock(['next', ...NEW_YORK, '--from', '2026-11-01T00:00:00Z', '--count', '1'], {
      env: NOWHERE,
    });
    expect(stdout).toContain('went back 1h (EDT → EST)');
  });

  it('writes an offset if a zone has no abbreviation', async () => {
    const args = words(
      `next --cron '0 6 * * *' --timezone Asia/Kathmandu --from 2026-01-01T00:00:00Z --count 1`,
    );
    expect((await tock(args, { env: NOWHERE })).stdout).toContain(
      'Thu 2026-01-01 06:00 +05:45  2026-01-01T00:15:00Z',
    );
  });

  it('gives five from now, and as many as --count says', async () => {
    const five = await tock(['next', '--every', '15m', '--json'], { env: NOWHERE });
    expect((JSON.parse(five.stdout) as { occurrences: string[] }).occurrences).toHaveLength(5);
    const two = await tock(['next', '--every', '15m', '--json', '--count', '2'], { env: NOWHERE });
    expect((JSON.parse(two.stdout) as { occurrences: string[] }).occurrences).toHaveLength(2);
  });

  it('stops a long window at 10000, and says so', async () => {
    const args = words(
      `next --cron '* * * * *' --from 2026-01-01T00:00:00Z --to 2026-02-01T00:00:00Z --json`,
    );
    const { stdout, stderr } = await tock(args, { env: NOWHERE });
    const { occurrences, truncated } = JSON.parse(stdout) as { occurrences: string[]; truncated: boolean };
    expect(occurrences).toHaveLength(10_000);
    expect(truncated).toBe(true);
    expect(stderr).toContain('only the first 10000 are shown');
  });

  it('says that there is none', async () => {
    const window = ['--from', '2026-01-02T00:00:00Z', '--to', '2026-01-03T00:00:00Z'];
    const { code, stdout } = await tock(['next', '--cron', '0 0 1 1 *', ...window], { env: NOWHERE });
    expect(stdout).toContain('no occurrences from 2026-01-02T00:00:00Z and before 2026-01-03T00:00:00Z');
    expect(code).toBe(0);
  });

  it('ends quietly when its reader closes the pipe', { tags: 'check' }, async () => {
    const { child, printed, ended } = begin(['next', '--cron', '* * * * * *', '--count', '10000'], {
      env: NOWHERE,
    });
    child.stdout.once('data', () => child.stdout.destroy());
    expect((await ended).code).toBe(0);
    expect(printed.stderr).toBe('');
  });
});

describe('tock next without a name', () => {
  const day = ['--from', '2026-03-07T00:00:00Z', '--to', '2026-03-08T00:00:00Z'];

  it('counts what starts over all definitions, by definition and in all', { tags: 'check' }, async () => {
    const found = await harness.json<{ starts: number; definitions: { name: string; starts: number }[] }>([
      'next',
      ...day,
    ]);
    const counts = Object.fromEntries(found.definitions.map(({ name, starts }) => [name, starts]));
    expect(counts).toMatchObject({ steady: 4, nightly: 1 });
    expect(found.starts).toBe(found.definitions.reduce((sum, { starts }) => sum + starts, 0));
    const { stdout, code } = await harness.tock(['next', ...day]);
    expect(stdout).toMatch(/^\d+ runs of \d+ definitions start from /);
    expect(stdout).toMatch(/\nsteady +4 /);
    expect(code).toBe(0);
  });

  const hour = async (args: string[]) => {
    const { from, to } = await harness.json<{ from: string; to: string }>(['next', ...args]);
    return Date.parse(to) - Date.parse(from);
  };

  it('takes an hour from now unless --to says otherwise', async () => {
    expect(await hour([])).toBe(3_600_000);
  });

  it('takes --to in words too', { tags: 'check' }, async () => {
    const asked = performance.now();
    const apart = Math.abs((await hour(['--to', '+2h'])) - 7_200_000);
    // Both ends are from now, read one after the other.
    expect(apart).toBeLessThanOrEqual(1000 + performance.now() - asked);
  });
});

describe('tock next <definition>', () => {
  it('finds a job in code without a database', async () => {
    const env = { DATABASE_URL: NOWHERE.DATABASE_URL };
    const { code, stdout } = await harness.tock(['next', 'nightly', ...MARCH], { env });
    expect(stdout).toContain('nightly: 30 2 * * * America/New_York');
    expect(stdout).toContain('each run starts up to 5m later (jitter)');
    expect(stdout).toContain('2026-03-08T07:30:00Z');
    expect(code).toBe(0);
  });

  it('says how a job without a schedule is run', async () => {
    const { code, stdout } = await harness.tock(['next', 'greet']);
    expect(stdout).toBe('greet has no schedule: it runs when it is enqueued (tock run greet)\n');
    expect(code).toBe(0);
    expect(await harness.json(['next', 'greet'])).toEqual({ occurrences: [] });
  });

  it('finds a definition in the database when there is no job module', { tags: 'check' }, async () => {
    await harness.tock(['tick']);
    const args = ['next', 'steady', '--from', '2026-03-08T00:00:00Z', '--count', '2'];
    const found = await harness.json(args, { env: { TOCK_JOBS: NOWHERE.TOCK_JOBS } });
    expect(found).toEqual({ occurrences: ['2026-03-08T01:00:00Z', '2026-03-08T07:00:00Z'] });
  });
});
