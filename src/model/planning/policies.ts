// The policies of a schedule, and their names.

export const OVERLAP_POLICIES = [
  'skip',
  'buffer_one',
  'buffer_all',
  'cancel_other',
  'terminate_other',
  'allow_all',
] as const;
/** What becomes of an occurrence while an earlier run is live; see `JobSchedule.overlap`. */
export type OverlapPolicy = (typeof OVERLAP_POLICIES)[number];
export const CATCHUP_POLICIES = ['latest', 'all', 'none'] as const;
/** What becomes of missed occurrences; see `JobSchedule.catchup`. */
export type CatchupPolicy = (typeof CATCHUP_POLICIES)[number];
