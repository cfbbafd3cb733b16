// SQL over runs that are handed off, for the statements that reap and cancel them.
import { DECIDED_UNTIL, HANDED_OFF } from '../../../model/run/states.js';

/** Whether nobody has decided yet what becomes of a run that is handed off. */
const isUndecided = (run: string) =>
  `(${run}.status = 'running' and ${run}.locked_by = '${HANDED_OFF}' and ${run}.locked_until < '${DECIDED_UNTIL}')`;

/**
 * Assignments that end the lease of an undecided run that is handed off, and change nothing of other runs:
 * reaping takes it back, and cancels it if that was requested.
 */
export const endLease = (run: string) =>
  `locked_until = case when ${isUndecided(run)} then tock.now() - interval '1 millisecond' else ${run}.locked_until end,
    run_at = case when ${isUndecided(run)} then ${dueAt(run)} else ${run}.run_at end`;

const noted = (run: string, column: string) =>
  `(select h.${column} from tock.job_hand_offs h where h.run_id = ${run}.id and h.fence = ${run}.fence and ${run}.locked_by = '${HANDED_OFF}')`;

/** When a run was due: while it is handed off, `run_at` is the end of its lease. */
export const dueAt = (run: string) => `coalesce(${noted(run, 'due_at')}, ${run}.run_at)`;

/** To whom it was handed off, as text after a verb; empty if that is not known. */
export const receiver = (run: string) => `coalesce(' to ' || ${noted(run, 'handed_to')}, '')`;

/** Whether the outcome of a handoff was decided and is not written yet. A small partial index has these. */
export const isUnwritten = (handOff: string) =>
  `${handOff}.handed_off_at is not null and ${handOff}.decided_at is not null and ${handOff}.written_at is null`;

/** Whether there is such an outcome. */
export const HAS_DECIDED = `exists (select from tock.job_hand_offs h where ${isUnwritten('h')})`;
