// The heartbeat's URL: requested after each healthy tick or beat, never failing the tick nor delaying it beyond its time.
// In the check: a server must answer before a real deadline.
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type BeatAlerts, createBeatAlerts } from '../../../src/daemon/background.js';
import { sendHeartbeat } from '../../../src/engine/alerts/heartbeat.js';
import { defineJob } from '../../../src/index.js';
import { readAlerts } from '../../../src/model/alerts/read-alerts.js';
import { capturingLogger, type LogLine } from '../../../src/testing/captured-logs.js';
import { openDatabase } from '../../support/database.js';
import { engineOver } from '../../support/engine.js';
import { openForEach } from '../../support/open.js';
import { reuseTestTock, type TestTock } from '../../support/test-tock.js';
import { openReceiver } from './receiver.js';

const job = defineJob({ name: 'job', run: () => null });
const receiver = openForEach(openReceiver);
let test: TestTock | null = null;
const logs: LogLine[] = [];
const logger = capturingLogger(line => logs.push(line), null);

beforeEach(() => {
  logs.length = 0;
});
afterEach(async () => {
  await test?.close();
  test = null;
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
    // With time for an answer.
    await test.another({ alerts: { heartbeat: heartbeat() } }).tick();
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
    expect(await sendHeartbeat({ url: receiver.url, failUrl: null, timeoutMs: 60_000 }, false)).toBeNull();
    expect(asked()).toEqual([]);
  });

  it('follows no redirect', async () => {
    receiver.answer(response => response.writeHead(302, { location: `${receiver.url}/elsewhere` }).end());
    expect(await sendHeartbeat({ url: receiver.url, failUrl: null, timeoutMs: 60_000 }, true)).toMatch(
      /answered 302/,
    );
    expect(asked()).toHaveLength(1);
  });

  it('says why there is no answer', async () => {
    expect(await sendHeartbeat({ url: 'http://127.0.0.1:1/x', failUrl: null, timeoutMs: 60_000 }, true)).toBe(
      '127.0.0.1:1: ECONNREFUSED',
    );
  });
});

describe('a daemon’s beat', () => {
  const pass = async () => {
    const mail = await openReceiver();
    test = await reuseTestTock([job], { alerts: { rules: [] } });
    await test.tock.register();
    const database = openDatabase({ connectionString: test.url });
    const engine = engineOver(database, [job], {
      logger,
      alerting: readAlerts({
        channels: [{ slack: mail.url }],
        rules: [{ when: 'broken' }],
        heartbeat: heartbeat(),
      }),
    });
    const close = async () => {
      await database.close();
      await mail.close();
    };
    return { beats: createBeatAlerts(engine), close };
  };

  it('evaluates the alerts and asks the URL, once for each minute, after a pass that was healthy', async () => {
    const { beats, close } = await pass();
    try {
      expect(await beats.afterPass(true)).toBe(false);
      expect(asked()).toEqual([]);
      await test?.sql(
        `update tock.job_definitions set broken_at = now(), broken_reason = 'x' where name = 'job'`,
      );
      beats.beat();
      expect(await beats.afterPass(true)).toBe(true);
      expect(await beats.afterPass(true)).toBe(false);
      await beats.done();
      expect(asked()).toEqual(['ok']);
      expect(await test?.sql('select kind from tock.alert_flips')).toEqual([{ kind: 'down' }]);
      expect(await test?.sql('select job from tock.job_runs_live')).toEqual([{ job: 'tock:deliver-alert' }]);
    } finally {
      await close();
    }
  });

  it.each([
    ['a step that the server refused', (beats: BeatAlerts) => beats.afterPass(false)],
    ['a database that is away', (beats: BeatAlerts) => Promise.resolve(beats.afterFailure())],
  ])('asks the other URL after %s', async (_what, after) => {
    const { beats, close } = await pass();
    try {
      beats.beat();
      await after(beats);
      await after(beats);
      await beats.done();
      expect(asked()).toEqual(['fail']);
    } finally {
      await close();
    }
  });

  it('fails no pass where the alerts cannot be evaluated', async () => {
    const { beats, close } = await pass();
    try {
      await test?.sql('drop table tock.alert_clock');
      beats.beat();
      expect(await beats.afterPass(true)).toBe(false);
      expect(logs.map(({ fields }) => fields['event'])).toContain('alerts.failed');
    } finally {
      await beats.done();
      await close();
    }
  });
});
