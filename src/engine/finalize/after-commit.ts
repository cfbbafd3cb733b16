// Room: engine. What is left to be done once runs have moved: places are free, others wait for what has ended, a
// definition fails too often.
// In: what the moving statement says. Out: blocked runs let in, followers made, definitions paused.
// Should the process die here, the reaper of the next tick lets in and follows up; a definition that fails too often is
// paused with its next dead run.

import type { Session } from '../../store/connection/database.js';
import { unblockRuns } from '../../store/runs/claim/unblock.js';
import type { Engine } from '../engine.js';
import { followUp } from '../materialize/follow-chains.js';

export interface Left {
  /** Concurrency keys under which places are free now. */
  readonly freed: readonly string[] | null;
  /** The outbox has rows. */
  readonly outboxWritten: boolean;
  /** Runs that have ended dead. */
  readonly dead: readonly string[];
}

/** Does what is left to be done. Never throws: a failure is logged, and the reaper does it again. */
export async function settle(engine: Engine, { freed, outboxWritten, dead }: Left): Promise<void> {
  try {
    if (freed && freed.length > 0) await unblockRuns(engine.database, freed);
    if (dead.length > 0) await pauseFailing(engine.database, engine, dead);
    if (outboxWritten) await followUp(engine);
  } catch (error) {
    engine.logger.warn(
      { event: 'aftermath.failed', error: String(error) },
      'what follows from ended runs could not be done now; the next reaping does it',
    );
  }
}

// In the order of the occurrences, so that a late end of an old one breaks no row.
const PAUSE_FAILING = `
with failing as materialized (
  select d.id, d.pause_on_failure_count as count, d.resumed_at from tock.job_definitions d
  where d.pause_on_failure_count is not null and d.paused_at is null and d.id in (
    select r.definition_id from tock.job_runs_finished r where r.id = any($1::bigint[]) and r.status = 'dead')
  order by d.id for update
)
update tock.job_definitions d set paused_at = tock.now(),
  pause_reason = 'paused by itself after ' || f.count || case f.count when 1 then ' dead run' else ' dead runs in a row' end
from failing f
where d.id = f.id and (
  select count(*) = f.count and bool_and(l.status = 'dead') from (
    select r.status from tock.job_runs_finished r
    where r.definition_id = f.id and r.status in ('dead', 'succeeded') and r.finished_at > coalesce(f.resumed_at, '-infinity')
    order by r.scheduled_for desc nulls last limit f.count) l)
returning d.name, d.job, d.pause_reason`;

async function pauseFailing(session: Session, engine: Engine, dead: readonly string[]): Promise<void> {
  const paused = await session.run<{ name: string; job: string; pause_reason: string }>(PAUSE_FAILING, [
    dead,
  ]);
  for (const { name, job, pause_reason: reason } of paused) {
    engine.logger.error(
      { event: 'definition.paused', definition: name, job, note: reason },
      `definition ${name} is ${reason}; mend it, then: tock resume ${name}`,
    );
  }
}
