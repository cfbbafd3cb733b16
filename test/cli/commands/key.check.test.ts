// `tock key`: weights, limits and rates of single keys, and opening them.
import { describe, expect, it } from 'vitest';
import { openOnce } from '../../support/open.js';
import { openCliHarness } from '../cli-harness.js';

const harness = openOnce(openCliHarness);
const key = (...args: string[]) => harness.tock(['key', ...args]);

describe('tock key', () => {
  it('says that there are none', async () => {
    expect((await key()).stdout).toBe('no key has settings, and none is closed\n');
    expect(await harness.json(['key', 'list'])).toEqual({ keys: [] });
    expect((await key('show', '17')).stdout).toBe('17: weight 1\nnothing waits under it\n');
    expect((await key('open', '17')).stdout).toBe('17 was not closed\n');
    expect((await key('reset', '17')).stdout).toBe('17 had no settings\n');
  });

  it('sets what is given, keeps the rest, and removes it all', async () => {
    const { stdout, stderr } = await key('set', '17', '--weight', '3', '--limit', '40', '--rate', '100/m');
    expect(stderr).toBe('');
    expect(stdout).toBe('17: weight 3; 40 at once; 100 per 1m, bursts of 2\n');
    expect((await key('set', '17', '--limit', 'none')).stdout).toBe(
      '17: weight 3; 100 per 1m, bursts of 2\n',
    );
    expect((await key()).stdout).toMatch(/^17 +3 +100 per 1m, bursts of 2 +0$/m);
    expect(await harness.json(['key', 'show', '17'])).toEqual({
      key: { key: '17', weight: 3, limit: null, rate: { limit: 100, perMs: 60_000, burst: 2 }, states: [] },
    });
    expect((await key('reset', '17')).stdout).toBe('17 has no settings any more\n');
  });

  it('are shown with their queue: those with most runs', async () => {
    expect((await harness.tock(['queue', 'set', 'mail', '--fair', '$.tenant'])).code).toBe(0);
    for (const tenant of ['acme', 'acme', 'other'])
      await harness.tock(['run', 'greet', '--payload', JSON.stringify({ tenant }), '--queue', 'mail']);
    // A tick looks at them, and none starts.
    await harness.tock(['queue', 'pause', 'mail']);
    await harness.tock(['tick']);
    const { stdout } = await harness.tock(['queue', 'mail']);
    expect(stdout).toMatch(
      /^ +keys +those with most runs \(tock key show KEY\)\n +acme: 0 running, 2 waiting; its turn, beside the other keys\n +other: 0 running, 1 waiting; /m,
    );
    expect(stdout).toContain('limits   shared by $.tenant');
    expect(await harness.json(['queue', 'mail'])).toMatchObject({
      keys: [{ key: 'acme', waiting: 2, running: 0 }, { key: 'other' }],
    });
  });

  it('refuses the empty key', async () => {
    const { code, stderr } = await key('show', '');
    expect(stderr).toContain('"" is not a key: write 1 to 300 characters');
    expect(code).toBe(2);
  });
});
