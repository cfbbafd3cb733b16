// Runs a minute over the last hour, by how they ended: what succeeded above the line, what is dead below it.
import type { FinishedStatus } from '../../model/run/states.js';
import { clockTime, numberText } from '../layout/text.js';
import { type DeployMark, MarkLines } from './deploy-marks.js';

export type Minute = Readonly<Record<FinishedStatus, number>> & { readonly at: Date };

const WIDTH = 640;
const LEFT = 46;
const TOP = 16;
const ABOVE = 120;
const BELOW = 34;
const HEIGHT = TOP + ABOVE + BELOW + 22;
const LINE = TOP + ABOVE;
/** What is there is seen, however little it is beside the rest. */
const MIN_BAR = 2.5;

export function Minutes({
  minutes,
  zone,
  marks,
}: {
  readonly minutes: readonly Minute[];
  readonly zone: string;
  readonly marks: readonly DeployMark[];
}) {
  const step = (WIDTH - LEFT) / minutes.length;
  const top = scaleOf(Math.max(...minutes.map(aboveOf), 1));
  const height = (count: number, max: number) =>
    count === 0 ? 0 : Math.min(max, Math.max(MIN_BAR, (count / top) * ABOVE));
  return (
    <svg
      class="minutes"
      viewBox={`0 0 ${WIDTH} ${HEIGHT}`}
      width="100%"
      role="img"
      aria-label={summary(minutes)}
    >
      {[0.5, 1].map(share => (
        <>
          <line class="grid-line" x1={LEFT} x2={WIDTH} y1={LINE - share * ABOVE} y2={LINE - share * ABOVE} />
          <text x={LEFT - 8} y={LINE - share * ABOVE + 4} text-anchor="end">
            {numberText(top * share)}
          </text>
        </>
      ))}
      {minutes.map((minute, index) => {
        const x = px(LEFT + index * step + 0.75);
        const width = px(step - 1.5);
        const ran = height(minute.succeeded, ABOVE);
        const other = height(minute.skipped + minute.cancelled, ABOVE - ran);
        const dead = height(minute.dead, BELOW);
        return (
          <g>
            <title>{minuteText(minute, zone)}</title>
            <rect class="f-none" x={x} y={TOP} width={width} height={ABOVE + BELOW} />
            {ran > 0 ? (
              <rect class="f-ok" x={x} y={px(LINE - ran)} width={width} height={px(ran)} rx="1" />
            ) : null}
            {other > 0 ? (
              <rect
                class="f-other"
                x={x}
                y={px(LINE - ran - other)}
                width={width}
                height={px(Math.max(1, other - 0.75))}
                rx="1"
              />
            ) : null}
            {dead > 0 ? (
              <rect class="f-dead" x={x} y={LINE + 1.5} width={width} height={px(dead)} rx="1" />
            ) : null}
          </g>
        );
      })}
      <MarkLines marks={marks} left={LEFT} width={WIDTH - LEFT} top={TOP} bottom={LINE + BELOW} />
      <line class="axis" x1={LEFT} x2={WIDTH} y1={LINE + 0.5} y2={LINE + 0.5} />
      <text x={LEFT - 8} y={LINE + 4} text-anchor="end">
        0
      </text>
      {minutes.map(({ at }, index) =>
        index % 15 === 0 ? (
          <text class={index % 30 === 0 ? '' : 'odd'} x={px(LEFT + index * step)} y={HEIGHT - 4}>
            {clockTime(at, zone)}
          </text>
        ) : null,
      )}
      <text x={WIDTH} y={HEIGHT - 4} text-anchor="end">
        now
      </text>
    </svg>
  );
}

/** The same as a table: the minutes in which something ended, the latest first. */
export function MinutesTable({
  minutes,
  zone,
}: {
  readonly minutes: readonly Minute[];
  readonly zone: string;
}) {
  const ended = minutes.filter(minute => aboveOf(minute) + minute.dead > 0).toReversed();
  return (
    <table>
      <thead>
        <tr>
          <th>Minute</th>
          <th class="n">Succeeded</th>
          <th class="n">Dead</th>
          <th class="n">Skipped</th>
          <th class="n">Cancelled</th>
        </tr>
      </thead>
      <tbody>
        {ended.map(({ at, succeeded, dead, skipped, cancelled }) => (
          <tr>
            <td>{clockTime(at, zone)}</td>
            {[succeeded, dead, skipped, cancelled].map(count => (
              <td class="n">{numberText(count)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

const aboveOf = ({ succeeded, skipped, cancelled }: Minute) => succeeded + skipped + cancelled;
const px = (value: number) => Math.round(value * 100) / 100;

/** The next of 2, 4, 6, 10, 20, 40 … whose half is a whole number. */
function scaleOf(max: number): number {
  for (let unit = 1; ; unit *= 10)
    for (const step of [2, 4, 6, 10]) if (step * unit >= max) return step * unit;
}

function minuteText(minute: Minute, zone: string): string {
  const parts = (['succeeded', 'dead', 'skipped', 'cancelled'] as const)
    .filter(status => minute[status] > 0)
    .map(status => `${numberText(minute[status])} ${status}`);
  return `${clockTime(minute.at, zone)}: ${parts.length === 0 ? 'nothing ended' : parts.join(', ')}`;
}

function summary(minutes: readonly Minute[]): string {
  const sum = (status: FinishedStatus) => minutes.reduce((total, minute) => total + minute[status], 0);
  const most = minutes.reduce((best, minute) => Math.max(best, minute.succeeded), 0);
  return `Runs that ended in each of the last ${minutes.length} minutes: ${sum('succeeded')} succeeded, ${sum('dead')} dead, ${sum('skipped')} skipped, ${sum('cancelled')} cancelled; at most ${most} succeeded in one minute`;
}
