// Where the phases of a run's life lie in its picture. To scale if each attempt is still seen; otherwise
// longer is wider, but by the logarithm: a run may wait for a day and work for a second.
import type { Phase } from '../../model/run/run-life.js';

/** In units of the picture. */
export interface Placed<Part extends Pick<Phase, 'kind' | 'from' | 'to'> = Phase> {
  readonly phase: Part;
  readonly x: number;
  readonly width: number;
}

export interface LifeScale<Part extends Pick<Phase, 'kind' | 'from' | 'to'> = Phase> {
  readonly placed: readonly Placed<Part>[];
  readonly isToScale: boolean;
  /** Of all phases: at least what was asked for, more if there are many. */
  readonly width: number;
}

/** The width of a character of the labels, on average. */
export const CHARACTER = 6.6;
/** Room for the number of an attempt, and for a wait to be seen as one. */
const MIN_ATTEMPT = 30;
const MIN_WAIT = 22;
/** Below this, waits to scale would hide beside attempts. */
const MIN_TO_SCALE = 3;

type Part = Pick<Phase, 'kind' | 'from' | 'to'>;

export function scaleLife<P extends Part>(phases: readonly P[], width: number): LifeScale<P> {
  const total = phases.reduce((ms, { from, to }) => ms + to - from, 0);
  const linear = phases.map(({ from, to }) => (total === 0 ? 0 : ((to - from) / total) * width));
  const isToScale =
    total > 0 &&
    phases.every((phase, index) => (linear[index] ?? 0) >= (isAttempt(phase) ? MIN_ATTEMPT : MIN_TO_SCALE));
  if (isToScale) return { placed: place(phases, linear), isToScale, width };
  const least = phases.map(phase => (isAttempt(phase) ? MIN_ATTEMPT : MIN_WAIT));
  const room = Math.max(0, width - sum(least));
  // A quarter of a second counts as hardly anything.
  const weights = phases.map(({ from, to }) => (total === 0 ? 1 : Math.log1p((to - from) / 250)));
  const weight = sum(weights);
  const widths = least.map((min, index) => min + (room * (weights[index] ?? 0)) / weight);
  return { placed: place(phases, widths), isToScale, width: sum(widths) };
}

const isAttempt = ({ kind }: Part) => kind === 'attempt' || kind === 'lost';
const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);

function place<P extends Part>(phases: readonly P[], widths: readonly number[]): Placed<P>[] {
  let x = 0;
  return phases.map((phase, index) => {
    const width = widths[index] ?? 0;
    const placed = { phase, x, width };
    x += width;
    return placed;
  });
}

/** Where an instant lies, `shift` to the right; null outside of all phases. */
export function positionOf(placed: readonly Placed<Part>[], at: number, shift = 0): number | null {
  for (const { phase, x, width } of placed) {
    if (at < phase.from || at > phase.to) continue;
    const length = phase.to - phase.from;
    return shift + x + (length === 0 ? width / 2 : (width * (at - phase.from)) / length);
  }
  return null;
}
