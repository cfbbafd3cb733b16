// Review: flags that every command has.
import { describe, expect, it } from 'vitest';
import { openCliHarness } from '../cli/cli-harness.js';
import { openOnce } from '../support/open.js';

const harness = openOnce(openCliHarness);

describe('tock edit', () => {
  it.each([[['--json']], [['--service', 'billing']]])('takes %s, as its help says', async flags => {
    const { run } = await harness.json<{ run: { id: string } }>([
      'run',
      'greet',
      '--payload',
      '{"name": "ann"}',
    ]);
    const edited = await harness.tock(['edit', run.id, '--payload', '{"name": "bob"}', ...flags]);
    expect([edited.code, edited.stderr]).toEqual([0, '']);
  });
});

describe('a filter by a payload whose number PostgreSQL cannot hold', () => {
  it.each([[['runs']], [['retry', '--yes']], [['cancel', '--yes']]])(
    'is refused by tock %s as wrong usage',
    async command => {
      const answer = await harness.tock([...command, '--payload', 'a=1e999999', '--json']);
      expect([answer.code, answer.stderr]).toEqual([2, expect.not.stringContaining('UNEXPECTED')]);
    },
  );
});

describe('tock run', () => {
  it('refuses a payload with a number that would lose digits, as the edit does', async () => {
    const answer = await harness.tock([
      'run',
      'greet',
      '--payload',
      '{"name": "ann", "amount": 0.1234567890123456789}',
      '--json',
    ]);
    expect([answer.code, answer.stderr]).toEqual([2, expect.stringContaining('would lose digits')]);
  });
  it('tock edit refuses it too', async () => {
    const { run } = await harness.json<{ run: { id: string } }>([
      'run',
      'greet',
      '--payload',
      '{"name": "ann"}',
    ]);
    const answer = await harness.tock([
      'edit',
      run.id,
      '--payload',
      '{"name": "ann", "amount": 0.1234567890123456789}',
    ]);
    expect([answer.code, answer.stderr]).toEqual([2, expect.stringContaining('would lose digits')]);
  });
});

describe('tock help', () => {
  it('of a command that there is not is wrong usage', async () => {
    expect((await harness.tock(['help', 'nope'])).code).toBe(2);
  });
});

describe('tock queue', () => {
  it('shows a queue whose name is near to that of a subcommand', async () => {
    await harness.json(['run', 'greet', '--payload', '{"name": "ann"}', '--queue', 'rest']);
    const answer = await harness.tock(['queue', 'rest', '--json']);
    expect([answer.code, answer.stderr]).toEqual([0, '']);
  });
});
