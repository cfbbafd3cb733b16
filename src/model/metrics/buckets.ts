// Buckets of durations: what is kept of them when runs are counted, and what can be said from that.

/**
 * The upper bounds of the buckets in seconds, each included: 1, 2, 5, 10 ms … up to 14 hours. One more
 * bucket has what lasted longer.
 */
export const BUCKET_BOUNDS: readonly number[] = [
  0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000,
  10_000, 20_000, 50_000,
];

/**
 * An estimate from counts by bucket, in seconds, interpolated within the bucket; the last bound for what lies
 * above it. Null without a count.
 * @param counts one for each bound, and one for what lies above the last
 * @param share from 0 to 1: 0.95 for the p95
 */
export function percentile(counts: readonly number[], share: number): number | null {
  const total = counts.reduce((sum, count) => sum + count, 0);
  if (total === 0) return null;
  let rank = share * total;
  for (const [index, count] of counts.entries()) {
    if (count > 0 && rank <= count) {
      const low = index === 0 ? 0 : (BUCKET_BOUNDS[index - 1] as number);
      const high = BUCKET_BOUNDS[index] ?? low;
      return low + (high - low) * (rank / count);
    }
    rank -= count;
  }
  return BUCKET_BOUNDS.at(-1) as number;
}
