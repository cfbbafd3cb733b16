// `tock crontab install`, `remove` and `show`, with a crontab program of the test.
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type CrontabKit, openCrontabKit } from '../crontab-kit.js';

let kit: CrontabKit;
beforeAll(async () => {
  kit = await openCrontabKit();
});
beforeEach(async () => await kit.setCrontab(null));
afterAll(async () => await kit.close());

const FOLDER = path.resolve('.');
const OTHERS = Buffer.from('# f\xFCr alle\r\nMAILTO=""\n0 1 * * * /opt/x\n', 'latin1');
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
    expect(stdout).toContain('installed: the next minute ticks');
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
    const { stderr } = await kit.tock(['crontab', 'install', '--yes'], { env });
    expect(await text()).toContain('DATABASE_URL_FILE=/etc/tock/database-url ');
    expect(await text()).not.toContain('geheim');
    expect(stderr).toContain('/etc/tock/database-url cannot be read yet: install -D -m 0600');
    const file = await kit.write('url', 'postgres://x');
    const given = await kit.tock(['crontab', 'install', '--yes', '--database-url-file', file], { env });
    expect(await text()).toContain(`DATABASE_URL_FILE=${file} `);
    expect(given.stderr).toBe('');
  });

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

  it('needs a crontab program', async () => {
    const { code, stderr } = await kit.tock(['crontab', 'show'], { env: { PATH: '/nonexistent' } });
    expect(code).toBe(1);
    expect(stderr).toBe(
      'tock crontab show: this host has no program crontab: install cron, or name a file\n',
    );
  });

  it('is suggested for a misspelt word', async () => {
    const { code, stderr } = await kit.tock(['crontab', 'instal']);
    expect(code).toBe(2);
    expect(stderr).toContain('did you mean install?');
  });
});
