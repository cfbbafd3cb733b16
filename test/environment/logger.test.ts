// Environment: log lines as they reach standard error.
import { spawn } from 'node:child_process';
import { readFileSync, truncateSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { bundleJobs, startProcess } from '../support/processes.js';

const DSN = 'postgres://tock:s3cret@db.example:5432/app';

/** What a process writes to standard error that logs these lines. */
async function logged(format: 'json' | 'pretty'): Promise<string> {
  const script = await bundleJobs('test/environment/log-secrets.ts');
  const { stderr, code } = await startProcess(script, { FORMAT: format, DSN }).ended;
  expect(code).toBe(0);
  return stderr;
}

describe('createLogger', () => {
  it('writes one line of JSON for each event, without the password of a connection string in any part of it', async () => {
    const text = await logged('json');
    expect(text).not.toContain('s3cret');
    const lines = text
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line) as Record<string, unknown>);
    expect(lines).toMatchObject([
      { level: 'error', event: 'run.failed', msg: 'cannot reach postgres://tock:***@db.example:5432/app' },
      { error: 'Error: no route to postgres://tock:***@db.example:5432/app' },
      { nested: { list: ['postgres://tock:***@db.example:5432/app', 'password=***'] } },
      { err: { message: 'to postgres://tock:***@db.example:5432/app' } },
      { from: 'postgres://tock:***@db.example:5432/app', event: 'child' },
    ]);
  });

  it('writes a sentence for people, without the password either', async () => {
    const text = await logged('pretty');
    expect(text).not.toContain('s3cret');
    expect(text.split('\n')[0]).toMatch(
      /^\d\d:\d\d:\d\d ERROR cannot reach postgres:\/\/tock:\*\*\*@db\.example/,
    );
  });

  it('loses lines while its file is full, and then says how many', { tags: 'check' }, async () => {
    const script = await bundleJobs('test/environment/log-flood.ts');
    const file = path.join(await mkdtemp(path.join(tmpdir(), 'tock-log-')), 'log');
    const line = `ulimit -f 1; exec "${process.execPath}" "${script}" 2>> "${file}"`;
    const child = spawn('/bin/sh', ['-c', line], { stdio: ['pipe', 'pipe', 'ignore'] });
    await new Promise(resolve => child.stdout.once('data', resolve));
    const written = readFileSync(file, 'utf8').split('\n').length - 1;
    expect(written).toBeGreaterThan(0);
    truncateSync(file);
    child.stdin.end('go on');
    expect(await new Promise(resolve => child.once('close', resolve))).toBe(0);
    const [first, ...lines] = readFileSync(file, 'utf8').trimEnd().split('\n');
    // It ends the line that was cut short.
    expect(first).toBe('');
    expect(lines.map(each => JSON.parse(each) as unknown)).toMatchObject([
      { level: 'warn', event: 'log.lost', lines: 40 - written },
      { event: 'after' },
    ]);
  });
});
