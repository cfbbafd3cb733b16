// Single occurrences that an operator has skipped or moved. Read after the locks of definitions, by a
// statement of its own: the one that waited for a lock does not see what was written meanwhile.
import type { Exception } from '../../../model/planning/exceptions.js';
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { epochMs, readable } from '../../connection/values/readable-instant.js';
import { wakeIfDueSoon } from '../wake-if-due-soon.js';

/** What readers select of a definition, so that only those that have exceptions cost a statement more. */
export interface MayBeExcepted {
  readonly id: string;
  /** It may have exceptions that matter after its cursor. */
  readonly is_excepted: boolean;
}

/** SQL: `is_excepted` of a definition. */
export const isExcepted = (definition: string) =>
  `coalesce(${definition}.excepted_until > ${definition}.cursor, false)`;

const epoch = (column: string) => epochMs(readable(column));
const EXCEPTION = `${epoch('e.scheduled_for')} as at, e.kind, ${epoch('e.due_at')} as "dueAt", e.note, e.operator,
  ${epoch('e.created_at')} as "madeAt"`;

type Row = Exception & { readonly definitionId: string };

const READ = statement<{ readonly ids: readonly string[]; readonly isAll: boolean }, Row>(
  'read-exceptions',
  `
select e.definition_id::text as "definitionId", ${EXCEPTION}
from tock.job_definitions d join tock.job_exceptions e on e.definition_id = d.id
where d.id = any(:ids::bigint[]) and (:isAll or greatest(e.scheduled_for, e.due_at) > d.cursor)
order by e.definition_id, e.scheduled_for`,
);

/** The exceptions of definitions, by id; a definition without any gives an empty list. */
export type ExceptionsOf = (definition: { readonly id: string }) => readonly Exception[];

/**
 * Reads the exceptions that matter after the cursors; no statement if no definition may have one.
 * @param isAll also those that the cursor has passed. Default false
 */
export async function readExceptions(
  session: Session,
  definitions: readonly MayBeExcepted[],
  { isAll = false } = {},
): Promise<ExceptionsOf> {
  const ids = definitions.filter(each => each.is_excepted).map(each => each.id);
  if (ids.length === 0) return () => NONE;
  const byId = new Map<string, Exception[]>();
  for (const { definitionId, ...exception } of await READ.run(session, { ids, isAll })) {
    const known = byId.get(definitionId);
    if (known === undefined) byId.set(definitionId, [exception]);
    else known.push(exception);
  }
  return ({ id }) => byId.get(id) ?? NONE;
}

const NONE: readonly Exception[] = [];

const READ_SPAN = statement<
  { readonly definitionId: string; readonly from: string; readonly to: string },
  Exception
>(
  'read-exceptions-in-span',
  `
select ${EXCEPTION} from tock.job_exceptions e
where e.definition_id = :definitionId::bigint and e.scheduled_for >= :from::timestamptz and e.scheduled_for < :to::timestamptz
order by e.scheduled_for limit 5000`,
);

/** The exceptions of the occurrences in [from, to), past ones too. Epoch milliseconds. */
export async function readExceptionsIn(
  session: Session,
  definitionId: string,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<Exception[]> {
  const asked = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
  return await READ_SPAN.run(session, { definitionId, ...asked });
}

const READ_OF_RUN = statement<
  { readonly definition: string; readonly at: string },
  Exception & { readonly timezone: string }
>(
  'read-exception-of-run',
  `
select ${EXCEPTION}, d.timezone from tock.job_definitions d join tock.job_exceptions e on e.definition_id = d.id
where d.name = :definition and e.scheduled_for = :at::timestamptz`,
);

/** The exception of an occurrence, and the zone of its definition; null: it has none. */
export async function readExceptionOfRun(
  session: Session,
  definition: string,
  at: Date,
): Promise<(Exception & { readonly timezone: string }) | null> {
  return (await READ_OF_RUN.first(session, { definition, at: at.toISOString() })) ?? null;
}

interface Written {
  readonly id: string;
  /** ISO text. */
  readonly at: string;
  readonly nextAt: string | null;
}

const WRITE = statement<
  Written & {
    readonly kind: Exception['kind'];
    readonly dueAt: string;
    readonly note: string | null;
    readonly operator: string | null;
  },
  { readonly operator: string; readonly madeAt: number }
>(
  'write-exception',
  `
with written as (
  insert into tock.job_exceptions as e (definition_id, scheduled_for, kind, due_at, note, operator)
  values (:id::bigint, :at::timestamptz, :kind, :dueAt::timestamptz, :note, coalesce(:operator::text, current_user))
  on conflict (definition_id, scheduled_for) do update set kind = excluded.kind, due_at = excluded.due_at, note = excluded.note,
    operator = excluded.operator, created_at = excluded.created_at
  returning e.operator, ${epoch('e.created_at')} as "madeAt"
), moved as (
  update tock.job_definitions d set next_at = :nextAt::timestamptz,
    excepted_until = greatest(d.excepted_until, :at::timestamptz, :dueAt::timestamptz)
  where d.id = :id::bigint returning ${wakeIfDueSoon('d')} as woken
)
select w.operator, w."madeAt", (select count(woken) from moved) as woken from written w`,
);

/**
 * Writes an exception in place of the one that there may be, and when the definition is due next. The caller
 * holds the definition's lock. Instants in epoch milliseconds; `operator` null: the role of the database.
 */
export async function writeException(
  session: Session,
  id: string,
  { at, dueAt, kind, note, operator }: Omit<Exception, 'operator' | 'madeAt'> & { operator: string | null },
  nextAt: number | null,
): Promise<Exception> {
  const made = await WRITE.first(session, {
    id,
    kind,
    note,
    operator,
    at: iso(at),
    dueAt: iso(dueAt),
    nextAt: nextAt === null ? null : iso(nextAt),
  });
  if (made === undefined) throw new Error('the exception was not written');
  return { at, kind, dueAt, note, operator: made.operator, madeAt: made.madeAt };
}

const DELETE = statement<Written, { readonly woken: number }>(
  'delete-exception',
  `
with gone as (
  delete from tock.job_exceptions e where e.definition_id = :id::bigint and e.scheduled_for = :at::timestamptz
), moved as (
  update tock.job_definitions d set next_at = :nextAt::timestamptz
  where d.id = :id::bigint returning ${wakeIfDueSoon('d')} as woken
)
select count(woken)::integer as woken from moved`,
);

/** Deletes an exception, and writes when the definition is due next. The caller holds its lock. */
export async function deleteException(
  session: Session,
  id: string,
  at: number,
  nextAt: number | null,
): Promise<void> {
  await DELETE.run(session, { id, at: iso(at), nextAt: nextAt === null ? null : iso(nextAt) });
}

const TAKE_ALL = statement<{ readonly id: string }, unknown>(
  'take-exceptions',
  `delete from tock.job_exceptions e where e.definition_id = :id::bigint`,
);

const PUT_ALL = statement<{ readonly id: string; readonly rows: string }, unknown>(
  'put-exceptions',
  `
insert into tock.job_exceptions (definition_id, scheduled_for, kind, due_at, note, operator, created_at)
select :id::bigint, to_timestamp(r.at / 1000), r.kind, to_timestamp(r."dueAt" / 1000), r.note, r.operator, to_timestamp(r."madeAt" / 1000)
from jsonb_to_recordset(:rows::jsonb) as r(at float8, kind text, "dueAt" float8, note text, operator text, "madeAt" float8)
on conflict (definition_id, scheduled_for) do nothing`,
);

/** Writes all exceptions of a definition anew. The caller holds its lock. */
export async function replaceExceptions(
  session: Session,
  id: string,
  exceptions: readonly Exception[],
): Promise<void> {
  await TAKE_ALL.run(session, { id });
  await PUT_ALL.run(session, { id, rows: JSON.stringify(exceptions) });
}

const FORGET = statement<{ readonly ids: readonly string[] }, unknown>(
  'forget-coming-exceptions',
  `delete from tock.job_exceptions e where e.definition_id = any(:ids::bigint[]) and e.due_at > tock.now()`,
);

/** Deletes exceptions that are still to be decided. The caller holds the locks of the definitions. */
export async function forgetComing(session: Session, definitions: readonly MayBeExcepted[]): Promise<void> {
  const ids = definitions.filter(each => each.is_excepted).map(each => each.id);
  if (ids.length > 0) await FORGET.run(session, { ids });
}

const iso = (ms: number) => new Date(ms).toISOString();
