// Room: store. The columns of job_definitions that code or an operator states, as a list for SELECT.
// In: nothing. Out: what StoredColumns in model/planning/definition.ts names; durations in milliseconds, as numbers.

export const STORED_COLUMNS = `name, job, payload, cron, every_ms::float8, phase_ms::float8, at, after, timezone, dst, start_at, end_at, exclude,
  overlap, catchup, catchup_window_ms::float8, start_deadline_ms::float8, jitter_ms::float8, remaining_count,
  pause_on_failure_count, active_window, outside_window, queue, priority, max_attempts, on_dead`;
