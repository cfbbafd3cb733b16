// Turns under a key: runs of a definition start one after another, in the order of their occurrences.
import { statuses } from '../../transition.js';

/** The key under which a run of a definition takes its turn. */
export const turnKey = (run: string) => `'definition:' || ${run}.definition_id`;

/**
 * Whether an earlier run of its definition is due and has not started: then it is the earlier run's turn,
 * even if a slot is free. Reads one such run, not EXISTS, which the planner may turn into a join with all
 * runs.
 */
export const isPreceded = (run: string) => `coalesce((
    select true from tock.job_runs_live e
    where e.definition_id = ${run}.definition_id and e.scheduled_for < ${run}.scheduled_for
      and e.status in (${statuses('claim')}) and e.run_at <= tock.now() and ${turnKey(run)} = any(e.slot_keys) limit 1), false)`;

/** Whether a run keeps its slot under a key from an earlier attempt: then it needs neither slot nor turn. */
export const keepsSlot = (run: string, key: string) =>
  `exists (select from tock.job_slots kept where kept.concurrency_key = ${key} and kept.run_id = ${run}.id)`;
