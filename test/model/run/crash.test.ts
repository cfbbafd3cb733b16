// What an uncaught error means for the runs at work.
import { describe, expect, it } from 'vitest';
import { type CrashedRun, endingAtCrash } from '../../../src/model/run/crash.js';
import { decideOutcome } from '../../../src/model/run/decide.js';

const boom = new TypeError('boom');
const ending = (count: number, run: Partial<CrashedRun> = {}, thrown: unknown = boom) =>
  endingAtCrash({ isIsolated: false, isSuspect: false, ...run }, count, thrown);
const decide = (what: ReturnType<typeof ending>, attempt = 1) =>
  decideOutcome(what, { attempt, maxAttempts: 3 }, { backoff: 'fixed', base: '30s', jitter: 0 }, 0.5);

describe('endingAtCrash', () => {
  it('blames a run that was alone: its attempt counts, and it is a suspect from then on', () => {
    const outcome = decide(ending(1));
    expect(outcome).toMatchObject({ transition: 'fail', delayMs: 30_000, isSuspect: true });
    expect(outcome.error).toMatchObject({
      attempt: 1,
      name: 'TypeError',
      code: 'TOCK_PROCESS_CRASHED',
      message: 'boom (nothing caught it, and it ended the process)',
      stack: boom.stack,
    });
    expect(decide(ending(1), 3)).toMatchObject({ transition: 'exhaust' });
  });

  it('releases each of several runs, on any attempt, with the error on record', () => {
    for (const attempt of [1, 3])
      expect(decide(ending(2), attempt)).toMatchObject({
        transition: 'release',
        isSuspect: true,
        error: {
          attempt,
          name: 'TypeError',
          message: expect.stringMatching(/^boom .*2 runs at work.*not count/),
        },
      });
  });

  it('counts for one of several that was released before: a run is spared once', () => {
    expect(decide(ending(5, { isSuspect: true }))).toMatchObject({ transition: 'fail', isSuspect: true });
  });

  it('spares a run in a child process, and all runs if none is to blame', () => {
    for (const spared of [ending(1, { isIsolated: true }), ending(1, {}, null), ending(7, {}, null)]) {
      expect(spared).toEqual({ kind: 'drained' });
      expect(decide(spared).isSuspect).toBeUndefined();
    }
  });

  it.each([[undefined], ['a text'], [Object.create(null)]])('accepts whatever was thrown: %j', thrown => {
    expect(decide(ending(1, {}, thrown)).error).toMatchObject({ code: 'TOCK_PROCESS_CRASHED' });
  });
});
