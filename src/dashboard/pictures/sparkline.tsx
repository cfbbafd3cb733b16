// How many over time, as small bars. The same numbers stand in a table for those who do not see it.
import { numberText } from '../layout/text.js';
import { type DeployMark, MarkLines } from './deploy-marks.js';

export interface SparklineProps {
  readonly counts: readonly number[];
  /** What is counted: `dead runs`. */
  readonly what: string;
  /** The beginning of each part. */
  readonly times: readonly string[];
  readonly look: 'dead' | 'retry' | 'ok';
  /** Default 168 by 30. */
  readonly width?: number;
  readonly height?: number;
  /** Deploys in this time. */
  readonly marks?: readonly DeployMark[];
}

const GAP = 1.5;

export function Sparkline({
  counts,
  what,
  times,
  look,
  width = 168,
  height = 30,
  marks = [],
}: SparklineProps) {
  const most = Math.max(...counts, 1);
  const step = width / counts.length;
  const last = counts.findLastIndex(count => count > 0);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const round = (number: number) => Math.round(number * 10) / 10;
  return (
    <>
      <svg
        class="spark"
        viewBox={`0 0 ${width} ${height}`}
        width={width}
        height={height}
        role="img"
        preserveAspectRatio="none"
        aria-label={`${numberText(total)} ${what}; at most ${numberText(most)} at once, the last ${last < 0 ? 'never' : `after ${times[last] ?? ''}`}`}
      >
        <line class="grid-line" x1="0" x2={width} y1={height - 0.5} y2={height - 0.5} />
        {counts.map((count, index) => {
          if (count === 0) return null;
          // A single one is seen beside a thousand.
          const bar = Math.max((count / most) * (height - 2), 2.5);
          return (
            <rect
              class={`f-${look}`}
              x={round(index * step + GAP / 2)}
              y={round(height - 1 - bar)}
              width={round(Math.max(step - GAP, 1))}
              height={round(bar)}
              rx="1"
            >
              <title>{`${times[index] ?? ''}: ${numberText(count)}`}</title>
            </rect>
          );
        })}
        <MarkLines marks={marks} width={width} bottom={height} />
      </svg>
      <table class="unseen">
        <caption>{what}</caption>
        <tbody>
          {counts.map((count, index) =>
            count === 0 ? null : (
              <tr>
                <th scope="row">{times[index]}</th>
                <td>{count}</td>
              </tr>
            ),
          )}
        </tbody>
      </table>
    </>
  );
}
