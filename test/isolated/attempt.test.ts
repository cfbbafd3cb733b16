// The child process of one attempt: what it answers, and that nobody starts it by hand. Its ends: test/processes.
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { expect, it } from 'vitest';
import { defineJob } from '../../src/index.js';
import { openForEach } from '../support/open.js';
import { CLI, startProcess, writeJobs } from '../support/processes.js';
import { reuseTestTock } from '../support/test-tock.js';

const DIST = path.dirname(CLI);

/** What the child loads: it has nothing of this process. */
const MODULE = `import { defineJob } from '${pathToFileURL(path.join(DIST, 'index.js')).href}';
export const jobs = [defineJob({ name: 'tells', isolate: true, run: (ctx, { who }) => {
  if (who === 'nobody') throw new RangeError('nobody is there');
  return { pid: process.pid, who, attempt: ctx.attempt, fence: ctx.fence };
} })];`;

const tells = defineJob({ name: 'tells', isolate: true, retry: { maxAttempts: 1 }, run: () => null });
const test = openForEach(async () => await reuseTestTock([tells], { jobsModule: await writeJobs(MODULE) }));

it('executes the handler of the module, and its answer is the end of the run', async () => {
  const [told, failed] = [
    await test.tock.enqueue(tells, { who: 'Ada' }),
    await test.tock.enqueue(tells, { who: 'nobody' }),
  ];
  expect((await test.tock.tick()).executed).toMatchObject({ claimed: 2, succeeded: 1, dead: 1 });
  const run = await test.tock.runs.get(told);
  expect(run).toMatchObject({ status: 'succeeded', output: { who: 'Ada', attempt: 1, fence: 1 } });
  expect(run?.output).not.toMatchObject({ pid: process.pid });
  expect(await test.tock.runs.get(failed)).toMatchObject({
    status: 'dead',
    errors: [{ name: 'RangeError', message: 'nobody is there' }],
  });
});

it('does nothing where no worker has started it', async () => {
  expect(await startProcess(path.join(DIST, 'isolated.js'), {}).ended).toMatchObject({
    code: 2,
    stdout: '',
    stderr: 'isolated: a worker starts this script, for one attempt of an isolated job\n',
  });
});
