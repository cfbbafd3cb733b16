// A queue that is behind: rates, length, and when it will be empty.
import { describe, expect, it } from 'vitest';
import { flowSpan, flowWords, perText, queueFlow } from '../../../src/model/explain/queue-flow.js';

const NOW = new Date('2026-03-01T12:00:00Z');
const ago = (minutes: number) => new Date(NOW.getTime() - minutes * 60_000);

it('the span goes back to the oldest waiting run, six hours at most, in whole minutes', () => {
  expect(flowSpan(null, NOW)).toBeNull();
  expect(flowSpan(ago(3), NOW)).toBeNull();
  expect(flowSpan(ago(48), NOW)).toEqual({ from: ago(48).getTime(), to: NOW.getTime(), partMs: 120_000 });
  expect(flowSpan(ago(9 * 1440), NOW)).toMatchObject({ from: ago(360).getTime(), partMs: 900_000 });
});

describe('the flow', () => {
  const span = { from: ago(120).getTime(), to: NOW.getTime(), partMs: 30 * 60_000 };
  const parts = (...counts: number[]) =>
    counts.map((count, index) => ({ at: span.from + index * span.partMs, count }));

  it('has as its length what waits still and what has ended since', () => {
    const before = { at: ago(600).getTime(), count: 50 };
    const { depths, inPerMinute, outPerMinute, emptyInMs } = queueFlow(
      span,
      [before, ...parts(10, 10, 10, 20)],
      parts(30, 30, 60, 60),
    );
    expect(depths).toEqual([50 + 10 + 150, 50 + 20 + 120, 50 + 30 + 60, 100]);
    expect([inPerMinute, outPerMinute]).toEqual([0.5, 2]);
    expect(emptyInMs).toBe((100 / 1.5) * 60_000);
  });

  it('says when it is empty, that it grows, that it stays, or that nothing ends', () => {
    const say = (came: number, ended: number) =>
      flowWords(queueFlow(span, parts(0, 0, came, 0), parts(0, 0, ended, 0)));
    expect(say(60, 180)).toBe(
      'in the last 1h, 3 a minute ended and 1 a minute came; at these rates it is empty in 30m',
    );
    expect(say(180, 60)).toBe(
      'in the last 1h, 1 a minute ended and 3 a minute came; it grows by 2 a minute, and never catches up at these rates',
    );
    expect(say(60, 60)).toContain('it stays as long as it is');
    expect(say(60, 0)).toContain('none ended and 1 a minute came; so it does not get shorter');
  });

  it.each([
    [0, 'none'],
    [0.05, '3 an hour'],
    [0.4, '0.4 a minute'],
    [12.3, '12 a minute'],
    [6000, '100 a second'],
  ])('%d is written as %s', (perMinute, text) => {
    expect(perText(perMinute)).toBe(text);
  });
});
