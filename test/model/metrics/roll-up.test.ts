// What the roll-up does next, decided from the clock and how far it is.
import { describe, expect, it } from 'vitest';
import {
  afterStep,
  HOUR_MS,
  MINUTE_MS,
  nextRollUpStep,
  type RollUpProgress,
  spanOfFigures,
} from '../../../src/model/metrics/roll-up.js';
import { fc } from '../../support/seed.js';

const NOON = Date.UTC(2026, 2, 1, 12);
const at = (minutes: number, seconds = 0) => NOON + minutes * MINUTE_MS + seconds * 1000;

/** Counted until noon, nothing watched. */
const progress = (more: Partial<RollUpProgress> = {}): RollUpProgress => ({
  now: at(0),
  finalUntil: at(0),
  countedUntil: at(0),
  hoursUntil: NOON,
  firstMinute: null,
  watchedUntil: null,
  writersEnded: true,
  ...more,
});

describe('the next step', () => {
  it('is none before a minute has been over for ten seconds', () => {
    expect(nextRollUpStep(progress({ now: at(1, 9.999) }), 1)).toBeNull();
  });

  it('is to note who is writing, and once these have ended, to count for good', () => {
    const now = at(1, 10);
    expect(nextRollUpStep(progress({ now }), 1)).toEqual({ kind: 'watch', until: at(1) });
    const watching = { now, watchedUntil: at(1), writersEnded: false };
    expect(nextRollUpStep(progress(watching), 1)).toBeNull();
    expect(nextRollUpStep(progress({ ...watching, writersEnded: true }), 1)).toEqual({
      kind: 'count',
      from: at(0),
      to: at(1),
      isFinal: true,
    });
  });

  it('does not go further than asked, nor than what is final', () => {
    const far = progress({ now: at(30), watchedUntil: at(20), writersEnded: true });
    expect(nextRollUpStep(far, 1)).toMatchObject({ from: at(0), to: at(1) });
    expect(nextRollUpStep(far, 64)).toMatchObject({ from: at(0), to: at(20), isFinal: true });
  });

  it('counts for now what a transaction keeps open for five minutes, and for good once it has ended', () => {
    const open = { watchedUntil: at(1), writersEnded: false };
    expect(nextRollUpStep(progress({ ...open, now: at(5, 59) }), 1)).toBeNull();
    const counts = { kind: 'count', from: at(0), to: at(1) };
    expect(nextRollUpStep(progress({ ...open, now: at(6) }), 1)).toEqual({ ...counts, isFinal: false });
    const counted = progress({ now: at(6), countedUntil: at(1), ...open });
    expect(nextRollUpStep(counted, 1)).toBeNull();
    expect(nextRollUpStep({ ...counted, writersEnded: true }, 1)).toEqual({ ...counts, isFinal: true });
  });

  it('waits for no transaction longer than a day', () => {
    const open = { watchedUntil: at(1), writersEnded: false, countedUntil: at(24 * 60) };
    expect(nextRollUpStep(progress({ ...open, now: at(24 * 60 + 1) }), 1)).toMatchObject({
      isFinal: true,
      to: at(1),
    });
  });

  it('sums up an hour once all of it is final', () => {
    const day = { now: at(65), finalUntil: at(60), countedUntil: at(60), firstMinute: at(3) };
    expect(nextRollUpStep(progress(day), 1)).toEqual({ kind: 'sum', from: NOON, to: NOON + HOUR_MS });
    const before = { ...day, finalUntil: at(59), countedUntil: at(60) };
    expect(nextRollUpStep(progress(before), 1)?.kind).not.toBe('sum');
  });

  it('passes over hours without a run in one step', () => {
    const idle = { now: at(600), finalUntil: at(600), countedUntil: at(600) };
    expect(nextRollUpStep(progress(idle), 1)).toEqual({ kind: 'sum', from: NOON, to: at(600) });
    expect(nextRollUpStep(progress({ ...idle, firstMinute: at(300) }), 1)).toMatchObject({ to: at(360) });
  });

  it('begins anew where the clock was set back', () => {
    expect(nextRollUpStep(progress({ now: at(-90, -3) }), 1)).toEqual({
      kind: 'reset',
      at: at(-101),
      hour: NOON - 2 * HOUR_MS,
    });
  });

  it('leads to the end, whatever happens on the way, and never backwards', { tags: 'check' }, () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 100_000 }),
        fc.infiniteStream(fc.boolean()),
        fc.integer({ min: 1, max: 600 }),
        (seconds, ended, maxMinutes) => {
          const answers = ended[Symbol.iterator]();
          let now = progress({ now: at(0, seconds) });
          for (let count = 0; count < 20_000; count++) {
            const step = nextRollUpStep(now, maxMinutes);
            const writersEnded = answers.next().value === true;
            if (step === null) {
              if (now.finalUntil >= at(0, seconds) - MINUTE_MS - 10_000) return;
              now = { ...now, writersEnded };
            } else if (step.kind === 'watch') {
              expect(step.until).toBeGreaterThan(now.finalUntil);
              now = { ...now, watchedUntil: step.until, writersEnded };
            } else if (step.kind === 'count') {
              expect(step.to).toBeGreaterThan(step.from);
              expect(step.from).toBe(step.isFinal ? now.finalUntil : now.countedUntil);
              now = afterStep(now, step);
            } else if (step.kind === 'sum') {
              expect(step.from).toBe(now.hoursUntil);
              expect(step.to).toBeGreaterThan(step.from);
              expect(step.to).toBeLessThanOrEqual(now.finalUntil);
              now = afterStep(now, step);
            } else throw new Error('the clock was not set back');
          }
          throw new Error('it does not come to an end');
        },
      ),
      { numRuns: 50 },
    );
  });
});

describe('where figures of a span are', () => {
  const is = (from: number, hoursUntil: number, countedUntil: number) => {
    const span = spanOfFigures(from, { now: at(1000), hoursUntil, countedUntil });
    return Object.fromEntries(Object.entries(span).map(([name, ms]) => [name, (ms - NOON) / MINUTE_MS]));
  };

  it('minutes up to a whole hour, hours, minutes again, then runs', () => {
    expect(is(at(-90, 20), at(180), at(203))).toEqual({
      from: -90,
      hoursFrom: -60,
      hoursTo: 180,
      liveFrom: 203,
    });
  });

  it('no hours where they lag', () => {
    expect(is(at(10), at(0), at(203))).toEqual({ from: 10, hoursFrom: 60, hoursTo: 60, liveFrom: 203 });
  });

  it('runs only, where nothing is counted', () => {
    expect(is(at(10), at(0), at(5))).toEqual({ from: 10, hoursFrom: 10, hoursTo: 10, liveFrom: 10 });
  });

  it('runs again from ten minutes before a clock that was set back', () => {
    const span = spanOfFigures(at(-120), { now: at(20, 30), hoursUntil: at(60), countedUntil: at(90) });
    expect(span).toEqual({ from: at(-120), hoursFrom: at(-120), hoursTo: NOON, liveFrom: at(10) });
  });

  it('each minute in one place', () => {
    fc.assert(
      fc.property(fc.integer({ min: -500, max: 500 }), fc.nat(8), fc.nat(100), (from, hours, more) => {
        const span = spanOfFigures(at(from), {
          now: at(1000),
          hoursUntil: at(hours * 60),
          countedUntil: at(hours * 60 + more),
        });
        expect(span.from).toBe(at(from));
        expect(span.hoursFrom).toBeGreaterThanOrEqual(span.from);
        expect(span.hoursTo).toBeGreaterThanOrEqual(span.hoursFrom);
        expect(span.liveFrom).toBeGreaterThanOrEqual(span.hoursTo);
        if (span.hoursTo > span.hoursFrom) {
          expect(span.hoursFrom % HOUR_MS).toBe(0);
          expect(span.hoursTo).toBeLessThanOrEqual(at(hours * 60));
        }
      }),
    );
  });
});
