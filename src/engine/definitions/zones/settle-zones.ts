// Zone data changes: governments change their offsets, and Node brings the new data. What was computed ahead
// is computed anew then, once, by the first host that has the data; hosts with older data take it over.
//
//   a host's data newer than a zone's row ─► lock the row ─► the offsets differ?
//     no:  the row gets the release
//     yes: lock the zone's definitions; each keeps the local time of its cursor and its exceptions, and
//          is due anew; then the row gets the offsets, all in one transaction
//
// A transaction that computes a next occurrence shares the lock of the row, or reads the row after it has
// locked the definition.
import type { DescribedDefinition } from '../../../model/planning/definition.js';
import type { Exception } from '../../../model/planning/exceptions.js';
import { isLocalAt } from '../../../model/schedule/at-text.js';
import { readCron } from '../../../model/schedule/cron/cron-fields.js';
import { movedInstant } from '../../../model/schedule/zone/moved-instant.js';
import { differences, type OffsetTable, offsetTableOf } from '../../../model/schedule/zone/offset-table.js';
import { findZone } from '../../../model/schedule/zone/zone.js';
import { learnZone, ownZoneYear, zoneDataVersion, zoneYear } from '../../../model/schedule/zone/zone-data.js';
import { isZone } from '../../../model/schedule/zone/zone-names.js';
import { readNow } from '../../../store/connection/clock.js';
import type { Session } from '../../../store/connection/database.js';
import { readExceptions, replaceExceptions } from '../../../store/definitions/occurrences/exceptions.js';
import {
  lockDefinitionsOfZone,
  type StoredDefinition,
} from '../../../store/definitions/stored-definition.js';
import {
  insertZones,
  lockZone,
  type MovedDefinition,
  moveByZone,
  readOtherZones,
  shareZones,
  writeZone,
} from '../../../store/definitions/zones/zones.js';
import type { Engine } from '../../engine.js';
import { learnRows } from '../../materialize/learn-zones.js';
import { nextDueOf, workingSchedule } from '../../materialize/locked-definition.js';

const BATCH = 1000;
/** How many definitions a log line names. */
const NAMED = 5;

/**
 * Keeps the zones of definitions that are about to be written as they are until the transaction ends, and
 * learns their offsets. A zone that is new gets a row with the offsets of this process.
 */
export async function holdZones(
  session: Session,
  definitions: readonly DescribedDefinition[],
): Promise<void> {
  const named = definitions.map(({ columns }) => columns.timezone).filter(name => name !== 'UTC');
  const zones = [...new Set(named)].sort();
  const found = await shareZones(session, zones);
  learnRows(found);
  const missing = zones.filter(name => !found.some(row => row.timezone === name));
  if (missing.length === 0) return;
  const now = await readNow(session);
  const zoneData = zoneDataVersion();
  const rows = missing.flatMap(timezone => {
    const offsets = ownOffsets(timezone, now);
    return offsets === null ? [] : { timezone, zoneData, offsets };
  });
  await insertZones(session, rows);
  // Another transaction may have been inserting the same.
  learnRows(await shareZones(session, missing));
}

/**
 * The offsets of a zone by this process's own data, from the year before `now`, in epoch milliseconds; null:
 * they lack the zone.
 */
export function ownOffsets(timezone: string, now: number): OffsetTable | null {
  return isZone(timezone) ? offsetTableOf(year => ownZoneYear(timezone, year), now) : null;
}

/**
 * Moves what was computed by older data than this process has, in a transaction for each zone, and learns the
 * zones with newer data.
 */
export async function settleZones(engine: Engine): Promise<void> {
  const zoneData = zoneDataVersion();
  const others = await readOtherZones(engine.database, zoneData);
  for (const row of others)
    if (row.zoneData < zoneData) await renew(engine, row.timezone, zoneData);
    else learnRows([row]);
}

async function renew(engine: Engine, timezone: string, zoneData: string): Promise<void> {
  const change = await engine.database.transaction(async session => {
    const row = await lockZone(session, timezone, zoneData);
    if (row === null) return null;
    const offsets = ownOffsets(timezone, row.now) ?? row.offsets;
    const isSame = differences(row.offsets, offsets).length === 0;
    learnZone(timezone, zoneData, offsets);
    const moved = isSame ? [] : await moveDefinitions(session, timezone, row.offsets);
    await writeZone(session, { timezone, zoneData, offsets }, isSame ? null : moved.length);
    return { from: row.zoneData, isSame, moved };
  });
  if (change === null || change.isSame) return;
  const { from, moved } = change;
  const definitions = moved.slice(0, NAMED);
  engine.logger.info(
    { event: 'zone.changed', timezone, from, to: zoneData, moved: moved.length, definitions },
    `the offsets of ${timezone} have changed with time zone data ${zoneData}: ${moved.length} ${moved.length === 1 ? 'definition is' : 'definitions are'} due at another time`,
  );
}

/** The offsets by which this process computes; null: it does not know the zone. */
export function offsetsNow(timezone: string, now: number): OffsetTable | null {
  try {
    findZone(timezone);
    return offsetTableOf(year => zoneYear(timezone, year), now);
  } catch {
    return null;
  }
}

/** Moves the definitions of a zone; the names of those that are due at another time. */
async function moveDefinitions(session: Session, timezone: string, old: OffsetTable): Promise<string[]> {
  const names: string[] = [];
  for (let afterId = '0'; ; ) {
    const rows = await lockDefinitionsOfZone(session, timezone, { afterId, limit: BATCH });
    const exceptionsOf = await readExceptions(session, rows, { isAll: true });
    const moved: MovedDefinition[] = [];
    for (const row of rows) {
      const exceptions = exceptionsOf(row);
      const place = movedPlace(row, exceptions, old);
      if (place === null) continue;
      if (place.exceptions !== exceptions) await replaceExceptions(session, row.id, place.exceptions);
      moved.push(place.written);
      if (place.next !== row.next_ms) names.push(row.name);
    }
    await moveByZone(session, moved);
    const last = rows.at(-1);
    if (last === undefined || rows.length < BATCH) return names;
    afterId = last.id;
  }
}

interface MovedPlace {
  readonly next: number | null;
  readonly exceptions: readonly Exception[];
  readonly written: MovedDefinition;
}

/**
 * Where a definition goes on by the offsets that hold now; null: it stays. What was materialized is not made
 * again, and what was not is still to come, since the cursor keeps its local time.
 */
export function movedPlace(
  row: StoredDefinition,
  exceptions: readonly Exception[],
  old: OffsetTable,
): MovedPlace | null {
  if (row.next_ms === null || row.is_broken || row.after !== null) return null;
  // Materializing says what is wrong with it.
  if (workingSchedule(row) === null) return null;
  const zone = findZone(row.timezone);
  const move = keepsLocalTime(row) ? (at: number) => movedInstant(at, old, zone) : (at: number) => at;
  const cursor = move(row.cursor_ms);
  const shifted = exceptions.map(each => ({ ...each, at: move(each.at), dueAt: move(each.dueAt) }));
  const isShifted = shifted.some(
    (each, i) => each.at !== exceptions[i]?.at || each.dueAt !== exceptions[i].dueAt,
  );
  const next = nextDueOf(row, shifted, cursor);
  if (next === row.next_ms && cursor === row.cursor_ms && !isShifted) return null;
  const until = Math.max(...shifted.flatMap(({ at, dueAt }) => [at, dueAt]));
  return {
    next,
    exceptions: isShifted ? shifted : exceptions,
    written: {
      id: row.id,
      cursor: cursor === row.cursor_ms ? null : iso(cursor),
      next_at: next === null ? null : iso(next),
      excepted_until: isShifted ? iso(until) : null,
    },
  };
}

/** Not an instant or an interval without an anchor, nor a schedule of all hours: those are continuous. */
export function keepsLocalTime({ cron, anchor, at, name }: StoredDefinition): boolean {
  if (at !== null) return isLocalAt(at);
  return anchor !== null || (cron !== null && !readCron(cron, name).everyHour);
}

const iso = (ms: number) => new Date(ms).toISOString();
