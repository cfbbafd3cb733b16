// A job module that cannot be loaded: one line that names the file, its line, and what to do.
// In the check: each case is a process, and one waits for a deadline.
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadJobModule } from '../../src/runtime/job-module.js';
import { jobModuleFailure } from '../../src/runtime/job-module-failure.js';
import { CLI, startProcess } from '../support/processes.js';

/** A project's files; the job module is `jobs.mjs`, unless another is named. */
async function loadIn(
  files: Readonly<Record<string, string>>,
  name = 'jobs.mjs',
  args = ['run', 'anything'],
) {
  const folder = await mkdtemp(path.join(tmpdir(), 'tock-module-'));
  for (const [file, text] of Object.entries(files)) {
    await mkdir(path.dirname(path.join(folder, file)), { recursive: true });
    await writeFile(path.join(folder, file), text);
  }
  // Nothing asks the database before the jobs are there.
  const env = { TOCK_JOBS: path.join(folder, name), DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' };
  const { code, stdout, stderr } = await startProcess(CLI, env, args, { cwd: folder }).ended;
  return { code, stdout, stderr: stderr.replaceAll(`${folder}/`, '') };
}

const JOBS = 'export const jobs = [];\n';

describe('a job module that cannot be loaded', () => {
  it.each<[string, Record<string, string>, string]>([
    [
      'a syntax error',
      { 'jobs.mjs': `const a = 1;\n\nexport const jobs = [;\n` },
      `cannot be loaded: SyntaxError: Unexpected token ';', at jobs.mjs:3\n`,
    ],
    [
      'a syntax error in what it imports',
      { 'jobs.mjs': `import './lib/mail.mjs';\n${JOBS}`, 'lib/mail.mjs': '\nconst = 1;\n' },
      `cannot be loaded: SyntaxError: Unexpected token '=', at lib/mail.mjs:2\n`,
    ],
    [
      'a package that is not installed',
      { 'jobs.mjs': `// jobs\nimport { z } from '@acme/zod/mini';\n${JOBS}` },
      'cannot be loaded: jobs.mjs:2 imports "@acme/zod/mini", which is not installed; run: npm install @acme/zod\n',
    ],
    [
      'a file that does not exist',
      { 'jobs.mjs': `\n\nimport './mail.mjs';\n${JOBS}` },
      'cannot be loaded: jobs.mjs:3 imports "./mail.mjs", which does not exist\n',
    ],
    [
      'a file without its extension',
      { 'jobs.mjs': `import './mail';\n${JOBS}`, 'mail.js': '' },
      'cannot be loaded: jobs.mjs:1 imports "./mail", which does not exist; write "./mail.js"\n',
    ],
    [
      'a name that the other module does not export',
      { 'jobs.mjs': `import { mail } from './mail.mjs';\n${JOBS}`, 'mail.mjs': 'export const other = 1;\n' },
      `does not provide an export named 'mail', at jobs.mjs:1\n`,
    ],
    [
      'an error at the top level',
      {
        'jobs.mjs': `import './env.mjs';\n${JOBS}`,
        'env.mjs': `\nthrow new Error('SMTP_URL is not set');\n`,
      },
      'cannot be loaded: SMTP_URL is not set, at env.mjs:2\n',
    ],
    [
      'an error in a package, by the file that calls it',
      {
        'jobs.mjs': `import { parse } from 'parser';\nparse();\n${JOBS}`,
        'node_modules/parser/package.json': '{"name": "parser", "type": "module", "exports": "./index.js"}',
        'node_modules/parser/index.js': `export function parse() {\n  throw new TypeError('no environment');\n}\n`,
      },
      'cannot be loaded: TypeError: no environment, at jobs.mjs:2\n',
    ],
    ['what is no error', { 'jobs.mjs': `throw 'up';\n` }, 'cannot be loaded: it throws "up"\n'],
    [
      'require in an ES module',
      { 'jobs.mjs': `const fs = require('node:fs');\n${JOBS}` },
      'ReferenceError: require is not defined in ES module scope',
    ],
    [
      'another export',
      { 'jobs.mjs': 'export const job = 1;\nexport const helper = 2;\n' },
      'exports no array named jobs (it exports helper, job; did you mean job?); write: export const jobs = [ … ]\n',
    ],
    ['no export', { 'jobs.mjs': '' }, 'exports no array named jobs (it exports nothing); '],
    ['jobs that are no array', { 'jobs.mjs': 'export const jobs = {};\n' }, '(its jobs is an object); '],
    [
      'an element that is no job',
      { 'jobs.mjs': `export const jobs = [() => 1];\n` },
      'jobs.mjs: element 0 of jobs was not made by defineJob: it is a function\n',
    ],
    [
      'a top-level await of nothing',
      { 'jobs.mjs': `await new Promise(() => {});\n${JOBS}` },
      'does not finish loading: a top-level await, in it or in what it imports, waits for more than 30s or for ever; move it into a handler\n',
    ],
  ])('says in one line where: %s', async (_name, files, line) => {
    const { code, stdout, stderr } = await loadIn(files);
    expect(stderr).toContain(line);
    expect(stderr.trimEnd().split('\n')).toHaveLength(1);
    expect(stderr).toMatch(/^tock run: /);
    expect([code, stdout]).toEqual([2, '']);
  });

  it('may misspell what else it exports, which is said; what is near to nothing is its own', async () => {
    const more = 'export const retentions = {}, queue = 1, job = 1, helpers = 1;\n';
    const { stderr } = await loadIn({ 'jobs.mjs': `${JOBS}${more}` }, 'jobs.mjs', ['status', '--json']);
    expect(stderr).not.toContain('Tock does not read');
    const loaded = await loadIn({ 'jobs.mjs': `${JOBS}${more}` }, 'jobs.mjs', ['tick']);
    expect(loaded.stderr).toContain(
      'Tock does not read these exports of jobs.mjs: queue (did you mean queues?), retentions (did you mean retention?)',
    );
  });

  it('gives up on a top-level await after a bounded time', async () => {
    const folder = await mkdtemp(path.join(tmpdir(), 'tock-module-'));
    const file = path.join(folder, 'jobs.mjs');
    await writeFile(file, `await new Promise(() => {});\n${JOBS}`);
    await expect(loadJobModule(file, 20)).rejects.toMatchObject({
      code: 'TOCK_JOBS_NOT_FOUND',
      message: expect.stringContaining('waits for more than 20ms or for ever') as string,
    });
  });
});

describe('a job module in TypeScript', () => {
  const failure = (error: Error, code: string) =>
    jobModuleFailure('/srv/app/jobs.ts', Object.assign(error, { code })).message;

  it('says what to do where Node cannot execute it', () => {
    const thrown = new TypeError('Unknown file extension ".ts" for /srv/app/jobs.ts');
    expect(failure(thrown, 'ERR_UNKNOWN_FILE_EXTENSION')).toBe(
      `the job module /srv/app/jobs.ts cannot be loaded: Node ${process.versions.node} cannot execute TypeScript (/srv/app/jobs.ts); build it and name the .js file in TOCK_JOBS, or run npm install tsx, or use Node 22.18 or later`,
    );
  });

  it('is loaded by the project’s tsx', async () => {
    // As tsx does: from then on, TypeScript is loaded by a hook.
    const hook = `export const load = async (url, context, next) => url.endsWith('/jobs.ts')
      ? { format: 'module', shortCircuit: true, source: 'export const jobs = [];' } : next(url, context);`;
    const files = {
      'node_modules/tsx/package.json': '{ "type": "module", "exports": "./loader.mjs" }',
      'node_modules/tsx/loader.mjs': `import { register } from 'node:module';
        register('data:text/javascript,' + encodeURIComponent(${JSON.stringify(hook)}));`,
      'jobs.ts': 'enum NotStripped { A }\nexport const jobs: unknown[] = [];',
    };
    const { code, stderr } = await loadIn(files, 'jobs.ts');
    // The module was loaded, and has no jobs.
    expect(stderr).toContain('there is no job "anything"');
    expect(code).toBe(2);
  });

  it('says what to do about syntax that Node does not strip', () => {
    const thrown = new SyntaxError('TypeScript enum is not supported in strip-only mode');
    expect(failure(thrown, 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX')).toMatch(
      /enum is not supported in strip-only mode, at .*; Node only strips types: write it without, build it, or use tsx$/,
    );
  });

  it('says that an import must name the .ts file', async () => {
    const files = { 'jobs.mjs': `import './mail.js';\n${JOBS}`, 'mail.ts': '' };
    expect((await loadIn(files)).stderr).toContain(
      'jobs.mjs:1 imports "./mail.js", which does not exist; mail.ts does: Node needs that name in the import, or use tsx, or build\n',
    );
  });

  const stripsTypes = Boolean((process.features as { readonly typescript?: unknown }).typescript);
  it('is loaded by a Node that strips types; another says so', async () => {
    const { code, stderr } = await loadIn({ 'jobs.ts': 'export const jobs: unknown[] = [];\n' }, 'jobs.ts');
    const line = stripsTypes ? 'there is no job "anything"' : 'cannot execute TypeScript (jobs.ts)';
    expect(stderr).toContain(line);
    expect(code).toBe(2);
  });
});
