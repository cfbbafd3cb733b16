// The flip rule as a table: what was, what is seen, what flips, and whether channels are notified.
import { expect, it } from 'vitest';
import { type AlertState, judge, type Observation } from '../../../src/model/alerts/judge.js';

const NOW = Date.parse('2026-03-09T12:00:00Z');
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const state = (more: Partial<AlertState>): AlertState => ({
  rule: 'late',
  subject: 'report',
  status: 'down',
  since: NOW - HOUR,
  version: 4,
  failures: 0,
  job: null,
  definitionId: null,
  runId: null,
  lastAt: NOW - HOUR,
  notifiedAt: NOW - HOUR,
  detail: 'before',
  ...more,
});
const seen = (isDown: boolean, more: Partial<Observation> = {}): Observation => ({
  subject: 'report',
  isDown,
  detail: 'now',
  ...more,
});
const options = { rule: 'late', remindMs: DAY, isMuted: false, now: NOW };

it.each<[string, AlertState | null, Observation, Partial<typeof options>, unknown]>([
  ['nothing is wrong, and nothing was', null, seen(false), {}, null],
  ['it is up, and was', state({ status: 'up', notifiedAt: null }), seen(false), {}, null],
  [
    'it is down for the first time',
    null,
    seen(true),
    {},
    {
      flip: 'down',
      isNotified: true,
      state: { status: 'down', since: NOW, version: 0, notifiedAt: NOW, detail: 'now' },
    },
  ],
  [
    'it is down again',
    state({ status: 'up', notifiedAt: null, version: 9 }),
    seen(true),
    {},
    { flip: 'down', isNotified: true, state: { since: NOW, version: 9, notifiedAt: NOW } },
  ],
  [
    'it is down while muted',
    null,
    seen(true),
    { isMuted: true },
    { flip: 'down', isNotified: false, state: { notifiedAt: null } },
  ],
  ['it is down still', state({}), seen(true), {}, null],
  [
    'it is down after the mute',
    state({ notifiedAt: null }),
    seen(true),
    {},
    { flip: 'down', isNotified: true, state: { since: NOW - HOUR, notifiedAt: NOW } },
  ],
  ['it is down within the mute', state({ notifiedAt: null }), seen(true), { isMuted: true }, null],
  [
    'channels were notified a day ago',
    state({ notifiedAt: NOW - DAY }),
    seen(true),
    {},
    { flip: 'reminder', isNotified: true, state: { since: NOW - HOUR, notifiedAt: NOW } },
  ],
  [
    'channels were notified a day ago, and it is muted',
    state({ notifiedAt: NOW - DAY }),
    seen(true),
    { isMuted: true },
    null,
  ],
  [
    'channels were notified a day ago, without reminders',
    state({ notifiedAt: NOW - DAY }),
    seen(true),
    { remindMs: null as never },
    null,
  ],
  ['channels were notified less than a day ago', state({ notifiedAt: NOW - DAY + 1 }), seen(true), {}, null],
  [
    'it has recovered',
    state({}),
    seen(false),
    {},
    {
      flip: 'up',
      isNotified: true,
      was: { since: NOW - HOUR },
      state: { status: 'up', since: NOW, notifiedAt: null },
    },
  ],
  [
    'it has recovered, and no channel was notified',
    state({ notifiedAt: null }),
    seen(false),
    {},
    { flip: 'up', isNotified: false },
  ],
  [
    'it has recovered while muted',
    state({}),
    seen(false),
    { isMuted: true },
    { flip: 'up', isNotified: false },
  ],
  [
    'another failure of a few',
    state({ status: 'up', notifiedAt: null, failures: 1 }),
    seen(false, { failures: 2, job: 'mail' }),
    {},
    { flip: null, isNotified: false, state: { status: 'up', failures: 2, job: 'mail' } },
  ],
  [
    'another failure while it is down',
    state({ failures: 3 }),
    seen(true, { failures: 4, runId: '8' }),
    {},
    { flip: null, isNotified: false, state: { failures: 4, runId: '8', notifiedAt: NOW - HOUR } },
  ],
  [
    'a word less',
    state({ notifiedAt: NOW - DAY }),
    seen(true, { detail: '' }),
    {},
    { state: { detail: 'before' } },
  ],
])('judge %s', (_what, was, observation, more, expected) => {
  const change = judge(was, observation, { ...options, ...more });
  if (expected === null) expect(change).toBeNull();
  else expect(change).toMatchObject(expected as object);
});
