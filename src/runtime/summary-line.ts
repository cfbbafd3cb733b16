// A tick's summary as one line for cron's log.
import type { TickSummary } from '../engine/run-tick.js';
import { formatDuration } from '../model/duration.js';
import { utcText } from '../model/schedule/instant-text.js';

/** @param where the database, without the password */
export function summaryLine(summary: TickSummary, jobCount: number, where: string): string {
  const { registered, reaped, materialized, executed } = summary;
  const counted = (count: number, word: string) => (count > 0 ? `${count} ${word}` : null);
  const parts = [
    registered.status === 'empty' ? 'no jobs are defined' : null,
    registered.status === 'superseded' ? 'definitions of a newer version are in force' : null,
    counted(registered.added.length, 'registered'),
    counted(registered.changed.length, 'changed'),
    counted(registered.vanished.length, 'vanished'),
    counted(reaped.failed + reaped.dead + reaped.cancelled, 'reaped'),
    counted(materialized.runs, 'materialized'),
    counted(materialized.skips, materialized.skips === 1 ? 'occurrence skipped' : 'occurrences skipped'),
    counted(materialized.broken.length, `broken (${materialized.broken.slice(0, 5).join(', ')})`),
    counted(executed.claimed, 'claimed'),
    counted(executed.succeeded, 'succeeded'),
    counted(executed.failed, 'failed'),
    counted(executed.dead, 'dead'),
    counted(executed.cancelled, 'cancelled'),
    counted(executed.skipped, 'skipped'),
    counted(executed.deferred, 'deferred'),
    counted(executed.released, 'released'),
    counted(executed.waiting, 'waiting'),
    counted(executed.handedOff, 'handed off'),
    counted(executed.lost, 'lost'),
    summary.stoppedEarly ? 'stopped early' : null,
  ].filter(part => part !== null);
  const asleep = summary.asleepUntil;
  const until = asleep === undefined ? '' : `, asleep until ${utcText(asleep)}`;
  const text =
    parts.length > 0 ? parts.join(', ') : `nothing due, ${jobCount} ${jobCount === 1 ? 'job' : 'jobs'}`;
  return `${new Date().toISOString()} tick: ${text}${until} in ${formatDuration(summary.durationMs)} on ${where}`;
}
