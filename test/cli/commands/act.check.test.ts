// `tock migrate`, `tick`, `retry`, `cancel`: what they do, and what they say of it.
// In the check: each command is a process, some with heartbeats of milliseconds.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { Client } from 'pg';
import { describe, expect, it } from 'vitest';
import { openOnce } from '../../support/open.js';
import { openCliHarness, until, untilFile } from '../cli-harness.js';

const harness = openOnce(() => openCliHarness({ migrated: false }));

/** Enqueues a run and resolves to its id. */
async function enqueue(...args: string[]): Promise<string> {
  return (await harness.json<{ id: string }>(['run', ...args])).id;
}

describe('tock migrate', () => {
  it('is suggested by commands that find no schema', async () => {
    for (const command of [['runs'], ['status'], ['tick'], ['run', 'greet'], ['show', '1']]) {
      const { code, stderr } = await harness.tock(command);
      expect(stderr).toMatch(/^tock \w+: the schema tock lacks .* run: tock migrate\n$/);
      expect(code).toBe(1);
    }
    const { code, stderr } = await harness.tock(['runs', '--json']);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: 'TOCK_NOT_MIGRATED' } });
    expect(code).toBe(1);
  });

  it('says what was applied, and then that nothing was missing', async () => {
    const first = await harness.tock(['migrate']);
    // A slow migration says so.
    expect(first.stderr).toMatch(/^(?:tock migrate: migrating …\n)?$/);
    expect(first.stdout).toMatch(/^applied to the schema tock: 0001_\w+\.sql/);
    expect(first.code).toBe(0);
    const second = await harness.tock(['migrate']);
    expect(second.stdout).toMatch(/^the schema tock is up to date/);
    expect(await harness.json(['migrate'])).toMatchObject({ applied: [] });
  });

  it('uses the schema that the environment names', async () => {
    const { stdout } = await harness.tock(['migrate'], { env: { TOCK_SCHEMA: 'elsewhere' } });
    expect(stdout).toContain('applied to the schema elsewhere: 0001_');
  });
});

it('a wrong password gives exit code 3 if the server requires one, and is not printed', async () => {
  const url = new URL(harness.url);
  url.password = 'wrong-secret';
  const client = new Client({ connectionString: url.href });
  const isRefused = await client.connect().then(
    () => false,
    () => true,
  );
  await client.end();
  const { code, stdout, stderr } = await harness.tock(['status'], { env: { DATABASE_URL: url.href } });
  expect(stdout + stderr).not.toContain('wrong-secret');
  // A server that trusts whoever connects has no use for the password.
  expect(code).toBe(isRefused ? 3 : 0);
  expect(stderr).toMatch(isRefused ? /check the user and password in DATABASE_URL/ : /^$/);
});

describe('tock tick', () => {
  it('prints one summary line, or the summary', async () => {
    const { code, stdout, stderr } = await harness.tock(['tick', '--budget', '5s', '--concurrency', '2']);
    expect(stdout).toMatch(/^\S+Z tick: 7 registered in \S+ on \S+\n$/);
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(await harness.json(['tick'])).toMatchObject({
      registered: { status: 'unchanged' },
      executed: { claimed: 0 },
    });
  });

  it('migrates first with --migrate', async () => {
    const env = { TOCK_SCHEMA: 'ticked' };
    expect((await harness.tock(['tick'], { env })).code).toBe(1);
    expect((await harness.tock(['tick', '--migrate'], { env })).code).toBe(0);
  });
});

describe('tock cancel and tock retry', () => {
  it('cancel a waiting run, keep the reason, and put it back', async () => {
    const id = await enqueue('greet', '--at', '2040-01-01T00:00:00Z');
    const cancelled = await harness.tock(['cancel', id, '--reason', 'wrong\u001B[31m month']);
    expect(cancelled.stdout).toBe(`run ${id} of greet is cancelled\n`);
    expect(cancelled.code).toBe(0);
    expect((await harness.tock(['show', id])).stdout).toMatch(/\n {2}reason\s+wrong month\n/);

    const again = await harness.tock(['cancel', id]);
    expect(again.stderr).toContain(`run ${id} is cancelled already`);
    expect(again.code).toBe(1);

    const retried = await harness.tock(['retry', id, '--attempts', '2']);
    expect(retried.stdout).toBe(`run ${id} of greet is queued again: attempt 1 of 2 is due now\n`);
    expect(retried.code).toBe(0);
  });

  it('go on after a run that fails, and exit 1', async () => {
    const id = await enqueue('greet', '--at', '2040-01-01T00:00:00Z');
    const { code, stdout, stderr } = await harness.tock(['cancel', '999999', id]);
    expect(stdout).toBe(`run ${id} of greet is cancelled\n`);
    expect(stderr).toMatch(/^tock cancel: there is no run "?999999"?.*\n$/);
    expect(code).toBe(1);
    const document = await harness.json(['retry', id, '999999']);
    expect(document).toMatchObject({
      runs: [
        { id, ok: true, run: { status: 'queued' } },
        { id: '999999', ok: false, error: { code: 'TOCK_NOT_FOUND' } },
      ],
    });
  });

  it('ask a running run’s handler to stop', async () => {
    const started = path.join(harness.folder, 'cancel-started');
    const payload = JSON.stringify({ started, until: path.join(harness.folder, 'never') });
    const env = { TOCK_HEARTBEAT: '100ms', TOCK_LOG_LEVEL: 'silent' };
    const waiting = harness.begin(['run', 'patient', '--payload', payload, '--wait', '--json'], { env });
    await untilFile(started);
    // The file is there a moment before its text.
    await until('it names its process', async () => (await readFile(started, 'utf8')) !== '');
    expect(await readFile(started, 'utf8')).toBe(String(waiting.child.pid));
    const { runs } = await harness.json<{ runs: { id: string }[] }>(['runs', '--status', 'running']);
    const id = runs[0]?.id ?? '';
    const { code, stdout } = await harness.tock(['cancel', id]);
    expect(stdout).toMatch(
      new RegExp(
        `^run ${id} of patient is running: its handler on .* pid ${waiting.child.pid} was asked to stop\n$`,
      ),
    );
    expect(code).toBe(0);
    const result = await waiting.ended;
    expect(JSON.parse(result.stdout)).toMatchObject({ id, run: { status: 'cancelled' } });
    expect(result.code).toBe(1);
  });
});
