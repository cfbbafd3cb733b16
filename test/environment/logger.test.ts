// Environment: log lines as they reach standard error.
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
});
