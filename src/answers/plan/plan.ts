// `tock plan`: what this code would change in the schedules, and what its runs would do. Reads only.
import { TockError } from '../../model/errors.js';
import type { Registry } from '../../model/job/registry.js';
import { quote } from '../../model/names.js';
import { type PlanConditions, type PlanOfCode, planOf } from '../../model/plan/plan.js';
import { readInstant } from '../../model/schedule/instant-text.js';
import { findZone } from '../../model/schedule/zone/zone.js';
import type { Session } from '../../store/connection/database.js';
import { checkPlan, type PlanCheck } from './check.js';
import { readPlanFacts } from './read-facts.js';

/** Options of `plan`: the window, half-open, and what must hold. */
export interface PlanOptions extends PlanConditions {
  /** The first instant that counts: a Date, or ISO text with Z or an offset. Default: the database's now. */
  readonly from?: Date | string;
  /** All before this. Default: `days` after `from`. */
  readonly to?: Date | string;
  /** Instead of `to`: how many days of 24 hours the window has. Default 7. */
  readonly days?: number;
  /** The zone of the hours that are counted: an IANA name. Default UTC. */
  readonly timezone?: string;
  /** Also predicts as long a time that is over, 60 days at most, and shows what came. Default false. */
  readonly check?: boolean;
}

/** The answer of `plan`. */
export interface SchedulePlan extends PlanOfCode {
  /** Null: not asked for. */
  readonly check: PlanCheck | null;
}

const DAY_MS = 86_400_000;
const DEFAULT_DAYS = 7;
const MAX_DAYS = 366;
const MAX_CHECKED_MS = 60 * DAY_MS;

/**
 * Compares the schedules of `registry` with those in the database in [from, to), and simulates both: with
 * jitter, windows, overlap, chains, limits, and the durations of the last four weeks.
 * @throws TockError TOCK_BAD_TIME for a window that is none, longer than 366 days, or has over 5 million
 * occurrences; TOCK_BAD_OPTION
 */
export async function plan(
  session: Session,
  registry: Registry,
  service: string,
  options: PlanOptions = {},
): Promise<SchedulePlan> {
  const { maxStartsPerMinute, noVanishing, timezone = 'UTC', days, check: isChecked = false } = options;
  requireCount(maxStartsPerMinute, 'maxStartsPerMinute', Number.MAX_SAFE_INTEGER);
  requireCount(days, 'days', MAX_DAYS);
  if (days !== undefined && options.to !== undefined)
    throw new TockError('TOCK_BAD_OPTION', 'days and to are both given; write one of them');
  findZone(timezone);
  const facts = await readPlanFacts(session, service);
  // Occurrences are whole seconds.
  const from = instantOf(options.from, 'from') ?? new Date(Math.floor(facts.now.getTime() / 1000) * 1000);
  const to = instantOf(options.to, 'to') ?? new Date(from.getTime() + (days ?? DEFAULT_DAYS) * DAY_MS);
  const conditions = {
    ...(maxStartsPerMinute !== undefined && { maxStartsPerMinute }),
    ...(noVanishing !== undefined && { noVanishing }),
  };
  const planned = planOf(facts, registry, { from, to, timezone }, conditions);
  const spanMs = Math.min(to.getTime() - from.getTime(), MAX_CHECKED_MS);
  return { ...planned, check: isChecked ? await checkPlan(session, registry, facts.now, spanMs) : null };
}

function requireCount(value: number | undefined, what: string, most: number): void {
  if (value === undefined || (Number.isInteger(value) && value >= 1 && value <= most)) return;
  throw new TockError('TOCK_BAD_OPTION', `${what} ${quote(value)} is not a whole number from 1 to ${most}`);
}

function instantOf(value: Date | string | undefined, what: string): Date | null {
  if (value === undefined) return null;
  try {
    return new Date(readInstant(value, what));
  } catch (error) {
    throw error instanceof TockError
      ? new TockError('TOCK_BAD_TIME', error.message, { cause: error })
      : error;
  }
}
