// `tock run`: enqueues by hand, and sees a run through.
// In the check: each command is a process, and some wait for one another.
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { openOnce } from '../../support/open.js';
import { until as untilTrue } from '../../support/test-tock.js';
import { openCliHarness, untilFile, words } from '../cli-harness.js';

interface RunDocument {
  readonly id: string;
  readonly isNew: boolean;
  readonly run: {
    readonly status: string;
    readonly output: unknown;
    readonly trigger: string;
    readonly runAt: string;
  };
}

const harness = openOnce(openCliHarness);

describe('tock run', () => {
  it('enqueues, prints the id, and sets the trigger to manual', async () => {
    const { code, stdout } = await harness.tock(words('run greet --queue later --at 2040-01-01T00:00:00Z'));
    expect(stdout).toMatch(/^enqueued run \d+ of greet: attempt 1 of 10 is due in \d+d\n$/);
    expect(code).toBe(0);
    const { run } = await harness.json<RunDocument>(
      words('run greet --at 2040-01-01T00:00:00Z --max-attempts 3 --priority -7'),
    );
    expect(run).toMatchObject({
      status: 'queued',
      trigger: 'manual',
      runAt: '2040-01-01T00:00:00.000Z',
      maxAttempts: 3,
      priority: -7,
    });
  });

  it('says when the key was used before', async () => {
    const args = ['run', 'greet', '--key', 'greeting:1', '--at', '2040-01-01T00:00:00Z'];
    const first = await harness.json<RunDocument>(args);
    expect(first.isNew).toBe(true);
    expect(await harness.json(args)).toMatchObject({ id: first.id, isNew: false });
    const { code, stdout } = await harness.tock(args);
    expect(stdout).toBe(
      `nothing was enqueued: the key "greeting:1" belongs to run ${first.id}, which is queued\n`,
    );
    expect(code).toBe(0);
  });

  it('waits for a success and prints its output', async () => {
    const { code, stdout, stderr } = await harness.tock(words(`run greet --payload '{"name":"Ann"}' --wait`));
    expect(stdout).toMatch(/run \d+ of greet: succeeded in \S+ \(attempt 1 of 10\)\n\{\n/);
    expect(stdout).toContain('"greeting": "hello Ann"');
    expect(stderr).toMatch(/^run \d+ of greet: queued\n/);
    expect(code).toBe(0);
  });

  it('keeps standard output clean under --json, whatever a handler prints', async () => {
    const { code, stdout, stderr } = await harness.tock(['run', 'greet', '--wait', '--json']);
    expect(JSON.parse(stdout)).toMatchObject({
      isNew: true,
      run: { status: 'succeeded', output: { greeting: 'hello you' } },
    });
    expect(stderr).toContain('a handler prints on standard output');
    expect(code).toBe(0);
  });

  it('waits through failed attempts and exits 1 on a dead run', async () => {
    const { code, stdout, stderr } = await harness.tock(['run', 'broken', '--wait'], {
      env: { TOCK_LOG_LEVEL: 'silent' },
    });
    expect(stderr).toMatch(
      /: attempt 2 of 2 is due \S+Z; the last one failed: TypeError: no such: too far\n/,
    );
    expect(stdout).toMatch(
      /^run (\d+) of broken: dead in \S+ \(attempt 2 of 2\)\n {2}TypeError: no such: too far\n {2}details: tock show \1 --stack\n$/,
    );
    expect(code).toBe(1);
  });

  it('shows progress as lines in a pipe', async () => {
    const until = path.join(harness.folder, 'progress-go');
    const started = path.join(harness.folder, 'progress-started');
    const payload = JSON.stringify({ started, until });
    const { printed, ended } = harness.begin(['run', 'patient', '--payload', payload, '--wait']);
    await untilFile(started);
    const seen = /run \d+ of patient: (running, attempt 1 of 10|\[#+-+\] 25% waiting, 1 event)\n/;
    await untilTrue(async () => seen.test(printed.stderr), 'progress on standard error');
    await writeFile(until, '');
    expect((await ended).code).toBe(0);
    expect(printed.stdout).toMatch(/succeeded.*\n"seen"\n$/);
  });

  it('reads the payload from a file and from standard input', async () => {
    const file = path.join(harness.folder, 'payload.json');
    await writeFile(file, '\uFEFF{"name": "file"}');
    const fromFile = await harness.json<RunDocument>(['run', 'greet', '--wait', '--payload', `@${file}`]);
    expect(fromFile.run.output).toMatchObject({ greeting: 'hello file' });
    const fromInput = await harness.json<RunDocument>(['run', 'greet', '--wait', '--payload', '-'], {
      input: '{"name":"pipe"}',
    });
    expect(fromInput.run.output).toMatchObject({ greeting: 'hello pipe' });
  });

  it('names the job that was probably meant', async () => {
    expect(await harness.tock(['run', 'gret'])).toEqual({
      code: 2,
      stdout: '',
      stderr: 'tock run: there is no job "gret"; did you mean greet?\n',
    });
  });

  it('leaves a run in the queue when the waiting is interrupted', async () => {
    const started = path.join(harness.folder, 'interrupt-started');
    const payload = JSON.stringify({ started, until: path.join(harness.folder, 'never') });
    const waiting = harness.begin(['run', 'patient', '--payload', payload, '--wait'], {
      env: { TOCK_LOG_LEVEL: 'silent' },
    });
    await untilFile(started);
    waiting.child.kill('SIGINT');
    const { code, stderr } = await waiting.ended;
    expect(stderr).toMatch(/tock run: stopped waiting; run \d+ is queued: attempt 1 of 10 is due now\n$/);
    expect(code).toBe(1);
  });
});
