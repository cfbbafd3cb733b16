// What jobs and queues say of the fair keys of their runs.
import type { FairScope } from '../../model/job/fair/fair.js';
import type { Session } from '../connection/database.js';
import { statement } from '../connection/statement.js';

interface Scopes {
  readonly names: readonly string[];
  readonly paths: readonly string[];
  readonly limits: readonly (number | null)[];
  readonly rates: readonly (number | null)[];
  readonly periods: readonly (number | null)[];
  readonly bursts: readonly (number | null)[];
  readonly stricts: readonly boolean[];
}

const parametersOf = (scopes: ReadonlyMap<string, FairScope>): Scopes => {
  const all = [...scopes.values()];
  return {
    names: [...scopes.keys()],
    paths: all.map(({ path }) => path),
    limits: all.map(({ limit }) => limit),
    rates: all.map(({ rate }) => rate?.limit ?? null),
    periods: all.map(({ rate }) => rate?.perMs ?? null),
    bursts: all.map(({ rate }) => rate?.burst ?? null),
    stricts: all.map(({ isStrict = false }) => isStrict),
  };
};

const upsert = (queue: string, job: string) => `
insert into tock.fair_scopes (queue, job, path, slot_limit, rate_count, rate_period_ms, rate_burst, is_strict)
select ${queue}, ${job}, s.path::jsonpath, s.slot_limit, s.rate_count, s.rate_period_ms, s.rate_burst, s.is_strict
from unnest(:names::text[], :paths::text[], :limits::integer[], :rates::integer[], :periods::bigint[], :bursts::integer[],
  :stricts::boolean[]) as s(name, path, slot_limit, rate_count, rate_period_ms, rate_burst, is_strict)
order by s.name
on conflict (queue, job) do update set (path, slot_limit, rate_count, rate_period_ms, rate_burst, is_strict) =
  (excluded.path, excluded.slot_limit, excluded.rate_count, excluded.rate_period_ms, excluded.rate_burst, excluded.is_strict)`;

const WRITE_JOB_SCOPES = statement<Scopes & { readonly dropped: readonly string[] }, unknown>(
  'write-job-scopes',
  `
with gone as (
  delete from tock.fair_scopes f where f.queue = '' and f.job = any(:dropped::text[])
)${upsert("''", 's.name')}`,
);

/**
 * Jobs have these scopes from now on, and those that are dropped none. Runs that are enqueued already keep
 * the keys that they have.
 */
export async function writeJobScopes(
  session: Session,
  scopes: ReadonlyMap<string, FairScope>,
  dropped: readonly string[],
): Promise<void> {
  await WRITE_JOB_SCOPES.run(session, { ...parametersOf(scopes), dropped });
}

const WRITE_QUEUE_SCOPE = statement<Scopes, unknown>('write-queue-scope', upsert('s.name', "''"));
const REMOVE_QUEUE_SCOPE = statement<{ readonly queue: string }, unknown>(
  'remove-queue-scope',
  `delete from tock.fair_scopes f where f.queue = :queue and f.job = ''`,
);

/** A queue's runs share the workers by this key from now on; null: by none. */
export async function writeQueueScope(
  session: Session,
  queue: string,
  scope: FairScope | null,
): Promise<void> {
  if (scope === null) await REMOVE_QUEUE_SCOPE.run(session, { queue });
  else await WRITE_QUEUE_SCOPE.run(session, parametersOf(new Map([[queue, scope]])));
}
