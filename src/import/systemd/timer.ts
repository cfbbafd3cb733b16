// What becomes of a timer of systemd and its service: definitions, or a reason why not.
import { checkZoneName } from '../../model/schedule/zone/zone-names.js';
import type { CodeJob } from '../code/job-code.js';
import { nameOfCommand, uniqueName } from '../code/job-name.js';
import { readCalendar } from './on-calendar.js';
import { durationText, readSpan } from './span.js';
import { isOn, lastOf, splitWords, type UnitFile } from './unit-file.js';

/** A timer with its service. */
export interface TimerUnit {
  /** `backup.timer`. */
  readonly name: string;
  readonly timer: UnitFile;
  /** Null: there is no such file. */
  readonly service: UnitFile | null;
}

export interface TimerResult {
  readonly jobs: readonly CodeJob[];
  readonly differences: readonly string[];
  /** Schedules, or all of it, that are not taken. */
  readonly problems: readonly string[];
}

export interface TimerContext {
  /** The host's. */
  readonly timezone: string;
  /** Who imports: units of this user need no queue of their own. */
  readonly user: string;
}

/** Settings of a service that are carried over, or mean nothing for a definition. */
const KNOWN = new Set([
  'Type',
  'ExecStart',
  'User',
  'Group',
  'WorkingDirectory',
  'Environment',
  'TimeoutStartSec',
  'RemainAfterExit',
  'StandardOutput',
  'StandardError',
  'SyslogIdentifier',
]);

/** Translates one timer. @param names those that are taken, to which the new ones are added */
export function translateTimer(unit: TimerUnit, context: TimerContext, names: Set<string>): TimerResult {
  const { timer, service, name } = unit;
  const failed = (problem: string): TimerResult => ({ jobs: [], differences: [], problems: [problem] });
  if (service === null) return failed('there is no service of that name beside it');
  const differences: string[] = [];
  const command = commandOf(service, differences);
  if (typeof command === 'string') return failed(command);
  const schedules = schedulesOf(timer, context, differences);
  if (schedules.taken.length === 0)
    return failed(
      schedules.problems[0] ??
        'it has no OnCalendar; what is to run at the start of a host belongs in systemd',
    );
  const user = lastOf(service, 'Service.User');
  const queue = user !== null && user !== context.user ? user.replace(/[^A-Za-z0-9._@-]/g, '-') : null;
  if (queue !== null)
    differences.push(
      `systemd runs it as ${user ?? ''}; Tock runs it as the user who ticks. Let ${user ?? ''} tick with TOCK_QUEUES=${queue}`,
    );
  const folder = lastOf(service, 'Service.WorkingDirectory')?.replace(/^-/, '') ?? null;
  const timeout = readSpan(lastOf(service, 'Service.TimeoutStartSec') ?? '');
  const others = [
    ...new Set([...service.keys()].filter(key => key.startsWith('Service.')).map(key => key.slice(8))),
  ].filter(key => !KNOWN.has(key));
  if (others.length > 0) differences.push(`not carried over: ${others.join(', ')}`);
  const base = nameOfCommand(name.replace(/\.timer$/, ''));
  const jobs = schedules.taken.map(({ schedule, text }) => ({
    name: uniqueName(base, names),
    comments: [`${name}: ${text}`, ...differences.map(each => `Note: ${each}`)],
    schedule,
    ...command,
    cwd: folder?.startsWith('/') ? folder : null,
    env: environmentOf(service),
    stdin: null,
    queue,
    timeout: timeout === null || timeout < 1000 ? null : durationText(timeout),
  }));
  return { jobs, differences, problems: schedules.problems };
}

interface Schedules {
  readonly taken: { schedule: CodeJob['schedule']; text: string }[];
  readonly problems: string[];
}

function schedulesOf(timer: UnitFile, { timezone }: TimerContext, differences: string[]): Schedules {
  const found: Schedules = { taken: [], problems: [] };
  const delay = readSpan(lastOf(timer, 'Timer.RandomizedDelaySec') ?? '');
  const common = {
    ...(delay === null || delay < 1000 ? {} : { jitter: durationText(delay) }),
    // Without Persistent, systemd forgets what it missed.
    ...(isOn(timer, 'Timer.Persistent') ? {} : { catchup: 'none' }),
  };
  for (const text of timer.get('Timer.OnCalendar') ?? []) {
    const read = readCalendar(text);
    const problem = typeof read === 'string' ? read : zoneProblem(read.timezone);
    if (typeof read === 'string' || problem !== null) {
      found.problems.push(problem ?? '');
      continue;
    }
    if (read.isAllHours && (read.timezone ?? timezone) !== 'UTC')
      differences.push('in the hour that a clock repeats in autumn Tock runs it again; systemd does not');
    const schedule = {
      cron: read.cron,
      timezone: read.timezone ?? timezone,
      ...(read.isAllHours ? {} : { dst: 'skip' }),
      ...(read.exclude === null ? {} : { exclude: [{ cron: read.exclude }] }),
      ...common,
    };
    found.taken.push({ schedule, text: `OnCalendar=${text}` });
  }
  const again = lastOf(timer, 'Timer.OnUnitActiveSec');
  const every = readSpan(again ?? '');
  if (again !== null && every !== null && every >= 1000) {
    differences.push(
      'systemd counts from the last start; every is aligned to the clock, the same on all hosts',
    );
    found.taken.push({
      schedule: { every: durationText(every), ...common },
      text: `OnUnitActiveSec=${again}`,
    });
  }
  return found;
}

function zoneProblem(zone: string | null): string | null {
  if (zone === null) return null;
  try {
    checkZoneName(zone);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

/** The command, or why there is none. */
function commandOf(service: UnitFile, differences: string[]): Pick<CodeJob, 'command' | 'shell'> | string {
  const commands = service.get('Service.ExecStart') ?? [];
  const words = commands.map(text => splitWords(text.replace(/^[-@:+!|]+/, '')));
  if (commands.some(text => /^[-@:+!|]*@/.test(text)))
    return 'ExecStart with @ names another argv[0], which a definition cannot';
  if (commands.some(text => /^[:+!|]*-/.test(text)))
    differences.push('ExecStart begins with -, so systemd ignores a failure; a run fails');
  if (words.length === 0) return 'its service has no ExecStart';
  const flat = words.flat();
  if (words.includes(null) || flat.includes(null)) return 'a quote in ExecStart has no end';
  const all = words as string[][];
  if (all.flat().some(word => /%[^%]/.test(word)))
    return 'ExecStart has a specifier of systemd (%): write its value';
  const [first = [], ...more] = all.map(each => each.map(word => word.replaceAll('%%', '%')));
  const isPlain = !all.flat().some(word => word.includes('$'));
  if (isPlain && more.length === 0) return { command: first, shell: null };
  const lines = [first, ...more].map(each => each.map(quoted).join(' '));
  return { command: null, shell: lines.join(' && ') };
}

/** As a word of the shell, in which variables are expanded, as systemd does. */
function quoted(word: string): string {
  if (/^[\w./:@%+,=-]+$/.test(word)) return word;
  const isExpanded = /\$\{?\w/.test(word);
  return isExpanded
    ? `"${word.replace(/["\\`]/g, char => `\\${char}`).replaceAll('$$', String.raw`\$`)}"`
    : `'${word.replaceAll("'", `'\\''`)}'`;
}

function environmentOf(service: UnitFile): Record<string, string> {
  const assignments = (service.get('Service.Environment') ?? []).flatMap(text => splitWords(text) ?? []);
  return Object.fromEntries(
    assignments.flatMap(word => {
      const at = word.indexOf('=');
      return at > 0 ? [[word.slice(0, at), word.slice(at + 1)]] : [];
    }),
  );
}
