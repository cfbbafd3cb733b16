// `--all`: status and metrics of several databases, one of them away.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HealthLevel } from '../../../src/index.js';
import { readOpenMetrics, sampleOf } from '../../support/openmetrics-reader.js';
import { type CliHarness, openCliHarness } from '../cli-harness.js';

let one: CliHarness;
let other: CliHarness;
let env: Record<string, string>;
beforeAll(async () => {
  [one, other] = await Promise.all([openCliHarness(), openCliHarness()]);
  await one.tock(['tick']);
  await other.tock(['run', 'greet', '--wait']);
  env = { DATABASE_URL: '', TOCK_DATABASES: `billing=${one.url} mail=${other.url}` };
});
afterAll(async () => {
  await one.close();
  await other.close();
});
const withAway = () => ({
  ...env,
  TOCK_DATABASES: `${env['TOCK_DATABASES']} gone=postgres://app:secret@127.0.0.1:1/none`,
});

describe('tock status --all', () => {
  it('has a line for each database', async () => {
    const { code, stdout, stderr } = await one.tock(['status', '--all'], { env });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^database +health +waiting .*last tick/);
    expect(stdout).toMatch(/^billing +\w+ +0 /m);
    expect(stdout).toMatch(/^mail +\w+ +0 /m);
  });

  it('shows the others where one is away, and is failing for a monitor', async () => {
    const { code, stdout } = await one.tock(['status', '--all', '--check'], { env: withAway() });
    expect(code).toBe(1);
    expect(stdout).toMatch(/^failing: gone: .*127\.0\.0\.1:1/m);
    expect(stdout).not.toContain('secret');
    const whole = await one.tock(['status', '--all'], { env: withAway() });
    expect(whole.code).toBe(0);
    expect(whole.stdout).toMatch(/^gone +away/m);
    expect(whole.stdout).toMatch(/^billing/m);
  });

  it('prints one document with --json', async () => {
    const { level, databases } = await one.json<{
      level: HealthLevel;
      databases: { name: string; level: HealthLevel; error?: { code: string }; lastDay?: object }[];
    }>(['status', '--all'], { env: withAway() });
    expect(level).toBe('failing');
    expect(databases.map(({ name }) => name)).toEqual(['billing', 'mail', 'gone']);
    expect(databases[1]?.lastDay).toMatchObject({ succeeded: 1 });
    expect(databases[2]?.error).toMatchObject({ code: 'TOCK_DATABASE_UNREACHABLE' });
  });

  it.each([
    [{}, '--all needs the databases: set TOCK_DATABASES'],
    [
      { TOCK_DATABASES: 'postgres://app:secret@db/x' },
      'word 1 of TOCK_DATABASES is not a name and an address',
    ],
    [{ TOCK_DATABASES_FILE: '/none' }, 'TOCK_DATABASES_FILE names "/none", which cannot be read'],
  ])('says what %j lacks', async (variables, message) => {
    const { code, stderr } = await one.tock(['status', '--all'], { env: { DATABASE_URL: '', ...variables } });
    expect(code).toBe(2);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain('secret');
  });
});

it('tock metrics --all names the database of each series', async () => {
  const { code, stdout, stderr } = await one.tock(['metrics', '--all'], { env: withAway() });
  expect(code).toBe(0);
  expect(stderr).toMatch(/^tock metrics: gone: /);
  const families = readOpenMetrics(stdout);
  expect(sampleOf(families, 'tock_database_up', { database: 'gone' })).toBe(0);
  expect(
    sampleOf(families, 'tock_runs_ended_total', { database: 'mail', job: 'greet', status: 'succeeded' }),
  ).toBe(1);
});
