// `tock show`: the slots that a run holds or waits for; and `--follow`, until the run has ended.
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { describe, expect, it } from 'vitest';
import { openOnce } from '../../support/open.js';
import { openCliHarness, until, untilFile } from '../cli-harness.js';

const SILENT = { TOCK_LOG_LEVEL: 'silent' };

const harness = openOnce(() => openCliHarness({ fixture: 'test/cli/fixture-limits.ts' }));

const enqueue = async (...args: string[]) => (await harness.json<{ id: string }>(['run', ...args])).id;

/** Begins a run that is held until `go` is called. */
async function hold(name: string, tenant = 'a') {
  const [started = '', go = ''] = ['started', 'go'].map(word => path.join(harness.folder, `${name}-${word}`));
  const payload = JSON.stringify({ tenant, started, until: go });
  const id = await enqueue('held', '--payload', payload);
  return { id, started, go: () => writeFile(go, '') };
}
/** A process that executes what is due, until it is told to stop. */
const worker = () => harness.begin(['start'], { env: SILENT });
const stop = async (going: ReturnType<typeof worker>) => {
  going.child.kill('SIGTERM');
  await going.ended;
};

it('tock show shows the slots that a run holds, and the one that another waits for', async () => {
  const [first, second] = [await hold('first'), await hold('second')];
  expect((await harness.tock(['show', first.id])).stdout).toMatch(
    /\n {2}slots +needs a slot of job held for a\n/,
  );
  const going = worker();
  await untilFile(first.started);
  await until('the second is blocked', async () => {
    const { run } = await harness.json<{ run: { blockedOn: string | null } }>(['show', second.id]);
    return run.blockedOn === 'job:held/a';
  });
  expect((await harness.tock(['show', first.id])).stdout).toMatch(
    /\n {2}slots +holds a slot of job held for a\n/,
  );
  const { stdout } = await harness.tock(['show', second.id]);
  expect(stdout).toMatch(/\n {2}slots +needs a slot of job held for a; waits for a slot of job held for a\n/);
  expect(stdout).toContain(
    `next: Attempt 1 of 10 waits for a slot of job held for a, which run ${first.id} has.`,
  );
  expect(await harness.json(['show', second.id])).toMatchObject({
    run: { concurrencyKeys: ['job:held/a'], blockedOn: 'job:held/a' },
  });
  await Promise.all([first.go(), second.go()]);
  expect((await harness.tock(['show', second.id, '--follow'])).code).toBe(0);
  await stop(going);
  const done = await harness.tock(['show', second.id]);
  expect(done.stdout).not.toContain('places');
});

describe('tock show --follow', () => {
  it('prints each attempt, error and progress in plain lines, then the page', async () => {
    const id = await enqueue('flaky');
    const following = harness.begin(['show', id, '--follow']);
    await until('it follows', () => following.printed.stdout.includes(`run ${id} of flaky: queued`));
    const going = worker();
    const { code, stdout, stderr } = await following.ended;
    await stop(going);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    const lines = stdout.split('\n');
    expect(lines[0]).toBe(`run ${id} of flaky: queued`);
    expect(stdout).toMatch(/ UTC {2}attempt 1 of 2 failed: TypeError: not yet\n/);
    expect(stdout).toMatch(/ UTC {2}attempt 2 of 2 started/);
    expect(stdout).toContain(`run ${id} of flaky: succeeded, its handler returned\n`);
    expect(stdout).toContain('attempts: 2 of 2\n');
    // Each change is told once.
    expect(stdout.match(/attempt 1 of 2 failed/g)).toHaveLength(1);
    expect(new Set(lines).size).toBe(lines.length);
  });

  it('shows fraction, stage and the count of events; JSON is a line per change', async () => {
    const held = await hold('json', 'json');
    const following = harness.begin(['show', held.id, '--follow']);
    const documents = harness.begin(['show', held.id, '--follow', '--json']);
    const going = worker();
    await until('progress is told', () => following.printed.stdout.includes('50% writing'));
    await until('progress is a document', () => documents.printed.stdout.includes('"writing"'));
    await held.go();
    const [plain, json] = [await following.ended, await documents.ended];
    await stop(going);
    expect(plain.stdout).toMatch(/: \[#{10}-{10}\] 50% writing, 2 events\n/);
    expect(plain.code).toBe(0);
    const runs = json.stdout
      .trimEnd()
      .split('\n')
      .map(line => (JSON.parse(line) as { run: { status: string; progress: unknown } }).run);
    expect(runs.at(-1)?.status).toBe('succeeded');
    expect(runs.map(run => run.progress)).toContainEqual({ fraction: 0.5, stage: 'writing', events: 2 });
    expect(new Set(runs.map(run => JSON.stringify(run))).size).toBe(runs.length);
    expect(json.stderr).toBe('');
    expect(json.code).toBe(0);
  });

  it('draws a bar that moves in a terminal', async () => {
    const held = await hold('terminal', 'terminal');
    const going = worker();
    await untilFile(held.started);
    await until('progress is on record', async () => {
      const { run } = await harness.json<{ run: { progress: { events: number } | null } }>(['show', held.id]);
      return run.progress?.events === 2;
    });
    const following = harness.beginInTerminal(['show', held.id, '--follow']);
    await until('the bar is drawn', () => following.printed.stdout.includes('50% writing'));
    await held.go();
    const { code, stdout } = await following.ended;
    await stop(going);
    expect(stripVTControlCharacters(stdout)).toMatch(
      /run \d+ of held: running for .* █{10}░{10} 50% writing, 2 events/,
    );
    expect(stdout).toContain('\u001B[2K');
    expect(stripVTControlCharacters(stdout)).toContain(
      `run ${held.id} of held: succeeded, its handler returned`,
    );
    expect(code).toBe(0);
  });

  it('ends with 1 for a run that did not succeed, and at once for an ended run', async () => {
    const id = await enqueue('doomed');
    await harness.tock(['tick'], { env: SILENT });
    const { code, stdout } = await harness.tock(['show', id, '--follow', '--stack']);
    expect(stdout).toMatch(new RegExp(`^run ${id} of doomed: dead, `));
    expect(stdout).toContain('Dead: out of paper');
    expect(code).toBe(1);
    const { run } = await harness.json<{ run: unknown }>(['show', id, '--follow']);
    expect(run).toMatchObject({ id, status: 'dead' });
  });

  it('stops on Ctrl-C without touching the run; fails for an unknown run', async () => {
    const id = await enqueue('idle', '--at', '2040-01-01T00:00:00Z');
    const following = harness.begin(['show', id, '--follow']);
    await until('it follows', () =>
      following.printed.stdout.includes('queued, due 2040-01-01T00:00:00.000Z'),
    );
    following.child.kill('SIGINT');
    const { code, stderr } = await following.ended;
    expect(stderr).toMatch(
      new RegExp(`^tock show: stopped following; run ${id} is queued: attempt 1 of 10 is due in`),
    );
    expect(code).toBe(1);
    const missing = await harness.tock(['show', '999999', '--follow']);
    expect(missing.stderr).toMatch(/^tock show: there is no run 999999/);
    expect(missing.code).toBe(1);
  });
});
