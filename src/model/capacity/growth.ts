// How fast the number of runs grows: a line through the means of whole weeks, so that weekends do not matter.

/** Runs a day at an instant, and how that changes. Both are about the end of the last whole day. */
export interface Growth {
  readonly runsPerDay: number;
  /** By how much `runsPerDay` grows each day; null: less than two whole weeks are known. */
  readonly perDay: number | null;
}

const WEEK = 7;
const MAX_WEEKS = 8;

/**
 * @param days runs of each whole day, the latest last, without gaps
 * @param lastDay runs of the last 24 hours, where no whole day is known yet
 */
export function growthOf(days: readonly number[], lastDay: number): Growth {
  if (days.length === 0) return { runsPerDay: lastDay, perDay: null };
  const weeks = Math.min(Math.floor(days.length / WEEK), MAX_WEEKS);
  if (weeks < 2) return { runsPerDay: mean(days.slice(-WEEK)), perDay: null };
  const means = Array.from({ length: weeks }, (_, index) => {
    const end = days.length - (weeks - 1 - index) * WEEK;
    return mean(days.slice(end - WEEK, end));
  });
  const perWeek = slopeOf(means);
  // The line at the end of the last week: half a week after the middle of that week.
  const runsPerDay = mean(means) + perWeek * ((weeks - 1) / 2 + 0.5);
  return { runsPerDay: Math.max(runsPerDay, 0), perDay: perWeek / WEEK };
}

const mean = (values: readonly number[]) =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(values.length, 1);

/** Least squares over 0, 1, 2, … */
function slopeOf(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  const height = mean(values);
  let [products, squares] = [0, 0];
  for (const [index, value] of values.entries()) {
    products += (index - middle) * (value - height);
    squares += (index - middle) ** 2;
  }
  return products / squares;
}

/**
 * Days until something that is in proportion to the runs a day reaches `limit`. 0: it has. Null: never, or
 * the growth is not known.
 */
export function daysUntilRate(used: number, limit: number, { runsPerDay, perDay }: Growth): number | null {
  if (used >= limit) return 0;
  if (perDay === null || perDay <= 0 || used <= 0) return null;
  return (runsPerDay * (limit / used - 1)) / perDay;
}

/**
 * Days until what each run adds to for good has grown by `room`. 0: there is no room. Null: never. Where the
 * growth of the runs is not known, they stay as many.
 */
export function daysUntilSum(room: number, perRun: number, { runsPerDay, perDay }: Growth): number | null {
  if (room <= 0) return 0;
  if (perRun <= 0) return null;
  const runs = room / perRun;
  const slope = perDay ?? 0;
  if (slope === 0) return runsPerDay > 0 ? runs / runsPerDay : null;
  // runsPerDay * t + slope * t² / 2 = runs; where the runs become fewer, the sum may stay below.
  const root = runsPerDay ** 2 + 2 * slope * runs;
  return root < 0 ? null : (Math.sqrt(root) - runsPerDay) / slope;
}
