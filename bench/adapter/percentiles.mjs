// Percentiles of the last seconds in bounded memory: a histogram for each second, in a ring.
// In: milliseconds. Out: percentiles with three significant figures.

/** Milliseconds. What is less is taken as this. */
const LEAST = 0.001;
const MOST = 1e7;
/** From one bucket to the next, so that its middle is off by 0.05 % at most. */
const STEP = Math.log(1.001);
const BUCKETS = Math.ceil(Math.log(MOST / LEAST) / STEP) + 1;

const bucketOf = ms => Math.min(BUCKETS - 1, Math.floor(Math.log(Math.max(ms, LEAST) / LEAST) / STEP));
const middleOf = bucket => LEAST * Math.exp((bucket + 0.5) * STEP);

/** Over the last `window` whole seconds. Memory: 90 kB for each of them, whatever the count. */
export function rollingPercentiles(window) {
  const ring = Array.from({ length: window + 1 }, () => ({ second: -1, counts: new Uint32Array(BUCKETS) }));
  return {
    add(ms, at) {
      const second = Math.floor(at / 1000);
      const slot = ring[second % ring.length];
      if (slot.second !== second) {
        slot.second = second;
        slot.counts.fill(0);
      }
      slot.counts[bucketOf(ms)]++;
    },
    /**
     * The values at `shares`, of the seconds before `at`; the one that has begun does not count. 0 where
     * there is none.
     */
    read(shares, at) {
      const until = Math.floor(at / 1000);
      const sums = new Float64Array(BUCKETS);
      let total = 0;
      for (const { second, counts } of ring) {
        if (second < until - window || second >= until) continue;
        for (let bucket = 0; bucket < BUCKETS; bucket++) {
          sums[bucket] += counts[bucket];
          total += counts[bucket];
        }
      }
      return shares.map(share => valueAt(sums, Math.max(1, Math.ceil(share * total)), total));
    },
  };
}

function valueAt(sums, rank, total) {
  if (total === 0) return 0;
  let seen = 0;
  for (let bucket = 0; bucket < BUCKETS; bucket++) {
    seen += sums[bucket];
    if (seen >= rank) return Number(middleOf(bucket).toPrecision(3));
  }
  return MOST;
}
