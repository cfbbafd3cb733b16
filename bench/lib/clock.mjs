// A clock that two processes of one machine read alike.

/** Milliseconds of the system's monotonic clock. */
export function monotonicMs() {
  return Number(process.hrtime.bigint()) / 1e6;
}
