// The rows of freezes: made, changed and ended under the lock of the open one.
import { type Freeze, type FrozenSpan, readSpan, type StoredSpan } from '../../../model/freeze/freeze.js';
import type { Session } from '../../connection/database.js';
import { statement } from '../../connection/statement.js';
import { instant } from '../../connection/values/readable-instant.js';
import { FROZEN_SPANS, HOLDS } from './frozen.js';

const COLUMNS = `${instant('f.began_at')} as "beganAt", ${instant('f.until')} as until, f.ramp_ms::float8 as "rampMs", f.note, f.operator as "by"`;

const READ = statement<object, Freeze>('read-freeze', `select ${COLUMNS} from tock.freezes f where ${HOLDS}`);

/** The freeze that holds; null: none does. */
export async function readFreeze(session: Session): Promise<Freeze | null> {
  return (await READ.first(session, {})) ?? null;
}

// One that is over by its time is history, unless what waits is still to be spread.
const CLOSE = statement<object, never>(
  'close-freeze',
  'update tock.freezes f set ended_at = f.until where f.ended_at is null and f.until <= tock.now() and f.ramp_ms = 0',
);

const LOCK = statement<object, Freeze>(
  'lock-freeze',
  `select ${COLUMNS} from tock.freezes f where ${HOLDS} for update`,
);

/** Locks the freeze that holds until the transaction ends; null: none does. */
export async function lockFreeze(session: Session): Promise<Freeze | null> {
  return (await LOCK.first(session, {})) ?? null;
}

interface Written {
  /** ISO text. */
  readonly until: string;
  /** Null: that of the freeze that holds; of a new one 0. */
  readonly rampMs: number | null;
  readonly note: string;
  /** Null: the role. */
  readonly by: string | null;
}

// Of two who freeze at once the second waits for the first, and changes its row.
const WRITE = statement<Written, Freeze>(
  'write-freeze',
  `
insert into tock.freezes as f (until, ramp_ms, note, operator)
values (:until, coalesce(:rampMs::bigint, 0), :note, coalesce(:by::text, session_user))
on conflict ((true)) where ended_at is null
do update set until = excluded.until, ramp_ms = coalesce(:rampMs::bigint, f.ramp_ms), note = excluded.note, operator = excluded.operator
returning ${COLUMNS}`,
);

/** Freezes, or changes the freeze that holds, which the caller has locked. */
export async function writeFreeze(session: Session, written: Written): Promise<Freeze> {
  const row = await WRITE.first(session, written);
  if (row === undefined) throw new Error('the freeze was not written');
  return row;
}

/** To be called before {@link lockFreeze}, by who freezes. */
export async function closeFreeze(session: Session): Promise<void> {
  await CLOSE.run(session, {});
}

const THAW = statement<{ readonly rampMs: number }, never>(
  'thaw-freeze',
  `
update tock.freezes f set until = least(f.until, tock.now()), ramp_ms = :rampMs::bigint,
  ended_at = case when :rampMs::bigint = 0 then least(f.until, tock.now()) end
where f.ended_at is null`,
);

/** Ends the freeze that the caller has locked; with a ramp once what waits is spread: see `endFreeze`. */
export async function thawFreeze(session: Session, rampMs: number): Promise<void> {
  await THAW.run(session, { rampMs });
}

/** A freeze that is over by its time. */
export interface EndedFreeze extends Freeze {
  /** The database's time, as ISO text. */
  readonly now: string;
}

const ENDED = `select ${COLUMNS}, to_jsonb(tock.now()) #>> '{}' as now from tock.freezes f where f.ended_at is null and f.until <= tock.now()`;
const READ_ENDED = statement<object, EndedFreeze>('read-ended-freeze', ENDED);
const LOCK_ENDED = statement<object, EndedFreeze>('lock-ended-freeze', `${ENDED} for update skip locked`);
const WAIT_FOR_ENDED = statement<object, EndedFreeze>('wait-for-ended-freeze', `${ENDED} for update`);

/** Null: none is to be ended. */
export async function readEndedFreeze(session: Session): Promise<EndedFreeze | null> {
  return (await READ_ENDED.first(session, {})) ?? null;
}

/**
 * Locks it until the transaction ends. Null: somebody has ended it, or frozen again; and where this call does
 * not wait, somebody is ending it.
 */
export async function lockEndedFreeze(
  session: Session,
  { waits }: { readonly waits: boolean },
): Promise<EndedFreeze | null> {
  return (await (waits ? WAIT_FOR_ENDED : LOCK_ENDED).first(session, {})) ?? null;
}

const END = statement<object, never>(
  'end-freeze',
  `
update tock.freezes f set ended_at = case when f.ramp_ms > 0 then tock.now() else f.until end
where f.ended_at is null and f.until <= tock.now()`,
);

/** Ends the freeze that the caller has locked by {@link lockEndedFreeze}. */
export async function endFreezeRow(session: Session): Promise<void> {
  await END.run(session, {});
}

const READ_SPANS = statement<object, StoredSpan>('read-frozen-spans', FROZEN_SPANS);

/** Spans that do not count, the earliest first. What holds has no end. */
export async function readFrozenSpans(session: Session): Promise<FrozenSpan[]> {
  return (await READ_SPANS.run(session, {})).map(readSpan);
}
