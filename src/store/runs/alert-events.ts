// What alerts need to know of ended attempts, written by the statements that end them: a crash loses none.
//
//   finalize: run 7 fails                      evaluation, in some tick or daemon
//   run 7: failed; alert_events: failed, 7
//   commit
//   (killed here)                              deletes the event, counts 1 failure in a row, commits
//
// One row for each definition and statement, however many runs fail. Written only where alerts are evaluated.
// A success is written only for a job that has failed: in a scheduler where nothing is wrong, the condition
// costs a look-up in an empty index.

/** The job that delivers alerts: its own failures raise none. */
export const DELIVERY_JOB = 'tock:deliver-alert';

/** Alerts have been evaluated within this time: otherwise no process takes the events. */
const EVALUATED = `exists (select from tock.alert_clock c where c.checked_at > tock.now() - interval '7 days')`;

// In the order of the index, so that the planner uses it whatever it expects to find: mostly nothing. EXISTS
// would drop the order.
const openStates = (column: string, limit = 1000) =>
  `select s.${column} from tock.alert_states s where s.job is not null order by s.job limit ${limit}`;

/**
 * CTE `alerted`, for statements that end runs.
 * @param ended a set with id, definition_id and job
 * @param status SQL over that set as `e`
 */
export const noteEnds = (ended: string, status: string) => `alerted as (
  insert into tock.alert_events (kind, count, run_id, definition_id, job)
  select 'dead', count(*)::integer, max(e.id), e.definition_id, e.job from ${ended} e
  where ${status} = 'dead' and e.job <> '${DELIVERY_JOB}' and ${EVALUATED}
  group by e.definition_id, e.job
  union all
  select 'succeeded', count(*)::integer, max(e.id), e.definition_id, e.job from ${ended} e
  where ${status} = 'succeeded' and (${openStates('job', 1)}) is not null and e.job = any(array(${openStates('job')}))
  group by e.definition_id, e.job, case when e.definition_id is null and e.id = any(array(${openStates('run_id')})) then e.id end
)`;

/** CTE, for statements that give back failed attempts. @param failed a set with id, definition_id and job */
export const noteFailures = (failed: string, name = 'alerted') => `${name} as (
  insert into tock.alert_events (kind, count, run_id, definition_id, job)
  select 'failed', count(*)::integer, max(f.id), f.definition_id, f.job from ${failed} f
  where f.job <> '${DELIVERY_JOB}' and ${EVALUATED}
  group by f.definition_id, f.job
)`;
