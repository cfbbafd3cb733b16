// The dashboard beside the worker of `tock start`: where it is offered, what it says, what it leaves to the next worker.
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { isOffered, type Offer, offerDashboard } from '../../../src/cli/dashboard/beside-worker.js';
import type { Served } from '../../../src/cli/dashboard/serve-dashboard.js';
import type { AddressFlags } from '../../../src/cli/flags/address-flags.js';
import type { Shell } from '../../../src/cli/shell.js';
import type { KeptDashboard } from '../../../src/dashboard/server/serve.js';
import { signIn } from '../../dashboard/served.js';
import { openOnce } from '../../support/open.js';
import { reuseTestTock } from '../../support/test-tock.js';

const test = openOnce(reuseTestTock);

const open: Served[] = [];
afterEach(async () => {
  vi.unstubAllEnvs();
  for (const served of open.splice(0)) await served.close();
});

/** What is said goes to standard output, which is no terminal here: links are in files. */
async function offer(flags: AddressFlags = { port: 0 }, more: Partial<Offer> = {}) {
  const [said, noted]: [string[], string[]] = [[], []];
  const shell = {
    json: false,
    say: (text: string) => said.push(text),
    note: (text: string) => noted.push(text),
  } as unknown as Shell;
  const served = await offerDashboard(shell, test.tock, flags, { isSaid: false, ...more });
  if (served !== null) open.push(served);
  const link = served?.linkFile ? (await readFile(served.linkFile, 'utf8')).trim() : '';
  return { served, link, said, noted };
}

const statusOf = async (url: string, cookie: string) =>
  (await fetch(url, { headers: { cookie }, redirect: 'manual' })).status;

describe('the dashboard is offered', () => {
  const person = { isStdinTerminal: true, isStdoutTerminal: true, nodeEnv: undefined };
  it.each([
    ['to a person at a terminal', true, person, false],
    ['in development', true, { ...person, nodeEnv: 'development' }, false],
    ['not in production', false, { ...person, nodeEnv: 'production' }, false],
    ['not into a pipe or a log', false, { ...person, isStdoutTerminal: false }, false],
    ['not to a process that nobody types to', false, { ...person, isStdinTerminal: false }, false],
    ['not to a script', false, person, true],
  ])('%s', (_where, is, place, json) => {
    expect(isOffered({ json }, place)).toBe(is);
  });
});

describe('an offered dashboard', () => {
  it('is served, and one line says where', async () => {
    const { served, link, said, noted } = await offer();
    expect(said).toEqual([
      `dashboard: ${served?.url} (the link that signs one browser in, once, is in ${served?.linkFile})`,
    ]);
    expect(noted).toEqual([]);
    expect(await statusOf(served?.url ?? '', await signIn(link))).toBe(200);
  });

  it('says at the terminal where the link is, if standard output goes elsewhere; never the link', async () => {
    const { stderr } = process;
    const before = Object.getOwnPropertyDescriptor(stderr, 'isTTY');
    Object.defineProperty(stderr, 'isTTY', { value: true, configurable: true });
    try {
      const { served, said, noted } = await offer();
      expect(noted).toEqual([`the sign-in link of the dashboard is in ${served?.linkFile}`]);
      expect([...said, ...noted].join()).not.toContain('token=');
    } finally {
      if (before === undefined) Reflect.deleteProperty(stderr, 'isTTY');
      else Object.defineProperty(stderr, 'isTTY', before);
    }
  });

  it('that finds its port taken is one note with what to do', async () => {
    const other = createServer();
    await new Promise<void>(resolve => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as AddressInfo;
    const { served, said, noted } = await offer({ port });
    expect([served, said]).toEqual([null, []]);
    expect(noted).toEqual([
      `no dashboard, the worker goes on: another program listens on 127.0.0.1:${port}: choose another port with --port; or turn it off with --no-dashboard`,
    ]);
    expect((await offer({ port }, { isSaid: true })).noted).toEqual([]);
    await new Promise(resolve => other.close(resolve));
  });

  it.each([
    ['TOCK_DASHBOARD_USERS', 'ann:boss:correct-horse-battery', 'entry 1 of TOCK_DASHBOARD_USERS is not'],
    ['TOCK_DASHBOARD_USERS_FILE', '/nowhere/users', 'TOCK_DASHBOARD_USERS_FILE names "/nowhere/users"'],
    ['TOCK_DASHBOARD_PROXY_SECRET', 'short', 'TOCK_DASHBOARD_PROXY_SECRET has fewer than 16 characters'],
    ['TOCK_DASHBOARD_BASE_PATH', 'tock', 'TOCK_DASHBOARD_BASE_PATH "tock" is not a path'],
    ['TOCK_DASHBOARD_HOSTS', 'a b', 'TOCK_DASHBOARD_HOSTS has "a b"'],
  ])('with a wrong %s is one note that names it', async (name, value, why) => {
    vi.stubEnv(name, value);
    const { served, said, noted } = await offer();
    expect([served, said, noted]).toEqual([
      null,
      [],
      [expect.stringContaining(`the worker goes on: ${why}`)],
    ]);
  });

  it('is refused to other machines as an asked one is', async () => {
    const { served, noted } = await offer({ host: '0.0.0.0', port: 0 });
    expect([served, noted]).toEqual([null, [expect.stringContaining('or leave --host out')]]);
  });
});

it('the next worker serves the same port, link and sessions', async () => {
  let kept: KeptDashboard | null = null;
  const onKept = (last: KeptDashboard) => (kept = last);
  const first = await offer({ port: 0 }, { onKept });
  const cookie = await signIn(first.link);
  const link = (await readFile(first.served?.linkFile ?? '', 'utf8')).trim();
  await open.pop()?.close();

  const next = await offer({}, { kept, onKept });
  expect(next.served?.url).toBe(first.served?.url);
  expect(next.link).toBe(link);
  expect(await statusOf(next.served?.url ?? '', cookie)).toBe(200);
  expect(await statusOf(first.link, '')).toBe(401);
  expect(await statusOf(link, '')).toBe(303);
});
