// `tock schedule add, set` with what alerts expect of a schedule: stated, kept by other edits, and removed.
import { describe, expect, it } from 'vitest';
import { openOnce } from '../../support/open.js';
import { openCliHarness } from '../cli-harness.js';

const harness = openOnce(openCliHarness, harness => harness.tock(['tick']));

const edited = async (...args: string[]) =>
  (await harness.json<{ definition: Record<string, unknown> }>(['schedule', ...args])).definition;

describe('what alerts expect', () => {
  it('is stated, kept by other edits, and removed', async () => {
    const add = ['add', 'watched', '--job', 'greet', '--cron', '0 3 * * *'];
    expect(await edited(...add, '--expect-within', '30m', '--max-duration', '10m')).toMatchObject({
      expectWithinMs: 1_800_000,
      maxDurationMs: 600_000,
    });
    expect(await edited('set', 'watched', '--cron', '0 4 * * *')).toMatchObject({
      cron: '0 4 * * *',
      expectWithinMs: 1_800_000,
      maxDurationMs: 600_000,
    });
    expect(await edited('set', 'watched', '--expect-within', 'none')).toMatchObject({
      expectWithinMs: null,
      maxDurationMs: 600_000,
    });
  });

  it('is no time within that of a schedule that becomes a chain', async () => {
    const add = ['add', 'chained', '--job', 'greet', '--cron', '0 3 * * *'];
    await edited(...add, '--expect-within', '30m', '--max-duration', '10m');
    expect(await edited('set', 'chained', '--after', 'watched')).toMatchObject({
      cron: null,
      expectWithinMs: null,
      maxDurationMs: 600_000,
    });
    const refused = await harness.tock(['schedule', 'set', 'chained', '--expect-within', '5m']);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('expect.within needs cron') });
  });
});
