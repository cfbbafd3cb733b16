// The database's time, which is the only one.
import type { Session } from './database.js';
import { db, epochMs, firstRow, now, selectedInstant } from './query.js';

export async function readClock(session: Session): Promise<Date> {
  const row = await firstRow(session, db.selectNoFrom(selectedInstant(now).as('now')));
  if (!row) throw new Error('the database returned no time');
  return row.now;
}

/** In epoch milliseconds. Read after a lock, it is past any cursor that another holder wrote. */
export async function readNow(session: Session): Promise<number> {
  const row = await firstRow(session, db.selectNoFrom(epochMs(now).as('ms')));
  if (!row) throw new Error('the database returned no time');
  return Math.floor(row.ms);
}
