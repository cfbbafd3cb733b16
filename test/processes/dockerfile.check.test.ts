// The steps of the Dockerfile that `tock init --docker` writes, in a fresh folder: what it copies, installs and starts.
// In the check: it installs the package with npm.
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { openForEach } from '../support/open.js';
import { openTestTock, until } from '../support/test-tock.js';

const ROOT = path.resolve('.');
let home: string;
let tarball: string;
beforeAll(async () => {
  home = await mkdtemp(path.join(tmpdir(), 'tock-docker-'));
  const packed = execFileSync('npm', ['pack', '--ignore-scripts', '--pack-destination', home], {
    cwd: ROOT,
    encoding: 'utf8',
  });
  tarball = path.join(home, packed.trim().split('\n').at(-1) ?? '');
});
afterAll(() => rm(home, { recursive: true, force: true }));

const test = openForEach(openTestTock);
const run = (command: string, args: readonly string[], cwd: string) => {
  const { DATABASE_URL: _, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(command, args, { cwd, env, encoding: 'utf8' });
  if (status !== 0) throw new Error(`${command} ${args.join(' ')}: ${stdout}${stderr}`);
};

it.each([
  ['TypeScript, whose tsx is only for development', { typescript: '5', tsx: '4' }, true],
  ['JavaScript', {}, false],
])(
  'the Dockerfile of tock init gives an image that starts, of a project in %s',
  async (_of, devDependencies, isTyped) => {
    const project = path.join(home, isTyped ? 'typed' : 'plain');
    const image = `${project}-image`;
    await mkdir(project);
    await mkdir(image);
    const manifest = {
      name: 'app',
      private: true,
      type: 'module',
      dependencies: { 'pg-tock': `file:${tarball}` },
      devDependencies,
    };
    await writeFile(path.join(project, 'package.json'), JSON.stringify(manifest));
    if (isTyped) await writeFile(path.join(project, 'tsconfig.json'), '{}');
    run('npm', ['install', '--no-audit', '--no-fund'], project);
    run('npx', ['tock', 'init', '--yes', '--docker', '--no-install'], project);

    const lines = (await readFile(path.join(project, 'Dockerfile'), 'utf8')).split('\n');
    const ignored = (await readFile(path.join(project, '.dockerignore'), 'utf8')).split('\n').filter(Boolean);
    let command: string[] = [];
    for (const line of lines) {
      const [step, ...rest] = line.split(' ');
      if (step === 'COPY' && rest[0] !== '.')
        for (const file of rest.slice(0, -1)) await cp(path.join(project, file), path.join(image, file));
      else if (step === 'COPY')
        await cp(project, image, {
          recursive: true,
          filter: source => !ignored.includes(path.relative(project, source)),
        });
      else if (step === 'RUN') run('sh', ['-c', rest.join(' ')], image);
      else if (step === 'CMD') command = JSON.parse(rest.join(' ')) as string[];
    }
    const [jobs = ''] =
      /TOCK_JOBS: (.*)/.exec(await readFile(path.join(project, 'compose.yaml'), 'utf8'))?.slice(1) ?? [];

    const { DATABASE_URL: _, ...env } = process.env;
    const [program = '', ...args] = command;
    const child = spawn(program, args, {
      cwd: image,
      env: { ...env, DATABASE_URL: test.url, TOCK_JOBS: jobs },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
    const ended = new Promise<number | null>(resolve => child.once('exit', resolve));
    const isRegistered = async () =>
      child.exitCode !== null ||
      (await test.sql(`select from tock.job_definitions where name = 'say-hello'`)).length === 1;
    await until(isRegistered, 'the job to be registered');
    expect([child.exitCode, child.exitCode === null ? '' : said]).toEqual([null, '']);
    child.kill('SIGTERM');
    expect(await ended).toBe(0);
  },
);
