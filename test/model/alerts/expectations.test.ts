// By when a success is expected; and what events of attempts say.
import { describe, expect, it } from 'vitest';
import { type AttemptEvent, observeDead, observeFailing } from '../../../src/model/alerts/events.js';
import { expectedBy } from '../../../src/model/alerts/expectations.js';
import type { AlertState } from '../../../src/model/alerts/judge.js';
import { composeMessage, type StoredFlip } from '../../../src/model/alerts/message.js';
import { commandVariables, slackBody, withoutSecrets } from '../../../src/model/alerts/payloads.js';
import { windowIn } from '../../../src/model/planning/window.js';
import { compileSchedule } from '../../../src/model/schedule/compile.js';

const at = (text: string) => Date.parse(`2026-03-09T${text}Z`);

describe('expectedBy', () => {
  const hourly = compileSchedule({ cron: '0 * * * *' });
  const watched = {
    withinMs: 600_000,
    jitterMs: 0,
    begunAt: at('10:30:00'),
    lastSuccess: null,
    endedAt: null,
    frozen: [],
    window: null,
    outsideWindow: 'defer' as const,
  };

  it.each([
    ['never succeeded: the first occurrence', {}, '11:10:00'],
    ['after a success', { lastSuccess: at('12:00:00') }, '13:10:00'],
    ['changed since the last success', { lastSuccess: at('09:00:00') }, '11:10:00'],
    ['with jitter', { jitterMs: 120_000 }, '11:12:00'],
    ['over, with an occurrence that is still owed', { endedAt: at('11:00:00') }, '11:10:00'],
    ['frozen meanwhile', { frozen: [{ from: at('11:05:00'), to: at('11:25:00') }] }, '11:30:00'],
    ['frozen over the occurrence', { frozen: [{ from: at('10:40:00'), to: at('11:25:00') }] }, '11:35:00'],
    [
      'frozen before it, and after it',
      {
        frozen: [
          { from: at('10:35:00'), to: at('10:40:00') },
          { from: at('11:15:00'), to: at('11:20:00') },
        ],
      },
      '11:10:00',
    ],
    [
      'frozen again before it has passed',
      {
        frozen: [
          { from: at('11:00:00'), to: at('11:05:00') },
          { from: at('11:12:00'), to: at('11:20:00') },
        ],
      },
      '11:23:00',
    ],
  ])('%s', (_what, more, expected) => {
    expect(expectedBy(hourly, { ...watched, ...more })).toBe(at(expected));
  });

  it.each([
    ['over, and all have succeeded', { endedAt: at('11:00:00'), lastSuccess: at('11:00:00') }],
    ['over before it began', { endedAt: at('10:00:00') }],
    ['frozen, and nobody knows until when', { frozen: [{ from: at('11:05:00'), to: Infinity }] }],
  ])('never again: %s', (_what, more) => {
    expect(expectedBy(hourly, { ...watched, ...more })).toBeNull();
  });

  it.each([
    // The next occurrence is that of 11:00, at which the window has closed.
    ['defer', '08:00-11:00', 0, '2026-03-10T08:10:00Z'],
    ['skip', '08:00-11:00', 0, '2026-03-10T08:10:00Z'],
    ['skip', '08:30-11:00', 0, '2026-03-10T09:10:00Z'],
    ['defer', '08:30-11:00', 0, '2026-03-10T08:40:00Z'],
    ['defer', '08:30-11:00', 300_000, '2026-03-10T08:40:00Z'],
    ['defer', '10:00-12:00', 300_000, '2026-03-09T11:15:00Z'],
  ] as const)(
    'when its own window lets the occurrence start: %s, %s, jitter %d',
    (outsideWindow, hours, jitterMs, expected) => {
      const window = windowIn(hours, 'UTC');
      expect(expectedBy(hourly, { ...watched, window, outsideWindow, jitterMs })).toBe(Date.parse(expected));
    },
  );

  it('never, where the window skips every occurrence', () => {
    const window = windowIn('08:00-11:00', 'UTC');
    const nightly = compileSchedule({ cron: '0 23 * * *' });
    expect(expectedBy(nightly, { ...watched, window, outsideWindow: 'skip' })).toBeNull();
  });

  it('never for a time that has passed before', () => {
    expect(expectedBy(compileSchedule({ at: '2026-03-09T09:00:00Z' }), watched)).toBeNull();
  });
});

const event = (kind: AttemptEvent['kind'], more: Partial<AttemptEvent> = {}): AttemptEvent => ({
  kind,
  count: 1,
  runId: '7',
  definitionId: '1',
  job: 'mail',
  subject: 'mail',
  at: 0,
  ...more,
});
const was = (more: Partial<AlertState>) =>
  ({ failures: 0, status: 'up', runId: null, ...more }) as AlertState;

it.each<[string, AlertState | null, AttemptEvent['kind'][], boolean, number]>([
  ['one too few', null, ['failed', 'failed'], false, 2],
  ['enough', null, ['failed', 'failed', 'dead'], true, 3],
  ['with those before', was({ failures: 2 }), ['failed'], true, 3],
  ['a success at the end', was({ failures: 5, status: 'down' }), ['failed', 'succeeded'], false, 0],
  ['a success in between', was({ failures: 2 }), ['succeeded', 'failed'], false, 1],
])('observeFailing %s', (_what, before, kinds, isDown, failures) => {
  const seen = observeFailing(
    before,
    kinds.map(kind => event(kind)),
    3,
  );
  // Its successes are noted as long as it has failures.
  expect(seen).toMatchObject({ isDown, failures, job: failures > 0 ? 'mail' : null });
});

it.each<[string, AlertState | null, AttemptEvent[], boolean | null]>([
  ['a dead run', null, [event('dead')], true],
  [
    'a success of the definition',
    was({ status: 'down', runId: '7' }),
    [event('succeeded', { runId: '9' })],
    false,
  ],
  ['a success, and then a dead run', null, [event('succeeded'), event('dead')], true],
  ['an attempt that failed', null, [event('failed')], false],
  [
    'a success of another one-off run',
    was({ status: 'down', runId: '7' }),
    [event('succeeded', { runId: '9', definitionId: null })],
    null,
  ],
  [
    'a success of the one-off run itself',
    was({ status: 'down', runId: '7' }),
    [event('succeeded', { definitionId: null })],
    false,
  ],
])('observeDead %s', (_what, before, events, isDown) => {
  expect(observeDead(before, events)?.isDown ?? null).toBe(isDown);
});

describe('a message', () => {
  const NOWHERE = { timezone: null, dashboard: null };
  const THERE = { timezone: null, dashboard: 'https://ops.example.com/tock' };
  const flip = (n: number, more: Partial<StoredFlip> = {}): StoredFlip => ({
    rule: 'dead',
    when: 'dead',
    subject: `job-${n}`,
    kind: 'down',
    at: '2026-03-09T12:00:00.000Z',
    since: '2026-03-09T12:00:00.000Z',
    detail: 'run 7 ended dead',
    runId: '7',
    error: null,
    zone: null,
    ...more,
  });

  it('lists no more than fifty alerts, and counts the others', () => {
    const message = composeMessage(
      'id',
      Array.from({ length: 60 }, (_, n) => flip(n, n % 2 === 0 ? {} : { kind: 'up' })),
      NOWHERE,
    );
    expect(message.title).toBe('Tock: 30 down, 30 recovered');
    expect(message.text.split('\n')).toHaveLength(51);
    expect(message.text).toMatch(/… and 10 more: tock alerts$/);
    expect(message.alerts).toHaveLength(50);
  });

  it('links to the run, or to what it is about, and to the page of alerts', () => {
    const urlOf = (more: Partial<StoredFlip>) => composeMessage('id', [flip(1, more)], THERE).alerts[0]?.url;
    const base = 'https://ops.example.com/tock';
    expect(urlOf({})).toBe(`${base}/runs/7`);
    expect(urlOf({ runId: null, when: 'late', subject: 'a b' })).toBe(`${base}/schedules/a%20b`);
    expect(urlOf({ runId: null, when: 'waiting', subject: 'mail' })).toBe(`${base}/queues/mail`);
    expect(urlOf({ runId: null, when: 'silent', subject: 'web-1:/app' })).toBe(`${base}/workers`);
    expect(composeMessage('id', [flip(1)], THERE).url).toBe(`${base}/alerts`);
    expect(composeMessage('id', [flip(1)], NOWHERE)).toMatchObject({ url: null, alerts: [{ url: null }] });
    expect(composeMessage('id', [flip(1)], THERE).text).toBe(
      `job-1 has a dead run: run 7 ended dead (2026-03-09 12:00 UTC): ${base}/runs/7`,
    );
    expect(commandVariables(composeMessage('id', [flip(1)], THERE))).toMatchObject({
      TOCK_ALERT_URL: `${base}/runs/7`,
    });
    expect(commandVariables(composeMessage('id', [flip(1), flip(2)], THERE))).toMatchObject({
      TOCK_ALERT_URL: `${base}/alerts`,
    });
  });

  it('has the time of the channel’s zone, else of the definition’s', () => {
    const timeIn = (timezone: string | null, zone: string | null) =>
      composeMessage('id', [flip(1, { zone })], { timezone, dashboard: null }).alerts[0]?.localTime;
    expect(timeIn(null, null)).toBe('2026-03-09 12:00 UTC');
    expect(timeIn(null, 'Europe/Berlin')).toBe('2026-03-09 13:00 Europe/Berlin');
    expect(timeIn('America/New_York', 'Europe/Berlin')).toBe('2026-03-09 08:00 America/New_York');
    expect(timeIn(null, 'Mars/Olympus')).toBe('2026-03-09 12:00 UTC');
  });

  it('has the last error once, without passwords, and not where it has recovered', () => {
    const textOf = (more: Partial<StoredFlip>) => composeMessage('id', [flip(1, more)], NOWHERE);
    const error = { name: 'Error', message: 'connect postgres://app:s3cret@db/x', cause: null };
    const late = textOf({ when: 'late', runId: null, detail: 'no success', error });
    expect(late.text).toBe(
      'job-1 is late: no success; its last error: Error: connect postgres://app:***@db/x (2026-03-09 12:00 UTC)',
    );
    expect(late.alerts[0]?.error).toBe('Error: connect postgres://app:***@db/x');
    const said = textOf({
      detail: 'run 7 ended dead: Error: no disk',
      error: { ...error, message: 'no disk' },
    });
    expect(said.text.match(/no disk/g)).toHaveLength(1);
    expect(textOf({ kind: 'up', error }).alerts[0]?.error).toBeNull();
  });

  it('cannot call everybody in Slack', () => {
    const body = slackBody(composeMessage('id', [flip(1, { detail: '<!channel> & <b>' })], NOWHERE));
    expect(JSON.parse(body)).toEqual({
      text: ':red_circle: job-1 has a dead run: &lt;!channel&gt; &amp; &lt;b&gt; (2026-03-09 12:00 UTC): tock show 7',
    });
  });

  it('has no secrets, the longest first', () => {
    expect(
      withoutSecrets('at https://a/b/c-secret or c-secret', ['c-secret', 'https://a/b/c-secret', 'at']),
    ).toBe('at *** or ***');
  });
});
