// Runs as CSV: one line each, without payload and output.
import { showHidden } from '../hidden-characters.js';
import type { RunRecord } from './run-record.js';

const COLUMNS: readonly (readonly [string, (run: RunRecord) => string | number | Date | null])[] = [
  ['id', run => run.id],
  ['job', run => run.job],
  ['definition', run => run.definition],
  ['status', run => run.status],
  ['attempts', run => run.attempts],
  ['max_attempts', run => run.maxAttempts],
  ['queue', run => run.queue],
  ['trigger', run => run.trigger],
  ['key', run => run.idempotencyKey],
  ['deploy', run => run.deploy],
  ['tags', run => run.tags?.join(' ') ?? null],
  ['scheduled_for', run => run.scheduledFor],
  ['run_at', run => run.runAt],
  ['started_at', run => run.startedAt],
  ['finished_at', run => run.finishedAt],
  ['error_name', run => run.errors.at(-1)?.name ?? null],
  ['error_code', run => run.errors.at(-1)?.code ?? null],
  ['error_message', run => run.errors.at(-1)?.message ?? null],
  ['reason', run => run.skipReason],
];

/** The first line. */
export const CSV_HEADER: string = COLUMNS.map(([name]) => name).join(',');

/** A run's line, without a line end. Times in UTC. */
export function csvLine(run: RunRecord): string {
  return COLUMNS.map(([, valueOf]) => cell(valueOf(run))).join(',');
}

/**
 * On one line. A spreadsheet would compute a text that begins like a formula, so that such a text gets an
 * apostrophe in front.
 */
function cell(value: string | number | Date | null): string {
  if (value === null) return '';
  if (value instanceof Date) return value.toISOString();
  if (typeof value === 'number') return String(value);
  const line = showHidden(value).replaceAll('\n', '\\n');
  const text = /^[=+\-@\t]/.test(line) ? `'${line}` : line;
  return /[",]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
