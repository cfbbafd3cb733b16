// By when a success is expected; and what events of attempts say.
import { describe, expect, it } from 'vitest';
import { type AttemptEvent, observeDead, observeFailing } from '../../../src/model/alerts/events.js';
import { expectedBy } from '../../../src/model/alerts/expectations.js';
import type { AlertState } from '../../../src/model/alerts/judge.js';
import { composeMessage, type StoredFlip } from '../../../src/model/alerts/message.js';
import { slackBody, withoutSecrets } from '../../../src/model/alerts/payloads.js';
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
  };

  it.each([
    ['never succeeded: the first occurrence', {}, '11:10:00'],
    ['after a success', { lastSuccess: at('12:00:00') }, '13:10:00'],
    ['changed since the last success', { lastSuccess: at('09:00:00') }, '11:10:00'],
    ['with jitter', { jitterMs: 120_000 }, '11:12:00'],
    ['over, with an occurrence that is still owed', { endedAt: at('11:00:00') }, '11:10:00'],
  ])('%s', (_what, more, expected) => {
    expect(expectedBy(hourly, { ...watched, ...more })).toBe(at(expected));
  });

  it.each([
    ['over, and all have succeeded', { endedAt: at('11:00:00'), lastSuccess: at('11:00:00') }],
    ['over before it began', { endedAt: at('10:00:00') }],
  ])('never again: %s', (_what, more) => {
    expect(expectedBy(hourly, { ...watched, ...more })).toBeNull();
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

describe('observeFailing', () => {
  it.each<[string, AlertState | null, AttemptEvent['kind'][], boolean, number]>([
    ['one too few', null, ['failed', 'failed'], false, 2],
    ['enough', null, ['failed', 'failed', 'dead'], true, 3],
    ['with those before', was({ failures: 2 }), ['failed'], true, 3],
    ['a success at the end', was({ failures: 5, status: 'down' }), ['failed', 'succeeded'], false, 0],
    ['a success in between', was({ failures: 2 }), ['succeeded', 'failed'], false, 1],
  ])('%s', (_what, before, kinds, isDown, failures) => {
    const seen = observeFailing(
      before,
      kinds.map(kind => event(kind)),
      3,
    );
    // Its successes are noted as long as it has failures.
    expect(seen).toMatchObject({ isDown, failures, job: failures > 0 ? 'mail' : null });
  });
});

describe('observeDead', () => {
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
  ])('%s', (_what, before, events, isDown) => {
    expect(observeDead(before, events)?.isDown ?? null).toBe(isDown);
  });
});

describe('a message', () => {
  const flip = (n: number, more: Partial<StoredFlip> = {}): StoredFlip => ({
    rule: 'dead',
    when: 'dead',
    subject: `job-${n}`,
    kind: 'down',
    at: '2026-03-09T12:00:00.000Z',
    since: '2026-03-09T12:00:00.000Z',
    detail: 'run 7 ended dead',
    runId: '7',
    ...more,
  });

  it('lists no more than fifty alerts, and counts the others', () => {
    const message = composeMessage(
      'id',
      Array.from({ length: 60 }, (_, n) => flip(n, n % 2 === 0 ? {} : { kind: 'up' })),
    );
    expect(message.title).toBe('Tock: 30 down, 30 recovered');
    expect(message.text.split('\n')).toHaveLength(51);
    expect(message.text).toMatch(/… and 10 more: tock alerts$/);
    expect(message.alerts).toHaveLength(50);
  });

  it('cannot call everybody in Slack', () => {
    const body = slackBody(composeMessage('id', [flip(1, { detail: '<!channel> & <b>' })]));
    expect(JSON.parse(body)).toEqual({
      text: ':red_circle: job-1 has a dead run: &lt;!channel&gt; &amp; &lt;b&gt;; tock show 7',
    });
  });

  it('has no secrets, the longest first', () => {
    expect(
      withoutSecrets('at https://a/b/c-secret or c-secret', ['c-secret', 'https://a/b/c-secret', 'at']),
    ).toBe('at *** or ***');
  });
});
