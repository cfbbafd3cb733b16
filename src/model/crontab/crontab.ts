// Reads a crontab line by line, as cron does: assignments, entries, and lines that cron refuses.
import { CRON_FIELDS } from '../schedule/cron/cron-rules.js';
import { readAssignment } from './assignment.js';
import { type CronField, type CronKind, readCronField } from './cron-field.js';
import { splitAtPercent } from './percent.js';

/** When an entry runs, by field. */
export interface CronTimes {
  readonly minute: CronField;
  readonly hour: CronField;
  readonly dayOfMonth: CronField;
  readonly month: CronField;
  readonly weekday: CronField;
}

/** A line with a command. */
export interface CrontabEntry {
  readonly line: number;
  /** As it is written. */
  readonly text: string;
  /** The five fields, or a name such as `@daily`. */
  readonly when: string;
  /** Null: `@reboot`. */
  readonly times: CronTimes | null;
  /** Null: the crontab has no column for it. */
  readonly user: string | null;
  readonly command: string;
  readonly stdin: string | null;
  /** The assignments above it. */
  readonly environment: Readonly<Record<string, string>>;
  /** What cron does with this line that its writer may not know. */
  readonly remarks: readonly string[];
}

export interface BadLine {
  readonly line: number;
  readonly text: string;
  readonly problem: string;
}

export interface Crontab {
  readonly entries: readonly CrontabEntry[];
  readonly bad: readonly BadLine[];
}

export interface CrontabFormat {
  /** A user stands before each command, as in /etc/crontab. */
  readonly hasUser: boolean;
  readonly kind: CronKind;
}

const NAMED: Readonly<Record<string, string>> = {
  yearly: '0 0 1 1 *',
  annually: '0 0 1 1 *',
  monthly: '0 0 1 * *',
  weekly: '0 0 * * 0',
  daily: '0 0 * * *',
  midnight: '0 0 * * *',
  hourly: '0 * * * *',
};

/** Reads a crontab. Comments and empty lines are left out. */
export function readCrontab(text: string, format: CrontabFormat): Crontab {
  const entries: CrontabEntry[] = [];
  const bad: BadLine[] = [];
  let environment: Readonly<Record<string, string>> = {};
  const lines = text.split('\n');
  for (const [index, written] of lines.entries()) {
    const trimmed = written.replace(/^[ \t]+/, '');
    if (trimmed.trim() === '' || trimmed.startsWith('#')) continue;
    const assignment = readAssignment(trimmed);
    if (assignment !== null) {
      environment = { ...environment, [assignment.name]: assignment.value };
      continue;
    }
    const line = index + 1;
    const read = readEntry(trimmed, format);
    if (typeof read === 'string') {
      bad.push({ line, text: written, problem: read });
      continue;
    }
    const unended =
      index === lines.length - 1
        ? ['the file does not end with a line end, so cron does not run this line']
        : [];
    entries.push({ ...read, line, text: written, environment, remarks: [...read.remarks, ...unended] });
  }
  return { entries, bad };
}

type ReadEntry = Omit<CrontabEntry, 'line' | 'text' | 'environment'>;

/** The entry, or why cron refuses it. */
function readEntry(written: string, { hasUser, kind }: CrontabFormat): ReadEntry | string {
  const remarks: string[] = [];
  let text = written;
  if (text.endsWith('\r')) {
    text = text.slice(0, -1);
    remarks.push('the line ends with a carriage return, which cron passes to the command; it is left out');
  }
  if (kind === 'cronie' && text.startsWith('-')) {
    text = text.slice(1);
    remarks.push('the - before it keeps cronie from logging it; Tock records each run');
  }
  const named = text.startsWith('@');
  const [, when = '', after = ''] =
    (named ? /^(@\S*)([^]*)$/ : /^((?:\S+[ \t]+){4}\S+)([^]*)$/).exec(text) ?? [];
  if (when === '') return 'cron needs five fields, or a name such as @daily, and a command';
  const times = readTimes(when, kind);
  if (typeof times === 'string') return times;
  for (const field of Object.values({ ...times })) {
    if (field.ignored !== '')
      remarks.push(`cron ignores ${JSON.stringify(field.ignored)} in ${JSON.stringify(field.text)}`);
  }
  const { user, rest } = splitUser(after, hasUser);
  if (user === '' || rest === '') return `it has no ${user === '' ? 'user' : 'command'}`;
  if (user?.startsWith('*') || rest.startsWith('*'))
    return 'cron refuses a command that begins with *: a sixth field?';
  const option = kind === 'cronie' ? /^-n[ \t]+/.exec(rest) : null;
  if (option !== null) remarks.push('-n mails failures only; see the note on mail');
  const { command, stdin } = splitAtPercent(rest.slice(option?.[0].length ?? 0));
  if (command.trim() === '') return 'it has no command';
  return { when: when.replace(/[ \t]+/g, ' '), times, user, command, stdin, remarks };
}

function splitUser(after: string, hasUser: boolean): { user: string | null; rest: string } {
  const text = after.replace(/^[ \t]+/, '');
  if (!hasUser) return { user: null, rest: text };
  const [, user = '', rest = ''] = /^(\S*)[ \t]*([^]*)$/.exec(text) ?? [];
  return { user, rest };
}

/** The times of the fields, or of a name; null: `@reboot`; else what is wrong. */
export function readTimes(when: string, kind: CronKind): CronTimes | null | string {
  if (when === '@reboot') return null;
  let fields = when;
  if (when.startsWith('@')) {
    const name = when.slice(1);
    if (!Object.hasOwn(NAMED, name)) return `cron does not know ${when}`;
    fields = NAMED[name] ?? '';
  }
  const read: CronField[] = [];
  for (const [index, text] of fields.split(/[ \t]+/).entries()) {
    const rule = CRON_FIELDS[index + 1];
    if (rule === undefined) break;
    const field = readCronField(text, rule, kind);
    if (typeof field === 'string') return field;
    read.push(field);
  }
  const [minute, hour, dayOfMonth, month, weekday] = read;
  if (!minute || !hour || !dayOfMonth || !month || !weekday) return 'cron needs five fields';
  return { minute, hour, dayOfMonth, month, weekday };
}
