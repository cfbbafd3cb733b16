// `tock mcp` as an agent's client starts it: the protocol on standard input and output, of both generations; and nothing else
// on standard output.
import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { openOnce } from '../../support/open.js';
import { installPackage } from '../../support/processes.js';
import { openCliHarness, until } from '../cli-harness.js';

const harness = openOnce(openCliHarness, harness => harness.tock(['tick']));
const children: ChildProcessWithoutNullStreams[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

interface Message {
  readonly id?: number;
  readonly result?: {
    readonly content?: readonly { readonly text: string }[];
    readonly isError?: boolean;
    readonly tools?: readonly {
      readonly name: string;
      readonly annotations: { readonly readOnlyHint: boolean };
    }[];
    readonly instructions?: string;
    readonly serverInfo?: { readonly name: string };
  };
  readonly error?: { readonly message: string };
}

/** A client that does as the protocol says, by hand. */
function openClient(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  const jobs = path.join(harness.folder, 'jobs.mjs');
  const child = spawn(process.execPath, [path.resolve('dist/cli.js'), 'mcp', ...args], {
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      TZ: 'UTC',
      DATABASE_URL: harness.url,
      TOCK_JOBS: jobs,
      TOCK_OPERATOR: 'mia',
      ...env,
    },
  });
  children.push(child);
  const printed = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => (printed[name] += text));
  const ended = new Promise<number | null>(resolve => child.on('close', resolve));
  const messages = () =>
    printed.stdout
      .split('\n')
      .slice(0, -1)
      .map(line => JSON.parse(line) as Message);
  let id = 0;
  const send = (method: string, params: object = {}) => {
    id++;
    child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    return id;
  };
  const request = async (method: string, params: object = {}): Promise<Message> => {
    const own = send(method, params);
    const find = () => messages().find(each => each.id === own);
    await until(`an answer to ${method}: ${printed.stderr}`, () => find() !== undefined);
    return find() ?? {};
  };
  return {
    child,
    printed,
    ended,
    request,
    initialize: async () => {
      const answer = await request('initialize', {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 'probe\u001B[2J', version: '1.0' },
      });
      child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`);
      return answer;
    },
    call: async (name: string, args: object = {}, more: object = {}) => {
      const { result, error } = await request('tools/call', { name, arguments: args, ...more });
      return { text: result?.content?.[0]?.text ?? error?.message ?? '', isError: result?.isError === true };
    },
  };
}

describe('tock mcp', () => {
  it('introduces itself, lists what the role may do, answers, and ends with its client', async () => {
    const client = openClient([]);
    const { result } = await client.initialize();
    expect(result?.serverInfo?.name).toBe('tock');
    expect(result?.instructions).toMatch(
      /data from the database.*This server has the role view\. It refuses run_now \(operate\)/,
    );
    const tools = (await client.request('tools/list')).result?.tools ?? [];
    expect(tools.map(({ name }) => name)).toEqual(
      'status why errors runs schedules coming queues doctor audit'.split(' '),
    );
    expect(tools.every(({ annotations }) => annotations.readOnlyHint)).toBe(true);
    const schedules = await client.call('schedules');
    expect(schedules.text).toContain('definition nightly: 30 2 * * * America/New_York');
    expect((await client.call('doctor')).text).toContain('the doctor says: ');
    expect(await client.call('retry', { run: '1' })).toMatchObject({ isError: true });
    expect((await client.call('why', { run: 7 })).text).toContain(
      'the arguments of why are wrong: run must be string',
    );
    expect((await client.call('why', { rum: '7' })).isError).toBe(true);
    client.child.stdin.end();
    expect(await client.ended).toBe(0);
    expect(client.printed.stderr).toBe('');
  });

  it('acts under the name of the agent and of its user', async () => {
    const client = openClient(['--role', 'operate']);
    await client.initialize();
    const { text } = await client.call('run_now', {
      job: 'greet',
      payload: { name: 'Ann' },
      key: 'from-an-agent',
    });
    expect(text).toMatch(/enqueued run \d+ of greet in queue default: queued/);
    const acts = await client.call('audit', { action: 'enqueue' });
    expect(acts.text).toContain('probe for mia (via agent) enqueued run');
    const { stdout } = await harness.tock(['audit', '--via', 'agent']);
    expect(stdout).toContain('probe for mia');
    expect((await client.call('freeze', { until: '1h', note: 'x' })).text).toContain(
      'freeze needs the role admin',
    );
    client.child.stdin.end();
    expect(await client.ended).toBe(0);
  });

  it('speaks the generation of the protocol that has no handshake', async () => {
    const client = openClient(['--role', 'operate']);
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientInfo': { name: 'newer', version: '2.0' },
      'io.modelcontextprotocol/clientCapabilities': {},
    };
    const { text } = await client.call('run_now', { job: 'greet' }, { _meta });
    expect(text).toMatch(/enqueued run \d+ of greet/);
    const acts = await client.call('audit', { limit: 1 }, { _meta });
    expect(acts.text).toContain('newer for mia (via agent)');
  });

  it('keeps standard output for the protocol, whatever a job module prints', async () => {
    const jobs = path.join(harness.folder, 'loud.mjs');
    writeFileSync(
      jobs,
      `console.log('loud: a log'); process.stdout.write('loud: a write\\n'); export const jobs = [];`,
    );
    const client = openClient(['--role', 'operate'], { TOCK_JOBS: jobs, TOCK_LOG_LEVEL: 'debug' });
    await client.initialize();
    await client.call('status');
    client.child.stdin.end();
    expect(await client.ended).toBe(0);
    expect(client.printed.stdout).not.toContain('loud');
    expect(client.printed.stderr).toContain('loud: a log');
    expect(client.printed.stderr).toContain('loud: a write');
  });

  it('stops at a signal', async () => {
    const client = openClient([]);
    await client.initialize();
    client.child.kill('SIGTERM');
    expect(await client.ended).toBe(0);
  });

  it.each([
    [
      'a message that is too long',
      (child: ChildProcessWithoutNullStreams) => child.stdin.write('x'.repeat(11_000_000)),
      'buffer',
    ],
    [
      'output that nobody reads any more',
      (child: ChildProcessWithoutNullStreams) => child.stdout.destroy(),
      'EPIPE',
    ],
  ])('ends with an error after %s, though its input goes on', async (_what, breakIt, why) => {
    const client = openClient([]);
    await client.initialize();
    client.child.stdin.on('error', () => undefined);
    breakIt(client.child);
    client.child.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id: 99, method: 'tools/list' })}\n`);
    expect(await client.ended).toBe(1);
    expect(client.printed.stderr).toMatch(
      new RegExp(`tock mcp: the connection with the client is closed: .*${why}.*Start the server again`, 'i'),
    );
  });

  it('names the package that it needs', async () => {
    const folder = path.join(harness.folder, 'without');
    const cli = path.join(await installPackage(folder), 'dist', 'cli.js');
    const alone = spawn(process.execPath, [cli, 'mcp'], { cwd: folder });
    children.push(alone);
    let stderr = '';
    alone.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    expect(await new Promise(resolve => alone.on('close', resolve))).toBe(2);
    expect(stderr).toContain(
      'tock mcp: the package @modelcontextprotocol/server is missing: npm install @modelcontextprotocol/server',
    );
  });
});
