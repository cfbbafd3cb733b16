// How an attempt ended is logged with its causes, and without secrets; and so it is kept with the run.
import { expect, it } from 'vitest';
import { defineJob } from '../../../src/index.js';
import { collectLines } from '../../support/lines.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';

const test = openForEach(reuseTestTock);

const failing = defineJob({
  name: 'failing',
  retry: { maxAttempts: 1 },
  run: () => {
    const refused = Object.assign(new Error('no way to postgres://ada:hunter2@db/x'), {
      code: 'ECONNREFUSED',
    });
    const cause = new AggregateError([refused, 'another'], 'all failed');
    throw new TypeError('no reply', { cause });
  },
});

it('the log line of an attempt that failed has the causes and members of its error; the run has their stacks as well', async () => {
  const { logger, lines } = collectLines();
  const tock = test.another({ jobs: [failing], logger });
  const id = await tock.enqueue(failing);
  await tock.tick();
  const cause = {
    name: 'AggregateError',
    code: null,
    message: 'all failed',
    errors: [
      { name: 'Error', code: 'ECONNREFUSED', message: 'no way to postgres://ada:***@db/x' },
      { name: 'thrown string', code: null, message: 'another' },
    ],
  };
  expect(lines).toContainEqual(
    expect.objectContaining({
      event: 'run.dead',
      error: { name: 'TypeError', code: null, message: 'no reply', cause },
    }),
  );
  const run = await tock.runs.get(id);
  expect(run?.errors).toMatchObject([{ attempt: 1, message: 'no reply', cause }]);
  expect(run?.errors[0]?.cause?.errors?.[0]?.stack).toContain('outcome-counts.test.ts');
  expect(JSON.stringify([lines, run])).not.toContain('hunter2');
});
