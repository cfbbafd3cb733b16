// Definitions with all their versions, for `tock prove`. Reads only.
import type { Version } from '../../../model/prove/versions.js';
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { epochMs, instant } from '../../connection/values/readable-instant.js';
import { isExcepted, type MayBeExcepted } from '../../definitions/occurrences/exceptions.js';

/** A definition as it is now. Instants in epoch milliseconds. */
export interface ProvedDefinition extends MayBeExcepted {
  readonly name: string;
  readonly cursor_ms: number;
  /** Null: none; -Infinity: the next tick computes it. */
  readonly next_ms: number | null;
  readonly remaining_count: number | null;
  readonly version: number;
  readonly stop: Version['stop'];
  /** Its columns are those of its last version. */
  readonly is_kept: boolean;
}

// These change without a version: ticks count down, and a parent may get a new name.
const COMPARED = `- '{remaining_count,after}'::text[]`;

const READ_DEFINITIONS = statement<
  { readonly after: string; readonly names: readonly string[] | null; readonly limit: number },
  ProvedDefinition
>(
  'read-proved-definitions',
  `
select d.id::text, d.name, ${epochMs('d.cursor')} as cursor_ms, ${epochMs('d.next_at')} as next_ms, d.remaining_count, d.version,
  tock.why_stopped(d) as stop, ${isExcepted('d')} as is_excepted,
  coalesce((select tock.stated_of(d) ${COMPARED} = v.stated ${COMPARED} and tock.why_stopped(d) is not distinct from v.stop
    from tock.definition_versions v where v.definition_id = d.id order by v.number desc limit 1), true) as is_kept
from tock.job_definitions d
where d.id > :after::bigint and (:names::text[] is null or d.name = any(:names))
order by d.id limit :limit::integer`,
);

/** A page of them, ascending by id, above `after`. @param names only these; null: all */
export async function readProvedDefinitions(
  session: Session,
  page: { readonly after: string; readonly names: readonly string[] | null; readonly limit: number },
): Promise<ProvedDefinition[]> {
  return await READ_DEFINITIONS.run(session, page);
}

const READ_VERSIONS = statement<{ readonly ids: readonly string[] }, Version & { readonly id: string }>(
  'read-definition-versions',
  `
select v.definition_id::text as id, v.number, v.change, ${epochMs('v.since')} as since_ms, ${epochMs('v.written_at')} as written_ms,
  v.left_count, v.stop, v.void_until::float8, s.name, s.cron, s.every_ms::float8, s.phase_ms::float8, s.anchor, s.at, s.after, s.timezone, s.dst,
  ${instant('s.start_at')} as start_at, ${instant('s.end_at')} as end_at, s.exclude, s.shift, s.active_window, s.outside_window, s.remaining_count
from tock.definition_versions v cross join lateral jsonb_populate_record(null::tock.job_definitions, v.stated) s
where v.definition_id = any(:ids::bigint[])
order by v.definition_id, v.number`,
);

/** The versions of definitions, by their ids, oldest first. */
export async function readVersions(
  session: Session,
  ids: readonly string[],
): Promise<ReadonlyMap<string, readonly Version[]>> {
  const byId = new Map<string, Version[]>();
  for (const version of await READ_VERSIONS.run(session, { ids })) {
    const known = byId.get(version.id);
    if (known) known.push(version);
    else byId.set(version.id, [version]);
  }
  return byId;
}

/** Epoch milliseconds. */
export interface ProofTimes {
  readonly now: number;
  /** Runs that ended before it may have been deleted by retention; null: none was yet. */
  readonly runs_pruned: number | null;
  /** Keys from before it likewise. */
  readonly keys_pruned: number | null;
  readonly definitions: number;
}

const READ_TIMES = statement<{ readonly names: readonly string[] | null }, ProofTimes>(
  'read-proof-times',
  `
select ${epochMs('tock.now()')} as now,
  (select ${epochMs('u.at')} from tock.upkeep u where u.kind = 'pruned-runs') as runs_pruned,
  (select ${epochMs('u.at')} from tock.upkeep u where u.kind = 'pruned-keys') as keys_pruned,
  (select count(*)::integer from tock.job_definitions d where :names::text[] is null or d.name = any(:names)) as definitions`,
);

export async function readProofTimes(session: Session, names: readonly string[] | null): Promise<ProofTimes> {
  const row = await READ_TIMES.first(session, { names });
  return row ?? { now: 0, runs_pruned: null, keys_pruned: null, definitions: 0 };
}
