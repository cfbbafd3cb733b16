// What becomes of each line of a crontab: a definition, or a reason why not and what to do instead.

import type { CronKind } from '../../model/crontab/cron-field.js';
import type { Crontab, CrontabEntry } from '../../model/crontab/crontab.js';
import { findTickLines } from '../../model/doctor/crontab.js';
import { isName } from '../../model/names.js';
import { checkZoneName } from '../../model/schedule/zone/zone-names.js';
import type { CodeJob } from '../code/job-code.js';
import { nameOfCommand, uniqueName } from '../code/job-name.js';
import { tockCron } from './tock-cron.js';

/** What `defineShellJob` gets. */
export interface ImportedJob {
  readonly name: string;
  readonly cron: string;
  readonly timezone: string;
  readonly dst: 'literal' | null;
  /** A duration; null: none. */
  readonly jitter: string | null;
  /** The text for the shell. */
  readonly shell: string;
  /** The shell that gets the text; null: /bin/sh. */
  readonly shellProgram: string | null;
  readonly cwd: string | null;
  readonly env: Readonly<Record<string, string>>;
  readonly stdin: string | null;
  /** Its own queue, because another user must execute it; null: the default one. */
  readonly queue: string | null;
}

export interface TakenLine {
  readonly entry: CrontabEntry;
  readonly job: ImportedJob;
  /** CRON_TZ is set, and this cron heeds it: the line runs by the clock of that zone. */
  readonly hasOwnZone: boolean;
  /** What is not as under cron; empty: nothing. */
  readonly differences: readonly string[];
}

export interface LeftLine {
  readonly line: number;
  readonly text: string;
  readonly problem: string;
  readonly remedy: string;
}

export interface Translation {
  readonly taken: readonly TakenLine[];
  readonly left: readonly LeftLine[];
  /** The addresses to which cron mails what commands print. */
  readonly mailTo: readonly string[];
}

export interface ImportContext {
  readonly kind: CronKind;
  /** The host's zone. */
  readonly timezone: string;
  readonly hasUser: boolean;
  /** Who imports: lines of this user need no queue of their own. */
  readonly user: string;
  /** The home of a user (null: whose crontab it is), in which cron starts commands. Null: not known. */
  readonly homeOf: (user: string | null) => string | null;
}

const PATH = '/usr/bin:/bin';
/** Cron's own settings, which are no business of the command. */
const SETTINGS = new Set(['MAILTO', 'MAILFROM', 'CONTENT_TYPE', 'CONTENT_TRANSFER_ENCODING', 'SHELL']);
const CRONIE_SETTINGS = new Set(['CRON_TZ', 'RANDOM_DELAY']);
const SECRET = /PASS(?:WORD|WD|PHRASE)?$|SECRET|TOKEN|API_?KEY|PRIVATE_?KEY|CREDENTIAL/i;
const FROM_ENVIRONMENT = 'better read it from process.env';
/** `[ -x file ] && command`: fails wherever there is nothing to do. */
const GUARD = /^(?:\[|test\s|command\s+-v\s)(?:(?!\|\||;)[^])*&&(?:(?!\|\||;)[^])*$/;
/** The longest RANDOM_DELAY that cronie takes, in minutes. */
const MAX_DELAY = 1440;

/**
 * Translates the lines of one crontab.
 * @param names those that are taken, to which the new ones are added: of other crontabs of the same import
 */
export function translate(
  crontab: Crontab,
  context: ImportContext,
  names: Set<string> = new Set(),
): Translation {
  const taken: TakenLine[] = [];
  const left: LeftLine[] = crontab.bad.map(({ line, text, problem }) => ({
    line,
    text,
    problem,
    remedy: 'Cron does not run it: correct it or delete it',
  }));
  for (const entry of crontab.entries) {
    const result = translateEntry(entry, names, context);
    if ('job' in result) taken.push(result);
    else left.push({ line: entry.line, text: entry.text, ...result });
  }
  const mailTo = new Set(taken.map(({ entry }) => entry.environment['MAILTO'] ?? ''));
  mailTo.delete('');
  return { taken, left: left.sort((a, b) => a.line - b.line), mailTo: [...mailTo] };
}

function translateEntry(
  entry: CrontabEntry,
  names: Set<string>,
  context: ImportContext,
): TakenLine | Pick<LeftLine, 'problem' | 'remedy'> {
  const { when, times, command, stdin, environment, user } = entry;
  const source = { source: '', hasUser: context.hasUser, text: entry.text };
  if (findTickLines([source]).length > 0)
    return { problem: 'this is the line that ticks Tock', remedy: 'Keep it in the crontab' };
  if (times === null) {
    return {
      problem: '@reboot names no time: a definition outlives restarts, and runs on any host',
      remedy:
        'A program that is to be up at all times belongs in a systemd service. For work at the start of an app, call tock.enqueue there; for work at the start of the host, keep the line and let it run tock run NAME',
    };
  }
  const zone = zoneOf(environment, context);
  const schedule = tockCron(when, times, zone.isOwn);
  if (typeof schedule === 'string') return { problem: schedule, remedy: 'Correct it or delete it' };
  const differences = [...entry.remarks, ...zone.differences];
  const delay = delayOf(environment, context, differences);
  const random = Object.values({ ...times }).filter(({ random: bounds }) => bounds !== null);
  for (const { text } of random)
    differences.push(
      `cronie chooses ${text} anew whenever it reads the crontab; H is one value for good, by the name`,
    );
  if (times.hour.values.size === 24 && !times.hour.isStarred && !times.minute.isStarred)
    differences.push(
      'in the hour that a clock repeats in autumn Tock runs it again; cron does not, because the hours are written out',
    );
  const isOther = user !== null && user !== context.user;
  if (isOther)
    differences.push(
      `cron runs it as ${user}; Tock runs it as the user who ticks. It is in the queue ${queueOf(user)}: let ${user} tick with TOCK_QUEUES=${queueOf(user)}, and all others without it`,
    );
  const secret = Object.keys(environment).find(each => SECRET.test(each));
  if (secret !== undefined) differences.push(`the value of ${secret} is now in code; ${FROM_ENVIRONMENT}`);
  if (GUARD.test(command))
    differences.push(
      'where its test is false, the command ends with 1, which is a failed run; write if …; then …; fi, or add successCodes: [0, 1]',
    );
  const program = environment['SHELL'] ?? '';
  return {
    entry,
    differences,
    hasOwnZone: zone.isOwn,
    job: {
      name: uniqueName(nameOfCommand(command), names),
      ...schedule,
      timezone: zone.name,
      jitter: delay,
      shell: command,
      shellProgram: program === '' || program === '/bin/sh' ? null : program,
      cwd: environment['HOME'] || context.homeOf(user),
      env: commandEnvironment(environment, context.kind),
      stdin,
      queue: isOther ? queueOf(user) : null,
    },
  };
}

/** A queue's name cannot hold everything that a user's name can; no two users have one queue. */
function queueOf(user: string): string {
  const named = user.replace(/[^A-Za-z0-9._-]/g, each => `@${each.codePointAt(0)?.toString(16)}`);
  return [named, `user-${named}`].find(isName) ?? named;
}

function commandEnvironment(
  environment: Readonly<Record<string, string>>,
  kind: CronKind,
): Record<string, string> {
  const own = Object.entries(environment).filter(
    ([name]) => !SETTINGS.has(name) && !(kind === 'cronie' && CRONIE_SETTINGS.has(name)),
  );
  return { PATH, ...Object.fromEntries(own) };
}

function zoneOf(
  environment: Readonly<Record<string, string>>,
  { kind, timezone }: ImportContext,
): { name: string; isOwn: boolean; differences: string[] } {
  const { CRON_TZ: given, TZ: ofCommand } = environment;
  const host = { name: timezone, isOwn: false };
  if (given !== undefined && given !== '') {
    if (kind === 'debian')
      return {
        ...host,
        differences: [
          `Debian's cron ignores CRON_TZ=${given}: the line runs by the clock of ${timezone}, and so does the definition. If ${given} was meant, write it as timezone`,
        ],
      };
    const name = given.replace(/^:/, '');
    try {
      checkZoneName(name);
      return { name, isOwn: true, differences: [] };
    } catch {
      return {
        name: 'UTC',
        isOwn: true,
        differences: [
          `CRON_TZ=${given} is no time zone; the C library reads it as UTC, and so does the definition`,
        ],
      };
    }
  }
  const differences =
    ofCommand !== undefined && ofCommand !== '' && ofCommand.replace(/^:/, '') !== timezone
      ? [
          `TZ=${ofCommand} is for the command only, also under cron: the line runs by the clock of ${timezone}`,
        ]
      : [];
  return { ...host, differences };
}

function delayOf(
  environment: Readonly<Record<string, string>>,
  { kind }: ImportContext,
  differences: string[],
): string | null {
  const { RANDOM_DELAY: given } = environment;
  if (given === undefined) return null;
  if (kind === 'debian') {
    differences.push(
      `Debian's cron ignores RANDOM_DELAY=${given}; if it was meant, write jitter: '${given}m'`,
    );
    return null;
  }
  const minutes = /^\s*\d+/.test(given) ? Number.parseInt(given, 10) : 0;
  if (minutes > MAX_DELAY || minutes === 0) return null;
  differences.push(
    'cronie delays all lines by the same random time; the jitter is another one for each definition',
  );
  return `${minutes}m`;
}

/** The definition of a line, for the code. @param from such as `crontab of app on web-1` */
export function codeJobOf({ entry, job, differences }: TakenLine, from: string): CodeJob {
  const { name, cron, timezone, dst, jitter, shell, shellProgram, cwd, env, stdin, queue } = job;
  return {
    name,
    comments: [
      `${from}, line ${entry.line}: ${entry.text.trim()}`,
      ...differences.map(each => `Note: ${each}`),
    ],
    schedule: { cron, timezone, ...(dst === null ? {} : { dst }), ...(jitter === null ? {} : { jitter }) },
    shell: shellProgram === null ? shell : null,
    command: shellProgram === null ? null : [shellProgram, '-c', shell],
    cwd,
    env,
    stdin,
    queue,
    timeout: null,
  };
}
