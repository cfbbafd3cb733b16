// `tock jobs`: jobs in code and definitions in the database, side by side.
import { rm, utimes, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { runAt } from '../../support/embedded-database.js';
import { openOnce } from '../../support/open.js';
import { openCliHarness } from '../cli-harness.js';

const harness = openOnce(openCliHarness);

const query = (sql: string) => runAt(harness.url, sql);

describe('tock jobs', () => {
  it('marks jobs that are not registered yet', async () => {
    const { code, stdout } = await harness.tock(['jobs']);
    expect(stdout).toMatch(/^nightly +30 2 \* \* \* America\/New_York +reports +not registered yet/m);
    expect(code).toBe(0);
  });

  it('shows schedule, next occurrence, queue and flags side by side', async () => {
    await harness.tock(['tick']);
    await query(`update tock.job_definitions set paused_at = now(), pause_reason = 'too loud' where name = 'nightly';
      update tock.job_definitions set cron = null, every_ms = 3600000 where name = 'steady';
      insert into tock.job_definitions (name, job, origin, cron, broken_reason, broken_at, next_at)
      values ('tenant-1', 'greet', 'runtime', '0 6 * * *', 'no such zone', now(), null),
        ('orphan', 'gone', 'runtime', '0 6 * * *', null, null, '2040-01-01T06:00:00Z');
      insert into tock.job_definitions (name, job, vanished_at) values ('old', 'old', now())`);
    const { stdout } = await harness.tock(['jobs']);
    expect(stdout).toMatch(/^nightly .* reports +paused: too loud$/m);
    expect(stdout).toMatch(/^steady +every 1h.*changed in code: the next tick registers it$/m);
    expect(stdout).toMatch(/^tenant-1 \(greet\) +0 6 \* \* \* UTC +default +broken: no such zone$/m);
    expect(stdout).toMatch(
      /^orphan \(gone\) .* Sun 2040-01-01 06:00 UTC +in \d+d +default +this code has no job gone$/m,
    );
    expect(stdout).toMatch(/^old .*vanished from code$/m);
    expect(stdout).toMatch(/^greet +by hand.* Says hello\.$/m);
    expect(stdout).not.toMatch(/[│─]/);
  });

  it.each(['jobs', 'status'])(
    'refuses a service that is not there, and names those that are: %s',
    async command => {
      const env = { TOCK_SERVICE: 'mailer' };
      await harness.tock(['tick'], { env });
      const misspelt = await harness.tock([command, '--service', 'mialer']);
      expect(misspelt).toMatchObject({ code: 2, stdout: '' });
      expect(misspelt.stderr).toContain('there is no service "mialer" in the database; did you mean mailer?');
      const unknown = await harness.tock([command, '--service', 'x']);
      expect(unknown.stderr).toContain('there is no service "x" in the database: there are mailer');
      for (const service of ['mailer', ''])
        expect(await harness.tock([command, '--service', service])).toMatchObject({ code: 0, stderr: '' });
    },
  );

  it('says which module it has read, and warns where the source beside it is newer', async () => {
    const module = path.join(harness.folder, 'jobs.mjs');
    expect((await harness.tock(['jobs'])).stdout).toContain(`the jobs in code come from ${module}\n`);
    const source = path.join(harness.folder, 'greet.ts');
    await writeFile(source, '');
    await utimes(source, new Date(), new Date(Date.now() + 60_000));
    expect((await harness.tock(['jobs'])).stdout).toContain(
      `the jobs come from ${module}, which is older than ${source}: build the project`,
    );
    expect(await harness.json(['jobs'])).toMatchObject({ module, newerSource: source });
    const { checks } = await harness.json<{ checks: { code: string }[] }>(['doctor']);
    expect(checks.find(({ code }) => code === 'jobs')).toMatchObject({
      text: expect.stringContaining(`older than ${source}`) as string,
    });
    await rm(source);
  });

  it('prints the same as a document', async () => {
    const { jobs } = await harness.json<{ jobs: Record<string, unknown>[] }>(['jobs']);
    expect(jobs.find(({ name }) => name === 'nightly')).toMatchObject({
      job: 'nightly',
      schedule: { cron: '30 2 * * *', timezone: 'America/New_York', dst: 'once' },
      queue: 'reports',
      registered: true,
      inCode: true,
      pauseReason: 'too loud',
      flags: ['paused: too loud'],
    });
    expect(jobs.find(({ name }) => name === 'greet')).toMatchObject({
      schedule: null,
      description: 'Says hello.',
    });
  });

  it('distinguishes a registered job from one that is only beyond the limit', async () => {
    const { stdout } = await harness.tock(['jobs', '--limit', '2']);
    expect(stdout).not.toContain('not registered yet');
    expect(stdout).toContain('only the 2 definitions that are due next');
  });
});
