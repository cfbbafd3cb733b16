// Chains, windows, exclusions and overlap policies by command, and how jobs, next and simulate tell of them.
import { describe, expect, it } from 'vitest';
import { openOnce } from '../../support/open.js';
import { openCliHarness, words } from '../cli-harness.js';

const harness = openOnce(
  () => openCliHarness({ fixture: 'test/cli/fixture-limits.ts' }),
  harness => harness.tock(['tick']),
);

interface Document {
  readonly change: string;
  readonly definition: Record<string, unknown>;
}
const schedule = (...args: string[]) => harness.tock(['schedule', ...args]);
const document = async (...args: string[]) =>
  (await harness.json<Document>(['schedule', ...args])).definition;

describe('tock schedule add --after', () => {
  it('runs after all, or after any, with the outcome that counts', async () => {
    const { code, stdout, stderr } = await schedule(
      ...words('add whole --job idle --after nightly,report --after idle'),
    );
    expect(stderr).toBe('');
    expect(stdout).toBe(
      'whole made, version 1: idle, after idle and nightly and report\nit runs after idle and nightly and report, for each of their occurrences\n',
    );
    expect(code).toBe(0);
    const any = await document(
      ...words('add alarm --job idle --after-any nightly,report --after-on failure'),
    );
    expect(any).toMatchObject({
      after: { definitions: ['nightly', 'report'], require: 'any', on: 'failure' },
      overlap: 'buffer_all',
      nextAt: null,
    });
  });

  it.each([
    [
      ['--after', 'nobody'],
      1,
      /after names "nobody", which no definition is called \(tock jobs lists them\)/,
    ],
    [
      ['--after', 'nightly', '--after-on', 'luck'],
      2,
      /after.on "luck" is none of success, failure, completion/,
    ],
  ])('%j is refused with a remedy', async (args, exitCode, message) => {
    const { code, stdout, stderr } = await schedule('add', 'self', '--job', 'idle', ...args);
    expect(stderr).toMatch(message);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(stdout).toBe('');
    expect(code).toBe(exitCode);
  });

  it('waits for the occurrences in its data interval, which an edit keeps, changes and ends', async () => {
    const own = ['--job', 'idle', '--cron', '0 0 * * *'];
    const waits = await document('add', 'days', ...own, '--after', 'nightly', '--within', 'dataInterval');
    const waitsFor = { definitions: ['nightly'], on: 'success', within: 'dataInterval' };
    expect(waits).toMatchObject({ cron: '0 0 * * *', after: null, waitsFor, overlap: 'buffer_all' });
    expect(await document('set', 'days', '--cron', '0 1 * * *')).toMatchObject({
      cron: '0 1 * * *',
      waitsFor,
    });
    expect(await document('set', 'days', '--after-on', 'completion')).toMatchObject({
      cron: '0 1 * * *',
      waitsFor: { ...waitsFor, on: 'completion' },
    });
    expect(await document('set', 'days', '--within', 'none')).toMatchObject({
      cron: '0 1 * * *',
      waitsFor: null,
      overlap: 'skip',
    });
    const { code, stderr } = await schedule('set', 'days', '--after', 'nightly', '--within', 'day');
    expect(stderr).toContain(`after.within "day" is not 'dataInterval'`);
    expect(code).toBe(2);
    await schedule('remove', 'days');
  });
});

describe('tock schedule set', () => {
  it('keeps its parents, its window and the rest', async () => {
    const made = await document(
      ...words(
        'add kept --job idle --after-any nightly,report --after-on failure --window 23:00-06:00 --outside-window skip --timezone Europe/Berlin --pause-on-failure 3 --max-attempts 4 --overlap cancel_other',
      ),
    );
    expect(made).toMatchObject({
      window: '23:00-06:00',
      outsideWindow: 'skip',
      pauseOnFailure: 3,
      maxAttempts: 4,
    });
    const same = await document('set', 'kept', '--priority', '0');
    expect(same).toEqual(made);
    const said = await schedule('set', 'kept', '--priority', '-1');
    expect(said.stdout).toMatch(
      /^kept changed, version 2: idle, after nightly or report \(on failure\), only 23:00-06:00 Europe\/Berlin \(else skipped\), pauses after 3 dead\n/,
    );
    const on = await document('set', 'kept', '--after-on', 'completion');
    expect(on['after']).toEqual({ definitions: ['nightly', 'report'], require: 'any', on: 'completion' });
    const all = await document('set', 'kept', '--after', 'nightly');
    expect(all['after']).toEqual({ definitions: ['nightly'], require: 'all', on: 'completion' });
    const bare = await document('set', 'kept', '--window', 'none', '--pause-on-failure', 'none');
    expect(bare).toMatchObject({
      window: null,
      pauseOnFailure: null,
      maxAttempts: 4,
      overlap: 'cancel_other',
    });
  });

  it('turns a chain into a schedule of its own, and back', async () => {
    await document('add', 'moved', '--job', 'idle', '--after', 'nightly');
    const timed = await document(...words('set moved --every 1h --jitter 5m --exclude 2026-12-25'));
    expect(timed).toMatchObject({ after: null, everyMs: 3_600_000, overlap: 'skip', jitterMs: 300_000 });
    const refused = await schedule('set', 'moved', '--after-on', 'failure');
    expect(refused.stderr).toContain(
      '--after-on needs --after or --after-any: moved does not run after anything',
    );
    expect(refused.code).toBe(2);
    const chained = await document('set', 'moved', '--after', 'nightly');
    expect(chained).toMatchObject({ everyMs: null, jitterMs: 0, exclude: [], overlap: 'buffer_all' });
    await document('set', 'moved', '--overlap', 'allow_all');
    expect(await document('set', 'moved', '--cron', '@daily')).toMatchObject({
      after: null,
      overlap: 'allow_all',
    });
  });

  it('keeps, replaces and removes exclusions', async () => {
    const made = await document(
      ...words(`add holidays --job idle --cron '0 7 * * *' --exclude 2040-12-25 --exclude '* * 1 1 *'`),
    );
    expect(made['exclude']).toEqual(['2040-12-25', { cron: '* * 1 1 *' }]);
    expect((await document('set', 'holidays', '--cron', '0 8 * * *'))['exclude']).toEqual(made['exclude']);
    const next = await harness.json<{ occurrences: string[] }>(
      words('next holidays --from 2040-12-24T12:00:00Z --count 1'),
    );
    expect(next.occurrences).toEqual(['2040-12-26T08:00:00Z']);
    expect((await document('set', 'holidays', '--exclude', '2040-12-26'))['exclude']).toEqual(['2040-12-26']);
    expect((await document('set', 'holidays', '--exclude', 'none'))['exclude']).toEqual([]);
  });
});

describe('chains and windows in other commands', () => {
  it('tock jobs shows them in words, and as values', async () => {
    const { stdout } = await harness.tock(['jobs']);
    expect(stdout).toMatch(/^nightly +0 \* \* \* \* Europe\/Berlin, only 23:00-06:00 /m);
    expect(stdout).toMatch(/^report +after idle or nightly \(on completion\), pauses after 3 dead /m);
    expect(stdout).toMatch(/^whole \(idle\) +after idle and nightly and report /m);
    expect(stdout).not.toContain('changed in code');
    const { jobs } = await harness.json<{ jobs: { name: string; schedule: unknown }[] }>(['jobs']);
    expect(jobs.find(job => job.name === 'report')?.schedule).toMatchObject({
      cron: null,
      after: { definitions: ['idle', 'nightly'], require: 'any', on: 'completion' },
    });
    expect(jobs.find(job => job.name === 'nightly')?.schedule).toMatchObject({
      cron: '0 * * * *',
      after: null,
      window: '23:00-06:00',
      outsideWindow: 'defer',
    });
  });

  it('tock next names the definitions whose occurrences it lists, from code and from the database', async () => {
    const { code, stdout } = await harness.tock(['next', 'report']);
    expect(stdout).toBe(
      'report runs after idle or nightly (on completion), for each of their occurrences (tock next idle)\n',
    );
    expect(code).toBe(0);
    expect(await harness.json(['next', 'whole'])).toMatchObject({
      occurrences: [],
      after: { require: 'all' },
    });
  });
});
