// `tock edit`: gives a run another payload.
import { describe, expect, it } from 'vitest';
import { openOnce } from '../../support/open.js';
import { openCliHarness } from '../cli-harness.js';

const harness = openOnce(openCliHarness);
const run = async (name: string) => {
  const { run: made } = (await harness.json(['run', 'greet', '--payload', JSON.stringify({ name })])) as {
    run: { id: string };
  };
  return made.id;
};

describe('tock edit', () => {
  it('gives a run that waits another payload, and retries a cancelled one with it', async () => {
    const id = await run('ann');
    expect((await harness.tock(['edit', id, '--payload', '{"name": "bob"}'])).stdout).toMatch(
      new RegExp(`^run ${id} of greet has another payload: .*\\n$`),
    );
    await harness.tock(['cancel', id]);
    expect((await harness.tock(['edit', id, '--payload', '{"name": "cid"}'])).stdout).toMatch(
      new RegExp(`^run ${id} of greet has another payload, and is retried: .*\\n$`),
    );
    expect(await harness.json(['show', id])).toMatchObject({
      run: { payload: { name: 'cid' }, status: 'queued', generation: 2 },
    });
  });

  it('takes the flags that every command has, and refuses a number that would lose digits', async () => {
    const id = await run('ann');
    const edit = ['edit', id, '--payload'];
    const flags = ['--json', '--service', 'billing', '--fence', '0', '--attempts', '2'];
    const { stdout, stderr } = await harness.tock([...edit, '{"name": "bob"}', ...flags]);
    expect([JSON.parse(stdout), stderr]).toEqual([{ run: expect.objectContaining({ id }) }, '']);
    for (const args of [edit, ['run', 'greet', '--payload']]) {
      const refused = await harness.tock([...args, '{"name": "cid", "n": 0.1234567890123456789}']);
      expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('would lose digits')]);
    }
  });

  it('refuses one that has moved on, with exit code 1, and says what it lacks', async () => {
    const id = await run('ann');
    const late = await harness.tock(['edit', id, '--payload', '{}', '--fence', '7']);
    expect([late.code, late.stderr]).toEqual([
      1,
      expect.stringMatching(
        /has moved on since it was read, and is queued now \(fence 0; it was queued, fence 7\)/,
      ),
    ]);
    const without = await harness.tock(['edit', id]);
    expect([without.code, without.stderr]).toEqual([
      2,
      expect.stringContaining(`--payload is missing: tock edit ${id} --payload '{…}'`),
    ]);
  });
});
