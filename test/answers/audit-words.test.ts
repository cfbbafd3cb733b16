// Model: rows of the audit in words.
import { describe, expect, it } from 'vitest';
import { auditSentence } from '../../src/answers/audit-words.js';
import type { Details } from '../../src/model/audit.js';
import { ACTIONS } from '../../src/model/operator.js';

const of = (action: string, targets: string[], details: Details = {}, count = targets.length) =>
  auditSentence({ action, targets, count, details });

describe('auditSentence', () => {
  it.each<[string, string[], Details, number | undefined, string]>([
    ['enqueue', ['812'], { job: 'mail' }, undefined, 'enqueued run 812: of mail'],
    ['enqueue', ['1', '2'], { job: 'a, b' }, 1200, 'enqueued 1,200 runs: of a, b'],
    [
      'complete',
      ['812'],
      { job: 'payout', note: 'as agreed' },
      undefined,
      'completed run 812: of payout, as agreed',
    ],
    [
      'fail',
      ['812'],
      { job: 'payout', reason: 'no cover', retry: false },
      undefined,
      'made run 812 fail: of payout, no cover, without a retry',
    ],
    [
      'extend',
      ['812'],
      { job: 'payout', lease: '2d' },
      undefined,
      'prolonged the lease of run 812: of payout, 2d',
    ],
    ['runs.retry', ['812'], { job: 'mail' }, undefined, 'retried run 812: of mail'],
    [
      'runs.retry',
      ['1'],
      { status: ['dead', 'cancelled'], job: 'mail', queue: 'bulk', payload: 'given', definition: null },
      120,
      'retried 120 runs: of mail, status dead or cancelled, queue bulk, payload given',
    ],
    ['runs.cancel', ['812'], { reason: 'wrong month' }, undefined, 'cancelled run 812: wrong month'],
    ['runs.cancel', ['812'], { isAsked: true }, undefined, 'asked to stop run 812'],
    [
      'schedules.pause',
      ['nightly'],
      { note: 'stocktaking' },
      1,
      'paused the definition nightly: stocktaking',
    ],
    ['schedules.resume', ['nightly'], { skipped: 0 }, 1, 'resumed the definition nightly'],
    [
      'schedules.resume',
      ['nightly'],
      { skipped: 3 },
      1,
      'resumed the definition nightly: 3 occurrences skipped in the pause',
    ],
    [
      'schedules.backfill',
      ['nightly'],
      { from: '2026-03-01T00:00:00.000Z', to: '2026-03-02T00:00:00.000Z' },
      24,
      'backfilled the definition nightly: 24 runs, 2026-03-01T00:00:00.000Z to 2026-03-02T00:00:00.000Z',
    ],
    ['schedules.upsert', ['t-7'], { change: 'made', version: 1 }, 1, 'made the schedule t-7 (version 1)'],
    [
      'schedules.upsert',
      ['t-7'],
      {
        change: 'edited',
        version: 4,
        changes: {
          cron: { from: '0 3 * * *', to: '0 4 * * *' },
          every_ms: { from: null, to: 60_000 },
          payload: 'changed',
        },
      },
      1,
      'edited the schedule t-7 (version 4): cron 0 3 * * * → 0 4 * * *, every none → 1m, payload changed',
    ],
    ['schedules.remove', ['t-7'], {}, 1, 'removed the schedule t-7'],
    ['schedules.resetCursors', ['a', 'b'], {}, 700, 'set back the cursor of 700 definitions'],
    ['queues.pause', ['mails'], {}, 1, 'paused the queue mails'],
    ['queues.resume', ['mails'], {}, 1, 'resumed the queue mails'],
    ['forgetHost', ['web-2'], {}, 1, 'forgot the host web-2'],
    [
      'queues.set',
      ['mails'],
      {
        changes: {
          concurrency: { from: null, to: 3 },
          rate: { from: { count: 100, perMs: 60_000 }, to: null },
        },
      },
      1,
      'set limits of the queue mails: concurrency none → 3, rate 100 per 1m → none',
    ],
    [
      'queues.remove',
      ['mails'],
      { changes: { concurrency: { from: 3, to: null } } },
      1,
      'removed the limits of the queue mails: concurrency 3 → none',
    ],
    [
      'prune',
      [],
      { droppedPartitions: ['a'], deletedRuns: 30, deletedKeys: 1, deletedAudit: 2, isStopped: true },
      1,
      'pruned the history: 1 partition dropped, 30 runs deleted, 1 key deleted, 2 rows of the audit deleted, stopped before its end',
    ],
    ['adopt', [], {}, 1, 'adopted this database'],
    ['migrate', ['0001_the_ledger.sql'], {}, 1, 'migrated the schema: 0001_the_ledger.sql'],
    [
      'alerts.mute',
      ['late'],
      { until: '2026-03-09T08:00:00.000Z', note: 'moving' },
      1,
      'muted the alerts of late: until 2026-03-09T08:00:00.000Z, moving',
    ],
    ['alerts.unmute', ['late'], {}, 1, 'ended the mute of late'],
    ['alerts.test', ['slack'], {}, 1, 'sent a test message to the channel slack'],
    ['alerts.ring', ['late'], {}, 1, 'alerts.ring late'],
    ['constructor', [], {}, 1, 'constructor'],
  ])('words %s of %j', (action, targets, details, count, expected) => {
    expect(of(action, targets, details, count)).toBe(expected);
  });

  it('has words for each action, whatever its row holds', () => {
    for (const action of Object.keys(ACTIONS))
      for (const details of [
        {},
        { changes: 5, status: 'x', error: {}, job: {}, version: 'a', skipped: 'b', droppedPartitions: 'c' },
        { changes: { a: null, b: [1], rate: { from: {}, to: 'x' } }, status: [null] },
      ] as Details[])
        expect(of(action, [], details, 1)).not.toMatch(/undefined|object Object|NaN/);
  });
});
