// The answer of `tock why` that the README shows is what the command says.
import { readFile } from 'node:fs/promises';
import { expect, inject, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { openTestTock } from '../../src/testing.js';
import { tock } from './cli-harness.js';

/** Without its line breaks, and what differs from run to run: when the backoff ended, and where it ran. */
const said = (text: string) =>
  text
    .replace(/\s+/g, ' ')
    .replace(/ran from .* and took .* on .*/, 'ran')
    .trim();

it('explains the night without 02:30, and the run that took a second attempt', async () => {
  const readme = await readFile('README.md', 'utf8');
  const [, block = ''] = /```console\n(\$ npx tock why [\s\S]*?)```/.exec(readme) ?? [];
  const [command = '', ...answer] = block.split('\n');
  const args = command.replace('$ npx tock ', '').split(' ');

  const closeTheDay = defineJob({
    name: 'close-the-day',
    schedule: { cron: '30 2 * * *', timezone: 'Europe/Berlin' },
    retry: { maxAttempts: 5, base: '1m' },
    run: () => null,
  });
  expect(readme).toContain("schedule: { cron: '30 2 * * *', timezone: 'Europe/Berlin' },");
  const connectionString = inject('adminUrl');
  await using kit = await openTestTock({
    connectionString,
    jobs: [closeTheDay],
    now: '2026-03-28T12:00:00Z',
  });
  kit.failOnce(closeTheDay, new Error('3 orders are open'));
  const ended = await kit.advanceTo('2026-03-29T01:35:00Z');
  expect(ended.map(run => run.status)).toEqual(['succeeded']);

  const { stdout, code } = await tock(args, { env: { DATABASE_URL: kit.connectionString } });
  expect(said(stdout)).toBe(said(answer.join('\n')));
  expect(said(stdout)).toMatch(/attempt 2 of 5 ran$/);
  expect(code).toBe(0);
});
