// `tock show --log`: a run's log on the page, as a document, and while it is written.
import { spawnSync } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { LogFollower } from '../../../src/cli/views/run-log.js';
import type { AttemptLog } from '../../../src/model/run/log/attempt-log.js';
import { openClient } from '../../support/embedded-database.js';
import { openOnce } from '../../support/open.js';
import { openCliHarness, until } from '../cli-harness.js';

const ENV = { TOCK_LOG_LEVEL: 'silent', TOCK_HEARTBEAT: '200ms' };

describe('what of a log is new', () => {
  /** Lines named by their number; some of them left out. */
  const log = (total: number, cutAfter = total, cutLines = 0, fence = 1): AttemptLog => ({
    attempt: fence,
    fence,
    lines: Array.from({ length: total }, (_, index) => index)
      .filter(index => index < cutAfter || index >= cutAfter + cutLines)
      .map(index => ({ at: new Date(0), level: 'info' as const, text: String(index), fields: null })),
    cutBytes: cutLines * 10,
    cutLines,
    cutAfter: Math.min(cutAfter, total),
  });
  const next = (follower: LogFollower, ...logs: AttemptLog[]) =>
    follower
      .next(logs)
      .map(({ lines, cutLines, cutAfter }) => [
        ...lines.slice(0, cutAfter).map(line => line.text),
        ...(cutLines === 0 ? [] : [`-${cutLines}`]),
        ...lines.slice(cutAfter).map(line => line.text),
      ]);

  it('is each line once, in order', () => {
    const follower = new LogFollower();
    expect(next(follower, log(2))).toEqual([['0', '1']]);
    expect(next(follower, log(2))).toEqual([]);
    expect(next(follower, log(4))).toEqual([['2', '3']]);
    expect(next(follower, log(4), log(1, 1, 0, 2))).toEqual([['0']]);
  });

  it('says how many were left out that nobody has seen', () => {
    const follower = new LogFollower();
    expect(next(follower, log(3, 2, 0))).toEqual([['0', '1', '2']]);
    // Lines 2 to 6 are cut by now: 2 was seen.
    expect(next(follower, log(9, 2, 5))).toEqual([['-4', '7', '8']]);
    // 7 and 8 are cut too, and were seen.
    expect(next(follower, log(11, 2, 7))).toEqual([['9', '10']]);
    expect(next(follower, log(20, 2, 16))).toEqual([['-7', '18', '19']]);
    expect(next(new LogFollower(), log(9, 2, 5))).toEqual([['0', '1', '-5', '7', '8']]);
  });
});

describe('tock show', () => {
  const harness = openOnce(() => openCliHarness({ fixture: 'test/processes/logging-jobs.ts' }));
  const client = openOnce(() => openClient(harness.url));
  beforeAll(async () => {
    await client.query('create table public.releases (at timestamptz)');
  });
  const enqueue = async (job: string) => (await harness.json<{ id: string }>(['run', job])).id;
  const finish = async (job: string) => {
    const { id } = await harness.json<{ id: string }>(['run', job, '--wait'], { env: ENV });
    return id;
  };

  it('--log prints the lines of each attempt below the page, and nothing that commands a terminal', async () => {
    const id = await finish('talks-twice');
    const { stdout, code } = await harness.tock(['show', id, '--log']);
    expect(code).toBe(0);
    const [page = '', first = '', second = ''] = stdout.split(/^log of attempt \d:\n/m);
    expect(page).toContain('succeeded');
    expect(first).toMatch(
      /^ {2}\d\d:\d\d:\d\d\.\d{3} {2}info {3}first \{"attempt":1,"note":"\\u001b\[31mred"\}\n {4}second 1\n$/,
    );
    expect(second).toContain('second 2');
    // oxlint-disable-next-line no-control-regex
    expect(stdout).not.toMatch(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F]/);
    expect((await harness.tock(['show', id])).stdout).not.toContain('log of attempt');
  });

  it('--log --json is one document', async () => {
    const id = await finish('talks-twice');
    const document = await harness.json<{ run: { id: string }; log: AttemptLog[] }>(['show', id, '--log']);
    expect(document.run.id).toBe(id);
    expect(document.log.map(({ attempt, lines }) => [attempt, lines.length])).toEqual([
      [1, 1],
      [2, 1],
    ]);
    expect(document.log[0]).toEqual({
      attempt: 1,
      fence: 1,
      cutAfter: 1,
      cutBytes: 0,
      cutLines: 0,
      lines: [
        {
          at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
          level: 'info',
          text: 'first\n\u001B]0;title\u0007second 1',
          fields: { attempt: 1, note: '\u001B[31mred' },
        },
      ],
    });
    expect(await harness.json(['show', id])).not.toHaveProperty('log');
  });

  it('is there with tock run --wait --log too', async () => {
    const { stdout, code } = await harness.tock(['run', 'talks-twice', '--wait', '--log'], { env: ENV });
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^log of attempt 1:\n[^]*second 1\nlog of attempt 2:\n[^]*second 2\nrun \d+ of talks-twice: succeeded/,
    );
    const { log } = await harness.json<{ log: AttemptLog[] }>(['run', 'talks-twice', '--wait', '--log'], {
      env: ENV,
    });
    expect(log).toHaveLength(2);
  });

  const canFakeTerminal = spawnSync('script', ['-qec', 'true', '/dev/null']).status === 0;
  it.skipIf(!canFakeTerminal)(
    'is seen in a terminal while tock tick or tock run --wait executes it',
    async () => {
      const env = { TOCK_HEARTBEAT: '200ms' };
      const waited = await harness.beginInTerminal(['run', 'talks-twice', '--wait'], { env }).ended;
      expect(waited.code).toBe(0);
      expect(stripVTControlCharacters(waited.stdout)).toMatch(/INFO +first[^]*INFO +first/);
      const { id } = await harness.json<{ id: string }>(['run', 'talks-twice']);
      const ticked = await harness.beginInTerminal(['tick'], { env }).ended;
      expect(stripVTControlCharacters(ticked.stdout)).toMatch(/INFO +first[^]* 2 claimed/);
      expect((await harness.tock(['show', id, '--log'])).stdout).toContain('log of attempt 1');
      const silent = await harness.tock(['tick'], { env });
      expect(silent.stderr).toBe('');
      await harness.tock(['cancel', id]);
    },
  );

  it('says how much was left out, and that there is nothing', async () => {
    const id = await enqueue('talks-much');
    expect((await harness.tock(['show', id, '--log'])).stdout).toContain('log: no lines are kept\n');
    await harness.tock(['tick'], { env: { ...ENV, TOCK_LOGS: '1024' } });
    const { stdout } = await harness.tock(['show', id, '--log']);
    expect(stdout).toMatch(/^log of attempt 1: \([\d,]+ bytes left out\)$/m);
    expect(stdout).toMatch(/^ {2}… \d+ lines left out …$/m);
    expect(stdout).toContain('line 999\n');
  });

  it('--log --follow prints lines as they are written, until the run ends', async () => {
    const id = await enqueue('talks');
    const following = harness.begin(['show', id, '--log', '--follow']);
    const documents = harness.begin(['show', id, '--log', '--follow', '--json']);
    const going = harness.begin(['start'], { env: ENV });
    await until('a line is printed', () => following.printed.stdout.includes('info   waiting'));
    await until('a line is a document', () => documents.printed.stdout.includes('"waiting"'));
    expect(following.printed.stdout).not.toContain('released');
    await client.query('insert into public.releases values (now())');
    const [plain, json] = [await following.ended, await documents.ended];
    going.child.kill('SIGTERM');
    await going.ended;
    await client.query('delete from public.releases');
    expect([plain.code, json.code]).toEqual([0, 0]);
    expect(plain.stdout.match(/^log of attempt 1:$/gm)).toHaveLength(1);
    expect(plain.stdout.match(/info {3}(begun|waiting)|warn {3}released/g)).toEqual([
      'info   begun',
      'info   waiting',
      'warn   released',
    ]);
    const parts = json.stdout
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as { run?: { status: string }; log?: AttemptLog[] });
    expect(
      parts.flatMap(({ log }) => log ?? []).flatMap(({ lines }) => lines.map(({ text }) => text)),
    ).toEqual(['begun', 'waiting', 'released']);
    expect(parts.at(-1)?.run?.status).toBe('succeeded');
  });
});
