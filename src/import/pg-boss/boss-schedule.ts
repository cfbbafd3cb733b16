// What becomes of a row of pgboss.schedule: a definition, or a reason why not.
import { isDeeperThan, MAX_DEPTH, TOO_DEEP } from '../../model/json-depth.js';
import { has60 } from '../../model/schedule/bits.js';
import { type CronFields, dayMask, readCron } from '../../model/schedule/cron/cron-fields.js';
import { checkZoneName } from '../../model/schedule/zone/zone-names.js';
import { uniqueName } from '../code/job-name.js';
import { asName, clockOptions, type LeftSchedule, type TakenSchedule } from '../elsewhere/taken.js';
import type { Times } from '../elsewhere/times.js';
import type { Values } from '../elsewhere/values.js';
import { queuePolicies } from './queue-policies.js';

/** A row of the table, with its queue. Older versions lack some columns. */
export interface BossSchedule {
  /** Of the queue. */
  readonly name: string;
  /** Empty: the only schedule of its queue. */
  readonly key: string;
  readonly cron: string;
  readonly timezone: string | null;
  readonly data: unknown;
  readonly options: Values;
  /** The row of its queue; empty before version 10. */
  readonly queue: Values;
}

export const labelOf = ({ name, key }: Pick<BossSchedule, 'name' | 'key'>): string =>
  `schedule ${name}${key === '' ? '' : ` (key ${key})`}`;

/**
 * Translates one row.
 * @param handlers the functions of the code, by the queue's name
 * @param names those that are taken, to which the new one is added
 */
export function translateBossSchedule(
  schedule: BossSchedule,
  handlers: ReadonlyMap<string, string>,
  names: Set<string>,
): TakenSchedule | LeftSchedule {
  const from = labelOf(schedule);
  const read = readTimes(schedule.cron);
  if ('problem' in read) return { from, ...read };
  const timezone = schedule.timezone || 'UTC';
  try {
    checkZoneName(timezone);
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error);
    return {
      from,
      problem,
      remedy: 'pg-boss skips it too: correct it (boss.schedule), or remove it (boss.unschedule)',
    };
  }
  if (isDeeperThan(schedule.data, MAX_DEPTH))
    return { from, problem: TOO_DEEP, remedy: 'keep the data in a table, and pass its id' };
  const { times } = read;
  const policies = queuePolicies(schedule.options, schedule.queue);
  const differences = [...read.differences, ...policies.differences];
  const payload = schedule.data === null || schedule.data === undefined ? {} : { payload: schedule.data };
  return {
    from,
    differences,
    clock: { times, timezone },
    job: {
      name: uniqueName(asName([schedule.name, schedule.key].filter(Boolean).join(':')) || 'schedule', names),
      comments: [`${from}: ${schedule.cron}`, ...differences.map(each => `Note: ${each}`)],
      schedule: { ...clockOptions(read.cron, timezone, times), ...policies.schedule, ...payload },
      shell: null,
      command: null,
      cwd: null,
      env: {},
      stdin: null,
      queue: null,
      timeout: policies.timeout,
      ...(policies.priority === 0 ? {} : { priority: policies.priority }),
      retry: policies.retry,
      run: handlers.get(schedule.name) ?? '() => null',
    },
  };
}

interface ReadTimes {
  readonly cron: string;
  readonly times: Times;
  readonly differences: readonly string[];
}

/** As pg-boss reads it: cron-parser's language, and at most one job a minute. */
function readTimes(written: string): ReadTimes | Pick<LeftSchedule, 'problem' | 'remedy'> {
  const text = written.trim();
  if (/^(?:RRULE|DTSTART|EXRULE|RDATE|EXDATE)|FREQ=/i.test(text))
    return {
      problem: 'it is a recurrence rule (RRULE), which Tock has not',
      remedy:
        'Write it as cron with exclude and endAt, or one schedule with at for each date (tock.schedules.upsert)',
    };
  const fields = text.startsWith('@') ? [text] : text.split(/\s+/);
  if (fields.some(field => /^H|,H/.test(field)))
    return { problem: 'pg-boss chooses H anew at each look', remedy: 'Write a value instead of H' };
  const hasSeconds = fields.length === 6;
  if (!hasSeconds && fields.length !== 5 && fields.length !== 1)
    return { problem: `it has ${fields.length} fields`, remedy: 'Write all five fields of cron' };
  const [minute, hour, dayOfMonth, month, weekday] = hasSeconds ? fields.slice(1) : fields;
  // A day field with a step counts as restricted, so that either day matches. In Tock only without the star.
  const cron =
    fields.length === 1
      ? text
      : [minute, hour, starless(dayOfMonth ?? '', '1-31'), month, starless(weekday ?? '', '0-6')].join(' ');
  try {
    const differences =
      hasSeconds && fields[0] !== '0'
        ? [`the seconds ${fields[0] ?? ''} are left out: pg-boss sends at most one job a minute`]
        : [];
    return { cron, times: timesOf(readCron(cron)), differences };
  } catch (error) {
    return {
      problem: error instanceof Error ? error.message : String(error),
      remedy: 'Correct it (boss.schedule), or remove it (boss.unschedule)',
    };
  }
}

const starless = (field: string, all: string): string =>
  field === '?' ? '*' : field.replace(/(^|,)\*\/(\d+)/g, `$1${all}/$2`);

function timesOf(fields: CronFields): Times {
  const upTo = (count: number): number[] => Array.from({ length: count }, (_, value) => value);
  return {
    minutes: new Set(upTo(60).filter(value => has60(fields.minutes, value))),
    hours: new Set(upTo(24).filter(value => ((fields.hours >>> value) & 1) === 1)),
    months: new Set(upTo(13).filter(value => ((fields.months >>> value) & 1) === 1)),
    isDay: (date, weekday, length) => {
      const first = (((weekday - date + 1) % 7) + 7) % 7;
      return ((dayMask(fields, length, first) >>> (date - 1)) & 1) === 1;
    },
  };
}

/** What the report says of all schedules. */
export function bossNotes(): string[] {
  return [
    'The handlers are your own code: each function at the top of the file says what to move there. Until then its runs are dead',
    '(tock retry executes them later), and nothing succeeds in silence.',
    'What a clock skips is not sent, what it repeats is sent twice, as by pg-boss (dst: literal).',
    'priority is turned around: in Tock lower goes first. Runs of a queue may overlap, unless its policy says otherwise.',
    'When the definitions are in the job module: tock import pg-boss --switch. It removes the rows and keeps them in a file,',
    'and can be undone. Jobs that pg-boss has sent before stay in its queue: let its workers finish them.',
  ];
}
