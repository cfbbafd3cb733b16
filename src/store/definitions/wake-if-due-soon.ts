// A definition that is written wakes daemons that may be asleep, if its next occurrence is due before they
// poll by themselves. Their poll then tells them when it is due. Daemons that are busy materialize by the
// clock.

/** For the RETURNING of whatever sets `next_at` or ends a pause, where `row` is the definition. */
export const wakeIfDueSoon = (row: 'd' | 'job_definitions') =>
  `case when ${row}.paused_at is null then tock.wake_for(${row}.next_at, null, 'soon')::text end`;
