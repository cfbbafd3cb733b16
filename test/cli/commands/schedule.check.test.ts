// `tock schedule add, set, remove`: what they do, and what they say of it; and the help of all that act on schedules.
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { openOnce } from '../../support/open.js';
import { openCliHarness, words } from '../cli-harness.js';

const harness = openOnce(openCliHarness, harness => harness.tock(['tick']));

interface Document {
  readonly change: string;
  readonly definition: Record<string, unknown>;
}
const schedule = (...args: string[]) => harness.tock(['schedule', ...args]);
const document = (...args: string[]) => harness.json<Document>(['schedule', ...args]);

describe('tock schedule add', () => {
  it('makes a schedule and says when its next occurrence is', async () => {
    const { code, stdout, stderr } = await schedule(
      ...words(
        `add tenant-1 --job greet --cron '0 7 * * *' --timezone Europe/Berlin --payload '{"name": "one"}' --jitter 5m --start-at 2040-01-01T00:00:00Z`,
      ),
    );
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^tenant-1 made, version 1: greet, 0 7 \* \* \* Europe\/Berlin\n/);
    expect(stdout).toMatch(
      /\nnext occurrence: Sun 2040-01-01 07:00 CET, 2040-01-01T06:00:00Z \(in \d+d\)\n$/,
    );
    expect(code).toBe(0);
    const next = await harness.json<{ occurrences: string[] }>(['next', 'tenant-1']);
    expect(next.occurrences[0]).toBe('2040-01-01T06:00:00Z');
  });

  it('takes every option, a payload from a file, and prints a document', async () => {
    const file = path.join(harness.folder, 'payload.json');
    await writeFile(file, '{"name": "two"}');
    const { change, definition } = await document(
      ...words(
        `add tenant-2 --job greet --every 6h --phase 1h --payload @${file} --catchup all --catchup-window 2d --overlap allow_all --start-deadline 1h --end-at 2050-01-01T00:00:00Z --remaining 9 --queue tenants --priority -5`,
      ),
    );
    expect(change).toBe('made');
    expect(definition).toMatchObject({
      origin: 'runtime',
      everyMs: 21_600_000,
      phaseMs: 3_600_000,
      payload: { name: 'two' },
      catchup: 'all',
      catchupWindowMs: 172_800_000,
      overlap: 'allow_all',
      startDeadlineMs: 3_600_000,
      endAt: '2050-01-01T00:00:00.000Z',
      remaining: 9,
      queue: 'tenants',
      priority: -5,
    });
    const once = await document('add', 'once', '--job', 'greet', '--at', '2040-05-01T10:00:00+02:00');
    expect(once.definition).toMatchObject({ nextAt: '2040-05-01T08:00:00.000Z' });
  });

  it('refuses a name that is taken, and a job that is not there', async () => {
    const again = await schedule('add', 'tenant-1', '--job', 'greet', '--every', '1h');
    expect(again.stderr).toMatch(/^tock schedule add: there is already a schedule "tenant-1"; change it/);
    expect(again.code).toBe(1);
    const inCode = await schedule('add', 'nightly', '--job', 'greet', '--every', '1h');
    expect(inCode.stderr).toMatch(/^tock schedule add: "nightly" is defined in code/);
    expect(inCode.code).toBe(1);
    const nobody = await schedule('add', 'a', '--job', 'nobody', '--every', '1h');
    expect(nobody).toMatchObject({ code: 2, stdout: '' });
    expect(nobody.stderr).toMatch(/no job "nobody"/);
  });
});

describe('tock schedule set', () => {
  it('changes what is given and keeps the rest', async () => {
    const before = (await harness.json<Document>(['schedule', 'set', 'tenant-2'])).definition;
    const same = await schedule('set', 'tenant-2', '--priority', '-5');
    expect(same.stdout).toMatch(/^tenant-2 unchanged, version 1: /);
    const { change, definition } = await document('set', 'tenant-2', '--timezone', 'Asia/Tokyo');
    expect(change).toBe('changed');
    const rest = {
      version: 2,
      timezone: 'Asia/Tokyo',
      cursor: definition['cursor'],
      nextAt: definition['nextAt'],
    };
    expect(definition).toEqual({ ...before, ...rest });
    const retimed = await document('set', 'tenant-2', '--cron', '5 4 * * *', '--catchup', 'latest');
    expect(retimed.definition).toMatchObject({
      cron: '5 4 * * *',
      everyMs: null,
      phaseMs: 0,
      catchup: 'latest',
      catchupWindowMs: null,
      payload: { name: 'two' },
      remaining: 9,
    });
  });

  it('removes values with the word none', async () => {
    const { definition } = await document(
      ...words('set tenant-2 --end-at none --remaining none --start-deadline none'),
    );
    expect(definition).toMatchObject({ endAt: null, remaining: null, startDeadlineMs: null });
    const policy = await document('set', 'tenant-2', '--catchup', 'none');
    expect(policy.definition).toMatchObject({ catchup: 'none' });
  });

  it('refuses another version, an unknown name, and one that code defines', async () => {
    const version = await schedule('set', 'tenant-1', '--cron', '0 8 * * *', '--if-version', '7');
    expect(version.stderr).toMatch(/^tock schedule set: .*not at version 7: version 1 is there/);
    expect(version.code).toBe(1);
    expect((await schedule('set', 'tenant-1', '--cron', '0 8 * * *', '--if-version', '1')).code).toBe(0);
    const unknown = await schedule('set', 'tenant-11', '--cron', '0 8 * * *');
    expect(unknown.stderr).toMatch(/there is no definition "tenant-11".*did you mean tenant-1 or tenant-2\?/);
    expect(unknown.code).toBe(2);
    const inCode = await schedule('set', 'nightly', '--cron', '0 8 * * *');
    expect(inCode.stderr).toMatch(/defined in code/);
    expect(inCode.code).toBe(1);
  });
});

it('tock schedule remove removes, and says that there is nothing to remove', async () => {
  const { id } = (await document('add', 'gone', '--job', 'greet', '--every', '1h')).definition;
  const { code, stdout } = await schedule('remove', 'gone');
  expect(stdout).toBe('gone removed, version 2: greet, every 1h\n');
  expect(code).toBe(0);
  expect((await harness.tock(['jobs'])).stdout).not.toContain('gone');
  const again = await schedule('remove', 'gone');
  expect(again.stderr).toMatch(/^tock schedule remove: there is no definition "gone"/);
  expect(again.code).toBe(2);
  const back = await document('add', 'gone', '--job', 'greet', '--every', '2h');
  expect(back.definition).toMatchObject({ id, version: 3 });
});

it('tock schedule add --url makes a schedule that requests it, and set changes only what is given', async () => {
  const { code, stdout, stderr } = await schedule(
    ...words(
      `add ping --every 5m --url https://example.com/cron --header 'authorization: Bearer $TOCK_HTTP_TOKEN' --header 'x-kind: ping' --success 200,202 --timeout 5m`,
    ),
  );
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^ping made, version 1: tock:http, every 5m\n/);
  const { definition } = await document('set', 'ping', '--payload', '{"a": 1}', '--sign', 'TOCK_HTTP_SIGN');
  expect(definition).toMatchObject({
    job: 'tock:http',
    version: 2,
    payload: {
      url: 'https://example.com/cron',
      method: 'GET',
      headers: { authorization: { env: 'TOCK_HTTP_TOKEN', prefix: 'Bearer ' }, 'x-kind': 'ping' },
      success: [200, 202],
      timeout: '5m',
      body: { a: 1 },
      secret: { env: 'TOCK_HTTP_SIGN' },
    },
  });
  const listed = await harness.json<{ jobs: { name: string; inCode: boolean }[] }>(['jobs']);
  expect(listed.jobs.find(({ name }) => name === 'ping')).toMatchObject({ inCode: true });
  const moved = await document('set', 'ping', '--url', 'https://example.com/other', '--method', 'post');
  expect(moved.definition['payload']).toMatchObject({ url: 'https://example.com/other', method: 'POST' });
  const job = await document('set', 'ping', '--job', 'greet', '--payload', '{"name": "x"}');
  expect(job.definition).toMatchObject({ job: 'greet', payload: { name: 'x' } });
});
