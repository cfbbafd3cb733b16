// `node dist/tick.js`, as cron starts it: what it prints, and its exit code. Several at once: test/processes.
import { describe, expect, it } from 'vitest';
import { killAfterEach, openOnce } from '../support/open.js';
import { startProcess, TICK, writeJobs } from '../support/processes.js';
import { reuseTestTock, until } from '../support/test-tock.js';

const test = openOnce(reuseTestTock);
const running = killAfterEach();

const INDEX = JSON.stringify(TICK.replace(/tick\.js$/, 'index.js'));

it('executes what is due, and says so in one line', async () => {
  const jobs = await writeJobs(`import { defineJob } from ${INDEX};
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

describe('what the job module and a handler have left open', () => {
  const start = async (env: Readonly<Record<string, string>>, more = '') => {
    const jobs = await writeJobs(`import { defineJob } from ${INDEX};
      import { readFile } from 'node:fs';
      import { createServer } from 'node:net';
      createServer().listen(0);
      ${more}
      const write = process.stdout.write.bind(process.stdout);
      process.stdout.write = text => {
        if (text.includes(' tick: ')) readFile(process.execPath, () => write('what a hook began is done'));
        return write(text);
      };
      export const jobs = [defineJob({ name: 'leaves', run: ctx => {
        void ctx.db.transaction().execute(() => new Promise(() => undefined));
      } })];`);
    const started = startProcess(TICK, { DATABASE_URL: test.url, TOCK_JOBS: jobs, ...env });
    running.push(started);
    return started;
  };

  it('does not keep a tick from ending once the grace is over, with the exit code of its work', {
    tags: 'check',
  }, async () => {
    await test.sql(`select tock.enqueue('leaves')`);
    const ended = await (await start({ TOCK_GRACE: '0s' })).ended;
    expect(ended).toMatchObject({ code: 0, signal: null, stderr: '' });
    expect(ended.stdout).toMatch(/ 1 succeeded /);
    const failed = await (await start({ TOCK_GRACE: '0s' }, `throw new Error('not today');`)).ended;
    expect(failed).toMatchObject({ code: 2, signal: null, stderr: expect.stringContaining('not today') });
  });

  it('has the grace to end, which a stop signal cuts short without changing the exit code', async () => {
    const started = await start({ TOCK_GRACE: '1d' });
    await until(
      async () => await Promise.resolve(started.output().includes('is done')),
      'the tick to be over',
    );
    started.child.kill('SIGTERM');
    expect(await started.ended).toMatchObject({ code: 0, signal: null });
  });
});
