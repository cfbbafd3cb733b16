// Model: the state of a scheduler in sentences.
import { describe, expect, it } from 'vitest';
import { healthOf } from '../../src/model/health.js';
import type { SchedulerStatus } from '../../src/model/scheduler-view.js';
import { WORKER as ALIVE, NOW, CALM as QUIET, TICK } from '../support/calm-status.js';

const ago = (seconds: number) => new Date(NOW.getTime() - seconds * 1000);
const WORKER = { ...ALIVE, seenAt: ago(12) };
const CALM: SchedulerStatus = {
  ...QUIET,
  workers: [WORKER, { ...WORKER, id: 'b', seenAt: ago(3) }],
  ticks: [{ ...TICK, kind: 'daemon', firstAt: ago(9000), count: 150 }],
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
          pageRemedy: null,
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
          pageRemedy: null,
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
