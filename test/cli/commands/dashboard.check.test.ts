// `tock dashboard` and `tock start --dashboard`: where they serve, whom they let in, what they refuse.
import { access, mkdtemp, readFile, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { openOnce } from '../../support/open.js';
import { type Going, openCliHarness, until } from '../cli-harness.js';

const cli = openOnce(openCliHarness);

const LINK = /http:\/\/127\.0\.0\.1:\d+\/sign-in\?token=[\w-]+/;

/** Standard output is no terminal here: the link is in a file that the output names. */
async function linkOf(going: Going): Promise<string> {
  const file = (await printed(going, /is in \S+\/link(?=\))/)).replace('is in ', '');
  return (await readFile(file, 'utf8')).trim();
}

/** Waits for what a command prints. */
async function printed(going: Going, pattern: RegExp): Promise<string> {
  const find = () => pattern.exec(going.printed.stdout + going.printed.stderr)?.[0];
  await until(`${pattern.source} is printed`, () => find() !== undefined);
  return find() ?? '';
}

async function stop(going: Going): Promise<number | null> {
  going.child.kill('SIGINT');
  return (await going.ended).code;
}

describe('tock dashboard', () => {
  it('writes a link that signs one browser in to a private file, and then the next; none to the log', async () => {
    const going = cli.begin(['dashboard', '--port', '0']);
    const link = await linkOf(going);
    expect(link).toMatch(LINK);
    const file = (await printed(going, /\/\S+\/link(?=\))/)) ?? '';
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect((await stat(path.dirname(file))).mode & 0o777).toBe(0o700);
    expect((await fetch(link, { method: 'HEAD' })).status).toBe(204);
    const signedIn = await fetch(link, { redirect: 'manual' });
    expect(signedIn.status).toBe(303);
    const cookie = signedIn.headers.getSetCookie()[0]?.split(';')[0] ?? '';
    const page = await fetch(new URL('/', link), { headers: { cookie } });
    expect(await page.text()).toContain('local · admin');
    const next = await linkOf(going);
    expect(next).toMatch(LINK);
    expect(next).not.toBe(link);
    expect((await fetch(link)).status).toBe(401);
    expect(await stop(going)).toBe(0);
    expect(going.printed.stdout + going.printed.stderr).not.toContain('token=');
    await expect(access(file)).rejects.toThrow('ENOENT');
  });

  it('prints one document for scripts', async () => {
    const going = cli.begin(['dashboard', '--port', '0', '--json']);
    await printed(going, /"where"/);
    const { url, linkFile } = JSON.parse(going.printed.stdout) as { url: string; linkFile: string };
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/$/);
    expect(await readFile(linkFile, 'utf8')).toMatch(LINK);
    expect(await stop(going)).toBe(0);
  });

  it('goes on, and says so, if the link cannot be written', async () => {
    const going = cli.begin(['dashboard', '--port', '0'], { env: { TMPDIR: '/nowhere' } });
    const line = await printed(going, /dashboard: http:\/\/127\.0\.0\.1:\d+\//);
    expect((await fetch(new URL('/healthz', line.replace('dashboard: ', '')))).status).toBe(200);
    expect(going.printed.stderr).toContain(
      "nobody can sign in by a link, which cannot be written to a file: ENOENT: no such file or directory, mkdtemp '/nowhere/tock-dashboard-XXXXXX'. Set TMPDIR",
    );
    expect(await stop(going)).toBe(0);
  });

  it('lets users of a file in, without a link', async () => {
    const file = path.join(await mkdtemp(path.join(tmpdir(), 'tock-users-')), 'users');
    await writeFile(file, 'ann:view:correct-horse-battery\n');
    const going = cli.begin(['dashboard', '--port', '0', '--host', '0.0.0.0'], {
      env: { TOCK_DASHBOARD_USERS_FILE: file },
    });
    const line = await printed(going, /dashboard: http:\/\/0\.0\.0\.0:\d+\//);
    const url = line.replace('dashboard: ', '').replace('0.0.0.0', '127.0.0.1');
    const authorization = `Basic ${Buffer.from('ann:correct-horse-battery').toString('base64')}`;
    expect(await (await fetch(url, { headers: { authorization } })).text()).toContain('ann · view');
    expect((await fetch(url)).status).toBe(401);
    expect(await stop(going)).toBe(0);
  });

  it('refuses an address that others could reach unasked, before it opens anything', async () => {
    for (const command of [['dashboard'], ['start', '--dashboard']]) {
      const { code, stderr } = await cli.begin([...command, '--host', '0.0.0.0'], {
        env: { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' },
      }).ended;
      expect(stderr).toContain('can be reached from other machines, and nothing asks them who they are');
      expect(code).not.toBe(0);
    }
  });

  it('serves below a path, and refuses what is none before it opens anything', async () => {
    for (const command of [['dashboard'], ['start', '--dashboard']]) {
      const going = cli.begin([...command, '--port', '0', '--base-path', '/tock'], {
        env: { TOCK_DASHBOARD_BASE_PATH: '/other' },
      });
      const link = await linkOf(going);
      expect(new URL(link).pathname).toBe('/tock/sign-in');
      for (const probe of ['/healthz', '/tock/healthz'])
        expect([200, 503]).toContain((await fetch(new URL(probe, link))).status);
      expect(await stop(going)).toBe(0);
      const { code, stderr } = await cli.begin([...command, '--base-path', 'tock'], {
        env: { DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' },
      }).ended;
      expect(stderr).toMatch(
        /: --base-path "tock" is not a path such as \/tock: begin it with one slash, .*\n$/,
      );
      expect(code).toBe(2);
    }
  });
});
