// The picture of a run's life: where its phases lie, and what it says without being seen.
import { describe, expect, it } from 'vitest';
import { positionOf, scaleLife } from '../../src/dashboard/pictures/life-scale.js';
import { RunLifePicture } from '../../src/dashboard/pictures/run-life.js';
import { Sparkline } from '../../src/dashboard/pictures/sparkline.js';
import type { Phase, PhaseKind } from '../../src/model/run/run-life.js';
import { fc } from '../support/seed.js';
import { words } from './runs-kit.js';

const KINDS: readonly PhaseKind[] = ['delay', 'wait', 'backoff', 'asleep', 'attempt', 'lost'];

/** Phases of these lengths, one after the other. */
const phases = (...lengths: readonly (readonly [PhaseKind, number])[]): Phase[] => {
  let at = 0;
  return lengths.map(([kind, ms], index) => {
    const phase: Phase = {
      kind,
      from: at,
      to: at + ms,
      attempt: index + 1,
      outcome: kind === 'attempt' ? 'failed' : null,
      worker: null,
      error: null,
      wait: null,
      isOpen: false,
    };
    at += ms;
    return phase;
  });
};

describe('scaleLife', () => {
  it('is to scale where every attempt is still seen', () => {
    const { placed, isToScale } = scaleLife(phases(['wait', 1000], ['attempt', 3000]), 1000);
    expect(isToScale).toBe(true);
    expect(placed.map(({ x, width }) => [x, width])).toEqual([
      [0, 250],
      [250, 750],
    ]);
  });

  it('keeps a second visible beside a day, and the longer the wider', () => {
    const { placed, isToScale } = scaleLife(
      phases(['delay', 86_400_000], ['attempt', 1000], ['backoff', 60_000], ['attempt', 9000]),
      1000,
    );
    expect(isToScale).toBe(false);
    const [day = 0, second = 0, minute = 0, nine = 0] = placed.map(({ width }) => width);
    expect(second).toBeGreaterThanOrEqual(30);
    expect(nine).toBeGreaterThan(second);
    expect(minute).toBeGreaterThan(second);
    expect(day).toBeGreaterThan(minute);
  });

  it('leaves no gap, fills the width, and finds each instant in its phase', () => {
    const length = fc.tuple(fc.constantFrom(...KINDS), fc.integer({ min: 0, max: 100_000_000 }));
    fc.assert(
      fc.property(fc.array(length, { minLength: 1, maxLength: 21 }), lengths => {
        const all = phases(...lengths);
        const { placed, width } = scaleLife(all, 1000);
        let x = 0;
        for (const place of placed) {
          expect(place.x).toBeCloseTo(x, 6);
          x += place.width;
          const middle = positionOf([place], (place.phase.from + place.phase.to) / 2);
          expect(middle).toBeCloseTo(place.x + place.width / 2, 6);
        }
        expect(x).toBeCloseTo(width, 6);
        expect(width).toBeGreaterThanOrEqual(Math.min(1000, x) - 1e-6);
        expect(positionOf(placed, (all.at(-1)?.to ?? 0) + 1)).toBeNull();
      }),
    );
  });
});

/** What a component becomes on a page. */
const drawn = (node: { toString(): string | Promise<string> }): string => node.toString() as string;

describe('the picture', () => {
  const life = (all: readonly Phase[]) => ({
    phases: all,
    from: 0,
    to: all.at(-1)?.to ?? 0,
    now: all.at(-1)?.to ?? 0,
    workedMs: 0,
    waitedMs: 0,
  });
  const draw = (all: readonly Phase[], marks: Parameters<typeof RunLifePicture>[0]['marks'] = []) =>
    drawn(RunLifePicture({ life: life(all), status: 'dead', marks, waitsFor: null, clock: at => `t${at}` }));

  it('says in words what it shows, and has a legend of what is there only', () => {
    const svg = draw(phases(['wait', 1000], ['attempt', 3000]));
    expect(svg).toContain('aria-label="1 attempt in 4s, 1 failed, now dead; the list below says the same"');
    expect(words(svg)).toContain('failed due, waits');
    expect(words(svg)).not.toContain('succeeded');
    expect(svg).not.toMatch(/NaN|undefined|style=/);
  });

  it('shows marks where they happened, and none that lie outside', () => {
    const mark = (at: number) => ({ kind: 'effect' as const, at, label: `<b>${at}` });
    const svg = draw(phases(['attempt', 3000]), [mark(1500), mark(9000)]);
    expect(svg.match(/class="l-effect"/g)).toHaveLength(1);
    expect(svg).toContain('&lt;b&gt;1500');
  });

  it('shortens a life of hundreds of attempts', () => {
    const many = phases(
      ...Array.from({ length: 400 }, (_, n) => [n % 2 ? 'attempt' : 'backoff', 1000 + n] as const),
    );
    const svg = draw(many);
    expect(svg.length).toBeLessThan(20_000);
    expect(words(draw(many))).not.toContain('NaN');
    expect(svg).toMatch(/\d+ more attempts/);
  });

  it('draws lives without length', () => {
    for (const all of [phases(['attempt', 0]), phases(['wait', 0], ['attempt', 0])])
      expect(draw(all)).not.toContain('NaN');
  });
});

it('a sparkline has a bar and a row for each part that is not empty', () => {
  const svg = drawn(
    Sparkline({ counts: [0, 1, 1000, 0], what: 'dead runs', times: ['a', 'b', 'c', 'd'], look: 'dead' }),
  );
  expect(svg.match(/<rect/g)).toHaveLength(2);
  expect(words(svg)).toMatch(/dead runs b 1 c 1000/);
  const [small, large] = [...svg.matchAll(/height="([\d.]+)" rx/g)].map(([, height]) => Number(height));
  expect(small).toBeGreaterThanOrEqual(2);
  expect(large).toBeGreaterThan(20);
  expect(drawn(Sparkline({ counts: [0, 0], what: 'x', times: ['a', 'b'], look: 'retry' }))).not.toContain(
    'NaN',
  );
});
