// Test support: the figures of a scheduler without problems.
import type { LastTick, SchedulerStatus } from '../../src/model/scheduler-view.js';

/** When they were read. */
export const NOW = new Date('2026-03-09T07:00:00Z');

/** A tick of cron, 20 s ago. */
export const TICK: LastTick = {
  host: 'web-1',
  folder: '/srv/app',
  kind: 'tick',
  service: '',
  firstAt: new Date('2026-03-01T00:00:00Z'),
  at: new Date(NOW.getTime() - 20_000),
  count: 12_000,
  version: '0.1.0',
  node: '24.0.0',
  zoneData: '2025c',
  clockMs: 3,
  stoppedAt: null,
  asleepUntil: null,
};

export const CALM: SchedulerStatus = {
  at: NOW,
  isCopy: false,
  replicaLagMs: null,
  frozen: null,
  definitions: { scheduled: 5, due: 0, paused: 0, broken: 0, ahead: 0, aheadMs: 0, overdueMs: 0 },
  runs: { waiting: 0, scheduled: 2, running: 1, handedOff: 0, failed: 0, stuck: 0 },
  oldestWaitMs: 0,
  lastDay: { succeeded: 1440, dead: 0, cancelled: 0, skipped: 0, setAside: 0 },
  workers: [],
  ticks: [TICK],
  missed: [],
  splitServices: [],
  queues: [],
  oldestSnapshot: null,
  deadRows: 0,
  partitions: { end: new Date('2026-06-01T00:00:00Z'), unit: 'month', runningOut: false },
  handOffs: [],
  awaitedJobs: [],
  overlooked: [],
  blockingKeys: [],
  zoneDisagreements: [],
};

/** A daemon that was seen just now. */
export const WORKER: SchedulerStatus['workers'][number] = {
  id: 'a',
  kind: 'daemon',
  host: 'web-1',
  pid: 812,
  service: '',
  seenAt: NOW,
  silent: false,
  heartbeatMs: 15_000,
  running: 3,
  leasesEndMs: 48_000,
};

/** One that is paused, and in which runs wait. */
export const PAUSED_QUEUE: SchedulerStatus['queues'][number] = {
  queue: 'reports',
  waiting: 7,
  running: 0,
  failed: 0,
  paused: true,
  relayedTo: null,
  named: false,
  isClaimed: false,
  oldestWaitMs: 0,
};
