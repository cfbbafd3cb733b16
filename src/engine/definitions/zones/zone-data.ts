// Finds coming changes of offset on which Node and the server disagree, before they affect an occurrence.

import { type ZoneDifference, zoneDifferences } from '../../../model/schedule/zone/zone-agreement.js';
import type { ZoneDisagreement } from '../../../model/scheduler-view.js';
import type { Session } from '../../../store/connection/database.js';
import { readZoneDefinitions } from '../../../store/definitions/stored-definition.js';
import { readUsedZones, readZoneOffsets } from '../../../store/definitions/zones/zone-offsets.js';
import { workingSchedule } from '../../materialize/locked-definition.js';

const DAY_S = 86_400;
/** A year and a month: most rules come round within a year. */
const DAYS = 400;
/** How many definitions of a zone are checked. */
const MAX_DEFINITIONS = 200;

/** Compares the zones in use. `now` in epoch milliseconds, by the database's clock. */
export async function findZoneDisagreements(session: Session, now: number): Promise<ZoneDisagreement[]> {
  const zones = await readUsedZones(session);
  const start = Math.floor(now / 1000);
  const compared = await readZoneOffsets(session, zones, { start, step: DAY_S, count: DAYS });
  const found: ZoneDisagreement[] = [];
  for (const { timezone, offsets } of compared) {
    if (offsets === null) continue;
    const [first] = zoneDifferences(timezone, start, DAY_S, offsets);
    if (first) found.push(await describe(session, first));
  }
  return found;
}

async function describe(session: Session, difference: ZoneDifference): Promise<ZoneDisagreement> {
  const { timezone, here, there } = difference;
  const [from, to] = [difference.from * 1000, difference.to * 1000];
  const affected = (await readZoneDefinitions(session, timezone, MAX_DEFINITIONS))
    .map(row => ({ name: row.name, at: workingSchedule(row)?.next(from - 1) ?? null }))
    .filter(each => each.at !== null && each.at < to) as { name: string; at: number }[];
  return {
    timezone,
    from: new Date(from),
    to: new Date(to),
    nodeOffsetMinutes: here / 60,
    serverOffsetMinutes: there / 60,
    nodeVersion: process.versions['tz'] ?? 'unknown',
    definitions: affected.map(each => each.name),
    firstAffected: affected.length === 0 ? null : new Date(Math.min(...affected.map(each => each.at))),
  };
}
