// The examples of docs/alerts.md, each tried against a real receiver.

import { readFileSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { type AlertOptions, Dead, defineJob } from '../src/index.js';
import { openReceiver } from './engine/alerts/receiver.js';
import { openInbox } from './jobs/inbox.js';
import { openOnce } from './support/open.js';
import { reuseTestTock, type TestTock } from './support/test-tock.js';

const TEXT = readFileSync(path.join(import.meta.dirname, '..', 'docs', 'alerts.md'), 'utf8');
const EXAMPLES = new Map(
  [...TEXT.matchAll(/^```js test (\w+)\n([\s\S]*?)^```$/gm)].map(([, name = '', code = '']) => [name, code]),
);

const receiver = openOnce(openReceiver);
const inbox = openOnce(openInbox);
let folder: string;
let test: TestTock | null = null;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'tock-alerts-'));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  receiver.posted.length = 0;
  await test?.close();
  test = null;
});
afterAll(async () => {
  await rm(folder, { recursive: true });
});

const mail = defineJob({
  name: 'mail',
  run: () => {
    throw new Dead('no such address');
  },
});

/** A run ends dead, and the example's channel is notified. */
async function notify(name: string): Promise<(before?: string, after?: string) => string> {
  for (const [variable, value] of Object.entries({
    ALERT_URL: receiver.url,
    SLACK_URL: receiver.url,
    ALERT_SECRET: 'a secret',
    SMTP_URL: inbox.url,
  }))
    vi.stubEnv(variable, value);
  const code = (EXAMPLES.get(name) ?? '').replace('/var/log', folder);
  const { alerts } = (await import(`data:text/javascript,${encodeURIComponent(code)}`)) as {
    alerts: AlertOptions;
  };
  test = await reuseTestTock([mail], { alerts });
  await test.tock.tick();
  const id = await test.tock.enqueue('mail');
  await test.tock.tick();
  const [delivery] = await test.tock.runs.list({ job: 'tock:deliver-alert' });
  expect(delivery).toMatchObject({ status: 'succeeded', output: { delivered: 1 } });
  return (before = '', after = '') =>
    expect.stringMatching(
      new RegExp(
        `^${before}mail has a dead run: run ${id} ended dead: Dead: no such address \\(\\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d UTC\\): tock show ${id}${after}$`,
      ),
    ) as string;
}

describe('docs/alerts.md', () => {
  it('has an example of each channel', () => {
    expect([...EXAMPLES.keys()]).toEqual(['webhook', 'slack', 'mail', 'command']);
  });

  it('webhook', { tags: 'check' }, async () => {
    const text = await notify('webhook');
    const [posted] = receiver.posted;
    const secret = Buffer.from('a secret').toString('base64');
    expect(
      new Webhook(secret).verify(posted?.body ?? '', posted?.headers as Record<string, string>),
    ).toMatchObject({
      type: 'tock.alert',
      data: {
        title: 'Tock: mail has a dead run',
        text: text(),
        alerts: [{ when: 'dead', status: 'down', subject: 'mail' }],
      },
    });
  });

  it('slack', { tags: 'check' }, async () => {
    const text = await notify('slack');
    expect(receiver.posted.map(each => JSON.parse(each.body) as unknown)).toEqual([
      { text: text(':red_circle: ') },
    ]);
  });

  it('mail', { tags: 'check' }, async () => {
    const text = await notify('mail');
    expect(inbox.mails).toMatchObject([{ subject: 'Tock: mail has a dead run', text: text('', '\n') }]);
  });

  it('command', { tags: 'check' }, async () => {
    const text = await notify('command');
    const lines = (await readFile(path.join(folder, 'tock-alerts.jsonl'), 'utf8')).trim().split('\n');
    expect(lines.map(line => JSON.parse(line) as unknown)).toMatchObject([
      { title: 'Tock: mail has a dead run', text: text() },
    ]);
  });
});
