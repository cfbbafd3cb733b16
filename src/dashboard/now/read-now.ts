// Everything that the page Now shows, read side by side.
import { type ComingGroup, comingGroups } from '../../model/explain/coming-groups.js';
import type { FinishedStatus } from '../../model/run/states.js';
import {
  type ComingDefinition,
  readComing,
  readTroubled,
  type TroubledDefinition,
} from '../../store/reads/now/coming.js';
import { type LiveFigures, readLiveFigures } from '../../store/reads/now/live-figures.js';
import { type OutcomesOfMinute, readOutcomesByMinute, sumOutcomes } from '../../store/reads/rollup.js';
import type { View } from '../view.js';

export interface NowContent {
  readonly live: LiveFigures;
  /** How the runs of the last 24 hours ended. */
  readonly day: Readonly<Record<FinishedStatus, number>>;
  /** The last sixty minutes; the last one is not over. */
  readonly minutes: readonly OutcomesOfMinute[];
  readonly coming: readonly ComingGroup<ComingDefinition>[];
  readonly troubled: readonly TroubledDefinition[];
}

const MAX_GROUPS = 20;
/** Of one job there may be a definition for each tenant, which become one line. */
const MAX_COMING = 1000;
const MAX_TROUBLED = 12;
/** With a tick a minute, an occurrence is never due for so long. */
const LATE_MS = 150_000;

export async function readNow({ reads }: View): Promise<NowContent> {
  const [live, day, minutes, coming, troubled] = await Promise.all([
    readLiveFigures(reads),
    sumOutcomes(reads),
    readOutcomesByMinute(reads),
    readComing(reads, MAX_COMING),
    readTroubled(reads, { limit: MAX_TROUBLED, lateMs: LATE_MS }),
  ]);
  return { live, day, minutes, coming: comingGroups(coming, MAX_GROUPS), troubled };
}
