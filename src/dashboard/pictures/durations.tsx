// How long the last runs took: a dot each, the median and the 95th percentile as lines.
import type { Occurrence } from '../../model/occurrences/occurrence.js';
import { stateText } from '../../model/occurrences/occurrence.js';
import { spanText } from '../layout/text.js';
import { px } from './mark.js';

export interface DurationsProps {
  /** Oldest first. */
  readonly occurrences: readonly Occurrence[];
  readonly p50: number | null;
  readonly p95: number | null;
  readonly timeText: (at: number) => string;
  readonly hrefOf: (occurrence: Occurrence) => string;
}

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [560, 150, 44, 44, 10, 18];

/** How long the last attempt took; null where it never began, or has not ended. */
export function tookMs({ startedAt, finishedAt, state }: Occurrence): number | null {
  if (startedAt === null || finishedAt === null || state === 'skipped') return null;
  return Math.max(finishedAt - startedAt, 0);
}

export function Durations({ occurrences, p50, p95, timeText, hrefOf }: DurationsProps) {
  const dots = occurrences.flatMap(occurrence => {
    const took = tookMs(occurrence);
    return took === null ? [] : [{ occurrence, took }];
  });
  if (dots.length === 0) return null;
  const top = niceCeiling(Math.max(...dots.map(({ took }) => took), 1));
  const y = (ms: number) => px(TOP + (1 - ms / top) * (HEIGHT - TOP - BOTTOM));
  const step = (WIDTH - LEFT - RIGHT) / Math.max(dots.length - 1, 1);
  const x = (index: number) => px(LEFT + (dots.length === 1 ? (WIDTH - LEFT - RIGHT) / 2 : index * step));
  const [first, last] = [dots[0], dots.at(-1)];
  const label = `the last ${dots.length} runs took ${p50 === null ? '' : `${spanText(p50)} in the median, `}${spanText(Math.max(...dots.map(({ took }) => took)))} at most`;
  return (
    <svg class="durations" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width="100%" role="group" aria-label={label}>
      {[0, 0.5, 1].map(part => (
        <>
          <line class="grid-line" x1={LEFT} x2={WIDTH - RIGHT} y1={y(top * part)} y2={y(top * part)} />
          <text x={LEFT - 6} y={y(top * part) + 4} text-anchor="end">
            {part === 0 ? '0' : spanText(top * part)}
          </text>
        </>
      ))}
      <Level name="p50" at={p50} y={y} isLow={p95 !== null && p50 !== null && y(p50) - y(p95) < 11} />
      <Level name="p95" at={p95} y={y} isLow={false} />
      {dots.map(({ occurrence, took }, index) => (
        <a href={hrefOf(occurrence)} tabindex={-1}>
          <title>{`${timeText(occurrence.at)}: ${stateText(occurrence)}, ${spanText(took)}`}</title>
          <Dot state={occurrence.state} x={x(index)} y={y(took)} />
        </a>
      ))}
      {first === undefined ? null : (
        <text class="dates" x={LEFT} y={HEIGHT - 3}>
          {timeText(first.occurrence.at)}
        </text>
      )}
      {last === undefined || last === first ? null : (
        <text class="dates" x={WIDTH - RIGHT} y={HEIGHT - 3} text-anchor="end">
          {timeText(last.occurrence.at)}
        </text>
      )}
    </svg>
  );
}

function Dot({
  state,
  x,
  y,
}: {
  readonly state: Occurrence['state'];
  readonly x: number;
  readonly y: number;
}) {
  if (state === 'dead')
    return (
      <rect class="f-dead" x={x - 3} y={y - 3} width="6" height="6" transform={`rotate(45 ${x} ${y})`} />
    );
  if (state === 'retried' || state === 'failed')
    return (
      <polygon
        class="f-retry"
        points={`${x},${px(y - 4)} ${px(x + 4)},${px(y + 3)} ${px(x - 4)},${px(y + 3)}`}
      />
    );
  if (state === 'cancelled') return <circle class="m-line" cx={x} cy={y} r="2.8" />;
  return <circle class="f-ok" cx={x} cy={y} r="3" />;
}

function Level({
  name,
  at,
  y,
  isLow,
}: {
  readonly name: string;
  readonly at: number | null;
  readonly y: (ms: number) => number;
  readonly isLow: boolean;
}) {
  if (at === null) return null;
  return (
    <>
      <line class="level" x1={LEFT} x2={WIDTH - RIGHT} y1={y(at)} y2={y(at)} />
      <text class="level-text" x={WIDTH - RIGHT + 5} y={y(at) + (isLow ? 12 : 4)}>
        {name}
      </text>
    </>
  );
}

/** The least of 1, 2, 5 times a power of ten, in the unit that a person would take, that is not below. */
function niceCeiling(ms: number): number {
  const unit = ms >= 3_600_000 ? 3_600_000 : ms >= 60_000 ? 60_000 : ms >= 1000 ? 1000 : 1;
  const value = ms / unit;
  const power = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 2, 4, 6, 10].find(each => each * power >= value) ?? 10;
  return factor * power * unit;
}
