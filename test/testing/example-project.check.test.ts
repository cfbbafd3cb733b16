import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { processLife } from '../../src/embedded/embedded-process.js';
import { until } from '../support/test-tock.js';
import { type ExampleProject, examplesOf, makeProject } from './example-project.js';

let project: ExampleProject | undefined;
afterEach(async () => {
  if (project) await serversEnded(project);
  await project?.remove();
  project = undefined;
});

const serversOf = async ({ folder }: ExampleProject) => await readdir(path.join(folder, 'tmp'));
const serversEnded = (of: ExampleProject) =>
  until(async () => (await serversOf(of)).length === 0, 'the end of the server');

const haveEnded = (pids: readonly number[]) =>
  until(
    async () => (await Promise.all(pids.map(processLife))).every(life => life === undefined),
    'the end of the processes',
  );

/** The process ids of the server and its warden, once both are there. */
async function pidsOf(of: ExampleProject): Promise<{ server: number; warden: number }> {
  return await until(async () => {
    const [name] = await serversOf(of);
    const read = async (file: string) =>
      Number.parseInt(
        await readFile(path.join(of.folder, 'tmp', name ?? '', file), 'utf8').catch(() => ''),
        10,
      );
    const [server, warden] = [await read('data/postmaster.pid'), await read('reaper')];
    return server > 0 && warden > 0 && { server, warden };
  }, 'the server and its warden');
}

const PRINT_SERVER = `
  import { openTestTock } from 'pg-tock/testing';
  const kit = await openTestTock();
  const [row] = await kit.sql("select current_setting('port') as port");
  console.log('port ' + row.port);
`;

describe('a project with node --test', () => {
  it('passes the examples of the documentation, and leaves no server behind', async () => {
    const examples = await examplesOf('docs/testing.md');
    expect(examples.length).toBeGreaterThan(1);
    project = await makeProject(
      Object.fromEntries(examples.map((code, index) => [`example-${index}.test.js`, code])),
    );
    const { ended } = project.start(['--test']);
    // Read while it runs: soon afterwards the server ends.
    const pids = pidsOf(project);
    pids.catch(() => undefined);
    const { code, output } = await ended;
    expect(output).toContain(`# pass ${examples.length}`);
    expect(code).toBe(0);
    const { server, warden } = await pids;
    await serversEnded(project);
    await haveEnded([server, warden]);
  });

  it('fails where a test’s expectation fails', async () => {
    const [example = ''] = await examplesOf('docs/testing.md');
    project = await makeProject({ 'a.test.js': example.replace('"1 orders are open"', '"two orders"') });
    const { code, output } = await project.start(['--test']).ended;
    expect(output).toContain('two orders');
    expect(code).toBe(1);
  });

  it('shares one server among the processes of a run', async () => {
    project = await makeProject({
      'a.test.js': PRINT_SERVER,
      'b.test.js': PRINT_SERVER,
      'c.test.js': PRINT_SERVER,
    });
    const { output } = await project.start(['--test']).ended;
    const ports = [...output.matchAll(/port (\d+)/g)].map(([, port]) => port);
    expect(ports).toHaveLength(3);
    expect(new Set(ports).size).toBe(1);
  });
});

describe('the shared server', () => {
  it('ends when the only test process is killed', async () => {
    project = await makeProject({ 'hang.js': `${PRINT_SERVER} setInterval(() => {}, 1000);` });
    const { pid, ended, output } = project.start(['hang.js']);
    const { server, warden } = await pidsOf(project);
    await until(async () => output().includes('port '), 'the test');
    expect(await processLife(server)).toBeDefined();
    process.kill(pid, 'SIGKILL');
    await ended;
    await serversEnded(project);
    await haveEnded([server, warden]);
  });

  it('is removed by the next run when its warden was killed too', async () => {
    project = await makeProject({
      'hang.js': `${PRINT_SERVER} setInterval(() => {}, 1000);`,
      'print.js': PRINT_SERVER,
      // Its child has another parent than hang.js has: a run of its own.
      'another-run.js': `import { spawnSync } from 'node:child_process';
        spawnSync(process.execPath, ['print.js'], { stdio: 'inherit' });`,
    });
    const first = project.start(['hang.js']);
    const { server, warden } = await pidsOf(project);
    await until(async () => first.output().includes('port '), 'the first run');
    process.kill(warden, 'SIGKILL');
    process.kill(first.pid, 'SIGKILL');
    await first.ended;
    expect(await processLife(server)).toBeDefined();

    expect((await project.start(['another-run.js']).ended).output).toMatch(/port \d+/);
    await serversEnded(project);
    await haveEnded([server]);
  });
});
