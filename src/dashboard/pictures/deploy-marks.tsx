// Deploys in a chart over time: a line for each, and their names below it.
import type { DeployRecord } from '../../model/deploys/deploys.js';
import { Time } from '../layout/parts.js';
import { plainLine } from '../layout/plain-text.js';
import type { View } from '../view.js';

/** Where in a chart a deploy lies: 0 its beginning, 1 its end. */
export interface DeployMark {
  readonly name: string;
  readonly share: number;
}

/** Those within a span, in epoch milliseconds, the earliest first. */
export function marksOf(
  deploys: readonly DeployRecord[],
  { from, to }: { readonly from: number; readonly to: number },
): readonly DeployMark[] {
  return deploys
    .map(({ name, at }) => ({ name, share: (at.getTime() - from) / (to - from) }))
    .filter(({ share }) => share >= 0 && share <= 1)
    .toReversed();
}

/** Within an SVG. */
export function MarkLines({
  marks,
  left = 0,
  width,
  top = 0,
  bottom,
}: {
  readonly marks: readonly DeployMark[];
  readonly left?: number;
  readonly width: number;
  readonly top?: number;
  readonly bottom: number;
}) {
  return (
    <>
      {marks.map(({ name, share }) => {
        const x = Math.round((left + share * width) * 10) / 10;
        return (
          <g class="deploy-mark">
            <title>{`deploy ${name}`}</title>
            <line x1={x} x2={x} y1={top} y2={bottom} />
          </g>
        );
      })}
    </>
  );
}

const MAX_NAMED = 6;

/** The names of the lines, the latest first. */
export function MarkNames({
  view,
  deploys,
  from,
}: {
  readonly view: View;
  readonly deploys: readonly DeployRecord[];
  /** Epoch milliseconds. */
  readonly from: number;
}) {
  const within = deploys.filter(({ at }) => at.getTime() >= from && at <= view.now);
  if (within.length === 0) return null;
  const more = within.length - MAX_NAMED;
  return (
    <p class="deploy-names">
      {within.slice(0, MAX_NAMED).map(({ name, at, note }) => (
        <span>
          <a href={view.link('/deploys')} title={note === null ? '' : plainLine(note, 200)}>
            {plainLine(name, 40)}
          </a>{' '}
          <Time view={view} at={at} relative />
        </span>
      ))}
      {more > 0 ? <a href={view.link('/deploys')}>{more} more</a> : null}
    </p>
  );
}
