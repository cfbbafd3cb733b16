// Single fair keys: their weights, limits and rates, and opening what handlers have closed.
import { canonical, changesBetween } from '../../model/audit.js';
import { TockError } from '../../model/errors.js';
import { checkKeyLimit, readKeyRate } from '../../model/job/fair/fair.js';
import type { KeyRecord, KeySettings } from '../../model/job/fair/key-methods.js';
import { isStorable, quote } from '../../model/names.js';
import type { Session } from '../../store/connection/database.js';
import {
  type KeyColumns,
  listKeys,
  lockKeySettings,
  openKey,
  readKeys,
  resetKey,
  setKey,
} from '../../store/runs/fair/key-settings.js';
import { audit } from '../audit.js';
import { type Engine, expectRuns } from '../engine.js';

const UNSET: KeyColumns = { weight: 1, limit: null, rateCount: null, ratePeriodMs: null, rateBurst: null };

/** The keys that have settings, then others that are closed. */
export async function keys(engine: Engine): Promise<KeyRecord[]> {
  return await listKeys(engine.database);
}

/** @throws TockError TOCK_BAD_OPTION */
export async function readKey(engine: Engine, key: string): Promise<KeyRecord> {
  return await recordOf(engine.database, checkFairKey(key));
}

async function recordOf(session: Session, key: string): Promise<KeyRecord> {
  const [record] = await readKeys(session, [key]);
  return record ?? { key, weight: 1, limit: null, rate: null, states: [] };
}

/**
 * Sets what is given of a key, from the next claim on. Running runs are not touched.
 * @throws TockError TOCK_BAD_OPTION, TOCK_BAD_DURATION
 */
export async function limitKey(engine: Engine, key: string, settings: KeySettings): Promise<KeyRecord> {
  checkFairKey(key);
  const wanted = readSettings(settings);
  const record = await engine.database.transaction(async session => {
    const before = (await lockKeySettings.first(session, { key })) ?? UNSET;
    const after = { ...before, ...wanted };
    await setKey(session, key, after, isNewRate(before, after));
    const changes = changesBetween(shown(before), shown(after));
    const count = Object.keys(changes).length === 0 ? 0 : 1;
    await audit(session, engine, { action: 'keys.set', targets: [key], count, details: { changes } });
    return await recordOf(session, key);
  });
  expectRuns(engine, 'fair');
  engine.logger.info({ event: 'key.limited', key, ...wanted }, `key ${quote(key)} has new settings`);
  return record;
}

/** Removes the settings of a key. Returns whether it had any. */
export async function unlimitKey(engine: Engine, key: string): Promise<boolean> {
  checkFairKey(key);
  const removed = await engine.database.transaction(async session => {
    const before = await resetKey(session, key);
    if (before === null) return false;
    const changes = changesBetween(shown(before), shown(UNSET));
    await audit(session, engine, { action: 'keys.reset', targets: [key], details: { changes } });
    return true;
  });
  if (removed) {
    expectRuns(engine, 'fair');
    engine.logger.info({ event: 'key.reset', key }, `key ${quote(key)} has no settings of its own any more`);
  }
  return removed;
}

/** Opens a key that a handler has closed. Returns whether it was closed. */
export async function reopenKey(engine: Engine, key: string): Promise<boolean> {
  checkFairKey(key);
  const opened = await engine.database.transaction(async session => {
    const wasClosed = await openKey(session, key);
    if (wasClosed) await audit(session, engine, { action: 'keys.open', targets: [key] });
    return wasClosed;
  });
  if (opened) {
    expectRuns(engine, 'fair');
    engine.logger.info({ event: 'key.opened', key }, `key ${quote(key)} is open again`);
  }
  return opened;
}

/** Otherwise the rate goes on: what was saved up or is owed under it counts. */
const isNewRate = (before: KeyColumns, after: KeyColumns) =>
  canonical(shown(before).rate) !== canonical(shown(after).rate);

function shown({ weight, limit, rateCount, ratePeriodMs, rateBurst }: KeyColumns) {
  const rate = rateCount === null ? null : { count: rateCount, perMs: ratePeriodMs, burst: rateBurst };
  return { weight, limit, rate };
}

function readSettings({ weight, limit, rate }: KeySettings): Partial<KeyColumns> {
  if (weight === undefined && limit === undefined && rate === undefined)
    throw new TockError('TOCK_BAD_OPTION', 'keys.set needs at least one of weight, limit and rate');
  const stored = rate === undefined || rate === null ? null : readKeyRate(rate, 'TOCK_BAD_OPTION');
  return {
    ...(weight === undefined ? {} : { weight: checkWeight(weight ?? 1) }),
    ...(limit === undefined
      ? {}
      : { limit: limit === null ? null : checkKeyLimit(limit, 'limit', 'TOCK_BAD_OPTION') }),
    ...(rate === undefined
      ? {}
      : {
          rateCount: stored?.limit ?? null,
          ratePeriodMs: stored?.perMs ?? null,
          rateBurst: stored?.burst ?? null,
        }),
  };
}

function checkWeight(weight: number): number {
  if (typeof weight === 'number' && weight >= 0.001 && weight <= 1000) return weight;
  throw new TockError('TOCK_BAD_OPTION', `weight ${quote(weight)} is not a number from 0.001 to 1000`);
}

/** @throws TockError TOCK_BAD_OPTION */
function checkFairKey(key: unknown): string {
  if (typeof key === 'string' && /^.{1,300}$/su.test(key) && isStorable(key)) return key;
  throw new TockError('TOCK_BAD_OPTION', `${quote(key)} is not a key: write 1 to 300 characters`);
}
