// `tock run` with keys that are unique while their run is live: what is new, replaced, or there already.
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { openOnce } from '../../support/open.js';
import { openCliHarness, untilFile } from '../cli-harness.js';

interface RunDocument {
  readonly id: string;
  readonly isNew: boolean;
  readonly isReplaced: boolean;
  readonly run: { readonly status: string; readonly payload: unknown; readonly runAt: string };
}

const harness = openOnce(openCliHarness);
const run = (...args: string[]) => harness.tock(['run', 'greet', ...args]);
const document = (...args: string[]) => harness.json<RunDocument>(['run', 'greet', ...args]);

describe('tock run --unique live', () => {
  it('leaves the waiting run as it is, and names it', async () => {
    const args = ['--key', 'shop:1', '--unique', 'live', '--delay', '1h'];
    const first = await run(...args, '--payload', '{"name":"one"}');
    expect(first.stdout).toMatch(/^enqueued run \d+ of greet: attempt 1 of 10 is due in (1h|59m \d+s)\n$/);
    const again = await run(...args, '--payload', '{"name":"two"}');
    const [, id = ''] = /run (\d+)/.exec(first.stdout) ?? [];
    expect(again.stdout).toBe(
      `nothing was enqueued: the key "shop:1" belongs to run ${id}, which is queued\n`,
    );
    expect(again.code).toBe(0);
    expect(await document(...args)).toMatchObject({
      id,
      isNew: false,
      isReplaced: false,
      run: { payload: { name: 'one' } },
    });
  });

  it('updates it with --replace, and says so', async () => {
    const args = ['--key', 'shop:2', '--unique', 'live', '--replace'];
    const first = await document(...args, '--at', '2040-01-01T00:00:00Z');
    expect(first).toMatchObject({ isNew: true, isReplaced: false });
    const { code, stdout } = await run(...args, '--delay', '1h', '--payload', '{"name":"new"}');
    expect(stdout).toMatch(
      new RegExp(
        `^replaced run ${first.id}, which waited under the key "shop:2": attempt 1 of 10 is due in `,
      ),
    );
    expect(code).toBe(0);
    const last = await document(...args, '--at', '2041-01-01T00:00:00Z', '--priority', '-3');
    expect(last).toMatchObject({
      id: first.id,
      isNew: false,
      isReplaced: true,
      run: { runAt: '2041-01-01T00:00:00.000Z', priority: -3 },
    });
  });

  it('leaves a running one alone, with --replace a successor to it; the key is free when both have ended', async () => {
    const [started, until] = ['once-started', 'once-go'].map(name => path.join(harness.folder, name));
    const args = ['run', 'patient', '--payload', JSON.stringify({ started, until }), '--key', 'shop:3'];
    const live = [...args, '--unique', 'live'];
    const waiting = harness.begin([...live, '--wait'], { env: { TOCK_LOG_LEVEL: 'silent' } });
    await untilFile(started ?? '');
    const { stdout } = await harness.tock(live);
    expect(stdout).toMatch(/^nothing was enqueued: the key "shop:3" belongs to run \d+, which is running\n$/);
    const replaced = await harness.tock([...live, '--replace']);
    expect(replaced.stdout).toMatch(
      /^enqueued run \d+ of patient: it starts when the run that has its key now has ended\n$/,
    );
    await writeFile(until ?? '', '');
    expect((await waiting.ended).code).toBe(0);
    const [, successor] = /run (\d+)/.exec(replaced.stdout) ?? [];
    expect(await harness.json<RunDocument>([...live, '--wait'])).toMatchObject({
      id: successor,
      isNew: false,
      run: { status: 'succeeded' },
    });
    expect(await harness.json<RunDocument>([...live, '--wait'])).toMatchObject({
      isNew: true,
      run: { status: 'succeeded' },
    });
  });
});

describe('tock run --debounce', () => {
  it('postpones the run with each call', async () => {
    const first = await document('--key', 'shop:4', '--debounce', '1h');
    expect(first.isNew).toBe(true);
    const second = await document('--key', 'shop:4', '--debounce', '2h', '--payload', '{"name":"last"}');
    expect(second).toMatchObject({ id: first.id, isReplaced: true, run: { payload: { name: 'last' } } });
    expect(Date.parse(second.run.runAt)).toBeGreaterThan(Date.parse(first.run.runAt));
    const { stdout } = await run('--key', 'shop:4', '--debounce', '1h');
    expect(stdout).toMatch(/^replaced run \d+, which waited under the key "shop:4": /);
  });

  it('names an earlier run before it waits for it', async () => {
    await document('--key', 'shop:5');
    const { code, stdout, stderr } = await run('--key', 'shop:5', '--wait');
    expect(stderr).toMatch(
      /^tock run: nothing was enqueued: the key "shop:5" belongs to run \d+, which is queued\n/,
    );
    expect(stdout).toMatch(/^run \d+ of greet: succeeded/m);
    expect(code).toBe(0);
  });
});
