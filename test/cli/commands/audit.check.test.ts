// `tock audit`, and who the command line acts for.
import { userInfo } from 'node:os';
import { describe, expect, it } from 'vitest';
import type { AuditRecord } from '../../../src/model/audit.js';
import { openOnce } from '../../support/open.js';
import { openCliHarness } from '../cli-harness.js';

interface AuditDocument {
  readonly audit: readonly AuditRecord[];
}

const harness = openOnce(openCliHarness);

const audit = async (...args: string[]) => (await harness.json<AuditDocument>(['audit', ...args])).audit;

describe('tock audit', () => {
  it('says that nothing was done', async () => {
    const { code, stdout } = await harness.tock(['audit']);
    expect(stdout).toBe('no actions on record yet: tock run, pause, retry and the like leave a row here\n');
    expect(code).toBe(0);
    expect(await audit()).toEqual([]);
    expect((await harness.tock(['audit', '--by', 'mia'])).stdout).toBe('no actions match\n');
  });

  it('shows who did what, newest first', async () => {
    const as = (name: string) => ({ env: { TOCK_OPERATOR: name } });
    await harness.tock(['queue', 'pause', 'mails', '--new', '--note', 'the printer is on fire'], as('mia'));
    await harness.tock(['queue', 'set', 'mails', '--concurrency', '3'], as('ben'));
    await harness.tock(['run', 'greet'], as('mia'));
    const { code, stdout } = await harness.tock(['audit']);
    expect(code).toBe(0);
    const [title = '', ...lines] = stdout.trimEnd().split('\n');
    expect(title).toMatch(/^at \(UTC\) +who +via +what$/);
    expect(lines).toHaveLength(3);
    expect(lines[0]).toMatch(/ mia as \S+ +cli +enqueued run \d+: of greet$/);
    expect(lines[1]).toMatch(/ ben as \S+ +cli +set limits of the queue mails: concurrency none → 3$/);
    expect(lines[2]).toMatch(/ mia as \S+ +cli +paused the queue mails: the printer is on fire$/);
  });

  it('filters, and goes on where a page ended', async () => {
    expect((await audit('--by', 'ben')).map(row => row.action)).toEqual(['queues.set']);
    expect((await audit('--action', 'queues')).map(row => row.action)).toEqual([
      'queues.set',
      'queues.pause',
    ]);
    expect((await audit('--target', 'mails', '--action', 'queues.pause')).length).toBe(1);
    expect(await audit('--via', 'page')).toEqual([]);
    expect(await audit('--since', '2199-01-01T00:00:00Z')).toEqual([]);
    expect((await audit('--until', '2199-01-01T00:00:00Z')).length).toBe(3);
    const { stdout } = await harness.tock(['audit', '--limit', '2']);
    const [, before = ''] = /older actions: --before (\d+)/.exec(stdout) ?? [];
    expect((await audit('--before', before)).map(row => row.action)).toEqual(['queues.pause']);
  });

  it('shows what others wrote without its control characters', async () => {
    await harness.tock(['queue', 'pause', 'mails', '--new', '--note', 'a\u001b[31mb\nc'], {
      env: { TOCK_OPERATOR: 'x\u001b[2J' },
    });
    const { stdout } = await harness.tock(['audit', '--limit', '1']);
    expect(stdout).not.toContain('\u001b');
    expect(stdout.trimEnd().split('\n')).toHaveLength(3);
  });
});

describe('who the command line acts for', () => {
  it('is who called sudo, or the user of the operating system', async () => {
    await harness.tock(['queue', 'pause', 'by-sudo', '--new'], { env: { SUDO_USER: 'ada' } });
    await harness.tock(['queue', 'pause', 'by-user', '--new']);
    expect((await audit('--target', 'by-sudo'))[0]).toMatchObject({ operator: 'ada', via: 'cli' });
    expect((await audit('--target', 'by-user'))[0]).toMatchObject({ operator: userInfo().username });
  });

  it('is refused if the name is too long to be kept', async () => {
    const { code, stderr } = await harness.tock(['queue'], { env: { TOCK_OPERATOR: 'x'.repeat(201) } });
    expect(stderr).toContain('TOCK_OPERATOR must have at most 200 characters');
    expect(code).toBe(2);
  });
});
