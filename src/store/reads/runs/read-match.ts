// A filter as its caller wrote it, with its times in words set against the database's time.
import {
  hasTimeText,
  type ReadRunMatch,
  type RunMatch,
  readRunMatch,
} from '../../../model/run/match/run-match.js';
import { readClock } from '../../connection/clock.js';
import type { Session } from '../../connection/database.js';

/** No statement unless a time is in words. @throws TockError TOCK_BAD_OPTION, TOCK_BAD_TIME */
export async function readMatch(session: Session, match: RunMatch): Promise<ReadRunMatch> {
  return readRunMatch(match, hasTimeText(match) ? await readClock(session) : undefined);
}
