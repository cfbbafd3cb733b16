// The heartbeat's URL: asked after each healthy tick or beat, never failing the tick nor delaying it beyond its time.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { sendHeartbeat } from '../../../src/engine/alerts/heartbeat.js';
import { defineJob } from '../../../src/index.js';
import { capturingLogger, type LogLine } from '../../../src/testing/captured-logs.js';
import { reuseTestTock, type TestTock, until } from '../../support/test-tock.js';
import { openReceiver, type Receiver } from './receiver.js';

const job = defineJob({ name: 'job', run: () => null });
let receiver: Receiver;
let test: TestTock | null = null;
const logs: LogLine[] = [];
const logger = capturingLogger(line => logs.push(line), null);

beforeEach(async () => {
  receiver = await openReceiver();
  logs.length = 0;
});
afterEach(async () => {
  await test?.close();
  test = null;
  await receiver.close();
});

const heartbeat = (more: object = {}) => ({
  url: `${receiver.url}/ok`,
  failUrl: `${receiver.url}/fail`,
  ...more,
});
const asked = () => receiver.posted.map(({ path }) => path?.split('/').at(-1));

describe('a tick', () => {
  it('asks the URL when it is healthy', async () => {
    test = await reuseTestTock([job], { alerts: { heartbeat: heartbeat() } });
    await test.tock.tick();
    expect(receiver.posted).toMatchObject([{ method: 'GET', path: '/hook/t0p-s3cret/ok' }]);
  });

  it('asks the other URL when it fails, and fails as before', async () => {
    test = await reuseTestTock([job], { alerts: { heartbeat: heartbeat() } });
    const broken = test.another({ connectionString: 'postgres://nobody@127.0.0.1:1/none' });
    await expect(broken.tick()).rejects.toThrow(/ECONNREFUSED/);
    expect(asked()).toEqual(['fail']);
  });

  it('goes on where nothing answers, and logs no secret', async () => {
    test = await reuseTestTock([job], { logger, alerts: { heartbeat: heartbeat({ timeout: '100ms' }) } });
    receiver.answer(() => undefined);
    expect(await test.tock.tick()).toMatchObject({ stoppedEarly: false });
    receiver.answer(response => response.writeHead(500).end());
    await test.tock.tick();
    const lines = logs.filter(({ fields }) => fields['event'] === 'heartbeat_url.failed');
    expect(lines.map(({ fields }) => fields['error'])).toEqual([
      `${receiver.host} did not answer within 0.1 s`,
      `${receiver.host} answered 500`,
    ]);
    expect(JSON.stringify(logs)).not.toContain('s3cret');
  });
});

describe('sendHeartbeat', () => {
  it('asks nothing where nothing is configured for a failure', async () => {
    expect(await sendHeartbeat({ url: receiver.url, failUrl: null, timeoutMs: 1000 }, false)).toBeNull();
    expect(asked()).toEqual([]);
  });

  it('follows no redirect', async () => {
    receiver.answer(response => response.writeHead(302, { location: `${receiver.url}/elsewhere` }).end());
    expect(await sendHeartbeat({ url: receiver.url, failUrl: null, timeoutMs: 1000 }, true)).toMatch(
      /answered 302/,
    );
    expect(asked()).toHaveLength(1);
  });

  it('says why there is no answer', async () => {
    expect(await sendHeartbeat({ url: 'http://127.0.0.1:1/x', failUrl: null, timeoutMs: 1000 }, true)).toBe(
      '127.0.0.1:1: ECONNREFUSED',
    );
  });
});

describe('a daemon', () => {
  it('asks at each beat, and delivers what has flipped', async () => {
    const mail = await openReceiver();
    test = await reuseTestTock([job], {
      alerts: { channels: [{ slack: mail.url }], rules: [{ when: 'broken' }], heartbeat: heartbeat() },
    });
    await test.tock.register();
    await test.sql(
      `update tock.job_definitions set broken_at = now(), broken_reason = 'x' where name = 'job'`,
    );
    const daemon = await test.tock.start();
    try {
      // A beat comes at the turn of the minute.
      await until(() => Promise.resolve(mail.posted.length > 0), 'the alert', 70_000);
      expect(asked()).toContain('ok');
    } finally {
      await daemon.stop();
      await mail.close();
    }
  }, 90_000);
});
