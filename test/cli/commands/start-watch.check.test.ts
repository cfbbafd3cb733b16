// `tock start --watch`: starts the scheduler anew when the jobs have changed.
import { mkdir, mkdtemp, rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { signIn } from '../../dashboard/served.js';
import { openOnce } from '../../support/open.js';
import { type Going, openCliHarness, until, untilFile } from '../cli-harness.js';

const PACKAGE = pathToFileURL(path.resolve('dist/index.js')).href;

const harness = openOnce(openCliHarness);

interface Project {
  readonly module: string;
  readonly env: Readonly<Record<string, string>>;
  write(name: string, text: string): Promise<void>;
}

let projects = 0;
/** A job module that imports the file of its only job. */
async function makeProject(extension = 'mjs'): Promise<Project> {
  const folder = await mkdtemp(path.join(harness.folder, 'watched-'));
  const module = path.join(folder, `index.${extension}`);
  const write = async (name: string, text: string) => {
    await mkdir(path.dirname(path.join(folder, name)), { recursive: true });
    // In one step: a file that is being written is empty for a moment, which is a change too.
    await writeFile(`${folder}.new`, text);
    await rename(`${folder}.new`, path.join(folder, name));
  };
  const imported = extension === 'ts' ? './report.js' : './report.mjs';
  await write(
    path.basename(module),
    `import { report } from '${imported}';\nexport const jobs = [report];\n`,
  );
  projects += 1;
  return { module, env: { TOCK_JOBS: module, TOCK_SCHEMA: `watched_${projects}` }, write };
}

const report = (body: string) => `import { defineJob } from '${PACKAGE}';
import { existsSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
export const report = defineJob({ name: 'report', run: async ctx => { ${body} } });
`;
/** Says that it has begun, then waits for a file. */
const waiting = (folder: string) =>
  report(`writeFileSync('${folder}-began', '');
    while (!existsSync('${folder}-go')) await sleep(20, undefined, { signal: ctx.signal });
    return 'waited';`);

const running = (going: Going) =>
  until('it is running', () => going.printed.stdout.includes('Ctrl-C lets running jobs finish'));
const restarts = ({ printed }: Going) => [...printed.stdout.matchAll(/restarted in/g)].length;
const restarted = (going: Going, times = 1) =>
  until(`it has restarted ${times} times`, () => restarts(going) === times);

/** What the worker counts comes a moment after what the database says. */
const counted = (going: Going, times: number) =>
  until(`${times} runs have ended for the worker`, () => {
    return [...going.printed.stderr.matchAll(/"run\.succeeded"/g)].length === times;
  });

async function stop({ child, ended }: Going) {
  child.kill('SIGINT');
  return await ended;
}

/** By a process of its own: another one would keep what it has loaded. */
const enqueue = async ({ env }: Project) =>
  (await harness.json<{ id: string }>(['run', 'report'], { env, input: '' })).id;

async function outputOf({ env }: Project, id: string): Promise<unknown> {
  let output: unknown = null;
  await until(`run ${id} has ended`, async () => {
    const { run } = await harness.json<{ run: { status: string; output: unknown } }>(['show', id], { env });
    output = run.output;
    return run.status === 'succeeded';
  });
  return output;
}

describe('tock start --watch', () => {
  it('starts anew when what the job module imports has changed, and says so in one line', async () => {
    const project = await makeProject();
    await project.write('report.mjs', report(`return 'one';`));
    const going = harness.begin(['start', '--watch'], { env: project.env });
    await running(going);
    expect(await outputOf(project, await enqueue(project))).toBe('one');
    await counted(going, 1);
    const before = going.printed.stdout;

    await project.write('report.mjs', report(`return 'two';`));
    await restarted(going);
    expect(await outputOf(project, await enqueue(project))).toBe('two');
    await counted(going, 2);
    expect(going.printed.stdout.slice(before.length)).toMatch(
      /^changed: \S*report\.mjs - restarted in \d+\.\d s\n$/,
    );

    const { code, stdout } = await stop(going);
    expect(stdout).toMatch(/\nstopping: nothing is running\nstopped: 1 succeeded, 0 failed, 0 dead\n$/);
    expect(code).toBe(0);
  });

  it('keeps the link and the sessions of the dashboard over a change, and tells no job of them', async () => {
    const project = await makeProject();
    const body = `return Object.keys(process.env).filter(name => name.includes('WATCHED'));`;
    await project.write('report.mjs', report(body));
    const going = harness.beginInTerminal(['start', '--watch', '--port', '0'], {
      env: { ...project.env, NO_COLOR: '1' },
    });
    const links = () => going.printed.stdout.match(/http:\S+token=[\w-]+/g) ?? [];
    await until('the first link is shown', () => links().length === 1);
    const cookie = await signIn(links()[0] ?? '');
    await until('the next link is shown', () => links().length === 2);
    await project.write('report.mjs', report(`/* changed */ ${body}`));
    await until('it has restarted', () => going.printed.stdout.includes('restarted in'));
    expect(await outputOf(project, await enqueue(project))).toEqual([]);

    const [first = '', next = ''] = links();
    const page = () => fetch(new URL('/runs', next), { headers: { cookie }, redirect: 'manual' });
    await until('the page is served again', async () => (await page().catch(() => null))?.status === 200);
    expect((await fetch(first, { redirect: 'manual' })).status).toBe(401);
    expect((await fetch(next, { redirect: 'manual' })).status).toBe(303);
    going.type('\u0003');
    expect((await going.ended).code).toBe(0);
  });

  it('does not start anew when a file is written with what it had', async () => {
    const project = await makeProject();
    await project.write('report.mjs', report(`return 'same';`));
    const going = harness.begin(['start', '--watch'], { env: project.env });
    await running(going);
    await project.write('report.mjs', report(`return 'same';`));
    await project.write(
      'index.mjs',
      `import { report } from './report.mjs';\nexport const jobs = [report];\n//`,
    );
    await restarted(going);
    expect(going.printed.stdout).toMatch(/\nchanged: \S*index\.mjs - restarted/);
    expect(going.printed.stdout).not.toContain('report.mjs');
    await stop(going);
  });

  it('says where a broken module is broken, and waits for the next change', async () => {
    const project = await makeProject();
    await project.write('report.mjs', report(`return 'whole';`));
    const going = harness.begin(['start', '--watch'], { env: project.env });
    await running(going);

    await project.write('report.mjs', 'export const report = 1;\n\nexport const = 2;\n');
    await until('it says that it has not started', () => going.printed.stdout.includes('not started'));
    expect(going.printed.stdout).toMatch(
      /\nchanged: \S*report\.mjs - not started; waiting for the next change\n/,
    );
    expect(going.printed.stderr).toMatch(
      /^tock start: the job module \S+ cannot be loaded: SyntaxError: .*, at \S*report\.mjs:3$/m,
    );

    await project.write('report.mjs', report(`return 'mended';`));
    await restarted(going);
    expect(await outputOf(project, await enqueue(project))).toBe('mended');
    expect((await stop(going)).code).toBe(0);
  });

  it('waits for the first change when the module is broken from the beginning', async () => {
    const project = await makeProject();
    const going = harness.begin(['start', '--watch'], { env: project.env });
    await until('it says that it has not started', () => going.printed.stdout.includes('not started'));
    expect(going.printed.stderr).toContain('imports "./report.mjs", which does not exist');
    await project.write('report.mjs', report(`return 'written';`));
    await restarted(going);
    expect(going.printed.stdout).toMatch(/\nrunning on /);
    expect(await outputOf(project, await enqueue(project))).toBe('written');
    expect((await stop(going)).code).toBe(0);
  });

  it('ends with 0 on Ctrl-C while it waits for a change', async () => {
    const project = await makeProject();
    const going = harness.begin(['start', '--watch'], { env: project.env });
    await until('it says that it has not started', () => going.printed.stdout.includes('not started'));
    expect((await stop(going)).code).toBe(0);
  });

  it('lets a running job finish before it starts anew', async () => {
    const project = await makeProject();
    const file = path.join(path.dirname(project.module), 'job');
    await project.write('report.mjs', waiting(file));
    const going = harness.begin(['start', '--watch'], { env: project.env });
    await running(going);
    const id = await enqueue(project);
    await untilFile(`${file}-began`);
    await project.write('report.mjs', report(`return 'next';`));
    await until('it says what it waits for', () => going.printed.stdout.includes('restarting'));
    expect(going.printed.stdout).toContain(`restarting: waiting up to 20s for 1 run to end (report ${id})\n`);
    expect(restarts(going)).toBe(0);
    await writeFile(`${file}-go`, '');
    await restarted(going);
    expect(await outputOf(project, id)).toBe('waited');
    expect((await stop(going)).code).toBe(0);
  });

  it('ends its worker when it is killed itself', async () => {
    const project = await makeProject();
    await project.write('report.mjs', report(`return process.pid;`));
    const going = harness.begin(['start', '--watch'], { env: project.env });
    await running(going);
    const worker = Number(await outputOf(project, await enqueue(project)));
    going.child.kill('SIGKILL');
    await going.ended;
    await until('the worker has ended', () => {
      try {
        return !process.kill(worker, 0);
      } catch {
        return true;
      }
    });
    expect(worker).not.toBe(going.child.pid);
  });

  it('works with TypeScript that is loaded as tsx does it', async () => {
    const project = await makeProject('ts');
    await project.write('node_modules/tsx/package.json', '{ "type": "module", "exports": "./loader.mjs" }');
    await project.write(
      'node_modules/tsx/loader.mjs',
      `import { register } from 'node:module';\nregister('./hooks.mjs', import.meta.url);`,
    );
    const esbuild = pathToFileURL(path.resolve('node_modules/esbuild/lib/main.js')).href;
    await project.write(
      'node_modules/tsx/hooks.mjs',
      `import { readFileSync } from 'node:fs';
       import { fileURLToPath } from 'node:url';
       import { transform } from '${esbuild}';
       export const resolve = (name, context, next) =>
         next(name, context).catch(() => next(name.replace(/js$/, 'ts'), context));
       export const load = async (url, context, next) => url.endsWith('.ts')
         ? { format: 'module', shortCircuit: true,
             source: (await transform(readFileSync(fileURLToPath(url), 'utf8'), { loader: 'ts' })).code }
         : next(url, context);`,
    );
    await project.write('report.ts', report(`enum Word { One = 'typed' } return Word.One;`));
    const going = harness.begin(['start', '--watch'], { env: project.env });
    await running(going);
    expect(await outputOf(project, await enqueue(project))).toBe('typed');
    await project.write('report.ts', report(`enum Word { Two = 'again' } return Word.Two;`));
    await restarted(going);
    expect(going.printed.stdout).toMatch(/\nchanged: \S*report\.ts - restarted in /);
    expect(await outputOf(project, await enqueue(project))).toBe('again');
    expect((await stop(going)).code).toBe(0);
  });

  it('says what is missing without a job module', async () => {
    const without = await harness.tock(['start', '--watch', '--jobs', 'nothing.js']);
    expect(without.stderr).toContain('there is no job module at ');
    expect(without.code).toBe(2);
  });
});
