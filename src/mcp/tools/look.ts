// What is wrong now: status, doctor, errors.
import { readLiveFigures, readTroubled } from '../../answers/now/figures.js';
import { readQueueLoad } from '../../answers/queues.js';
import { readClock } from '../../answers/reads.js';
import { type ErrorKind, readErrors } from '../../answers/runs/read-errors.js';
import { formatSpan, parseDuration } from '../../model/duration.js';
import { queueState } from '../../model/explain/queue-state.js';
import { freezeText } from '../../model/freeze/freeze.js';
import { lineOfParts } from '../../model/run/errors/root-cause.js';
import { utcText } from '../../model/schedule/instant-text.js';
import { queueLine } from '../describe/queue.js';
import { oneOf, type Tool, takes } from '../tool.js';

const MAX_QUEUES = 100;
const MAX_TROUBLED = 20;
const MAX_GROUPS = 30;
/** With a tick a minute, an occurrence is never due for so long. */
const LATE_MS = 150_000;

export const status: Tool = {
  name: 'status',
  title: 'What is wrong now, and what is going on',
  role: 'view',
  description:
    'The state of the whole scheduler: what is wrong and what fixes it, what waits and runs, queues that do not flow, definitions in trouble. Begin here when nothing specific is asked.',
  input: takes({}),
  call: async ({ tock, reads }) => {
    const now = await readClock(reads);
    const [health, live, queues, troubled, frozen] = await Promise.all([
      tock.health(),
      readLiveFigures(reads),
      readQueueLoad(reads, { limit: MAX_QUEUES }),
      readTroubled(reads, { limit: MAX_TROUBLED, lateMs: LATE_MS }),
      tock.frozen(),
    ]);
    const held = queues.filter(queue => queueState(queue, now).state !== 'open');
    return {
      lines: [
        `at ${utcText(now)}: ${health.level}`,
        ...(frozen === null ? [] : [`everything is ${freezeText(frozen, now)}`]),
        ...health.sentences.map(
          ({ level, text, remedy }) => `${level}: ${text}${remedy === null ? '' : `. ${remedy}`}`,
        ),
        `${live.waiting} runs are due and wait${live.oldestDue === null ? '' : `, the oldest since ${utcText(live.oldestDue)}`}; ${live.running} run; ${live.retrying} failed and wait for another attempt; ${live.scheduled} are for later; ${live.workers} workers`,
        ...live.longest
          .filter(({ isStuck }) => isStuck)
          .map(
            ({ id, job, worker }) =>
              `run ${id} of ${job}: its lease has expired${worker === null ? '' : ` on ${worker}`}`,
          ),
        ...held.map(queue => queueLine(queue, now)),
        ...troubled.map(
          ({ name, pausedAt, pauseReason, brokenReason, dead, lastDeadId, lastError, together }) =>
            [
              `definition ${name}:`,
              pausedAt === null
                ? ''
                : `paused since ${utcText(pausedAt)}${pauseReason === null ? '' : ` (${pauseReason})`};`,
              brokenReason === null ? '' : `broken: ${brokenReason};`,
              dead === 0
                ? ''
                : `${dead} dead within a day, the last run ${lastDeadId ?? ''}: ${lastError === null ? '' : lineOfParts(lastError)};`,
              together > 1 ? `and ${together - 1} more that were paused together` : '',
              pausedAt === null && brokenReason === null && dead === 0
                ? 'late: its next occurrence is due, and has no run'
                : '',
            ]
              .filter(Boolean)
              .join(' '),
        ),
      ],
    };
  },
};

export const doctor: Tool = {
  name: 'doctor',
  title: 'Check everything that can be checked',
  role: 'view',
  description:
    'Checks schema, rights, clocks, last ticks, notifications, leases, limits, time zones and more, and names the command that fixes what is wrong. Changes nothing. For trouble with the installation itself.',
  input: takes({}),
  call: async ({ tock }) => {
    const { level, checks } = await tock.doctor();
    return {
      lines: [
        `the doctor says: ${level}`,
        ...checks.map(
          ({ title, level, text, remedy, command }) =>
            `${level}: ${title}: ${text}${remedy === null ? '' : `. ${remedy}`}${command === null ? '' : ` (${command})`}`,
        ),
      ],
    };
  },
};

const SPANS = ['1h', '24h', '7d', '30d'] as const;

interface ErrorsArgs {
  readonly of?: ErrorKind;
  readonly span?: (typeof SPANS)[number];
}

export const errors: Tool<ErrorsArgs> = {
  name: 'errors',
  title: 'What runs died of, or fail with, by job and kind',
  role: 'view',
  description:
    'Errors of a span of time, grouped by job and kind, the most frequent first, each with the last run that had it.',
  input: takes({
    of: oneOf('dead (default): runs that are dead; failing: that wait for another attempt', [
      'dead',
      'failing',
    ]),
    span: oneOf('up to now; default 24h', SPANS),
  }),
  call: async ({ reads }, { of = 'dead', span = '24h' }) => {
    const ms = parseDuration(span);
    const found = await readErrors(reads, of, { ms, parts: 1 });
    const shown = found.errors.slice(0, MAX_GROUPS);
    return {
      lines: [
        `${found.total}${found.isCapped ? ' or more' : ''} runs are ${of} within ${formatSpan(ms)}, in ${found.errors.length} groups${shown.length < found.errors.length ? `, of which these are the first ${shown.length}` : ''}`,
        ...shown.map(
          ({ job, group, count, firstAt, lastAt, lastId, sample, firstDeploy }) =>
            `${count} of job ${job}: ${group.name}${group.code === null ? '' : ` [${group.code}]`}: ${sample} (first ${utcText(firstAt)}${firstDeploy === null ? '' : ` in deploy ${firstDeploy}`}, last ${utcText(lastAt)}, run ${lastId})`,
        ),
      ],
    };
  },
};
