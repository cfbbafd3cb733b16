// The queue in which alerts are delivered.

/** One of its own: no pause or backlog of another queue, and no freeze, holds them up. */
export const ALERT_QUEUE = 'tock:alerts';
