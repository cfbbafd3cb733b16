// All runs that match, newest first, in batches: for files that people download.
import type { RunFilter, RunRecord } from '../../model/run/run-record.js';

const BATCH_SIZE = 500;

/**
 * @param list gives a page, as `runs.list`
 * @param limit at most this many
 */
export async function* walkRuns(
  list: (filter: RunFilter) => Promise<readonly RunRecord[]>,
  filter: RunFilter,
  limit: number,
): AsyncGenerator<readonly RunRecord[]> {
  let left = limit;
  for (let before = filter.before; left > 0; ) {
    const size = Math.min(left, BATCH_SIZE);
    const runs = await list({ ...filter, ...(before === undefined ? {} : { before }), limit: size });
    if (runs.length > 0) yield runs;
    if (runs.length < size) return;
    left -= runs.length;
    before = runs.at(-1)?.id;
  }
}
