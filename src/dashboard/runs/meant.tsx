// For a job of which there is no run: jobs whose names are like it.
import { nearMisses } from '../../model/nearest.js';
import type { FilterText } from '../../model/run/match/filter-text.js';
import type { RunOrder } from '../../model/run/match/run-order.js';
import type { View } from '../view.js';
import { listQuery } from './filter.js';

export function Meant({
  view,
  text,
  jobs,
  order,
}: {
  readonly view: View;
  readonly text: FilterText;
  /** Names that may have been meant. */
  readonly jobs: readonly string[];
  readonly order: RunOrder | undefined;
}) {
  const near = text.job === '' || jobs.includes(text.job) ? [] : nearMisses(text.job, jobs);
  if (near.length === 0) return null;
  return (
    <p>
      Did you mean{' '}
      {near.map((job, index) => (
        <>
          {index === 0 ? '' : ' or '}
          <a href={view.link('/runs', listQuery(text, order, { job }))}>{job}</a>
        </>
      ))}
      ?
    </p>
  );
}
