// What becomes of an occurrence that has no row: the decision that `tock why` and the calendar share.

/** Why a definition makes no runs at all. */
export type Stop = 'broken' | 'vanished' | 'paused' | 'used-up';

/**
 * - `pruned`: it had a run, which retention has deleted; its key is kept
 * - a {@link Stop}: it will get no run, or gets none for now
 * - `upcoming`, `due`: after the cursor, so that no tick has considered it yet
 * - `before-definition`: the definition is younger
 * - `edited`: the cursor is past it and nothing is on record, but the schedule was another one then
 * - `no-record`: the cursor is past it, and nothing is on record
 */
export type WithoutRow = Stop | 'pruned' | 'upcoming' | 'due' | 'before-definition' | 'edited' | 'no-record';

/** The columns of a definition that decide. */
export interface StoppableDefinition {
  readonly paused_at: Date | null;
  readonly broken_at: Date | null;
  readonly vanished_at: Date | null;
  readonly remaining_count: number | null;
}

export interface ConsideredDefinition extends StoppableDefinition {
  readonly cursor: Date;
  readonly version: number;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly now: Date;
}

/** Null if it makes runs. */
export function stopOf(definition: StoppableDefinition): Stop | null {
  if (definition.vanished_at) return 'vanished';
  if (definition.broken_at) return 'broken';
  if (definition.paused_at) return 'paused';
  return definition.remaining_count === 0 ? 'used-up' : null;
}

/**
 * @param at epoch milliseconds
 * @param hasKey whether its key is kept: it had a run once
 */
export function fateWithoutRow(definition: ConsideredDefinition, at: number, hasKey: boolean): WithoutRow {
  if (hasKey) return 'pruned';
  if (at > definition.cursor.getTime())
    return stopOf(definition) ?? (at > definition.now.getTime() ? 'upcoming' : 'due');
  if (at < definition.created_at.getTime()) return 'before-definition';
  return definition.version > 1 && at <= definition.updated_at.getTime() ? 'edited' : 'no-record';
}

/** The columns of a skipped row that say whether it stands for a span. */
export interface SpanColumns {
  readonly status: string;
  readonly trigger: string;
  readonly skip_reason: string | null;
  readonly has_key: boolean;
  readonly was_claimed: boolean;
}

/**
 * Whether a row stands for all occurrences from interval_start to scheduled_for. In the row of a run that was
 * withdrawn, came too late or fell out of its window, interval_start is the previous occurrence; the same
 * holds for a run that follows others.
 */
export function isSpan(row: SpanColumns): boolean {
  const { status, trigger, skip_reason: reason, has_key: hasKey, was_claimed: wasClaimed } = row;
  if (status !== 'skipped' || trigger === 'chain') return false;
  if (reason === 'window') return !wasClaimed;
  return reason === 'catchup' || reason === 'overlap' || reason === 'paused' || !hasKey;
}
