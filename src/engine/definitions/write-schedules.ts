// Writes schedules that are made or edited at run time, in one transaction under their rows' locks. A
// thousand new ones take as many statements as one.
import { changesBetween, type Details } from '../../model/audit.js';
import { withoutDates } from '../../model/calendar/calendar-entries.js';
import { TockError } from '../../model/errors.js';
import { quote } from '../../model/names.js';
import { circleError, definitionsBefore, requireTimes } from '../../model/planning/chain.js';
import { type DescribedDefinition, hasTimes } from '../../model/planning/definition.js';
import type { DefinitionColumns } from '../../model/planning/definition-columns.js';
import { LATEST_MS, utcText } from '../../model/schedule/instant-text.js';
import { readNow } from '../../store/connection/clock.js';
import type { Session } from '../../store/connection/database.js';
import { readTimeless } from '../../store/definitions/chain-links.js';
import {
  lockDefinitionsNamed,
  readUnknownNames,
  type StoredDefinition,
} from '../../store/definitions/stored-definition.js';
import { insertDefinitions, upsertDefinitions } from '../../store/definitions/write-definitions.js';
import { type DefinitionRecord, readDefinitionRecords } from '../../store/reads/runs.js';
import { audit } from '../audit.js';
import type { Engine } from '../engine.js';
import { recordSpan, scheduleOf, storedFingerprint } from '../materialize/locked-definition.js';
import { unknownCalendars, withCalendars } from './calendar-dates.js';
import { linkChains, readCircle } from './chain-links.js';
import { writtenRow } from './register.js';
import { beginAgain, exceptionsAtEdit, settleBeforeEdit, withdrawAtEdit } from './settle-before-edit.js';
import { holdZones } from './zones/settle-zones.js';

/** A schedule to be written, and the version at which it must be. */
export interface GuardedDefinition extends DescribedDefinition {
  readonly ifVersion: number | undefined;
}

type Change = 'made' | 'edited' | 'unchanged';

/** What became of a schedule, and how it is now. */
export interface WrittenSchedule {
  readonly change: Change;
  readonly record: DefinitionRecord;
}

/** Writes schedules of distinct names, and one row of the audit. In the order of the input. */
export async function writeSchedules(
  session: Session,
  engine: Engine,
  described: readonly GuardedDefinition[],
): Promise<WrittenSchedule[]> {
  await requireParents(session, described);
  const { dated: all, unknown } = await withCalendars(session, described);
  if (unknown.length > 0) throw unknownCalendars(unknown);
  await holdZones(session, described);
  const found = await insertMissing(session, all);
  const edited = await editChanged(session, engine, all, found);
  const changeOf = (each: GuardedDefinition): Change => {
    const row = found.get(nameOf(each));
    if (!edited.includes(each)) return row === undefined ? 'made' : 'unchanged';
    // What was removed is made again.
    return row?.is_vanished ? 'made' : 'edited';
  };
  const changes = new Map(all.map(each => [nameOf(each), changeOf(each)]));
  const changed = all.filter(each => changes.get(nameOf(each)) !== 'unchanged');
  if (changed.length > 0) await linkChains(session, changed);
  const circle = await readCircle(session, all);
  if (circle) throw circleError(circle);
  const records = await readDefinitionRecords(session, all.map(nameOf));
  const byName = new Map(records.map(record => [record.name, record]));
  const written = all.map(each => {
    const record = byName.get(nameOf(each));
    if (!record)
      throw new TockError('TOCK_NOT_FOUND', `the schedule ${quote(nameOf(each))} was deleted meanwhile`);
    return { change: changes.get(nameOf(each)) ?? 'unchanged', record };
  });
  const [only] = all;
  const details =
    only && all.length === 1
      ? detailsOfEdit(written[0], found.get(nameOf(only)) ?? null, only)
      : countsOf(written);
  await audit(session, engine, { action: 'schedules.upsert', targets: changed.map(nameOf), details });
  return written;
}

const nameOf = ({ columns }: DescribedDefinition) => columns.name;

async function requireParents(session: Session, all: readonly DescribedDefinition[]): Promise<void> {
  const written = new Set(all.map(({ columns }) => columns.name));
  const parents = all.flatMap(({ columns }) => definitionsBefore(columns));
  const others = parents.filter(name => !written.has(name));
  const missing = others.length === 0 ? [] : await readUnknownNames(session, others, { isLive: true });
  if (missing.length === 0) return await requireTimesOf(session, all);
  throw new TockError(
    'TOCK_NOT_FOUND',
    `after names ${missing.map(quote).join(', ')}, which no definition is called (tock jobs lists them)`,
  );
}

/** What runs wait for must have times of its own: what is written, and what is there. */
async function requireTimesOf(session: Session, all: readonly DescribedDefinition[]): Promise<void> {
  const awaited = all.flatMap(({ columns }) => columns.waits_for?.definitions ?? []);
  if (awaited.length === 0) return;
  const written = new Map(all.map(({ columns }) => [columns.name, hasTimes(columns)]));
  const stored = await readTimeless(session, awaited);
  const timeless = [
    ...stored.filter(name => !written.has(name)),
    ...[...written].flatMap(([name, has]) => (has ? [] : [name])),
  ];
  for (const { columns } of all) requireTimes(columns, timeless);
}

/** Inserts those that are not there; returns the rows of the others by name, locked until the commit. */
async function insertMissing(
  session: Session,
  all: readonly GuardedDefinition[],
): Promise<Map<string, StoredDefinition>> {
  const lock = async (definitions: readonly GuardedDefinition[]) =>
    await lockDefinitionsNamed(session, definitions.map(nameOf));
  const found = new Map((await lock(all)).map(row => [row.name, row]));
  const missing = all.filter(each => !found.has(nameOf(each)));
  if (missing.length === 0) return found;
  for (const each of missing) requireVersion(nameOf(each), null, each.ifVersion);
  const now = await readNow(session);
  for (const each of missing) refusePast(each, null, now);
  const made = await insertDefinitions(
    session,
    missing.map(each => writtenRow(each, now)),
  );
  // Other transactions were inserting the rest, and the insert has waited for their commits.
  const raced = missing.filter(each => !made.has(nameOf(each)));
  if (raced.length > 0) for (const row of await lock(raced)) found.set(row.name, row);
  return found;
}

/** Edits those whose rows are not as they are to be; returns them. */
async function editChanged(
  session: Session,
  engine: Engine,
  all: readonly GuardedDefinition[],
  found: ReadonlyMap<string, StoredDefinition>,
): Promise<GuardedDefinition[]> {
  const asked = all.flatMap(each => {
    const row = found.get(nameOf(each));
    if (row === undefined) return [];
    if (row.origin === 'code' && !row.is_vanished) throw definedInCode(row.name);
    requireVersion(row.name, row, each.ifVersion);
    const isSame = [row.fingerprint, storedFingerprint(row)].includes(each.fingerprint);
    return isSame && !row.is_vanished && !row.is_broken ? [] : [{ each, row }];
  });
  if (asked.length === 0) return [];
  const before = await readNow(session);
  for (const { each, row } of asked) refusePast(each, row.is_vanished ? null : row, before);
  const rows = asked.map(({ row }) => row);
  await beginAgain(
    session,
    rows.filter(row => row.is_vanished),
  );
  const { rows: settled, now } = await settleBeforeEdit(session, engine, rows);
  const edits = asked.map(({ each, row }, index) => ({ each, row: settled[index] ?? row }));
  const changes = edits.map(({ each, row }) => ({ row, after: each.columns }));
  const cursorOf = (row: StoredDefinition) => Math.max(now, row.cursor_ms);
  for (const { row } of edits)
    if (row.is_paused && !row.is_vanished) await recordSpan(session, row, cursorOf(row), 'paused');
  const exceptionsOf = await exceptionsAtEdit(session, changes, now);
  const written = edits.map(({ each, row }) =>
    writtenRow(each, cursorOf(row), row.is_vanished ? null : row, exceptionsOf(row)),
  );
  await upsertDefinitions(session, 'runtime', written);
  await withdrawAtEdit(session, changes);
  return edits.map(({ each }) => each);
}

/** What an edit changed; of a new schedule, when it runs. Of its payload only that it was changed. */
function detailsOfEdit(
  written: WrittenSchedule | undefined,
  before: StoredDefinition | null,
  { columns }: DescribedDefinition,
): Details {
  const { job, cron, every_ms, at } = columns;
  const facts = { change: written?.change, version: written?.record.version, job };
  if (before !== null && written?.change !== 'made')
    return { ...facts, changes: changesBetween(withNames(statedBy(before)), withNames(columns)) };
  const when = { cron: cron ?? undefined, every_ms: every_ms ?? undefined, at: at ?? undefined };
  return { ...facts, ...when };
}

const statedBy = (row: StoredDefinition) => ({ ...row, remaining_count: row.remaining_stated });
/** Of calendars the names: their dates are in the audit of their own. */
const withNames = (columns: DefinitionColumns) => ({ ...columns, exclude: withoutDates(columns.exclude) });

const countsOf = (written: readonly WrittenSchedule[]): Details => ({
  made: written.filter(({ change }) => change === 'made').length,
  edited: written.filter(({ change }) => change === 'edited').length,
});

/** Refuses a single time that has passed: it would never run. An edit may keep the one that it has. */
function refusePast({ columns }: DescribedDefinition, before: StoredDefinition | null, now: number): void {
  if (columns.at === null || columns.at === before?.at) return;
  const at = scheduleOf(columns)?.previous(LATEST_MS + 1) ?? null;
  if (at === null || at > now) return;
  throw new TockError(
    'TOCK_BAD_SCHEDULE',
    `at ${utcText(at)} is in the past, so it would never run (the database has ${utcText(now)}); write a later time, or enqueue a run`,
  );
}

export function definedInCode(name: string): TockError {
  return new TockError(
    'TOCK_BAD_STATE',
    `${quote(name)} is defined in code: edit it there, or take another name (it can be paused and resumed)`,
  );
}

/** Refuses any other version. Missing or removed schedules have version 0. */
export function requireVersion(
  name: string,
  row: StoredDefinition | null,
  ifVersion: number | undefined,
): void {
  const current = row === null || row.is_vanished ? 0 : row.version;
  if (ifVersion === undefined || ifVersion === current) return;
  const is = current === 0 ? 'there is no schedule' : `version ${current} is there`;
  throw new TockError(
    'TOCK_VERSION_CONFLICT',
    `the schedule ${quote(name)} is not at version ${ifVersion}: ${is}; read it again, then decide`,
  );
}
