// The occurrences around a switch: what the old scheduler starts until it, and what Tock runs from its first tick on.

import { startsByTheClock, type Times } from '../../../src/import/elsewhere/times.js';
import type { AnyJob } from '../../../src/index.js';
import { findZone } from '../../../src/model/schedule/zone/zone.js';
import { openTestTock } from '../../support/test-tock.js';

const MINUTE = 60_000;

export interface AroundSwitch {
  /** Of the old scheduler, until the switch. */
  readonly before: readonly string[];
  /** Of Tock. */
  readonly after: readonly string[];
  /** All that there are in this time. */
  readonly all: readonly string[];
}

/**
 * Registers the imported jobs at the switch, by a clock that the test sets, and ticks each minute from then on.
 * @param times those of the first job, by which the old scheduler goes
 */
export async function aroundSwitch(
  jobs: readonly AnyJob[],
  { times, timezone }: { readonly times: Times; readonly timezone: string },
  [from, switched, to]: readonly [from: string, switched: string, to: string],
): Promise<AroundSwitch> {
  const [start, middle, end] = [Date.parse(from), Date.parse(switched), Date.parse(to)];
  const test = await openTestTock(jobs);
  try {
    for (let at = middle; at <= end; at += MINUTE) {
      await test.setClock(new Date(at).toISOString());
      await test.tock.tick();
    }
    const rows = await test.sql<{ at: Date }>(
      `select scheduled_for as at from tock.job_runs where scheduled_for is not null and status <> 'skipped' and job = $1 order by 1`,
      [jobs[0]?.name],
    );
    const text = (at: number | Date) => new Date(at).toISOString();
    const starts = (a: number, b: number) => startsByTheClock(times, findZone(timezone), a, b).map(text);
    return {
      before: starts(start, middle + 1),
      after: rows.map(({ at }) => text(at)),
      all: starts(start, end + 1),
    };
  } finally {
    await test.close();
  }
}
