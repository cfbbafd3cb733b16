// `node dist/tick.js`, as cron starts it: what it prints, and its exit code. Several at once: test/processes.
import { expect, it } from 'vitest';
import { openOnce } from '../support/open.js';
import { startProcess, TICK, writeJobs } from '../support/processes.js';
import { reuseTestTock } from '../support/test-tock.js';

const test = openOnce(reuseTestTock);

it('executes what is due, and says so in one line', async () => {
  const jobs = await writeJobs(`import { defineJob } from '${TICK.replace(/tick\.js$/, 'index.js')}';
    export const jobs = [defineJob({ name: 'greets', run: (_ctx, { who }) => \`hello \${who}\` })];`);
  const [row] = await test.sql<{ id: string }>(`select tock.enqueue('greets', '{"who": "Ada"}')::text as id`);
  const { code, stdout, stderr } = await startProcess(TICK, { DATABASE_URL: test.url, TOCK_JOBS: jobs })
    .ended;
  expect([code, stderr]).toEqual([0, '']);
  expect(stdout).toMatch(/^\S+Z tick: .*1 succeeded.*\n$/);
  expect(await test.tock.runs.get(row?.id ?? '')).toMatchObject({ status: 'succeeded', output: 'hello Ada' });
});

it('refuses an option that there is not', async () => {
  const { code, stdout, stderr } = await startProcess(TICK, {}, ['--bugdet', '5s']).ended;
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toBe("tick: Unknown option '--bugdet' (see --help)\n");
});
