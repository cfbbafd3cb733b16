// What becomes of a row of pg_cron's table cron.job: a definition that executes its SQL, or a reason why not.

import { readTimes } from '../../model/crontab/crontab.js';
import { checkZoneName } from '../../model/schedule/zone/zone-names.js';
import { literal, valueText } from '../code/job-code.js';
import { uniqueName } from '../code/job-name.js';
import { sameExpression, writtenAnew } from '../crontab/tock-cron.js';
import {
  asName,
  clockOptions,
  type LeftSchedule,
  suspended,
  type TakenSchedule,
} from '../elsewhere/taken.js';
import { type Times, timesOf } from '../elsewhere/times.js';
import { sqlText, variableOf } from './sql-code.js';

/** A row of cron.job. */
export interface PgCronJob {
  /** A bigint, as text. */
  readonly id: string;
  readonly name: string | null;
  readonly schedule: string;
  readonly command: string;
  readonly database: string;
  readonly user: string;
  /** Where it connects to; empty or `localhost`: the server of pg_cron. */
  readonly host: string;
  readonly isActive: boolean;
}

export interface PgCronContext {
  /** cron.timezone, or GMT. */
  readonly timezone: string;
  /** The database in which Tock's handlers execute SQL; null: another server, or not known. */
  readonly ownDatabase: string | null;
  /** Tock's role there; null: not known. */
  readonly ownUser: string | null;
}

export const labelOf = ({ id, name }: Pick<PgCronJob, 'id' | 'name'>): string =>
  `job ${id}${name === null ? '' : ` (${name})`}`;

/** Translates one row. @param names those that are taken, to which the new one is added */
export function translatePgCronJob(
  job: PgCronJob,
  context: PgCronContext,
  names: Set<string>,
): TakenSchedule | LeftSchedule {
  const from = labelOf(job);
  const schedule = scheduleOf(job.schedule, context.timezone);
  if ('problem' in schedule) return { from, ...schedule };
  const differences = [...schedule.differences];
  const isOwn = job.database === context.ownDatabase && isLocal(job.host);
  const variable = isOwn ? null : variableOf(job.database);
  if (variable !== null)
    differences.push(
      `it runs in the database ${job.database}${isLocal(job.host) ? '' : ` on ${job.host}`}: set ${variable} to its URL where Tock executes it`,
    );
  if (isOwn && context.ownUser !== null && job.user !== context.ownUser)
    differences.push(
      `pg_cron runs it as ${job.user}, Tock as ${context.ownUser}: grant what it needs, or begin it with set local role`,
    );
  else if (!isOwn)
    differences.push(`pg_cron runs it as ${job.user}: the user of that URL is to have its rights`);
  // pg_cron starts a run that came due meanwhile when the live one has ended, and forgets what it missed.
  const options = { ...schedule.options, overlap: 'buffer_all', catchup: 'none' };
  if (!job.isActive) differences.unshift(suspended(valueText(options), 'not active'));
  const text = sqlText(job.command);
  return {
    from,
    differences,
    clock: schedule.clock,
    job: {
      name: uniqueName(nameOf(job), names),
      comments: [`${from}: ${job.schedule}`, ...differences.map(each => `Note: ${each}`)],
      schedule: job.isActive ? options : {},
      shell: null,
      command: null,
      cwd: null,
      env: {},
      stdin: null,
      queue: null,
      timeout: null,
      run:
        variable === null
          ? `ctx => execute(ctx, ${text})`
          : `ctx => executeIn(ctx, ${literal(variable)}, ${text})`,
    },
  };
}

const isLocal = (host: string): boolean => /^(?:|localhost|127\.0\.0\.1|::1|\/.*)$/.test(host);

function nameOf({ id, name, command }: PgCronJob): string {
  if (name !== null && asName(name) !== '') return asName(name);
  const words = command.toLowerCase().match(/[a-z][a-z0-9_]*/g) ?? [];
  return asName(words.slice(0, 4).join('-')).slice(0, 60) || `pg-cron-${id}`;
}

interface Schedule {
  readonly options: Readonly<Record<string, unknown>>;
  readonly clock: { readonly times: Times; readonly timezone: string } | null;
  readonly differences: readonly string[];
}

type Problem = Pick<LeftSchedule, 'problem' | 'remedy'>;

const REMEDY = 'Correct it (cron.alter_job), or remove it (cron.unschedule)';

function scheduleOf(text: string, timezone: string): Schedule | Problem {
  const [, seconds] = /^\s*(\d{1,2})\s+seconds?\s*$/i.exec(text) ?? [];
  if (seconds !== undefined && Number(seconds) >= 1)
    return {
      options: { every: `${Number(seconds)}s` },
      clock: null,
      differences: [
        `pg_cron counts from its last start; every is aligned to the clock. Ticks once a minute make one run for all of a minute: keep tock start running`,
      ],
    };
  try {
    checkZoneName(timezone);
  } catch (error) {
    return {
      problem: error instanceof Error ? error.message : String(error),
      remedy: 'Set cron.timezone to it',
    };
  }
  const fields = text.trim().split(/\s+/);
  const isLast = fields.length === 5 && fields[2] === '$';
  const plain = isLast ? fields.with(2, '*').join(' ') : text.trim();
  const cronTimes = readTimes(plain, 'debian');
  if (cronTimes === null)
    return {
      problem: '@reboot names no time: a definition outlives restarts of the server',
      remedy: 'Leave it in pg_cron, or enqueue a run when your app starts',
    };
  if (typeof cronTimes === 'string')
    return { problem: cronTimes.replace(/^cron /, 'pg_cron '), remedy: REMEDY };
  const times = isLast ? onLastDay(timesOf(cronTimes), cronTimes.weekday.isStarred) : timesOf(cronTimes);
  const anew = writtenAnew(cronTimes);
  const texts = isLast ? [plain, anew].map(each => each.split(' ').with(2, 'L').join(' ')) : [plain, anew];
  const cron = sameExpression(texts, times);
  if (cron === undefined)
    return { problem: `it names no date that ever comes: ${JSON.stringify(text)}`, remedy: REMEDY };
  return { options: clockOptions(cron, timezone, times), clock: { times, timezone }, differences: [] };
}

/** `$`: the last day of the month, or a weekday if one is named. The date was read as `*`. */
function onLastDay(times: Times, isAnyWeekday: boolean): Times {
  const isDay: Times['isDay'] = (date, weekday, length) =>
    isAnyWeekday
      ? date === length && times.isDay(date, weekday, length)
      : date === length || times.isDay(date, weekday, length);
  return { ...times, isDay };
}

/** What the report says of all jobs. */
export function pgCronNotes(timezone: string): string[] {
  return [
    `Its schedules are in ${timezone} (cron.timezone). What a clock skips is not started, what it repeats is started twice (dst: literal).`,
    'A command is executed as pg_cron does it: several statements are one transaction, and VACUUM stands alone.',
    "A run that comes due while another one goes on waits for it (overlap: 'buffer_all'), and what an outage missed is left out",
    "(catchup: 'none'). A statement that fails is a failed run, and is not repeated.",
    'A timeout, and tock cancel, cancel the statement in the server.',
    'When the definitions are in the job module: tock import pg_cron --switch. It sets the jobs inactive, and can be undone.',
  ];
}
