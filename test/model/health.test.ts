// Model: the state of a scheduler in sentences.
import { describe, expect, it } from 'vitest';
import { healthOf } from '../../src/model/health.js';
import type { SchedulerStatus } from '../../src/model/scheduler-view.js';

const NOW = new Date('2026-03-09T07:00:00Z');
const ago = (seconds: number) => new Date(NOW.getTime() - seconds * 1000);
const WORKER = {
  id: 'a',
  kind: 'daemon',
  host: 'web-1',
  pid: 812,
  seenAt: ago(12),
  silent: false,
  heartbeatMs: 15_000,
  running: 3,
  leasesEndMs: 48_000,
};
const CALM: SchedulerStatus = {
  at: NOW,
  isCopy: false,
  replicaLagMs: null,
  definitions: { scheduled: 5, due: 0, paused: 0, broken: 0, ahead: 0, aheadMs: 0, overdueMs: 0 },
  runs: { waiting: 0, scheduled: 2, running: 1, handedOver: 0, failed: 0, stuck: 0 },
  oldestWaitMs: 0,
  lastDay: { succeeded: 1440, dead: 0, cancelled: 0, skipped: 0, setAside: 0 },
  workers: [WORKER, { ...WORKER, id: 'b', seenAt: ago(3) }],
  ticks: [
    {
      host: 'web-1',
      folder: '/srv/app',
      kind: 'daemon',
      firstAt: ago(9000),
      at: ago(20),
      count: 150,
      version: '0.1.0',
      node: '24.0.0',
      zoneData: '2025c',
      clockMs: 3,
      stoppedAt: null,
    },
  ],
  missed: [],
  queues: [],
  oldestSnapshot: null,
  deadRows: 0,
  partitions: { end: new Date('2026-06-01T00:00:00Z'), unit: 'month', runningOut: false },
  handOffs: [],
  awaitedJobs: [],
  zoneDisagreements: [],
};

describe('healthOf', () => {
  it('says how old the news is when nothing is wrong', () => {
    expect(healthOf(CALM)).toEqual({
      level: 'ok',
      sentences: [
        {
          level: 'ok',
          code: null,
          text: 'Nothing is wrong: the last tick was 20s ago, all 2 workers were seen within the last 12s',
          remedy: null,
          command: null,
          link: null,
        },
      ],
    });
    expect(healthOf({ ...CALM, workers: [] }).sentences[0]?.text).toBe(
      'Nothing is wrong: the last tick was 20s ago',
    );
  });

  it('says of a worker that is late what is not known yet, and when it will be', () => {
    const workers = [{ ...WORKER, seenAt: ago(19), leasesEndMs: 41_000 }];
    expect(healthOf({ ...CALM, workers })).toEqual({
      level: 'unknown',
      sentences: [
        {
          level: 'unknown',
          code: 'unseen-worker',
          text: 'Worker web-1 pid 812 has not been seen for 19s; its 3 runs are taken back in 41s, unless it reports again',
          remedy: null,
          command: 'tock status',
          link: '/workers',
        },
      ],
    });
  });

  it('knows nothing before the first tick', () => {
    const { level, sentences } = healthOf({ ...CALM, workers: [], ticks: [] });
    expect(level).toBe('unknown');
    expect(sentences).toMatchObject(
      [{ text: /^Nothing has ticked yet/, command: 'tock tick' }].map(matching),
    );
  });

  it('puts the worst first, and has its level', () => {
    const { level, sentences } = healthOf({
      ...CALM,
      lastDay: { ...CALM.lastDay, dead: 2 },
      definitions: { ...CALM.definitions, broken: 1 },
      workers: [{ ...WORKER, seenAt: ago(19) }],
    });
    expect(level).toBe('failing');
    expect(sentences).toMatchObject(
      [
        { text: /^1 definition cannot be evaluated/, remedy: /^tock jobs says why$/, link: '/schedules' },
        { text: /^2 runs ended dead/, remedy: /^List them with tock runs/, link: '/errors' },
        { text: /^Worker web-1/, remedy: null },
      ].map(matching),
    );
  });

  it('takes limits', () => {
    expect(healthOf(CALM, { silentTickMs: 10_000 }).level).toBe('failing');
  });
});

function matching(fields: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      value instanceof RegExp ? (expect.stringMatching(value) as unknown) : value,
    ]),
  );
}
