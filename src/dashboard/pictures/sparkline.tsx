// How many over time, as small bars. The same numbers stand in a table for those who do not see it.
import { numberText } from '../layout/text.js';

export interface SparklineProps {
  readonly counts: readonly number[];
  /** What is counted: `dead runs`. */
  readonly what: string;
  /** The beginning of each part. */
  readonly times: readonly string[];
  readonly look: 'dead' | 'retry';
}

const WIDTH = 168;
const HEIGHT = 30;
const GAP = 1.5;

export function Sparkline({ counts, what, times, look }: SparklineProps) {
  const most = Math.max(...counts, 1);
  const step = WIDTH / counts.length;
  const last = counts.findLastIndex(count => count > 0);
  const total = counts.reduce((sum, count) => sum + count, 0);
  const round = (number: number) => Math.round(number * 10) / 10;
  return (
    <>
      <svg
        class="spark"
        viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
        width={WIDTH}
        height={HEIGHT}
        role="img"
        aria-label={`${numberText(total)} ${what}; at most ${numberText(most)} at once, the last ${last < 0 ? 'never' : `after ${times[last] ?? ''}`}`}
      >
        <line class="grid-line" x1="0" x2={WIDTH} y1={HEIGHT - 0.5} y2={HEIGHT - 0.5} />
        {counts.map((count, index) => {
          if (count === 0) return null;
          // A single one is seen beside a thousand.
          const height = Math.max((count / most) * (HEIGHT - 2), 2.5);
          return (
            <rect
              class={`f-${look}`}
              x={round(index * step + GAP / 2)}
              y={round(HEIGHT - 1 - height)}
              width={round(Math.max(step - GAP, 1))}
              height={round(height)}
              rx="1"
            >
              <title>{`${times[index] ?? ''}: ${numberText(count)}`}</title>
            </rect>
          );
        })}
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
