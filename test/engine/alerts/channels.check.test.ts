// Each channel against a real server or program: what arrives, what is refused, and that no secret leaks.
// In the check: programs and servers must answer before a real deadline.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { AlertChannel } from '../../../src/index.js';
import { openInbox } from '../../jobs/inbox.js';
import { openOnce } from '../../support/open.js';
import { reuseTestTock, type TestTock } from '../../support/test-tock.js';
import { openReceiver } from './receiver.js';

const SECRET = `whsec_${Buffer.from('twenty-four bytes, of it').toString('base64')}`;
let test: TestTock;
const receiver = openOnce(openReceiver);
const inbox = openOnce(openInbox);
let folder: string;

beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tock-alerts-'));
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});
beforeEach(() => {
  receiver.posted.length = 0;
  receiver.answer(response => response.end('ok'));
  vi.stubEnv('ALERT_SECRET', SECRET);
  vi.stubEnv('ALERT_URL', receiver.url);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await test.close();
});

const sent = async (channel: AlertChannel) => {
  test = await reuseTestTock([], { alerts: { channels: [channel] } });
  const [result] = await test.tock.alerts.test();
  return result;
};

describe('a webhook', () => {
  const channel = { webhook: { env: 'ALERT_URL' }, secret: { env: 'ALERT_SECRET' } } as const;

  it('is signed as the Standard Webhooks specification says', async () => {
    expect(await sent(channel)).toEqual({
      channel: 'webhook',
      isDelivered: true,
      answer: `${receiver.host} answered 200: ok`,
    });
    const [posted] = receiver.posted;
    const headers = posted?.headers as Record<string, string>;
    const verified = new Webhook(SECRET).verify(posted?.body ?? '', headers);
    expect(verified).toMatchObject({
      type: 'tock.test',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      data: { alerts: [{ subject: 'tock', status: 'up' }] },
    });
    expect(() => new Webhook(SECRET).verify(`${posted?.body} `, headers)).toThrow(/signature/);
  });

  it('has its secret from a file', async () => {
    const file = path.join(folder, 'secret');
    await writeFile(file, `${SECRET}\n`);
    expect(await sent({ ...channel, secret: { file } })).toMatchObject({ isDelivered: true });
    const [posted] = receiver.posted;
    expect(
      new Webhook(SECRET).verify(posted?.body ?? '', posted?.headers as Record<string, string>),
    ).toBeTruthy();
  });

  it.each([
    ['an error', 500, {}, /^channel webhook: 127\.0\.0\.1:\d+ answered 500: no \*\*\* today$/],
    ['a redirect', 302, { location: 'http://127.0.0.1:1/' }, /answered 302.*redirects are not followed/],
  ])('says what was answered, without the URL’s secret: %s', async (_what, status, headers, message) => {
    receiver.answer((response, { path: url }) => response.writeHead(status, headers).end(`no ${url} today`));
    const result = await sent(channel);
    expect(result).toMatchObject({ isDelivered: false, answer: expect.stringMatching(message) });
    expect(JSON.stringify(result)).not.toMatch(/s3cret|whsec/);
    expect(receiver.posted).toHaveLength(1);
  });

  it('gives up on an answer that does not come, and reads no more than an excerpt of a long one', {
    tags: 'check',
  }, async () => {
    receiver.answer(() => undefined);
    expect(await sent({ ...channel, timeout: '300ms' })).toMatchObject({
      isDelivered: false,
      answer: 'channel webhook: no answer within 0.3 s',
    });
    await test.close();
    receiver.answer(response => {
      response.writeHead(200);
      const more = () => {
        while (response.write('x'.repeat(65_536)));
        response.once('drain', more);
      };
      more();
    });
    const result = await sent(channel);
    expect(result?.isDelivered).toBe(true);
    expect(result?.answer.length).toBeLessThan(400);
  });

  it('is not sent without TLS to another host, unless that is allowed', { tags: 'check' }, async () => {
    // This host by a name that does not say so.
    vi.stubEnv('ALERT_URL', receiver.url.replace('127.0.0.1', '0.0.0.0'));
    expect(await sent(channel)).toMatchObject({
      isDelivered: false,
      answer: expect.stringContaining('the URL has no TLS: write https://'),
    });
    expect(receiver.posted).toEqual([]);
    await test.close();
    expect(await sent({ ...channel, insecure: true })).toMatchObject({ isDelivered: true });
  });

  it.each([
    [
      'a variable that is not set',
      { env: 'NOT_SET_AT_ALL' },
      /environment variable NOT_SET_AT_ALL is not set/,
    ],
    [
      'a file that is not there',
      { file: '/nowhere/secret' },
      /file \/nowhere\/secret cannot be read \(ENOENT\)/,
    ],
  ])('says which secret is missing: %s', async (_what, secret, message) => {
    expect(await sent({ ...channel, secret })).toMatchObject({
      isDelivered: false,
      answer: expect.stringMatching(message),
    });
  });
});

it('a Slack-compatible webhook gets a text, in which nothing is markup', async () => {
  expect(await sent({ slack: { env: 'ALERT_URL' } })).toMatchObject({ isDelivered: true });
  expect(receiver.posted).toMatchObject([
    { method: 'POST', headers: { 'content-type': 'application/json' } },
  ]);
  expect(JSON.parse(receiver.posted[0]?.body ?? '')).toEqual({
    text: expect.stringMatching(
      /^:white_check_mark: tock: this is a test: alerts arrive here \(\d{4}-\d\d-\d\d \d\d:\d\d UTC\)$/,
    ) as string,
  });
});

describe('a mail', () => {
  const channel = {
    mail: ['ops@example.com', 'night@example.com'],
    from: 'Tock <tock@example.com>',
  } as const;

  it('arrives', { tags: 'check' }, async () => {
    expect(await sent({ ...channel, smtp: inbox.url })).toMatchObject({
      isDelivered: true,
      answer: expect.stringMatching(/^127\.0\.0\.1 answered 250/),
    });
    expect(inbox.mails).toMatchObject([
      {
        subject: 'Tock: a test',
        text: expect.stringMatching(/^tock: this is a test: alerts arrive here \(\S+ \S+ UTC\)\n$/) as string,
        from: { address: 'tock@example.com' },
        to: [{ address: 'ops@example.com' }, { address: 'night@example.com' }],
      },
    ]);
    expect(inbox.mails[0]?.messageId).toMatch(/^<tock-test-[\d.]+-mail@example\.com>$/);
  });

  it('says what the server refused, without the password', async () => {
    inbox.answer('ops@example.com', 550);
    inbox.answer('night@example.com', 550);
    const smtp = inbox.url.replace('smtp://', 'smtp://tock:pa55-word@');
    const result = await sent({ ...channel, smtp });
    expect(result?.isDelivered).toBe(false);
    expect(JSON.stringify(result)).not.toContain('pa55-word');
  });

  it('is not sent without TLS to another host, unless that is allowed', async () => {
    const before = inbox.mails.length;
    const smtp = inbox.url.replace('127.0.0.1', '0.0.0.0');
    expect(await sent({ ...channel, mail: 'c@example.com', smtp })).toMatchObject({
      isDelivered: false,
      answer: expect.stringMatching(/STARTTLS/i),
    });
    expect(inbox.mails).toHaveLength(before);
    await test.close();
    expect(await sent({ ...channel, mail: 'c@example.com', smtp, insecure: true })).toMatchObject({
      isDelivered: true,
    });
    expect(inbox.mails).toHaveLength(before + 1);
  });

  it('is sent by STARTTLS with a self-signed certificate to this host, and where that is allowed', {
    tags: 'check',
  }, async () => {
    const withTls = await openInbox({ hasTls: true });
    try {
      expect(await sent({ ...channel, smtp: withTls.url })).toMatchObject({ isDelivered: true });
      await test.close();
      const smtp = withTls.url.replace('127.0.0.1', '0.0.0.0');
      expect(await sent({ ...channel, smtp })).toMatchObject({
        isDelivered: false,
        answer: expect.stringMatching(/certificate/),
      });
      await test.close();
      expect(await sent({ ...channel, smtp, insecure: true })).toMatchObject({ isDelivered: true });
      expect(withTls.mails).toHaveLength(2);
    } finally {
      await withTls.close();
    }
  });
});

describe('a command', () => {
  const script = async (text: string) => {
    const file = path.join(folder, `${Math.random().toString(36).slice(2)}.cjs`);
    await writeFile(file, text);
    return [process.execPath, file] as const;
  };

  it('gets the message on its standard input and in its environment, and nothing else of ours', async () => {
    vi.stubEnv('DATABASE_URL', 'postgres://a:b@c/d');
    vi.stubEnv('PAGER_KEY', 'k');
    const out = path.join(folder, 'out.json');
    const command = await script(
      `let text = ''; process.stdin.on('data', chunk => { text += chunk; }).on('end', () => {
        require('node:fs').writeFileSync(process.argv[2], JSON.stringify({ input: JSON.parse(text), env: process.env, args: process.argv.slice(3) }));
        console.log('paged'); });`,
    );
    expect(await sent({ command: [...command, out, '$(id) `id`'], env: ['PAGER_KEY'] })).toEqual({
      channel: 'command',
      isDelivered: true,
      answer: 'exit code 0: paged',
    });
    const seen = JSON.parse(await readFile(out, 'utf8')) as {
      env: Record<string, string>;
      input: object;
      args: string[];
    };
    expect(seen.input).toMatchObject({ isTest: true, alerts: [{ subject: 'tock' }] });
    expect(seen.args).toEqual(['$(id) `id`']);
    expect(seen.env).toMatchObject({ TOCK_ALERT_STATUS: 'up', TOCK_ALERT_SUBJECT: 'tock', PAGER_KEY: 'k' });
    expect(seen.env['DATABASE_URL']).toBeUndefined();
  });

  it('that leaves a process behind, which keeps its output open, has ended', async () => {
    const test = await sent({ command: ['/bin/sh', '-c', 'setsid sleep 600 & echo $!'] });
    const [, pid] = /^exit code 0: (\d+)$/.exec(test?.answer ?? '') ?? [];
    expect(process.kill(Number(pid))).toBe(true);
  });

  it.each([
    ['fails', `console.error('no pager'); process.exit(3);`, '30s', /exit code 3: no pager/],
    ['is killed', `process.kill(process.pid, 'SIGKILL');`, '30s', /ended by SIGKILL/],
    [
      'does not end',
      `process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);`,
      '500ms',
      /no answer within 0\.5 s/,
    ],
  ] as const)('that %s is no delivery', { tags: 'check' }, async (_what, text, timeout, message) => {
    const command = await script(text);
    expect(await sent({ command: [...command], timeout })).toMatchObject({
      isDelivered: false,
      answer: expect.stringMatching(message),
    });
  });

  it('that is not there is no delivery', async () => {
    expect(await sent({ command: ['/nowhere/page'] })).toMatchObject({
      isDelivered: false,
      answer: expect.stringContaining('ENOENT'),
    });
  });
});

it('a test of the channels refuses a channel that there is not, with the nearest name', async () => {
  test = await reuseTestTock([], { alerts: { channels: [{ command: ['/bin/true'] }] } });
  await expect(test.tock.alerts.test('comand')).rejects.toThrow(
    /no channel "comand"; did you mean command\?/,
  );
});
