// Everything that the page Now shows, read side by side.
import { type ComingGroup, comingGroups } from '../../model/explain/coming-groups.js';
import {
  type ComingDefinition,
  readComing,
  readTroubled,
  type TroubledDefinition,
} from '../../store/reads/coming.js';
import {
  countEndedByMinute,
  countEndedOfDay,
  type EndedCounts,
  type EndedInMinute,
} from '../../store/reads/ended-runs.js';
import { type LiveFigures, readLiveFigures } from '../../store/reads/live-figures.js';
import type { View } from '../view.js';

export interface NowContent {
  readonly live: LiveFigures;
  readonly day: EndedCounts;
  /** Null: too many ended for a quick answer. */
  readonly minutes: readonly EndedInMinute[] | null;
  readonly coming: readonly ComingGroup<ComingDefinition>[];
  readonly troubled: readonly TroubledDefinition[];
}

const MAX_GROUPS = 20;
/** Of one job there may be a definition for each tenant, which become one line. */
const MAX_COMING = 1000;
const MAX_TROUBLED = 12;
/** With a tick a minute, an occurrence is never due for so long. */
const LATE_MS = 150_000;

export async function readNow({ reads, now }: View): Promise<NowContent> {
  const [live, day, minutes, coming, troubled] = await Promise.all([
    readLiveFigures(reads),
    countEndedOfDay(reads),
    countEndedByMinute(reads, now),
    readComing(reads, MAX_COMING),
    readTroubled(reads, { limit: MAX_TROUBLED, lateMs: LATE_MS }),
  ]);
  return { live, day, minutes, coming: comingGroups(coming, MAX_GROUPS), troubled };
}
