// The counters: what has ended since the schema was made, by job, queue, status and reason.
import type { CountedRuns } from '../../../model/metrics/metrics.js';
import type { FinishedStatus } from '../../../model/run/states.js';
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { epochMs } from '../../connection/values/readable-instant.js';
import { countEnded, FIGURES, HISTOGRAMS, KEY, sumOfFigures } from '../../figures/ended-runs.js';
import { readProgress } from '../../figures/roll-up.js';

/** A sum, and the row of figures_progress, which is there also without any sum. */
interface Row {
  readonly finalUntil: number;
  readonly hoursUntil: number;
  /** Counted for good. Null: there is no sum. */
  readonly isFinal: boolean | null;
  readonly job: string;
  readonly queue: string;
  readonly status: FinishedStatus;
  readonly reason: string;
  readonly runs: number;
  readonly occurrences: number;
  readonly durationUs: string;
  readonly waitUs: string;
  readonly durations: string | null;
  readonly waits: string | null;
}

const bucketsText = HISTOGRAMS.map(column => `array_to_string(s.${column}, ',') as ${column}`).join(', ');

// Base, minutes and runs meet at what the same snapshot says. :from only lets the planner know how few runs
// it is. With :since, only what was counted from then on is read. Minutes are summed before the base is
// added: its arrays are of another type, to which each of theirs would be converted.
const TOTALS = statement<{ from: Date; to: string; since: Date | null }, Row>(
  'read-totals',
  `
with progress as materialized (
  select p.final_until, p.counted_until, p.hours_until from tock.figures_progress p
), ${countEnded('uncounted', 'r.finished_at >= (select p.counted_until from progress p)')}, minutes as (
  select m.at < (select p.final_until from progress p) as is_final, ${FIGURES} from tock.figures_by_minute m
  where m.at >= coalesce(:since::timestamptz, (select p.hours_until from progress p)) and m.at < (select p.counted_until from progress p)
  union all
  select false, ${FIGURES} from uncounted
), parts as (
  select is_final, ${KEY}, ${sumOfFigures('m')} from minutes m group by is_final, ${KEY}
  union all
  select true, ${FIGURES} from tock.figures_total where :since::timestamptz is null
), sums as (
  select is_final, ${KEY}, ${sumOfFigures('f')} from parts f group by is_final, ${KEY}
)
select ${epochMs('p.final_until')} as "finalUntil", ${epochMs('p.hours_until')} as "hoursUntil", s.is_final as "isFinal",
  s.job, s.queue, s.status, s.reason, s.run_count::float8 as runs, s.occurrence_count::float8 as occurrences,
  s.duration_us::text as "durationUs", s.wait_us::text as "waitUs", ${bucketsText}
from progress p left join sums s on true`,
);

/** A sum in whole numbers: of fractions it would depend on their order, and a counter might fall. */
interface Sum {
  readonly key: Pick<CountedRuns, 'job' | 'queue' | 'status' | 'reason'>;
  readonly runs: number;
  readonly occurrences: number;
  readonly durationUs: bigint;
  readonly waitUs: bigint;
  readonly durations: readonly number[] | null;
  readonly waits: readonly number[] | null;
}
type Sums = ReadonlyMap<string, Sum>;

/** What is counted for good: what ended before `until`. */
interface Base {
  readonly until: number;
  readonly hoursUntil: number;
  readonly sums: Sums;
}

/**
 * The counters of all jobs. They count ends: each once, retried runs with each of their ends. They never
 * fall, also when retention drops runs.
 */
export async function readTotals(session: Session): Promise<CountedRuns[]> {
  return await createTotalsReader()(session);
}

/**
 * {@link readTotals} for who reads again and again: it keeps the sum of what is counted for good, and reads
 * what was counted since. With each hour that is summed up, which leaves few minutes to read, it begins anew.
 */
export function createTotalsReader(): (session: Session) => Promise<CountedRuns[]> {
  let kept: Base | null = null;
  return async session => {
    const { countedUntil } = await readProgress(session);
    const read = async (since: Date | null) =>
      await TOTALS.run(session, { from: new Date(countedUntil), to: 'infinity', since });
    let base = kept;
    let rows = await read(base && new Date(base.until));
    if (base !== null && !goesOn(base, rows)) {
      base = null;
      rows = await read(null);
    }
    const final = plus(
      base?.sums ?? new Map(),
      rows.filter(({ isFinal }) => isFinal === true),
    );
    const [{ finalUntil: until, hoursUntil } = { finalUntil: 0, hoursUntil: 0 }] = rows;
    kept = { until, hoursUntil, sums: final };
    const all = plus(
      final,
      rows.filter(({ isFinal }) => isFinal === false),
    );
    return [...all]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([, { key, durationUs, waitUs, ...sum }]) => ({
        ...key,
        ...sum,
        durationSeconds: Number(durationUs) / 1e6,
        waitSeconds: Number(waitUs) / 1e6,
      }));
  };
}

/** Not after the clock was set back, since minutes are counted again then. */
const goesOn = ({ until, hoursUntil }: Base, [row]: readonly Row[]): boolean =>
  row !== undefined && row.finalUntil >= until && row.hoursUntil === hoursUntil;

function plus(sums: Sums, rows: readonly Row[]): Sums {
  if (rows.length === 0) return sums;
  const result = new Map(sums);
  for (const { job, queue, status, reason, ...row } of rows) {
    const key = JSON.stringify([job, queue, status, reason]);
    const before = result.get(key);
    result.set(key, {
      key: { job, queue, status, reason },
      runs: row.runs + (before?.runs ?? 0),
      occurrences: row.occurrences + (before?.occurrences ?? 0),
      durationUs: BigInt(row.durationUs) + (before?.durationUs ?? 0n),
      waitUs: BigInt(row.waitUs) + (before?.waitUs ?? 0n),
      durations: bucketsOf(row.durations, before?.durations ?? null),
      waits: bucketsOf(row.waits, before?.waits ?? null),
    });
  }
  return result;
}

function bucketsOf(text: string | null, before: readonly number[] | null): readonly number[] | null {
  if (text === null) return before;
  const counts = text.split(',').map(Number);
  return before === null ? counts : counts.map((count, index) => count + (before[index] ?? 0));
}
