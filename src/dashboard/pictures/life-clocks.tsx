// Clock times below the picture of a run's life, where there is room: its beginning, its end, its attempts.
import { CHARACTER } from './life-scale.js';

export interface LifeClocksProps {
  readonly places: readonly {
    readonly phase: { readonly kind: string; readonly from: number };
    readonly x: number;
  }[];
  /** In epoch milliseconds. */
  readonly end: number;
  readonly hasEnd: boolean;
  readonly left: number;
  readonly right: number;
  readonly y: number;
  readonly clock: (at: number) => string;
}

interface Label {
  readonly x: number;
  readonly text: string;
  readonly anchor: 'start' | 'middle' | 'end';
}

const APART = 10;

export function LifeClocks({ places, end, hasEnd, left, right, y, clock }: LifeClocksProps) {
  const [first] = places;
  if (first === undefined) return null;
  const wanted: readonly Label[] = [
    { x: left, text: clock(first.phase.from), anchor: 'start' },
    ...(hasEnd ? [{ x: right, text: clock(end), anchor: 'end' as const }] : []),
    ...places
      .filter(({ phase }) => phase.kind === 'attempt')
      .map(({ phase, x }) => ({ x, text: clock(phase.from), anchor: 'middle' as const })),
  ];
  return (
    <g class="l-clocks">
      <line class="grid-line" x1={left} x2={right} y1={y - 15} y2={y - 15} />
      {withRoom(wanted, left, right).map(({ x, text, anchor }) => (
        <>
          <line class="grid-line" x1={x} x2={x} y1={y - 19} y2={y - 11} />
          <text x={x} y={y + 4} text-anchor={anchor}>
            {text}
          </text>
        </>
      ))}
    </g>
  );
}

/** Those that overlap none before them in the list. */
function withRoom(labels: readonly Label[], left: number, right: number): readonly Label[] {
  const taken: (readonly [number, number])[] = [];
  return labels.filter(({ x, text, anchor }) => {
    const width = text.length * CHARACTER;
    const from = anchor === 'start' ? x : anchor === 'end' ? x - width : x - width / 2;
    const to = from + width;
    if (from < left || to > right || taken.some(([a, b]) => from < b + APART && to > a - APART)) return false;
    taken.push([from, to]);
    return true;
  });
}
