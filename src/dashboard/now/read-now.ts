// Everything that the page Now shows, read side by side.
import { type ComingGroup, comingGroups } from '../../answers/now/coming-groups.js';
import { isStoppedStatement } from '../../store/connection/errors.js';
import { type Outcomes, readOutcomes } from '../../store/reads/metrics/rollup.js';
import {
  type ComingDefinition,
  readComing,
  readTroubled,
  type TroubledDefinition,
} from '../../store/reads/now/coming.js';
import { type LiveFigures, readLiveFigures } from '../../store/reads/now/live-figures.js';
import type { View } from '../view.js';

export interface NowContent {
  readonly live: LiveFigures;
  /** How the runs of the last 24 hours ended, and those of the last sixty minutes, by the minute. */
  readonly outcomes: Outcomes;
  readonly coming: readonly ComingGroup<ComingDefinition>[];
  readonly troubled: readonly TroubledDefinition[];
}

const MAX_GROUPS = 20;
/** Of one job there may be a definition for each tenant, which become one line. */
const MAX_COMING = 1000;
const MAX_TROUBLED = 12;
/** With a tick a minute, an occurrence is never due for so long. */
const LATE_MS = 150_000;

export type ReadOutcomes = (view: View) => Promise<Outcomes>;

export async function readNow(view: View, readDay: ReadOutcomes): Promise<NowContent> {
  const { reads } = view;
  const [live, outcomes, coming, troubled] = await Promise.all([
    readLiveFigures(reads),
    readDay(view),
    readComing(reads, MAX_COMING),
    readTroubled(reads, { limit: MAX_TROUBLED, lateMs: LATE_MS }),
  ]);
  return { live, outcomes, coming: comingGroups(coming, MAX_GROUPS), troubled };
}

/** Many millions may have ended since the last minute that is counted: then these are left out. */
export async function readDayInTime({ reads }: View): Promise<Outcomes> {
  try {
    return await readOutcomes(reads);
  } catch (error) {
    if (!isStoppedStatement(error)) throw error;
    return await readOutcomes(reads, { countedOnly: true });
  }
}
