// `tock import crontab` and `undo`: code, report, comparison, the switch and the way back.
import { existsSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { openOnce } from '../../support/open.js';
import { openCrontabKit } from '../crontab-kit.js';

const kit = openOnce(openCrontabKit);
afterEach(async () => await kit.setCrontab(null));

const CRONTAB = `MAILTO=ops@example.com
# nightly
30 2 * * * /opt/backup.sh --all
*/5 * * * * /opt/poll.sh
@reboot /opt/warm-cache
`;
const BERLIN = ['--timezone', 'Europe/Berlin'];

describe('tock import crontab', () => {
  it('prints code on standard output, and the report on standard error', async () => {
    await kit.setCrontab(CRONTAB);
    const { code, stdout, stderr } = await kit.tock(['import', 'crontab', ...BERLIN]);
    expect(code).toBe(0);
    expect(stdout).toContain("import { defineShellJob } from 'pg-tock';");
    expect(stdout).toContain("  schedule: { cron: '30 2 * * *', timezone: 'Europe/Berlin' },");
    expect(stdout).toContain('export const importedJobs = [\n  backup,\n  poll,\n];\n');
    expect(stderr).toContain('  line 3: taken: backup\n');
    expect(stderr).toContain('  line 5: not taken: @reboot /opt/warm-cache\n');
    expect(stderr).toContain('2 taken, 0 of them with a difference; 1 not taken\n');
    expect(stderr).toContain('Mail to ops@example.com');
  });

  it('prints one document with --json', async () => {
    await kit.setCrontab(CRONTAB);
    const { stdout, stderr } = await kit.tock(['import', 'crontab', ...BERLIN, '--json']);
    expect(stderr).toBe('');
    expect(JSON.parse(stdout)).toMatchObject({
      timezone: 'Europe/Berlin',
      taken: [
        { line: 3, name: 'backup', cron: '30 2 * * *' },
        { line: 4, name: 'poll' },
      ],
      left: [{ line: 5 }],
    });
  });

  it('reads standard input, and a system crontab by its user column', async () => {
    const { stdout, stderr } = await kit.tock(['import', 'crontab', '-', '--system', ...BERLIN], {
      input: '0 1 * * * www-data /opt/x\n0 2 * * * root /opt/y\n',
      env: { SUDO_USER: 'app' },
    });
    expect(stdout).toContain("  queue: 'www-data',");
    expect(stdout).toContain("  queue: 'root',");
    expect(stderr).toContain('TOCK_QUEUES=root');
  });

  it('says that a column of users looks like commands', async () => {
    const { stderr } = await kit.tock(['import', 'crontab', '-'], { input: '0 1 * * * root /opt/x\n' });
    expect(stderr).toContain('add --system if a user stands there');
  });

  it('reads a folder as cron does: no file with a dot in its name', async () => {
    await kit.write('cron.d/app', '0 1 * * * root /opt/x\n');
    await kit.write('cron.d/.placeholder', '0 1 * * * root /opt/y\n');
    await kit.write('cron.d/app.dpkg-old', '0 1 * * * root /opt/z\n');
    // Folders are passed over as well.
    await kit.write('cron.d/folder/app', '0 1 * * * root /opt/w\n');
    await kit.write('cron.d/more', '0 1 * * * root /srv/x\n');
    const { stdout } = await kit.tock(['import', 'crontab', path.join(kit.folder, 'cron.d'), '--json']);
    const { taken } = JSON.parse(stdout) as { taken: { name: string; source: string }[] };
    expect(taken.map(({ name, source }) => [name, path.basename(source)])).toEqual([
      ['x', 'app'],
      ['x-2', 'more'],
    ]);
  });

  it('writes files, and overwrites none without being asked', async () => {
    await kit.setCrontab(CRONTAB);
    const out = path.join(kit.folder, 'crontab.ts');
    const report = path.join(kit.folder, 'report.txt');
    const args = ['import', 'crontab', '--out', out, '--report', report];
    const first = await kit.tock(args);
    expect(first).toMatchObject({ code: 0, stdout: `wrote ${out}\nwrote ${report}\n`, stderr: '' });
    expect(await readFile(out, 'utf8')).toContain('export const backup');
    expect(await readFile(report, 'utf8')).toContain('line 3: taken: backup');
    const again = await kit.tock(args);
    expect(again.stdout).toBe(`${out} is as it would be written\n${report} is as it would be written\n`);
    await kit.write('crontab.ts', 'mine');
    const second = await kit.tock(args);
    expect(second.code).toBe(2);
    expect(second.stdout).toMatch(/^- mine\n\+ \/\/ Imported from /m);
    expect(second.stderr).toContain(`this would overwrite ${out}: repeat it with --yes`);
    const third = await kit.answer(args, 'n\n');
    expect(third.code).toBe(1);
    expect(await readFile(out, 'utf8')).toBe('mine');
    expect((await kit.tock([...args, '--yes'])).code).toBe(0);
    expect(await readFile(out, 'utf8')).toContain('export const backup');
  });

  it('is for cronie what it is not for Debian', async () => {
    const input = 'CRON_TZ=Asia/Tokyo\nRANDOM_DELAY=30\n0 9 * * sat-sun x\n';
    const cronie = await kit.tock(['import', 'crontab', '-', '--cron', 'cronie'], { input });
    expect(cronie.stdout).toContain(
      "{ cron: '0 9 * * 6-7', timezone: 'Asia/Tokyo', dst: 'literal', jitter: '30m' }",
    );
    const debian = await kit.tock(['import', 'crontab', '-', '--cron', 'debian'], { input });
    expect(debian.stderr).toContain('runs backwards');
  });

  it('reads what is not UTF-8, and says so', async () => {
    const file = await kit.write('latin', Buffer.from('# f\xFCr\n0 1 * * * /opt/x\n', 'latin1'));
    const { code, stderr } = await kit.tock(['import', 'crontab', file]);
    expect(code).toBe(0);
    expect(stderr).toContain('is not UTF-8');
  });
});

describe('wrong inputs of tock import', () => {
  it('are one line each', async () => {
    const empty = await kit.write('empty', '');
    const comments = await kit.write('comments', '# nothing\nA=1\n');
    const one = await kit.write('one', '0 1 * * * /opt/x\n');
    for (const name of ['a', 'b']) await kit.write(`wrong/${name}`, '0 1 * * * root /opt/x\n');
    const binary = await kit.write('binary', Buffer.from([0, 1, 2, 255]));
    const cases: readonly (readonly [args: readonly string[], code: number, message: RegExp])[] = [
      [['import', 'crontab'], 1, /has no crontab: name a file, - for standard input, or --system/],
      [['import', 'crontab', '/no/such/file'], 1, /there is no file \/no\/such\/file/],
      [['import', 'crontab', empty], 1, /empty has no line with a command: there is nothing to import/],
      [['import', 'crontab', comments], 1, /has no line with a command/],
      [['import', 'crontab', binary], 2, /binary is not a crontab: it holds NUL bytes/],
      [
        ['import', 'crontab', comments, '--timezone', 'Europe/Berln'],
        2,
        /Europe\/Berln.* not known; did you mean/,
      ],
      [['import', 'crontab', comments, '--cron', 'vixie'], 2, /--cron vixie/],
      [['import', 'crontab', comments, '--days', '3'], 2, /belong to --dry-run/],
      [['import', 'crontab', comments, '--dry-run', '--switch'], 2, /not both/],
      [['import', 'crontab', '-', '--switch'], 2, /standard input cannot be changed/],
      [['import', 'crontab', comments, '--out', '/no/such/folder/x.ts'], 1, /has no line with a command/],
      [['import', 'systemd', '/no/such/folder'], 1, /there is no file \/no\/such\/folder/],
      [['import', 'systemd', comments], 2, /comments is no timer: name a file that ends with \.timer/],
      [['import', 'systemd', kit.folder], 1, /there is no timer in/],
      [['import', 'undo'], 1, /has no crontab/],
      [['import', 'undo', path.join(kit.folder, 'wrong')], 2, /name the file that was changed/],
      [['import', 'crontab', one, '--out', kit.folder], 2, /is a folder: name a file/],
      [
        ['import', 'crontab', one, '--out', 'no such/x.ts'],
        2,
        /^tock import crontab: no such\/x\.ts cannot be written: there is no folder no such \(mkdir -p 'no such'\)/,
      ],
      [
        ['import', 'crontab', one, '--out', comments, '--report', '/no/such/r', '--yes'],
        2,
        /there is no folder \/no\/such/,
      ],
      [['import', 'undo', comments], 1, /has no line that an import has commented out/],
    ];
    for (const [args, code, message] of cases) {
      const result = await kit.tock(args);
      expect(result.stderr, args.join(' ')).toMatch(message);
      expect(result.stderr.trimEnd().split('\n'), args.join(' ')).toHaveLength(1);
      expect(result.stdout).toBe('');
      expect(result.code, args.join(' ')).toBe(code);
    }
  });

  it('include a folder that cannot be written', async () => {
    await kit.setCrontab(CRONTAB);
    const { code, stderr } = await kit.tock(['import', 'crontab', '--out', '/no/such/folder/x.ts']);
    expect(stderr).toMatch(/x\.ts cannot be written/);
    expect(code).not.toBe(0);
  });
});

describe('tock import crontab --dry-run', () => {
  it('says where the instants differ, and why', async () => {
    await kit.setCrontab(CRONTAB);
    const window = ['--from', '2027-03-27T00:00:00Z', '--days', '2'];
    const { code, stdout } = await kit.tock(['import', 'crontab', '--dry-run', ...BERLIN, ...window]);
    expect(code).toBe(0);
    expect(stdout.split('\n')).toEqual([
      '2 days from 2027-03-27T00:00:00Z, cron by the clock of Europe/Berlin:',
      'backup  1 instant the same, 2 not',
      expect.stringMatching(
        /^ {4}only cron 2027-03-28T01:00:00Z, tock 2027-03-28T01:30:00Z: the clock goes forward/,
      ),
      'poll    the same 576 instants',
      'not compared: 1 not taken (tock import crontab says why)',
      '',
    ]);
  });

  it('looks at 90 days from now', async () => {
    await kit.setCrontab('*/5 * * * * x\n');
    const { stdout } = await kit.tock(['import', 'crontab', '--dry-run', '--timezone', 'UTC', '--json']);
    const { days, lines } = JSON.parse(stdout) as {
      days: number;
      lines: { same: number; differences: [] }[];
    };
    expect([days, lines[0]?.same, lines[0]?.differences]).toEqual([90, 25_920, []]);
  });
});

describe('tock import crontab --switch', () => {
  const MODULE = `import { defineJob } from '${path.resolve('dist/index.js')}';
export const jobs = [defineJob({ name: 'backup', schedule: { cron: '30 2 * * *', timezone: 'UTC' }, run: () => {} })];\n`;

  it('refuses while no definition is in the job module', async () => {
    await kit.setCrontab(CRONTAB);
    const { code, stderr } = await kit.tock(['import', 'crontab', '--switch', '--yes']);
    expect(code).toBe(1);
    expect(stderr).toContain('so nothing would run them');
    expect((await kit.crontab())?.toString()).toBe(CRONTAB);
  });

  it('comments out what is defined, keeps a copy, and goes back byte for byte', async () => {
    const TOCK_JOBS = await kit.write('some-jobs.mjs', MODULE);
    const before = Buffer.from(`# f\xFCr\r\n${CRONTAB}`, 'latin1');
    await kit.setCrontab(before);
    const asked = await kit.tock(['import', 'crontab', '--switch'], { env: { TOCK_JOBS } });
    expect(asked.code).toBe(2);
    expect(asked.stdout).toContain(
      '- 30 2 * * * /opt/backup.sh --all\n+ #tock# 30 2 * * * /opt/backup.sh --all\n',
    );
    expect(asked.stderr).toContain('this would comment out 1 line: repeat it with --yes');
    expect(await kit.crontab()).toEqual(before);

    const done = await kit.tock(['import', 'crontab', '--switch', '--yes'], { env: { TOCK_JOBS } });
    expect(done.code).toBe(0);
    expect(done.stderr).toContain('line 5 stays: no job named poll with');
    const copy = /the crontab as it was: (.+)\n/.exec(done.stdout)?.[1] ?? '';
    expect(await readFile(copy)).toEqual(before);
    expect((await stat(copy)).mode & 0o777).toBe(0o600);
    const after = await kit.crontab();
    expect(after?.toString('latin1')).toBe(
      before.toString('latin1').replace('30 2 * * *', '#tock# 30 2 * * *'),
    );

    const undone = await kit.tock(['import', 'undo', '--yes']);
    expect(undone.code).toBe(0);
    expect(undone.stdout).toContain('as it was before the import, byte for byte');
    expect(await kit.crontab()).toEqual(before);
  });

  it('takes no other line for one that is defined: neither called again, nor after lines were moved', async () => {
    const TOCK_JOBS = await kit.write('some-jobs.mjs', MODULE);
    const lines = ['30 2 * * * /opt/backup.sh --all', '45 2 * * * /opt/backup.sh --logs'];
    await kit.setCrontab(`${lines.join('\n')}\n`);
    const call = ['import', 'crontab', '--switch', '--yes', '--timezone', 'UTC'];
    await kit.tock(call, { env: { TOCK_JOBS } });
    const after = `#tock# ${lines[0]}\n${lines[1]}\n`;
    expect((await kit.crontab())?.toString()).toBe(after);
    expect((await kit.tock(call, { env: { TOCK_JOBS } })).stderr).toContain('so nothing would run them');
    expect((await kit.crontab())?.toString()).toBe(after);

    await kit.setCrontab(`${lines.toReversed().join('\n')}\n`);
    const { stderr } = await kit.tock(call, { env: { TOCK_JOBS } });
    expect(stderr).toContain('so nothing would run them');
    expect((await kit.crontab())?.toString()).toBe(`${lines.toReversed().join('\n')}\n`);
  });

  it('keeps on the way back what was changed since', async () => {
    const TOCK_JOBS = await kit.write('some-jobs.mjs', MODULE);
    await kit.setCrontab(CRONTAB);
    await kit.tock(['import', 'crontab', '--switch', '--yes'], { env: { TOCK_JOBS } });
    const switched = (await kit.crontab())?.toString() ?? '';
    await kit.setCrontab(`${switched}0 5 * * * /opt/new\n`);
    const { stdout } = await kit.tock(['import', 'undo', '--yes']);
    expect(stdout).toContain('what else was changed since is kept');
    expect((await kit.crontab())?.toString()).toBe(`${CRONTAB}0 5 * * * /opt/new\n`);
  });

  it('asks in a terminal', async () => {
    const TOCK_JOBS = await kit.write('jobs.mjs', MODULE);
    await kit.setCrontab(CRONTAB);
    const refused = await kit.answer(['import', 'crontab', '--switch'], 'n\n');
    expect(refused.code, refused.stdout).toBe(1);
    expect((await kit.crontab())?.toString()).toBe(CRONTAB);
    const agreed = await kit.answer(['import', 'crontab', '--switch'], 'y\n');
    expect(agreed.code, agreed.stdout).toBe(0);
    expect((await kit.crontab())?.toString()).toContain('#tock# 30 2');
    expect(existsSync(TOCK_JOBS)).toBe(true);
  });

  it('changes a file in place', async () => {
    const TOCK_JOBS = await kit.write('some-jobs.mjs', MODULE);
    const file = await kit.write('their-crontab', CRONTAB);
    const inode = (await stat(file)).ino;
    await kit.tock(['import', 'crontab', file, '--switch', '--yes'], { env: { TOCK_JOBS } });
    expect(await readFile(file, 'utf8')).toContain('#tock# 30 2');
    expect((await stat(file)).ino).toBe(inode);
    const { stdout } = await kit.tock(['import', 'undo', file, '--yes']);
    expect(stdout).toContain('byte for byte');
    expect(await readFile(file, 'utf8')).toBe(CRONTAB);
    expect(
      (await readdir(path.join(kit.folder, 'state', 'tock'))).some(name => name.startsWith('their-crontab-')),
    ).toBe(true);
  });
});

it('tock import systemd reads a folder of timers with their services', async () => {
  await kit.write('units/backup.timer', '[Timer]\nOnCalendar=*-*-* 02:30:00\nPersistent=true\n');
  await kit.write('units/backup.service', '[Service]\nExecStart=/usr/bin/pg_dump shop\n');
  await kit.write('units/boot.timer', '[Timer]\nOnBootSec=5min\nUnit=backup.service\n');
  const { code, stdout, stderr } = await kit.tock([
    'import',
    'systemd',
    path.join(kit.folder, 'units'),
    ...BERLIN,
  ]);
  expect(code).toBe(0);
  expect(stdout).toContain("  schedule: { cron: '30 2 * * *', timezone: 'Europe/Berlin', dst: 'skip' },");
  expect(stdout).toContain("  command: ['/usr/bin/pg_dump', 'shop'],");
  expect(stderr).toContain('backup.timer: taken: backup\n');
  expect(stderr).toContain('boot.timer: not taken: it has no OnCalendar');
  const { stdout: document } = await kit.tock([
    'import',
    'systemd',
    path.join(kit.folder, 'units'),
    '--json',
  ]);
  expect(JSON.parse(document)).toMatchObject({ timers: [{ jobs: [{ name: 'backup' }] }, { jobs: [] }] });
});
