// `tock alerts rules`, `channels` and `log`: what is configured, and what has happened; no secret is printed.
import { expect, it } from 'vitest';
import { openOnce } from '../../support/open.js';
import { openCliHarness } from '../cli-harness.js';

const harness = openOnce(openCliHarness, harness => harness.tock(['tick']));

it('tock alerts says what to write where nothing is configured', async () => {
  for (const subcommand of ['rules', 'channels'])
    expect((await harness.tock(['alerts', subcommand])).stdout).toContain(
      'export const alerts = { channels:',
    );
  expect((await harness.tock(['alerts', 'log'])).stdout).toContain('nothing has gone down');
  expect(await harness.json(['alerts', 'rules'])).toEqual({ rules: [] });
  expect(await harness.json(['alerts', 'channels'])).toEqual({ channels: [], deliveries: [] });
  expect(await harness.json(['alerts', 'log'])).toEqual({ flips: [] });
});
