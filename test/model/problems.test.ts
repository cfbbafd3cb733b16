// Model: what is wrong with a scheduler, and how to fix it.
import { describe, expect, it } from 'vitest';
import { findProblems } from '../../src/model/problems.js';
import type { SchedulerStatus } from '../../src/model/scheduler-view.js';
import { WORKER as ALIVE, CALM, NOW, PAUSED_QUEUE as QUEUE, TICK } from '../support/calm-status.js';

const MINUTE = 60_000;
const MISSED = {
  definition: 'nightly',
  count: 10,
  isCapped: false,
  first: new Date(NOW.getTime() - 10 * MINUTE),
  last: new Date(NOW.getTime() - MINUTE),
};
const GONE = { job: 'gone', runs: 1, isCapped: false, waitMs: MINUTE, isKnown: false };
const WORKER = { ...ALIVE, seenAt: new Date(NOW.getTime() - 2 * MINUTE), silent: true };
const STUCK = { ...TICK, kind: 'daemon' as const, at: new Date(NOW.getTime() - 10 * MINUTE) };
const ZONE = {
  timezone: 'Europe/Berlin',
  from: new Date('2026-10-25T00:00:00Z'),
  to: new Date('2027-03-28T00:00:00Z'),
  nodeOffsetMinutes: 60,
  serverOffsetMinutes: -90,
  nodeVersion: '2025c',
  definitions: ['a', 'b', 'c', 'd'],
  firstAffected: new Date('2026-10-26T01:30:00Z'),
};

const found = (status: Partial<SchedulerStatus>, limits = {}) => findProblems({ ...CALM, ...status }, limits);

describe('findProblems', () => {
  it('finds nothing at the limits', () => {
    const status = {
      oldestWaitMs: 5 * MINUTE,
      oldestSnapshot: { ageMs: 15 * MINUTE, pid: 4711 },
      deadRows: 99_999,
      definitions: { ...CALM.definitions, overdueMs: 5 * MINUTE },
      queues: [{ ...QUEUE, waiting: 0 }],
      workers: [{ ...WORKER, seenAt: new Date(NOW.getTime() - 18_000), silent: false }],
      ticks: [{ ...TICK, at: new Date(NOW.getTime() - 5 * MINUTE) }],
    };
    expect(found(status)).toEqual([]);
  });

  it.each([
    ['database-copy', { isCopy: true }, /tock adopt$/],
    ['stuck-runs', { runs: { ...CALM.runs, stuck: 1 } }, /^1 running run is past its lease.*tock tick$/],
    ['stuck-runs', { runs: { ...CALM.runs, stuck: 2 } }, /^2 running runs are past their lease.*tock tick$/],
    ['long-wait', { oldestWaitMs: 5 * MINUTE + 1 }, /no worker claims runs: .*tock start$/],
    [
      'long-wait',
      { oldestWaitMs: 60 * MINUTE, workers: [{ ...WORKER, seenAt: NOW, silent: false }] },
      /waited for 1h .*--concurrency/,
    ],
    ['paused-queue', { queues: [QUEUE] }, /^the paused queue reports holds back.*tock queue resume reports$/],
    [
      'overlooked-run',
      {
        overlooked: [
          {
            id: '7',
            job: 'mail',
            definition: 'nightly',
            queue: 'reports',
            since: new Date(NOW.getTime() - MINUTE),
            worker: { host: 'web-1', pid: 812 },
          },
        ],
        oldestWaitMs: 60 * MINUTE,
      },
      /^run 7 of nightly, in queue reports, is due, and worker web-1 pid 812 has had room for it since .*, for 1m, and does not take it\. Restart/,
    ],
    [
      'unknown-jobs',
      { awaitedJobs: [GONE] },
      /^nobody has the job gone: 1 run waits for code that does, .*cancel the runs$/,
    ],
    [
      'unknown-jobs',
      { awaitedJobs: ['a', 'b', 'c', 'd'].map(job => ({ ...GONE, job, runs: 1000, isCapped: true })) },
      /^nobody has the jobs a, b, c and 1 more: over 4000 runs wait /,
    ],
    [
      'awaited-jobs',
      { awaitedJobs: [{ ...GONE, isKnown: true, waitMs: 5 * MINUTE + 1 }] },
      /^1 run of the job gone waits for a worker .*Finish the deployment/,
    ],
    ['dead-runs', { lastDay: { ...CALM.lastDay, dead: 2 } }, /^2 runs ended dead .*tock retry$/],
    ['bad-rows', { lastDay: { ...CALM.lastDay, setAside: 1 } }, /bad data in the row: tock show/],
    [
      'nothing-ticks',
      { definitions: { ...CALM.definitions, overdueMs: 6 * MINUTE }, ticks: [] },
      /due for 6m .*tock start$/,
    ],
    [
      'nothing-ticks',
      { definitions: { ...CALM.definitions, overdueMs: 6 * MINUTE } },
      /due for 6m although cron on web-1, in \/srv\/app ticks: tock tick says/,
    ],
    ['nothing-known', { ticks: [] }, /^nothing has ticked yet, .*tock tick/],
    [
      'silent-tick',
      {
        ticks: [{ ...TICK, at: new Date(NOW.getTime() - 10 * MINUTE) }],
        definitions: { ...CALM.definitions, due: 6, overdueMs: 10 * MINUTE },
        missed: [
          MISSED,
          { ...MISSED, definition: 'probe', count: 1000, isCapped: true },
          { ...MISSED, definition: 'a' },
          { ...MISSED, definition: 'b' },
        ],
      },
      /^nothing has ticked for 10m, since 2026-03-09T06:50:00Z \(cron on web-1, in \/srv\/app\); missed meanwhile: 10 of nightly, over 1000 of probe, 10 of a and occurrences of 3 more\. Check on web-1 that cron runs/,
    ],
    [
      'silent-tick',
      { ticks: [STUCK], workers: [ALIVE] },
      /^the daemon on web-1, in \/srv\/app is alive, but has completed no pass for 10m, since 2026-03-09T06:50:00Z\. See in its log/,
    ],
    [
      'silent-host',
      { ticks: [{ ...TICK, host: 'web-2' }, STUCK], workers: [ALIVE] },
      /^the daemon on web-1, in \/srv\/app is alive, but has completed no pass for 10m, since 2026-03-09T06:50:00Z; others still tick\. /,
    ],
    [
      'silent-tick',
      { ticks: [STUCK], workers: [{ ...ALIVE, host: 'web-2' }] },
      /^nothing has ticked for 10m/,
    ],
    [
      'silent-tick',
      {
        ticks: [
          { ...TICK, kind: 'daemon', at: new Date(NOW.getTime() - 10 * MINUTE), stoppedAt: NOW },
          { ...TICK, at: new Date(NOW.getTime() - 2 * 86_400_000) },
        ],
      },
      /the daemon on web-1, in \/srv\/app, which was stopped\)\. Start it again/,
    ],
    [
      'silent-host',
      { ticks: [TICK, { ...TICK, host: 'web-2', at: new Date(NOW.getTime() - 10 * MINUTE) }] },
      /^cron on web-2, in \/srv\/app has not ticked for 10m, .*tock doctor --forget web-2$/,
    ],
    [
      'silent-host',
      {
        ticks: [
          TICK,
          {
            ...TICK,
            host: 'web-2',
            at: new Date(NOW.getTime() - 16 * MINUTE),
            firstAt: new Date(NOW.getTime() - (16 + 5 * 60) * MINUTE),
            count: 61,
          },
        ],
      },
      /^cron on web-2, in \/srv\/app has not ticked for 16m, /,
    ],
    [
      'unseen-worker',
      { workers: [{ ...WORKER, seenAt: new Date(NOW.getTime() - 19_000), silent: false }] },
      /^worker web-1 pid 812 has not been seen for 19s; its 3 runs are taken back in 48s, unless/,
    ],
    [
      'unseen-worker',
      {
        workers: [
          { ...WORKER, seenAt: new Date(NOW.getTime() - 19_000), silent: false, running: 1, leasesEndMs: -1 },
        ],
      },
      /; its run is taken back by the next tick, unless/,
    ],
    [
      'clock-set-back',
      { definitions: { ...CALM.definitions, ahead: 1, aheadMs: 21_600_000 } },
      /1 definition gets no runs .* up to 6h.*tock reset-cursor --all$/,
    ],
    ['broken-definitions', { definitions: { ...CALM.definitions, broken: 1 } }, /tock jobs says why$/],
    [
      'silent-workers',
      { workers: [WORKER] },
      /^worker web-1 pid 812, last seen 2m ago: no heartbeat; 3 runs are taken back in 48s\. /,
    ],
    [
      'silent-workers',
      { workers: [{ ...WORKER, seenAt: new Date('2026-03-09T08:00:00Z') }] },
      /last seen before the clock was set back/,
    ],
    ['old-snapshot', { oldestSnapshot: { ageMs: 16 * MINUTE, pid: 4711 } }, /pg_terminate_backend\(4711\)$/],
    ['dead-rows', { deadRows: 100_000 }, /^100000 dead rows await vacuum/],
    [
      'partitions-end',
      { partitions: { ...CALM.partitions, runningOut: true } },
      /run out in 84d, on 2026-06-01\. /,
    ],
    [
      'partitions-end',
      { partitions: { ...CALM.partitions, end: NOW, runningOut: true } },
      /have run out: .*tock prune or tock migrate/,
    ],
    [
      'zone-data',
      { zoneDisagreements: [ZONE] },
      /disagree on Europe\/Berlin from 2026-10-25 to 2027-03-28: UTC\+01:00 and UTC-01:30\. First affected: a, b, c and 1 more, 2026-10-26T01:30/,
    ],
    [
      'zone-data',
      { zoneDisagreements: [{ ...ZONE, definitions: [], firstAffected: null }] },
      /The hours of queues are affected/,
    ],
  ] as const)('%s: %j', (code, status, message) => {
    const problems = found(status);
    expect(problems).toMatchObject([{ code, message: expect.stringMatching(message) as string }]);
    const [{ text, remedy } = { text: '', remedy: null }] = problems;
    expect(problems[0]?.message.startsWith(text)).toBe(true);
    expect(problems[0]?.message.endsWith(remedy ?? text)).toBe(true);
  });

  it('names each queue that is late, and what holds it up', () => {
    const late = { ...QUEUE, paused: false, waiting: 2, oldestWaitMs: 240 * MINUTE };
    const status = {
      oldestWaitMs: 240 * MINUTE,
      workers: [{ ...WORKER, seenAt: NOW, silent: false }],
      queues: [
        { ...late, queue: 'mail', isClaimed: true, waiting: 1, oldestWaitMs: 6 * MINUTE },
        late,
        { ...QUEUE, queue: 'stopped', oldestWaitMs: 600 * MINUTE },
        { ...late, queue: 'calm', oldestWaitMs: 5 * MINUTE },
      ],
    };
    expect(found(status).map(({ level, text, command }) => [level, text, command])).toEqual([
      [
        'failing',
        'queue reports is 4h behind: 2 due runs wait, and no worker claims from it',
        'tock start --queues reports',
      ],
      ['warning', 'queue mail is 6m behind: 1 due run waits, and its workers do not keep up', 'tock queue'],
      ['warning', 'the paused queue stopped holds back due runs', 'tock queue resume stopped'],
    ]);
    const many = Array.from({ length: 7 }, (_, index) => ({ ...late, queue: `q${index}` }));
    expect(found({ queues: many }).at(-1)?.text).toBe('2 more queues are behind');
  });

  it('names the limit under which runs have waited long', () => {
    const key = { key: 'job:load/tenant-7', definition: null, runs: 5000, waitMs: 120 * MINUTE };
    const calm = { ...key, key: 'job:other', waitMs: MINUTE };
    const chain = { key: 'definition:7', definition: 'nightly', runs: 1, waitMs: 10 * MINUTE };
    expect(
      found({ oldestWaitMs: 120 * MINUTE, blockingKeys: [key, calm, chain] }).map(({ text }) => text),
    ).toEqual([
      '5000 runs wait for a slot of job load for tenant-7, the oldest for 2h',
      '1 run waits for the turn of nightly, the oldest for 10m',
    ]);
  });

  it('says of a long wait that a queue is paused, and which', () => {
    expect(found({ oldestWaitMs: 60 * MINUTE, queues: [QUEUE] }).map(({ message }) => message)).toEqual([
      expect.stringMatching(/; a queue is paused$/),
      expect.stringMatching(/queue reports/),
    ]);
  });

  it('does not miss a host that ticked a few times only, was stopped, or has been gone for a day', () => {
    const gone = { ...TICK, host: 'web-2', at: new Date(NOW.getTime() - 10 * MINUTE) };
    for (const tick of [
      { ...gone, count: 4 },
      { ...gone, stoppedAt: gone.at },
      { ...gone, at: new Date(NOW.getTime() - 86_400_000) },
      // It ticks every five minutes, so it has not missed two.
      { ...gone, firstAt: new Date(gone.at.getTime() - 60 * 5 * MINUTE), count: 61 },
    ])
      expect(found({ ticks: [TICK, tick] })).toEqual([]);
  });

  it('takes the last tick of all hosts, and no alarm from a clock that was set back', () => {
    expect(found({ ticks: [{ ...TICK, at: new Date(NOW.getTime() + 60 * MINUTE) }] })).toEqual([]);
    const others = [TICK, { ...TICK, host: 'web-2', count: 1, at: new Date(NOW.getTime() - 60 * MINUTE) }];
    expect(found({ ticks: others })).toEqual([]);
    expect(found({ ticks: [TICK] }, { silentTickMs: 19_000 }).map(({ code }) => code)).toEqual([
      'silent-tick',
    ]);
  });

  it('expects some runs to wait for a moment in a rolling deploy', () => {
    expect(found({ awaitedJobs: [{ ...GONE, isKnown: true, waitMs: 5 * MINUTE }] })).toEqual([]);
  });

  it('takes other limits', () => {
    const status = { oldestWaitMs: 10 * MINUTE, lastDay: { ...CALM.lastDay, dead: 4 }, deadRows: 50 };
    expect(found(status, { oldestWaitMs: 10 * MINUTE, deadRuns: 5 })).toEqual([]);
    const strict = { oldestWaitMs: 9 * MINUTE, deadRuns: 4, deadRows: 50 };
    expect(found(status, strict).map(({ code }) => code)).toEqual(['long-wait', 'dead-runs', 'dead-rows']);
  });
});
