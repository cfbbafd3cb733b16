// Checks cron's language before any parser sees it, in time linear in the length of the text.
import { badSchedule, show } from '../bad-schedule.js';
import { crontabLineError } from '../crontab-line.js';
import { checkEntry } from './cron-entry.js';
import { CRON_FIELDS, type CronFieldRule } from './cron-rules.js';

/** One field: its text as written, and its distinct entries. */
export interface FieldText {
  readonly text: string;
  readonly entries: readonly string[];
}

/** The six fields, in cron's order. Without a seconds field, `second` is `0`. */
export interface CronText {
  readonly second: FieldText;
  readonly minute: FieldText;
  readonly hour: FieldText;
  readonly dayOfMonth: FieldText;
  readonly month: FieldText;
  readonly weekday: FieldText;
}

/** Twice what listing every value of every field takes. */
const MAX_CRON_LENGTH = 1024;

/** What stands for five fields. */
export const MACROS: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};
const SHAPE = 'minute hour day-of-month month weekday, as in "30 2 * * 1-5"';

/**
 * Splits an expression into fields and checks every entry: five fields, six with seconds first, or one of
 * `@yearly @annually @monthly @weekly @daily @midnight @hourly`.
 * @throws TockError TOCK_BAD_SCHEDULE, which names the field, the entry, and what would be right
 */
export function readCronText(expression: string): CronText {
  if (expression.length > MAX_CRON_LENGTH) {
    throw badSchedule(
      `cron is ${expression.length} characters long; at most ${MAX_CRON_LENGTH} are read. Use ranges and steps, or several definitions`,
    );
  }
  const trimmed = expression.trim();
  if (trimmed === '') throw badSchedule(`cron is empty; write five fields: ${SHAPE}`);
  try {
    return readFields(trimmed);
  } catch (error) {
    throw crontabLineError(trimmed, isSchedule) ?? error;
  }
}

function isSchedule(text: string): boolean {
  try {
    readFields(text);
    return true;
  } catch {
    return false;
  }
}

function readFields(trimmed: string): CronText {
  const text = trimmed.startsWith('@') ? readMacro(trimmed) : trimmed;
  const fields = text.split(/\s+/);
  if (fields.length < 5 || fields.length > 6) {
    const has = `cron ${show(trimmed)} has ${fields.length} ${fields.length === 1 ? 'field' : 'fields'}`;
    throw badSchedule(`${has}; write five: ${SHAPE}; or six, with seconds first`);
  }
  if (fields.length === 5) fields.unshift('0');
  const [second, minute, hour, dayOfMonth, month, weekday] = CRON_FIELDS.map((rule, index) =>
    readField(rule, fields[index] ?? '', trimmed),
  );
  if (!second || !minute || !hour || !dayOfMonth || !month || !weekday)
    throw badSchedule('cron has no fields');
  return { second, minute, hour, dayOfMonth, month, weekday };
}

function readMacro(text: string): string {
  const macro = text.toLowerCase();
  const fields = Object.hasOwn(MACROS, macro) ? MACROS[macro] : undefined;
  if (fields !== undefined) return fields;
  if (macro === '@reboot') {
    throw badSchedule(
      'cron "@reboot" names no time: a definition outlives restarts and runs on any host. Enqueue a run at the start of the process instead',
    );
  }
  const every = macro.startsWith('@every')
    ? `; for a fixed interval use the option every, as in every: '5m'`
    : '';
  throw badSchedule(
    `cron ${show(text)} is not known; write one of ${Object.keys(MACROS).join(' ')}, or five fields${every}`,
  );
}

function readField(rule: CronFieldRule, text: string, expression: string): FieldText {
  const refuse = (entry: string, why: string): never => {
    const where =
      entry === text ? `${rule.name} ${show(text)}` : `${rule.name} ${show(text)}, at ${show(entry)},`;
    throw badSchedule(`cron ${show(expression)}: ${where} ${why}`);
  };
  const entries = text.split(',');
  const checked = new Set<string>();
  for (const entry of entries)
    checked.add(checkEntry(rule, entry, entries.length > 1, why => refuse(entry, why)));
  return { text, entries: [...checked] };
}
