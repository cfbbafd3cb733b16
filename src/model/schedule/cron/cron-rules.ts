// What each of cron's six fields may hold.

/** `max` of the weekday is 7, because Sunday is both 0 and 7. */
export interface CronFieldRule {
  readonly name: 'second' | 'minute' | 'hour' | 'day of month' | 'month' | 'weekday';
  readonly min: number;
  readonly max: number;
  /** The greatest value that `H` may choose: it exists in every month, and names no weekday twice. */
  readonly hashMax: number;
  /** How many different values the field has, which is the widest step. */
  readonly span: number;
  /** Three-letter names, the first standing for `min`. */
  readonly names: readonly string[];
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** In cron's order, seconds first. */
export const CRON_FIELDS: readonly CronFieldRule[] = [
  { name: 'second', min: 0, max: 59, hashMax: 59, span: 60, names: [] },
  { name: 'minute', min: 0, max: 59, hashMax: 59, span: 60, names: [] },
  { name: 'hour', min: 0, max: 23, hashMax: 23, span: 24, names: [] },
  { name: 'day of month', min: 1, max: 31, hashMax: 28, span: 31, names: [] },
  { name: 'month', min: 1, max: 12, hashMax: 12, span: 12, names: MONTHS },
  { name: 'weekday', min: 0, max: 7, hashMax: 6, span: 7, names: WEEKDAYS },
];
