// `tock crontab install`, `remove` and `show`, with a crontab program of the test.
import { spawnSync } from 'node:child_process';
import { chmod, mkdir, realpath, symlink } from 'node:fs/promises';
import path from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { isCronRunning } from '../../../src/runtime/crontab.js';
import { openOnce } from '../../support/open.js';
import { installPackage, startProcess } from '../../support/processes.js';
import { openCrontabKit } from '../crontab-kit.js';

const kit = openOnce(openCrontabKit);
beforeEach(async () => await kit.setCrontab(null));

const FOLDER = path.resolve('.');
const OTHERS = Buffer.from('# f\xFCr alle\r\nMAILTO=""\n0 1 * * * /opt/x\n', 'latin1');
/** Whether a cron daemon runs is a matter of the host. */
const SILENT = /^.*: no cron daemon runs on this host, .*\n/m;
const text = async () => (await kit.crontab())?.toString('latin1') ?? null;

describe('tock crontab install', () => {
  it('adds one marked block with absolute paths', async () => {
    const { code, stdout } = await kit.tock(['crontab', 'install', '--yes']);
    expect(code).toBe(0);
    const [begin, line = '', end, rest] = ((await text()) ?? '').split('\n');
    expect([begin, end, rest]).toEqual([`# BEGIN tock ${FOLDER}`, `# END tock ${FOLDER}`, '']);
    expect(line).toMatch(/^\* \* \* \* \* cd \//);
    expect(line).toContain(`${process.execPath} ${FOLDER}/dist/tick.js`);
    expect(line).toContain('TOCK_JOBS=');
    expect(stdout).toContain(`+ ${line}`);
    expect(stdout).toMatch(
      (await isCronRunning()) === false ? /^installed$/m : /^installed: the next minute ticks$/m,
    );
  });

  it('leaves all other lines as they are, byte for byte, and remove leaves no trace', async () => {
    await kit.setCrontab(OTHERS);
    await kit.tock(['crontab', 'install', '--yes']);
    const installed = await text();
    expect(installed?.startsWith(OTHERS.toString('latin1'))).toBe(true);
    const again = await kit.tock(['crontab', 'install', '--yes']);
    expect(again.stdout).toBe('the line is in place: nothing to change\n');
    expect(await text()).toBe(installed);
    const removed = await kit.tock(['crontab', 'remove', '--yes']);
    expect(removed.stdout).toContain('removed: cron no longer ticks this project');
    expect(await kit.crontab()).toEqual(OTHERS);
  });

  it('replaces an older line in its place', async () => {
    await kit.setCrontab(`# a\n# BEGIN tock ${FOLDER}\n* * * * * old\n# END tock ${FOLDER}\n# b\n`);
    const { stdout } = await kit.tock(['crontab', 'install', '--yes']);
    expect(stdout).toContain('- * * * * * old\n+ * * * * * cd ');
    expect(await text()).toMatch(/^# a\n# BEGIN tock .*\n\* \* \* \* \* cd .*\n# END tock .*\n# b\n$/);
  });

  it('names the file with the database’s URL, never the URL', async () => {
    const env = { DATABASE_URL: 'postgres://user:geheim@db/app' };
    const shown = await kit.tock(['crontab', 'show'], { env });
    expect(shown.stdout).toContain('DATABASE_URL_FILE=/etc/tock/database-url ');
    expect(shown.stdout).not.toContain('geheim');
    const file = await kit.write('url', 'postgres://x');
    const given = await kit.tock(['crontab', 'install', '--yes', '--database-url-file', file], { env });
    expect(await text()).toContain(`DATABASE_URL_FILE=${file} `);
    expect(given.stderr.replace(SILENT, '')).toBe('');
  });

  it('keeps the file that the installed line names, until another one is given', async () => {
    const [file, other] = [
      await kit.write(`it's a/url`, 'postgres://x'),
      await kit.write('other', 'postgres://y'),
    ];
    await kit.tock(['crontab', 'install', '--yes', '--database-url-file', file]);
    const installed = await text();
    for (const env of [{ DATABASE_URL: 'postgres://x' }, {}] as const) {
      const { stdout } = await kit.tock(['crontab', 'show', '--json'], { env });
      expect(JSON.parse(stdout)).toMatchObject({ installed: true, isCurrent: true });
      await kit.tock(['crontab', 'install', '--yes'], { env });
      expect(await text()).toBe(installed);
    }
    await kit.tock(['crontab', 'install', '--yes'], { env: { DATABASE_URL_FILE: other } });
    expect(await text()).toContain(`DATABASE_URL_FILE=${other} `);
  });

  it.each(['absent', 'empty'])(
    'refuses a file with the URL that is %s, and says how to make it',
    async what => {
      const file = path.join(kit.folder, what);
      if (what === 'empty') await kit.write(what, '\n');
      const { code, stderr } = await kit.tock(['crontab', 'install', '--yes', '--database-url-file', file]);
      expect(code).toBe(2);
      const remedy =
        what === 'empty'
          ? ' is empty: write '
          : ' cannot be read, and cron has no other DATABASE_URL: write ';
      expect(stderr).toContain(`${file}${remedy}the database's URL into it`);
      if (what === 'absent') expect(stderr).toMatch(/: install -D -m 0600 -o \S+ \/dev\/null \S+\/absent\n$/);
      expect(await kit.crontab()).toBeNull();
    },
  );

  it('speaks of another line that ticks the same folder', async () => {
    await kit.setCrontab(`* * * * * cd ${FOLDER} && node dist/tick.js\n`);
    const { stderr } = await kit.tock(['crontab', 'install', '--yes']);
    expect(stderr).toContain('another line ticks this folder already');
  });

  it('asks, and changes nothing without an answer', async () => {
    await kit.setCrontab(OTHERS);
    const { code, stderr } = await kit.tock(['crontab', 'install']);
    expect(code).toBe(2);
    expect(stderr).toMatch(/this would change the crontab of .*: repeat it with --yes/);
    expect((await kit.answer(['crontab', 'install'], 'n\n')).code).toBe(1);
    expect(await kit.crontab()).toEqual(OTHERS);
    expect((await kit.answer(['crontab', 'install'], 'y\n')).code).toBe(0);
    expect(await text()).toContain('# BEGIN tock');
  });

  it('refuses damaged markers', async () => {
    const damaged = `# BEGIN tock ${FOLDER}\n* * * * * x\n`;
    await kit.setCrontab(damaged);
    for (const command of ['install', 'remove', 'show']) {
      const { code, stderr } = await kit.tock(['crontab', command]);
      expect(code).toBe(1);
      expect(stderr).toMatch(/line 1 of the crontab begins a block that has no end: correct/);
    }
    expect(await text()).toBe(damaged);
  });
});

describe('tock crontab install, where not all is as it should be', () => {
  it('says that no cron daemon runs', async () => {
    const { stderr } = await kit.tock(['crontab', 'install', '--yes']);
    expect(SILENT.test(stderr)).toBe((await isCronRunning()) === false);
  });

  it('says that no database is named', async () => {
    // In a clone, `npm start` may have made one.
    const cli = path.join(await installPackage(kit.folder), 'dist', 'cli.js');
    const { stderr } = await startProcess(cli, kit.env, ['crontab', 'install', '--yes']).ended;
    expect(stderr).toContain(
      'no database is named: write DATABASE_URL into .env, or give --database-url-file',
    );
    const embedded = await kit.tock(['crontab', 'install', '--yes'], { env: { TOCK_DATABASE: 'embedded' } });
    expect(embedded.stderr).not.toContain('no database');
  });

  it('says that there is no job module', async () => {
    const env = { TOCK_JOBS: path.join(kit.folder, 'nothing.mjs') };
    const { stderr } = await kit.tock(['crontab', 'install', '--yes'], { env });
    expect(stderr).toContain('no job module is found, so each tick would end with an error');
  });

  it('refuses a line that cron would cut', async () => {
    const file = `/${'long/'.repeat(200)}url`;
    const { code, stderr } = await kit.tock(['crontab', 'install', '--yes', '--database-url-file', file]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/: the line would have \d+ characters, and cron reads 990: give /);
    expect(await kit.crontab()).toBeNull();
  });

  it('passes on why a crontab cannot be written, and claims nothing', async () => {
    const bin = path.join(kit.folder, 'refusing');
    const program = await kit.write(
      'refusing/crontab',
      '#!/bin/sh\n[ "$1" = -l ] && exec cat "$FAKE_CRONTAB"\ncat > /dev/null\necho "crontab: $USER is not\nallowed" >&2; exit 1\n',
    );
    await chmod(program, 0o755);
    await kit.setCrontab(OTHERS);
    const env = { PATH: `${bin}:${process.env['PATH'] ?? ''}`, USER: 'mia' };
    const { code, stdout, stderr } = await kit.tock(['crontab', 'install', '--yes'], { env });
    expect(code).toBe(1);
    expect(stderr).toMatch(/: the crontab of \S+ cannot be written: crontab: mia is not allowed\n$/);
    expect(stdout).not.toContain('installed');
    expect(await kit.crontab()).toEqual(OTHERS);
  });

  it.skipIf(process.getuid?.() !== 0)(
    'refuses a folder in which the line could not open its log',
    async () => {
      // As a user who may read this folder, and not write it.
      const nobody = 65_534;
      await chmod(kit.folder, 0o777);
      const args = [path.resolve('dist/cli.js'), 'crontab', 'install', '--yes'];
      const { status, stderr } = spawnSync(process.execPath, args, {
        env: kit.env,
        uid: nobody,
        gid: nobody,
        encoding: 'utf8',
      });
      expect(stderr).toMatch(
        /: nobody may not write .*\/tick\.log, and the line needs it to tick: as root, install -m 0644 -o nobody /,
      );
      expect(status).toBe(2);
      expect(await kit.crontab()).toBeNull();
    },
  );
});

it('the line of a project that has the package leaves to .env what .env says, and names the package as the project does', async () => {
  const project = path.join(kit.folder, `it's 100% mine`);
  await mkdir(path.join(project, 'node_modules'), { recursive: true });
  await symlink(path.resolve('.'), path.join(project, 'node_modules', 'pg-tock'));
  await kit.write(`it's 100% mine/.env`, 'DATABASE_URL=postgres://app@db/app\nTOCK_JOBS=jobs/index.js\n');
  await kit.write(`it's 100% mine/jobs/index.js`, 'exports.jobs = [];\n');
  const { TOCK_JOBS: _, ...env } = kit.env;
  const call = (...args: string[]) =>
    spawnSync(process.execPath, ['node_modules/pg-tock/dist/cli.js', 'crontab', ...args], {
      cwd: project,
      env: { ...env, TOCK_SCHEMA: 'jobs' },
      encoding: 'utf8',
    });
  const { stderr, status } = call('install', '--yes');
  expect(stderr.replace(SILENT, '')).toBe('');
  expect(status).toBe(0);
  const [, line = ''] = ((await text()) ?? '').split('\n');
  const folder = (await realpath(kit.folder)) + String.raw`/it'\''s 100\% mine`;
  expect(line).toBe(
    `* * * * * cd '${folder}' && TOCK_SCHEMA=jobs ${process.execPath} '${folder}/node_modules/pg-tock/dist/tick.js' >> '${folder}/tick.log' 2>&1`,
  );
  expect(JSON.parse(call('show', '--json').stdout)).toMatchObject({ installed: true, isCurrent: true });
  expect(call('remove', '--yes').status).toBe(0);
  expect(await kit.crontab()).toBeNull();
});

describe('tock crontab remove', () => {
  it('removes the crontab if nothing is left', async () => {
    await kit.tock(['crontab', 'install', '--yes']);
    await kit.tock(['crontab', 'remove', '--yes']);
    expect(await kit.crontab()).toBeNull();
  });

  it('says that there is nothing to remove', async () => {
    const { code, stdout } = await kit.tock(['crontab', 'remove']);
    expect(code).toBe(0);
    expect(stdout).toContain('nothing to remove');
  });
});

describe('tock crontab show', () => {
  it('shows what is there, and what install would write', async () => {
    expect((await kit.tock(['crontab', 'show'])).stdout).toMatch(
      /^not installed; .* would add:\n\* \* \* \* \* cd /,
    );
    await kit.tock(['crontab', 'install', '--yes']);
    expect((await kit.tock(['crontab', 'show'])).stdout).toMatch(/^\* \* \* \* \* cd .*\n$/);
    const { stdout } = await kit.tock(['crontab', 'show', '--json', '--database-url-file', '/x/y']);
    expect(JSON.parse(stdout)).toMatchObject({ installed: true, isCurrent: false });
  });

  it('shows the line also where there is no crontab program', async () => {
    const { code, stdout, stderr } = await kit.tock(['crontab', 'show'], { env: { PATH: '/nonexistent' } });
    expect(code).toBe(0);
    expect(stdout).toMatch(/^the line that ticks, for the crontab of .*:\n\* \* \* \* \* cd .*\n$/);
    expect(stderr).toBe(
      'tock crontab show: this host has no program crontab: install cron, or let systemd tick (tock init --systemd)\n',
    );
  });
});
