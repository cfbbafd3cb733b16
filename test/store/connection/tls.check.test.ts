// TLS to a real server, with certificates of the test's own: each mode that the documentation names, and each way
// in which it fails, which is one line with a remedy, and exit code 3.
import { execFileSync } from 'node:child_process';
import { chmod, chown, copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { serverAccount } from '../../../src/embedded/embedded-process.js';
import { judgeError } from '../../../src/runtime/exit-codes.js';
import { openPoolTo } from '../../../src/store/connection/connection.js';
import { type OwnServer, openOwnServer } from '../../chaos/servers.js';

let folder: string;
let server: OwnServer;
const file = (name: string) => path.join(folder, name);
const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: folder, stdio: 'pipe' });

/** A certificate for the host in `names`, signed by our root. */
function sign(name: string, days: number): void {
  const own = ['-CA', 'root.crt', '-CAkey', 'root.key', '-CAcreateserial', '-extfile', 'names'];
  openssl('x509', '-req', '-in', 'server.csr', ...own, '-days', String(days), '-out', name);
}

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tock-tls-'));
  await chmod(folder, 0o755);
  const key = ['-newkey', 'rsa:2048', '-nodes'];
  openssl(
    'req',
    '-x509',
    ...key,
    '-keyout',
    'root.key',
    '-out',
    'root.crt',
    '-subj',
    '/CN=root',
    '-days',
    '30',
  );
  openssl('req', ...key, '-keyout', 'server.key', '-out', 'server.csr', '-subj', '/CN=localhost');
  await writeFile(file('names'), 'subjectAltName=DNS:localhost\n');
  sign('good.crt', 30);
  sign('expired.crt', -1);
  await writeFile(file('names'), 'subjectAltName=DNS:db.example\n');
  sign('other.crt', 30);
  await copyFile(file('good.crt'), file('server.crt'));
  const account = await serverAccount();
  if (account !== undefined) await chown(file('server.key'), account.uid, account.gid);
  await chmod(file('server.key'), 0o600);
  server = await openOwnServer({
    ssl: 'on',
    ssl_cert_file: file('server.crt'),
    ssl_key_file: file('server.key'),
  });
});
afterAll(async () => {
  await server?.remove();
  await rm(folder, { recursive: true, force: true });
});

const urlWith = (host: string, query: string) => {
  const url = new URL(server.url);
  url.hostname = host;
  return `${url.href}?${query}`;
};

/** Whether the connection is encrypted; otherwise what the command says, after its exit code. */
async function ask(url: string): Promise<boolean | string> {
  const pool = openPoolTo({ connectionString: url }, 1);
  try {
    const { rows } = await pool.query<{ ssl: boolean }>(
      'select ssl from pg_stat_ssl where pid = pg_backend_pid()',
    );
    return rows[0]?.ssl === true;
  } catch (error) {
    const { exitCode, message } = judgeError(error, 'tock');
    return `${exitCode}: ${message}`;
  } finally {
    await pool.end();
  }
}
const trusted = () => `sslrootcert=${encodeURIComponent(file('root.crt'))}`;
const UNKNOWN = expect.stringMatching(
  /^3: cannot reach the database: .+; add sslmode=verify-full&sslrootcert=\S+/,
);

describe('a server with a certificate of an issuer of its own', () => {
  it.each(['verify-full', 'require', 'verify-ca', 'prefer'])(
    '%s is encrypted with the root certificate, and advises it without; pg warns of nothing',
    async mode => {
      const warn = vi.spyOn(process, 'emitWarning');
      expect(await ask(urlWith('localhost', `sslmode=${mode}&${trusted()}`))).toBe(true);
      expect(await ask(urlWith('localhost', `sslmode=${mode}`))).toEqual(UNKNOWN);
      expect(warn).not.toHaveBeenCalled();
      warn.mockRestore();
    },
  );

  it('is not checked with no-verify, nor with the meaning of libpq', async () => {
    expect(await ask(urlWith('localhost', 'sslmode=no-verify'))).toBe(true);
    expect(await ask(urlWith('127.0.0.1', 'sslmode=no-verify'))).toBe(true);
    expect(await ask(urlWith('localhost', 'uselibpqcompat=true&sslmode=require'))).toBe(true);
  });

  it('is refused among several hosts with the same advice', async () => {
    const { port } = new URL(server.url);
    const url = server.url.replace(/@[^/]+/, `@localhost:${port},localhost:1`);
    const said = await ask(`${url}?sslmode=require`);
    expect(said).toMatch(
      /^3: no host .+localhost:\d+ has a certificate of an unknown issuer: add sslmode=verify-full&/,
    );
  });

  it('is refused with a file that cannot be read, which is named', async () => {
    const said = await ask(urlWith('localhost', 'sslmode=verify-full&sslrootcert=/nowhere/root.crt'));
    expect(said).toMatch(/^3: .+\/nowhere\/root\.crt.+; check the files that sslrootcert/);
  });
});

it.each([
  ['an expired certificate', 'expired.crt', /^3: .*certificate has expired; renew the certificate/],
  ['the certificate of another host', 'other.crt', /^3: .+db\.example.*; name the host/],
])('%s is refused, with advice', async (_what, name, words) => {
  await server.kill();
  await copyFile(file(name), file('server.crt'));
  await server.start();
  expect(await ask(urlWith('localhost', `sslmode=require&${trusted()}`))).toMatch(words);
  expect(await ask(urlWith('localhost', 'sslmode=no-verify'))).toBe(true);
});

describe('a server without TLS', () => {
  let plain: OwnServer;
  beforeAll(async () => {
    plain = await openOwnServer();
  });
  afterAll(async () => await plain?.remove());

  it('is refused with advice, and reached with sslmode=disable', async () => {
    expect(await ask(`${plain.url}?sslmode=require`)).toMatch(/^3: .+; set ssl = on on the server/);
    expect(await ask(`${plain.url}?sslmode=disable`)).toBe(false);
  });
});
